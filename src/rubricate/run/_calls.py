"""What judging an item takes: the calls to one judge or to a panel's, and what has come of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rubricate.judge import GroupJudge, Panel
from rubricate.rubric import Criterion, Failure, Verdict
from rubricate.run._plan import Plan, PlannedItem

__all__ = ["Asked", "Bench", "Call", "JudgedItem"]

NOT_RUN = Failure("not_run", "the run ended before this was judged")


class Asked(NamedTuple):
    """A criterion to be judged, its name, and the key of the answer."""

    criterion: Criterion
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Call:
    """The criteria of an item that a judge is asked about together, mostly one.

    `seat` is the judge's place on the bench.
    """

    seat: int
    judge: GroupJudge
    asked: list[Asked]

    @property
    def needs_judge(self) -> bool:
        """Whether somebody is asked, and nothing computed."""
        return self.asked[0].criterion.needs_judge


@dataclass(slots=True)
class JudgedItem:
    """An item, its verdicts by criterion name, and the calls that are still to be made.

    `votes` are those of a panel so far, by criterion name and the judge's seat. `followers` are the
    calls that wait for the first one to the same judge, by its seat.
    """

    planned: PlannedItem
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    votes: dict[str, dict[int, Verdict]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    followers: dict[int, list[Call]] = field(default_factory=dict)

    def lead(self) -> list[Call]:
        """The calls that come first: of those to each judge one, which the others then follow."""
        first: list[Call] = []
        seats: set[int] = set()
        for call in self.calls:
            if not call.needs_judge or call.seat not in seats:
                first.append(call)
                seats |= {call.seat} if call.needs_judge else set()
            else:
                self.followers.setdefault(call.seat, []).append(call)
        return first


class Bench:
    """The judges of a run: one, or those of a panel, who all judge what needs a judge."""

    def __init__(self, judge: GroupJudge | Panel) -> None:
        self._judge = judge
        self._panel = judge if isinstance(judge, Panel) else None
        self._judges = judge.members if isinstance(judge, Panel) else (judge,)

    def judgements(self, plan: Plan) -> int:
        """How many judgements a plan takes."""
        return plan.verdicts + plan.asked * (len(self._judges) - 1)

    def calls(self, planned: PlannedItem) -> list[Call]:
        """All calls that an item would take if nothing were known."""
        rubric, names, case = planned.rubric, planned.rubric.names, planned.case
        calls: list[Call] = []
        for seat, judge in enumerate(self._judges):
            # What code computes is computed once, by the first.
            places = [place for place, one in enumerate(rubric) if not seat or one.needs_judge]
            for group in judge.groups([rubric[place] for place in places]):
                criteria = [rubric[places[index]] for index in group]
                one = len(criteria) == 1
                keys = [judge.key(case, criteria[0])] if one else judge.keys(case, criteria)
                asked = [
                    Asked(criterion, names[places[index]], key)
                    for criterion, index, key in zip(criteria, group, keys, strict=True)
                ]
                calls.append(Call(seat, judge, asked))
        return calls

    def take(self, item: JudgedItem, seat: int, asked: Asked, verdict: Verdict) -> None:
        """Note a judgement; a panel's last vote on a criterion has its votes counted."""
        if self._panel is None or not asked.criterion.needs_judge:
            item.verdicts[asked.name] = verdict
            return
        votes = item.votes.setdefault(asked.name, {})
        votes[seat] = verdict
        if len(votes) < len(self._judges):
            return
        if any(vote.error == NOT_RUN for vote in votes.values()):
            item.verdicts[asked.name] = self.not_run(asked.name, votes)
            return
        counted = self._panel.verdict(
            asked.criterion, [votes[seat] for seat in range(len(self._judges))]
        )
        if counted.criterion != asked.name:  # a criterion without a name of its own
            counted = replace(counted, criterion=asked.name)
        item.verdicts[asked.name] = counted

    def not_run(self, name: str, votes: Mapping[int, Verdict] | None = None) -> Verdict:
        """The verdict on a criterion that was not judged, or not by all of a panel."""
        given: tuple[Verdict, ...] = ()
        if self._panel is not None and votes:
            members = self._panel.members
            given = tuple(replace(votes[seat], judge=members[seat].name) for seat in sorted(votes))
        return Verdict(name, "failed", error=NOT_RUN, judge=self._judge.name, votes=given)
