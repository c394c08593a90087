"""What judging an item takes: the calls to one judge or to several, and what has come of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from rubricate.dataset import Item
from rubricate.judge import Judge
from rubricate.rubric import Criterion, Failure, Rubric, Verdict
from rubricate.run._computed import CODE
from rubricate.run._plan import Plan

__all__ = ["Asked", "Bench", "Calibrate", "Call", "JudgedItem"]

Group = tuple[list[Criterion], list[str]]
"""Criteria that are asked about together, and their names."""
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


class Asked(NamedTuple):
    """A criterion to be judged, its name, and the key of the answer."""

    criterion: Criterion
    name: str
    key: str


class Call(NamedTuple):
    """The criteria of an item that a judge is asked about together, mostly one.

    `seat` is the judge's place on the bench, and `suffix` what the keys of its replicate end in.
    `failed_before` says that it failed in an earlier run.
    """

    seat: int
    judge: Judge
    suffix: str
    asked: list[Asked]
    failed_before: bool = False

    @property
    def keys(self) -> list[str]:
        """The keys of its answers."""
        asked = self.asked
        return [asked[0].key] if len(asked) == 1 else [one.key for one in asked]

    @property
    def needs_judge(self) -> bool:
        """Whether somebody is asked, and nothing computed."""
        return self.asked[0].criterion.needs_judge


@dataclass(slots=True)
class JudgedItem:
    """An item at an index of its dataset, and its verdicts by criterion name.

    `votes` are those of several judges so far, by criterion name and the judge's seat. `alike` are
    the seats without a vote on a criterion, by its name: their judge would be asked what another
    is asked already, in the same words. `escalated` are the criteria that go on to the next stage
    of a cascade, by its place. `followers` are the calls that wait for the first one to the same
    judge, by its seat; `led` are the seats whose first call has ended.
    `keys` are the journal's keys of all judgements so far, as `votes`.
    """

    item: Item
    index: int
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    votes: dict[str, dict[int, Verdict]] = field(default_factory=dict)
    alike: dict[str, set[int]] = field(default_factory=dict)
    escalated: dict[int, list[str]] = field(default_factory=dict)
    keys: dict[str, dict[int, str]] = field(default_factory=dict)
    followers: dict[int, list[Call]] = field(default_factory=dict)
    led: set[int] = field(default_factory=set)

    def lead(self, calls: list[Call]) -> list[Call]:
        """Those of new calls that may be made: of all to a judge one first, the others behind it.

        What needs no judge waits for none.
        """
        first: list[Call] = []
        for call in calls:
            if not call.needs_judge or call.seat in self.led:
                first.append(call)
            elif call.seat in self.followers:
                self.followers[call.seat].append(call)
            else:
                self.followers[call.seat] = []
                first.append(call)
        return first

    def leads(self, call: Call) -> bool:
        """Whether others wait, or may come to wait, for a call."""
        return call.needs_judge and call.seat in self.followers

    def follow(self, seat: int) -> list[Call]:
        """The calls to a judge that have waited for the first one, which has ended."""
        self.led.add(seat)
        return self.followers.pop(seat, [])


class Bench:
    """The judges of a run: one, those of a panel, or those of a cascade's stages.

    Those of a stage all judge what needs a judge; those of the next one, what did not stand.

    Args:
        judge: who grades.
        calibrate: maps the probabilities of the judges that it fits.
        asks: whether any criterion needs a judge.

    Attributes:
        name: what results call who grades.
        note: a line to be shown beside the results, or None.
    """

    def __init__(
        self, judge: Judge, calibrate: Calibrate | None = None, *, asks: bool = True
    ) -> None:
        self.name = judge.name if asks or judge.voters else CODE.name
        self._asks = asks
        self._judge = judge
        self._calibrate = calibrate
        self._stages = judge.stages
        self._members = [member for stage in self._stages for member in stage.members]
        self._grouped_rubric: Rubric | None = None
        self._grouped: dict[int, list[Group]] = {}
        self._stage_of: list[int] = []
        self._seats: list[range] = []
        self._calibrated = [
            calibrate is not None and calibrate.fits(one.judge) for one in self._members
        ]
        for place, stage in enumerate(self._stages):
            first = len(self._stage_of)
            self._stage_of += [place] * len(stage.members)
            self._seats.append(range(first, len(self._stage_of)))

    def judgements(self, plan: Plan) -> int:
        """How many judgements a plan takes, of a cascade those of the first stage."""
        return plan.verdicts + plan.asked * (len(self._seats[0]) - 1)

    def most_judgements(self, plan: Plan) -> int:
        """How many judgements a plan takes where everything goes on to the last stage."""
        return plan.verdicts + plan.asked * (len(self._members) - 1)

    @property
    def note(self) -> str | None:
        return self._judge.note if self._asks else None

    @property
    def stages(self) -> int:
        """How many stages there are, 1 without a cascade."""
        return len(self._stages)

    def stage_of(self, seat: int) -> int:
        """The place of the stage that a seat belongs to, from 0."""
        return self._stage_of[seat]

    def may_escalate(self, seat: int) -> bool:
        """Whether what the judge at a seat says can take further calls."""
        return self._stage_of[seat] < len(self._stages) - 1

    def calls(
        self, item: JudgedItem, stage: int = 0, names: Collection[str] | None = None
    ) -> list[Call]:
        """All calls that an item would take at a stage if nothing were known.

        `names` are the criteria that have come so far; what they are grouped with in a call does
        not depend on which have. One answer is one vote: where two judges of a stage would be asked
        the same (one in another order of answers, of which a criterion has none), the second has no
        call, and is noted in `item.alike`.
        """
        shown, rubric = item.item, item.item.rubric
        calls: list[Call] = []
        for seat in self._seats[stage]:
            member = self._members[seat]
            judge, suffix = member.judge, member.suffix
            for criteria, called in self._groups(rubric, seat):
                if len(criteria) == 1:
                    criterion, name = criteria[0], called[0]
                    if names is not None and name not in names:
                        continue
                    if criterion.needs_judge:
                        key = judge.key(shown, criterion) + suffix
                        calls.append(Call(seat, judge, suffix, [Asked(criterion, name, key)]))
                    else:
                        key = CODE.key(shown, criterion)
                        calls.append(Call(seat, CODE, "", [Asked(criterion, name, key)]))
                    continue
                keys = judge.keys(shown, criteria)
                asked = [
                    Asked(criterion, name, key + suffix)
                    for criterion, name, key in zip(criteria, called, keys, strict=True)
                    if names is None or name in names
                ]
                if asked:
                    calls.append(Call(seat, judge, suffix, asked))
        return calls if len(self._seats[stage]) == 1 else _each_once(item, calls)

    def _groups(self, rubric: Rubric, seat: int) -> list[Group]:
        """The criteria that the judge at a seat is asked about together, with their names."""
        if rubric is not self._grouped_rubric:  # most often all items have the same
            self._grouped_rubric, self._grouped = rubric, {}
        found = self._grouped.get(seat)
        if found is None:
            criteria, names = list(rubric), rubric.names
            asked = [place for place, one in enumerate(criteria) if one.needs_judge]
            judge = self._members[seat].judge
            groups = [
                [asked[place] for place in group]
                for group in judge.groups([criteria[place] for place in asked])
            ]
            if not seat:  # what is computed is computed once, beside what the first is asked
                groups += [[place] for place, one in enumerate(criteria) if not one.needs_judge]
            found = self._grouped[seat] = [
                ([criteria[place] for place in group], [names[place] for place in group])
                for group in sorted(groups)
            ]
        return found

    def take(self, item: JudgedItem, seat: int, asked: Asked, verdict: Verdict) -> None:
        """Note a judgement; the last one of a stage on a criterion has its votes counted.

        What comes of it stands, or is noted in `item.escalated`.
        """
        if self._calibrated[seat] and self._calibrate is not None:
            verdict = self._calibrate(asked.criterion, verdict)
        item.keys.setdefault(asked.name, {})[seat] = asked.key
        if len(self._members) == 1 or not asked.criterion.needs_judge:
            item.verdicts[asked.name] = verdict
            return
        votes = item.votes.setdefault(asked.name, {})
        votes[seat] = verdict
        place = self._stage_of[seat]
        stage, seats = self._stages[place], self._seats[place]
        alike = item.alike.get(asked.name, ())
        if any(one not in votes and one not in alike for one in seats):
            return
        if any(one in votes and votes[one].error == NOT_RUN for one in seats):
            item.verdicts[asked.name] = self.not_run(asked.name, votes)
            return
        counted = stage.judge.verdict(asked.criterion, [votes.get(one) for one in seats])
        if len(self._stages) > 1:
            if not stage.stands(counted):
                item.escalated.setdefault(place + 1, []).append(asked.name)
                return
            counted = self._judge.at_stage(place, counted, self._named(votes))
        item.verdicts[asked.name] = counted

    def escalations(self, item: JudgedItem, *, waits: bool = True) -> list[Call]:
        """The calls for what of an item goes on to its next stage; asked for once.

        A stage that asks about several criteria at once waits for all that may come to it, unless
        it is told not to.
        """
        calls: list[Call] = []
        for stage, names in list(item.escalated.items()):
            if not (waits and self._is_awaited(item, stage, names)):
                calls += self.calls(item, stage, item.escalated.pop(stage))
        return calls

    def _is_awaited(self, item: JudgedItem, stage: int, names: Collection[str]) -> bool:
        """Whether more criteria may come to a stage that asks about several at once."""
        rubric = item.item.rubric
        groups = (group for seat in self._seats[stage] for group in self._groups(rubric, seat))
        return any(len(called) > 1 for _, called in groups) and any(
            one.needs_judge and one.name not in item.verdicts and one.name not in names
            for one in rubric
        )

    def not_run(self, name: str, votes: Mapping[int, Verdict] | None = None) -> Verdict:
        """The verdict on a criterion that was not judged, or not by all who should have."""
        given = self._named(votes) if votes and len(self._members) > 1 else ()
        return Verdict(name, "failed", error=NOT_RUN, judge=self.name, votes=given)

    def _named(self, votes: Mapping[int, Verdict]) -> tuple[Verdict, ...]:
        """Verdicts in their judges' order, under their judges' names."""
        return tuple(replace(votes[seat], judge=self._members[seat].name) for seat in sorted(votes))


def _each_once(item: JudgedItem, calls: list[Call]) -> list[Call]:
    """The calls without what another one asks, word for word; that is noted in the item."""
    keys: set[tuple[str, str]] = set()
    once: list[Call] = []
    for call in calls:
        left: list[Asked] = []
        for asked in call.asked:
            if (asked.name, asked.key) in keys:
                item.alike.setdefault(asked.name, set()).add(call.seat)
            else:
                keys.add((asked.name, asked.key))
                left.append(asked)
        if left:
            once.append(call._replace(asked=left))
    return once
