"""Judges: from (item, criterion) to a verdict."""

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
    from rubricate.judge.asking import *  # noqa: F403
    from rubricate.judge.builtin import BuiltinJudge as BuiltinJudge
    from rubricate.judge.documents import (
        CHUNK_TOKENS as CHUNK_TOKENS,
        DocumentJudge as DocumentJudge,
        estimated_tokens as estimated_tokens,
        split_document as split_document,
    )
    from rubricate.judge.models import *  # noqa: F403
else:
    __getattr__, __dir__ = lazy_door(__name__)
