"""How to ask a language model about a criterion: the prompt, and the reading of the reply.

Prompts are rendered from the templates in `prompts/`. Replies are read strictly: a reply that is
not an answer is asked for again, and an answer is never guessed. Quotes are looked up in the
submission.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.judge.asking._probability import choice_request as choice_request
    from rubricate.judge.asking._conversation import Conversation as Conversation
    from rubricate.judge.asking._disguises import NOTE as NOTE, as_written as as_written
    from rubricate.judge.asking._evidence import locate as locate
    from rubricate.judge.asking._examples import Examples as Examples
    from rubricate.judge.asking._model_judge import ModelJudge as ModelJudge
    from rubricate.judge.asking._orders import (
        check_permutations as check_permutations,
        turned_order as turned_order,
    )
    from rubricate.judge.asking._pairwise import (
        EQUAL as EQUAL,
        FIRST as FIRST,
        GIVEN as GIVEN,
        BETTER as BETTER,
        OTHER as OTHER,
        TASK as TASK,
        REVERSE as REVERSE,
        SECOND as SECOND,
        Pair as Pair,
        pair_criterion as pair_criterion,
        pair_id as pair_id,
    )
    from rubricate.judge.asking._probability import (
        MODES as MODES,
        Mode as Mode,
        Probability as Probability,
    )
    from rubricate.judge.asking._prompt_file import (
        PromptTemplate as PromptTemplate,
        Templated as Templated,
    )
    from rubricate.judge.asking._prompts import (
        code_for as code_for,
        request_of as request_of,
        request_schema as request_schema,
        sendable as sendable,
        suffix as suffix,
        template as template,
        Example as Example,
        ExampleLabel as ExampleLabel,
        neutral as neutral,
        neutral_item as neutral_item,
        texts_of as texts_of,
    )
    from rubricate.judge.asking._reasoning import (
        without_leading_reasoning as without_leading_reasoning,
    )
    from rubricate.judge.asking._copied_answers import refuse_repetition as refuse_repetition
    from rubricate.judge.asking._replies import (
        Reply as Reply,
        answer_of as answer_of,
        closing_object as closing_object,
        read_reply as read_reply,
    )
    from rubricate.judge.asking._prompting import (
        ABSTAINED as ABSTAINED,
        ASKED_AGAIN as ASKED_AGAIN,
        REQUIRED as REQUIRED,
        CriteriaPerCall as CriteriaPerCall,
        Explained as Explained,
        Prompting as Prompting,
        asking_confidence as asking_confidence,
        check_criteria_per_call as check_criteria_per_call,
        key_suffix as key_suffix,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
