"""How a language model is asked about a criterion: what is sent, and how the reply is read.

Prompts are made from the templates in `prompts/`. A reply is read strictly, asked for again where
it is no answer, and never guessed at. Its quotes are looked up in the submission.
"""

from rubricate.judge.asking._confidence import ConfidentJudge
from rubricate.judge.asking._evidence import locate
from rubricate.judge.asking._examples import Example, ExampleLabel, Examples
from rubricate.judge.asking._grouped import (
    CriteriaPerCall,
    GroupedModelJudge,
    check_criteria_per_call,
)
from rubricate.judge.asking._model_judge import ModelJudge
from rubricate.judge.asking._neutral import NOTE, as_written, neutral, neutral_case
from rubricate.judge.asking._orders import check_permutations
from rubricate.judge.asking._pairwise import (
    EQUAL,
    FIRST,
    GIVEN,
    OTHER,
    REVERSE,
    SECOND,
    PairJudge,
    pair_criterion,
    pair_id,
)
from rubricate.judge.asking._probability import MODES, Mode, ProbabilityJudge
from rubricate.judge.asking._prompt_file import PromptedJudge, PromptTemplate
from rubricate.judge.asking._prompts import (
    code_for,
    request_schema,
    sendable,
    suffix,
    template,
    texts_of,
)
from rubricate.judge.asking._replies import (
    Reply,
    answer_of,
    closing_object,
    read_reply,
    refuse_repetition,
    without_leading_reasoning,
)
from rubricate.judge.asking._required import ABSTAINED, ASKED_AGAIN, REQUIRED

__all__ = [
    "ABSTAINED",
    "ASKED_AGAIN",
    "EQUAL",
    "FIRST",
    "GIVEN",
    "MODES",
    "NOTE",
    "OTHER",
    "REQUIRED",
    "REVERSE",
    "SECOND",
    "ConfidentJudge",
    "CriteriaPerCall",
    "Example",
    "ExampleLabel",
    "Examples",
    "GroupedModelJudge",
    "Mode",
    "ModelJudge",
    "PairJudge",
    "ProbabilityJudge",
    "PromptTemplate",
    "PromptedJudge",
    "Reply",
    "answer_of",
    "as_written",
    "check_criteria_per_call",
    "check_permutations",
    "closing_object",
    "code_for",
    "locate",
    "neutral",
    "neutral_case",
    "pair_criterion",
    "pair_id",
    "read_reply",
    "refuse_repetition",
    "request_schema",
    "sendable",
    "suffix",
    "template",
    "texts_of",
    "without_leading_reasoning",
]
