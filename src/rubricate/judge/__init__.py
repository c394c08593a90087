"""Who grades: from (item, criterion) to a verdict."""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door
from rubricate.judge._cascade import Cascade, JudgesLike
from rubricate.judge._case import Case
from rubricate.judge._choose import (
    JudgeLike,
    judge_or_model,
    named_judge,
    plain_model,
    refuse_unsent,
)
from rubricate.judge._families import model_family
from rubricate.judge._judge import Judge, Member, Stage
from rubricate.judge._options import Asking, Endpoint, OwnPrompt, PairVoting, Voting, Weights
from rubricate.judge._panel import Panel
from rubricate.judge._parts import PartKeeper, keyed
from rubricate.judge._people import ESCALATED, LABEL_SUFFIXES, People
from rubricate.judge._recorded import RecordedJudge, recorded_judges
from rubricate.judge.asking import (
    ABSTAINED,
    ASKED_AGAIN,
    EQUAL,
    FIRST,
    GIVEN,
    NOTE,
    OTHER,
    REQUIRED,
    REVERSE,
    SECOND,
    CriteriaPerCall,
    Example,
    ExampleLabel,
    Examples,
    Explained,
    Mode,
    ModelJudge,
    Pair,
    ProbabilityJudge,
    Prompting,
    PromptTemplate,
    Reply,
    Templated,
    answer_of,
    as_written,
    closing_object,
    neutral,
    pair_criterion,
    pair_id,
    read_reply,
    refuse_repetition,
    without_leading_reasoning,
)
from rubricate.judge.documents import (
    CHUNK_TOKENS,
    Chunk,
    DocumentJudge,
    estimated_tokens,
    split_document,
)
from rubricate.judge.models import (
    Completion,
    HTTPModel,
    Message,
    Model,
    PythonModel,
    Quota,
    Request,
    Send,
)

if TYPE_CHECKING:
    from rubricate.judge.builtin import BuiltinJudge
else:  # its classifier's code is loaded when somebody asks for it
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "ABSTAINED",
    "ASKED_AGAIN",
    "CHUNK_TOKENS",
    "EQUAL",
    "ESCALATED",
    "FIRST",
    "GIVEN",
    "LABEL_SUFFIXES",
    "NOTE",
    "OTHER",
    "REQUIRED",
    "REVERSE",
    "SECOND",
    "Asking",
    "BuiltinJudge",
    "Cascade",
    "Case",
    "Chunk",
    "Completion",
    "CriteriaPerCall",
    "DocumentJudge",
    "Endpoint",
    "Example",
    "ExampleLabel",
    "Examples",
    "Explained",
    "HTTPModel",
    "Judge",
    "JudgeLike",
    "JudgesLike",
    "Member",
    "Message",
    "Mode",
    "Model",
    "ModelJudge",
    "OwnPrompt",
    "Pair",
    "PairVoting",
    "Panel",
    "PartKeeper",
    "People",
    "ProbabilityJudge",
    "PromptTemplate",
    "Prompting",
    "PythonModel",
    "Quota",
    "RecordedJudge",
    "Reply",
    "Request",
    "Send",
    "Stage",
    "Templated",
    "Voting",
    "Weights",
    "answer_of",
    "as_written",
    "closing_object",
    "estimated_tokens",
    "judge_or_model",
    "keyed",
    "model_family",
    "named_judge",
    "neutral",
    "pair_criterion",
    "pair_id",
    "plain_model",
    "read_reply",
    "recorded_judges",
    "refuse_repetition",
    "refuse_unsent",
    "split_document",
    "without_leading_reasoning",
]
