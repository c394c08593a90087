"""The judges of a run, and the calls that an item takes at each of its stages."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import Protocol

from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.judge import Judge, Member
from rubricate.rubric import Criterion, Failure, Rubric, Verdict
from rubricate.run._plan import Plan
from rubricate.run.items._calls import Call, Group, calls_about, failure_of

logger = logging.getLogger(__name__)
NOT_RUN = Failure("not_run", "the run ended before this was judged")


class Calibrate(Protocol):
    """Makes a verdict of a judge's own, by what its probabilities have turned out to mean."""

    @property
    def reference(self) -> str:
        """What results call it."""
        ...

    def fits(self, judge: Judge) -> bool:
        """Whether it is for this judge."""
        ...

    def __call__(self, criterion: Criterion, verdict: Verdict) -> Verdict:
        """The verdict with its calibrated probability, and the label that this gives."""
        ...


@dataclass(slots=True)
class Groups:
    """What a voter is asked about together, of one rubric.

    Attributes:
        whole: each group, and what is wanted of it if all is: the same.
        places: the index of each criterion's group.
        waves: the criteria of each wave that need a judge.
        has_several: whether several criteria are asked about at once anywhere.
    """

    whole: list[tuple[Group, Group]] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    waves: dict[int, Group] = field(default_factory=dict)
    has_several: bool = False

    @classmethod
    def of(cls, rubric: Rubric, judge: Judge, *, with_computed: bool) -> Groups:
        """The groups of a rubric; what is computed among them, each criterion alone, or not."""
        groups = cls()
        placed: list[tuple[int, Group]] = []  # with the index of the first criterion of each
        waves: dict[int, list[int]] = {}
        for index, criterion in enumerate(rubric.criteria):
            if criterion.needs_judge:
                wave = 0 if rubric.gates is None else rubric.gates.waves[criterion.name]
                waves.setdefault(wave, []).append(index)
            elif with_computed:
                placed.append((index, [criterion]))
        for wave, indices in waves.items():
            of_wave = groups.waves[wave] = [*map(rubric.criteria.__getitem__, indices)]
            for part in filter(None, _grouped(judge, of_wave)):
                placed.append((indices[part[0]], [*map(of_wave.__getitem__, part)]))
        placed.sort(key=itemgetter(0))
        for place, (_, group) in enumerate(placed):
            groups.whole.append((group, group))
            groups.has_several |= len(group) > 1
            for criterion in group:
                groups.places[criterion.name] = place
        return groups

    def wanted(self, names: Collection[str]) -> Iterator[tuple[Group, Group]]:
        """The groups that have criteria of these names, each with these criteria, in order."""
        chosen = {*names}
        for place in sorted({self.places[name] for name in names if name in self.places}):
            group = self.whole[place][0]
            yield group, [criterion for criterion in group if criterion.name in chosen]


def _grouped(judge: Judge, criteria: Group) -> list[list[int]]:
    """The indices of the criteria that a judge is asked about together."""
    try:
        parts = list(map(list, judge.groups(criteria)))
        if sorted(chain.from_iterable(parts)) != list(range(len(criteria))):
            raise InputError("it must give the index of each criterion once")
        return parts
    except BaseException as error:
        why = failure_of(error, "groups").message
        logger.warning("%s.groups: %s; each is asked alone", judge.name, why)
        return [[index] for index in range(len(criteria))]


def wave_of(rubric: Rubric, name: str) -> int:
    """How many criteria must be settled one after the other before one is asked about."""
    return 0 if rubric.gates is None else rubric.gates.waves[name]


