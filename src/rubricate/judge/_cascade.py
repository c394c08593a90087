"""Judges asked one after the other: each only where those before it were not sure.

Every answer is kept under its own judge's key: a cascade with another threshold, or with one stage
more, asks again for nothing that is there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from rubricate.errors import InputError
from rubricate.judge._choose import JudgeLike, choose_judge
from rubricate.judge._computed import with_computed
from rubricate.judge._judge import Judge
from rubricate.judge._panel import Panel, model_behind, modes_of
from rubricate.judge._people import People
from rubricate.judge.asking import GroupJudge
from rubricate.rubric import Criterion, Usage, Verdict, confidence

__all__ = ["Cascade", "Grader", "JudgesLike", "Stage", "confidence"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A judge or a panel of a cascade.

    Attributes:
        judge: who is asked.
        threshold: the least confidence with which its verdict stands; None at the last stage,
            whose verdict stands in any case.
    """

    judge: GroupJudge | Panel
    threshold: float | None

    @property
    def name(self) -> str:
        """What its judge is called."""
        return str(getattr(self.judge, "behind", self.judge).name)

    @property
    def members(self) -> tuple[GroupJudge, ...]:
        """The judges as the run asks them."""
        return self.judge.members if isinstance(self.judge, Panel) else (self.judge,)

    @property
    def names(self) -> tuple[str, ...]:
        """What its members are called."""
        if isinstance(self.judge, Panel):
            return tuple(member.name for member in self.judge.members)
        return (self.name,)

    def goes_on_without(self, lost: Collection[tuple[str, str]]) -> bool:
        """Whether it can decide without the models of these endpoints and names."""
        if isinstance(self.judge, Panel):
            return self.judge.goes_on_without(lost)
        model = model_behind(self.judge)
        return model is None or (model.endpoint, model.name) not in lost

    def verdict(self, criterion: Criterion, votes: Sequence[Verdict | None]) -> Verdict:
        """What its members' verdicts come to; see `Panel.verdict`."""
        if isinstance(self.judge, Panel):
            return self.judge.verdict(criterion, votes)
        (vote,) = votes
        assert vote is not None
        return vote

    def stands(self, verdict: Verdict) -> bool:
        """Whether the next stage need not be asked."""
        if self.threshold is None:
            return True
        sure = confidence(verdict)
        return sure is not None and sure >= self.threshold


class Cascade:
    """Judges asked one after the other, the cheap one first.

    A verdict stands if its confidence (see `confidence`) reaches the threshold. One that does not,
    has none, abstains or fails goes on to the next stage, whose verdict takes its place. What the
    last stage says stands in any case. Criteria that need no judge are computed once.

    Args:
        stages: at least two judges, models, callables, names or panels; the last may be `People`.
        threshold: the least confidence with which a verdict stands, 0 to 1: one for all stages
            but the last, or one for each of them. `rubricate cascade` chooses one on labels.

    Attributes:
        name: the stages' names.
        stages: the stages in their order.

    Raises:
        InputError: fewer than two stages, a threshold that is none, people who are not asked last,
            or a panel that learns its weights.
    """

    def __init__(
        self, stages: Sequence[JudgeLike | Panel], threshold: float | Sequence[float]
    ) -> None:
        if isinstance(stages, str) or len(stages) < 2:
            raise InputError("a cascade needs two judges or more, one after the other")
        given = threshold if isinstance(threshold, Sequence) else [threshold] * (len(stages) - 1)
        if len(given) != len(stages) - 1:
            raise InputError(
                f"{len(given)} thresholds for {len(stages)} stages: give one, or one for each "
                "stage but the last"
            )
        for one in given:
            if isinstance(one, bool) or not 0 <= one <= 1:
                raise InputError(f"a threshold must be between 0 and 1, found {one}")
        if any(isinstance(stage, People) for stage in stages[:-1]):
            raise InputError("people are asked last: nobody comes after them")
        self.stages = tuple(
            Stage(_asked(stage), least) for stage, least in zip(stages, [*given, None], strict=True)
        )

    @property
    def name(self) -> str:
        """The stages' names, in their order."""
        return " > ".join(stage.name for stage in self.stages)

    @property
    def note(self) -> str | None:
        """What the judges say of themselves."""
        notes = dict.fromkeys(stage.judge.note for stage in self.stages if stage.judge.note)
        return " ".join(notes) or None

    @property
    def mode(self) -> str | None:
        """How the stages that are language models are asked, in words."""
        return modes_of(stage.judge for stage in self.stages)

    @property
    def caches_prefixes(self) -> bool:
        """Whether an item's later prompts are cheaper than its first, for any of the judges."""
        return any(stage.judge.caches_prefixes for stage in self.stages)

    @property
    def people(self) -> People | None:
        """The people who are asked last, if they are."""
        last = getattr(self.stages[-1].judge, "behind", None)
        return last if isinstance(last, People) else None

    def goes_on_without(self, lost: Collection[tuple[str, str]]) -> bool:
        """Whether a run has sense without the models of these endpoints and names.

        It has where every stage but the last can decide: what they are sure of stands as it would.
        Without an earlier stage all would go on to a dearer judge, or to people: it has none.
        """
        return all(stage.goes_on_without(lost) for stage in self.stages[:-1])

    def verdict(self, place: int, found: Verdict, votes: Sequence[Verdict]) -> Verdict:
        """The verdict of the stage at `place` (from 0), with all answers that were asked for."""
        return replace(
            found,
            judge=self.stages[place].name,
            usage=Usage.total(vote.usage for vote in votes),
            resumed=all(vote.resumed for vote in votes),
            votes=tuple(votes),
            stage=place + 1,
        )

    async def aclose(self) -> None:
        """Let go of connections. The cascade can be used again afterwards."""
        for stage in self.stages:
            await stage.judge.aclose()


def _asked(stage: JudgeLike | Panel) -> GroupJudge | Panel:
    if isinstance(stage, Panel):
        if stage.learns_weights:
            raise InputError("a panel in a cascade cannot learn its weights: give numbers")
        return stage
    if isinstance(stage, GroupJudge) and hasattr(stage, "behind"):
        return stage  # has its code already
    return with_computed(stage) if isinstance(stage, Judge) else choose_judge(stage)


Grader: TypeAlias = GroupJudge | Panel | Cascade
"""Who grades, as a run takes it."""

JudgesLike = JudgeLike | Panel | Cascade | Sequence[JudgeLike]
"""Who grades: a judge, a panel, a cascade, or several judges that vote."""
