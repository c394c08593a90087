"""Who grades: from (item, criterion) to a verdict."""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.judge._cascade import Cascade as Cascade, JudgesLike as JudgesLike
    from rubricate.judge._choose import (
        JudgeLike as JudgeLike,
        closing as closing,
        language_model as language_model,
        made_for as made_for,
        named_judge as named_judge,
        plain_model as plain_model,
    )
    from rubricate.judge._families import model_family as model_family
    from rubricate.judge._judge import (
        Judge as Judge,
        LabelFile as LabelFile,
        Member as Member,
        Stage as Stage,
        check_awaitable as check_awaitable,
        check_group as check_group,
        checked_key as checked_key,
        checked_verdict as checked_verdict,
    )
    from rubricate.judge._options import (
        SAMPLING as SAMPLING,
        Asking as Asking,
        Batching as Batching,
        Endpoint as Endpoint,
        OwnPrompt as OwnPrompt,
        PairVoting as PairVoting,
        Voting as Voting,
        Weights as Weights,
        options_of_mode as options_of_mode,
    )
    from rubricate.judge._panel import Panel as Panel, as_panel as as_panel
    from rubricate.judge._judge import PartKeeper as PartKeeper, keyed as keyed
    from rubricate.judge._people import (
        ESCALATED as ESCALATED,
        LABEL_SUFFIXES as LABEL_SUFFIXES,
        People as People,
    )
    from rubricate.judge._recorded import (
        RecordedJudge as RecordedJudge,
        UnknownVote as UnknownVote,
        recorded_judges as recorded_judges,
        unknown_votes as unknown_votes,
    )
    from rubricate.judge._text_only import UNSEEN_NOTE as UNSEEN_NOTE, TextOnly as TextOnly
    from rubricate.judge.asking import (
        ABSTAINED as ABSTAINED,
        ASKED_AGAIN as ASKED_AGAIN,
        EQUAL as EQUAL,
        FIRST as FIRST,
        GIVEN as GIVEN,
        MODES as MODES,
        NOTE as NOTE,
        BETTER as BETTER,
        OTHER as OTHER,
        REQUIRED as REQUIRED,
        REVERSE as REVERSE,
        SECOND as SECOND,
        Conversation as Conversation,
        CriteriaPerCall as CriteriaPerCall,
        Example as Example,
        ExampleLabel as ExampleLabel,
        Examples as Examples,
        Explained as Explained,
        Mode as Mode,
        ModelJudge as ModelJudge,
        Pair as Pair,
        Probability as Probability,
        Prompting as Prompting,
        PromptTemplate as PromptTemplate,
        Reply as Reply,
        Templated as Templated,
        answer_of as answer_of,
        as_written as as_written,
        closing_object as closing_object,
        neutral as neutral,
        pair_criterion as pair_criterion,
        pair_id as pair_id,
        read_reply as read_reply,
        refuse_repetition as refuse_repetition,
        without_leading_reasoning as without_leading_reasoning,
    )
    from rubricate.judge.builtin import BuiltinJudge as BuiltinJudge
    from rubricate.judge.documents import (
        CHUNK_TOKENS as CHUNK_TOKENS,
        Chunk as Chunk,
        DocumentJudge as DocumentJudge,
        estimated_tokens as estimated_tokens,
        split_document as split_document,
    )
    from rubricate.judge.models import (
        BATCHES as BATCHES,
        OUT as OUT,
        Batch as Batch,
        BatchModel as BatchModel,
        Completion as Completion,
        Draw as Draw,
        HTTPModel as HTTPModel,
        Message as Message,
        Model as Model,
        PythonModel as PythonModel,
        Quota as Quota,
        Request as Request,
        Send as Send,
        batches_in as batches_in,
        status_error as status_error,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