class Stages:
    """The judges of a run: one, those of a panel, or those of a cascade's stages.

    Those of a stage all judge what needs a judge; those of the next one, what was not accepted.

    Args:
        judge: who grades.
        plan: what.
        calibrate: maps the probabilities of the judges that it fits.

    Attributes:
        name: what results call who grades.
        judge: who grades.
        stages: the stages of a cascade; without one, a single one.
        members: the judges of all stages. A voter is an index of this list.
        voters: of each stage, its voters.
        stage_of: of each voter, the index of its stage.
        declared: how the dataset declares that items are scored, if it does.

    Raises:
        InputError: criteria require others, and the judge's verdicts are settled only at the end.
    """

    def __init__(self, judge: Judge, plan: Plan, calibrate: Calibrate | None = None) -> None:
        if plan.gated and judge.learns_weights:
            raise InputError(
                "a panel that learns its weights settles nothing before the end, and criteria that "
                "require others wait for settled verdicts: give the judges' weights as numbers"
            )
        self._needs_judge = plan.to_judge > 0
        computed = plan.items and not self._needs_judge
        self.name = "code" if computed and not judge.voters else judge.name
        self.judge = judge
        self.declared = plan.scoring
        self.calibrate = calibrate
        self.stages = judge.stages
        self.members: list[Member] = []
        self.stage_of: list[int] = []
        self.voters: list[range] = []
        self._grouped_rubric: Rubric | None = None
        self._groups: dict[int, Groups] = {}
        self._unseen: str | None = None
        for index, stage in enumerate(self.stages):
            first = len(self.members)
            self.members += stage.judge.members
            self.voters.append(range(first, len(self.members)))
            self.stage_of += [index] * (len(self.members) - first)

    def judgements(self, plan: Plan, *, at_most: bool = False) -> int:
        """How many judgements a plan takes at the first stage; at most, at all of them."""
        voters = len(self.members) if at_most else len(self.voters[0])
        return plan.verdicts + plan.to_judge * (voters - 1)

    @property
    def note(self) -> str | None:
        """A line to be shown beside the results, or None."""
        own = self.judge.note if self._needs_judge else None
        return f"{own}. {self._unseen}" if own and self._unseen else own or self._unseen

    def decides_without(self, broken: Collection[int]) -> bool:
        """Whether a run has sense without these voters; see `Cascade.goes_on_without`."""
        stages = self.stages[:-1] or self.stages
        return all(
            len({*voters} - {*broken}) >= max(1, stage.judge.votes_needed)
            for stage, voters in zip(stages, self.voters, strict=False)
        )

    def calls(self, item: Item, stage: int, names: Collection[str] | None = None) -> list[Call]:
        """All calls that an item takes at a stage.

        Args:
            item: the item.
            stage: the stage's index.
            names: the criteria that have come so far; None for all. The other criteria of a call do
                not depend on which these are.
        """
        calls: list[Call] = []
        for voter in self.voters[stage]:
            member = self.members[voter]
            judge, suffix = member.judge, member.suffix
            if item.unseen is not None and judge.text_only:
                judge = self._abstaining(judge)
            groups = self.groups(item.rubric, voter)
            for group, wanted in groups.whole if names is None else groups.wanted(names):
                if group[0].needs_judge:
                    calls += calls_about(voter, judge, suffix, item, group, wanted)
                else:
                    from rubricate.run._computed import CODE

                    calls += calls_about(voter, CODE, "", item, group, wanted)
        return calls

    def _abstaining(self, judge: Judge) -> Judge:
        """Abstains in a judge's place, which `note` then says."""
        from rubricate.judge import UNSEEN_NOTE, TextOnly

        self._unseen = UNSEEN_NOTE
        return TextOnly(judge)

    def groups(self, rubric: Rubric, voter: int) -> Groups:
        """The criteria that a voter is asked about together."""
        if rubric is not self._grouped_rubric:  # most often all items have the same
            self._grouped_rubric, self._groups = rubric, {}
        groups = self._groups.get(voter)
        if groups is None:
            judge = self.members[voter].judge
            groups = self._groups[voter] = Groups.of(rubric, judge, with_computed=not voter)
        return groups

    def not_run(self, name: str, votes: Mapping[int, Verdict] | None = None) -> Verdict:
        """The verdict on a criterion that was not judged, or not by all who should have."""
        cast = self.named(votes) if votes and len(self.members) > 1 else ()
        return Verdict(name, NOT_RUN.status, error=NOT_RUN, judge=self.name, votes=cast)

    def named(self, votes: Mapping[int, Verdict]) -> tuple[Verdict, ...]:
        """The verdicts of voters in their order, under their names."""
        return tuple(
            replace(votes[voter], judge=self.members[voter].name) for voter in sorted(votes)
        )

    def first_judgements(self, criterion: Criterion) -> int:
        """How many judgements a criterion takes at the first stage."""
        return len(self.voters[0]) if criterion.needs_judge else 1
