"""How a language model is asked about a criterion: what is sent, and how the reply is read.

Prompts are made from the templates in `prompts/`. A reply is read strictly, asked for again where
it is no answer, and never guessed at. Its quotes are looked up in the submission.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.judge.asking._choices import choice_request
    from rubricate.judge.asking._conversation import Conversation
    from rubricate.judge.asking._evidence import locate
    from rubricate.judge.asking._examples import Example, ExampleLabel, Examples
    from rubricate.judge.asking._explained import (
        Explained,
        asking_confidence,
        check_criteria_per_call,
    )
    from rubricate.judge.asking._model_judge import ModelJudge
    from rubricate.judge.asking._modes import MODES, Mode
    from rubricate.judge.asking._neutral import NOTE, as_written, neutral, neutral_item
    from rubricate.judge.asking._orders import check_permutations, turned_order
    from rubricate.judge.asking._pairwise import (
        EQUAL,
        FIRST,
        GIVEN,
        OTHER,
        REVERSE,
        SECOND,
        Pair,
        pair_criterion,
        pair_id,
    )
    from rubricate.judge.asking._probability import Probability
    from rubricate.judge.asking._prompt_file import PromptTemplate, Templated
    from rubricate.judge.asking._prompting import CriteriaPerCall, Prompting
    from rubricate.judge.asking._prompts import (
        code_for,
        request_schema,
        sendable,
        suffix,
        template,
        texts_of,
    )
    from rubricate.judge.asking._reasoning import without_leading_reasoning
    from rubricate.judge.asking._repetition import refuse_repetition
    from rubricate.judge.asking._replies import (
        Reply,
        answer_of,
        closing_object,
        read_reply,
    )
    from rubricate.judge.asking._required import ABSTAINED, ASKED_AGAIN, REQUIRED, key_suffix
else:
    __getattr__, __dir__ = lazy_door(__name__)

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
    "Conversation",
    "CriteriaPerCall",
    "Example",
    "ExampleLabel",
    "Examples",
    "Explained",
    "Mode",
    "ModelJudge",
    "Pair",
    "Probability",
    "PromptTemplate",
    "Prompting",
    "Reply",
    "Templated",
    "answer_of",
    "as_written",
    "asking_confidence",
    "check_criteria_per_call",
    "check_permutations",
    "choice_request",
    "closing_object",
    "code_for",
    "key_suffix",
    "locate",
    "neutral",
    "neutral_item",
    "pair_criterion",
    "pair_id",
    "read_reply",
    "refuse_repetition",
    "request_schema",
    "sendable",
    "suffix",
    "template",
    "texts_of",
    "turned_order",
    "without_leading_reasoning",
]
