"""What judging an item takes: the calls to one judge or to several, and what has come of them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import NamedTuple, Protocol

from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.judge import Judge, Member, checked_key
from rubricate.rubric import Criterion, Failure, Rubric, Usage, Verdict, Waiting
from rubricate.run._computed import CODE
from rubricate.run._failing import Raises, failure_of, unkeyed
from rubricate.run._plan import Plan
from rubricate.run.results import CALLS_SAVED, ItemResult

logger = logging.getLogger(__name__)
Group = list[Criterion]
"""Criteria that are asked about together."""
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
    """A criterion to be judged, and the key of the answer."""

    criterion: Criterion
    key: str


class Call(NamedTuple):
    """The criteria of an item that a judge is asked about together, mostly one.

    `voter` is the judge's index among all of the run, and `suffix` what the keys of its replicate
    end in. `failed_before` says that it failed in an earlier run.
    """

    voter: int
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

    def failed(self, asked: Asked, failure: Failure) -> Verdict:
        """The verdict on one of its criteria where there is no usable answer."""
        return Verdict(asked.criterion.name, "failed", error=failure, judge=self.judge.name)


@dataclass(slots=True)
class JudgedItem:
    """An item at an index of its dataset, and its verdicts by criterion name.

    `votes` are those of several judges so far, by criterion name and voter. `alike` are the voters
    without a vote on a criterion, by its name: they would be asked what another is asked already,
    in the same words. `escalated` are the criteria that go on to the next stage of a cascade, by
    its index. `followers` are the calls that wait for the first one to the same voter; `led` are
    the voters whose first call has ended. `keys` are the journal's keys of all judgements so far,
    as `votes`.

    Where criteria require others, `waiting` are those whose gates are not known yet, `settled` the
    criteria whose verdicts have come since these were looked at, `held` those whose gates hold but
    that are asked about together with others of their wave. `failed_before` are the criteria that
    failed in an earlier run, and `again` those that failed there for a gate of theirs.

    `written` are the item's result and its lines in `results.jsonl`, where a worker has made them.
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
    waiting: Waiting | None = None
    settled: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    failed_before: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    written: tuple[ItemResult, bytes] | None = None

    def settle(self, name: str, verdict: Verdict) -> None:
        """Note the verdict on a criterion, which others may wait for."""
        self.verdicts[name] = verdict
        if self.waiting is not None:
            self.settled.append(name)

    def lead(self, calls: list[Call]) -> list[Call]:
        """Those of new calls that may be made: of all to a judge one first, the others behind it.

        What needs no judge waits for none.
        """
        first: list[Call] = []
        for call in calls:
            if not call.needs_judge or call.voter in self.led:
                first.append(call)
            elif call.voter in self.followers:
                self.followers[call.voter].append(call)
            else:
                self.followers[call.voter] = []
                first.append(call)
        return first

    def leads(self, call: Call) -> bool:
        """Whether others wait, or may come to wait, for a call."""
        return call.needs_judge and call.voter in self.followers

    def follow(self, voter: int) -> list[Call]:
        """The calls to a judge that have waited for the first one, which has ended."""
        self.led.add(voter)
        return self.followers.pop(voter, [])


@dataclass(slots=True)
class _Groups:
    """What a voter is asked about together, of one rubric.

    Attributes:
        whole: each group, and what is asked of it if all is: the same.
        places: the index of each criterion's group.
        waves: the criteria of each wave that need a judge.
        has_several: whether several criteria are asked about at once anywhere.
    """

    whole: list[tuple[Group, Group]] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    waves: dict[int, Group] = field(default_factory=dict)
    has_several: bool = False

    def wanted(self, names: Collection[str]) -> Iterator[tuple[Group, Group]]:
        """The groups that have criteria of these names, each with these criteria, in order."""
        chosen = {*names}
        for place in sorted({self.places[name] for name in names if name in self.places}):
            group = self.whole[place][0]
            yield group, [one for one in group if one.name in chosen]


class Stages:
    """The judges of a run: one, those of a panel, or those of a cascade's stages.

    Those of a stage all judge what needs a judge; those of the next one, what did not stand.

    Args:
        judge: who grades.
        plan: what.
        calibrate: maps the probabilities of the judges that it fits.

    Attributes:
        name: what results call who grades.
        count: how many stages there are, 1 without a cascade.
        note: a line to be shown beside the results, or None.

    Raises:
        InputError: criteria require others, and the judge's verdicts are settled only at the end.
    """

    def __init__(self, judge: Judge, plan: Plan, calibrate: Calibrate | None = None) -> None:
        if plan.gated and judge.learns_weights:
            raise InputError(
                "a panel that learns its weights settles nothing before the end, and criteria that "
                "require others wait for settled verdicts: give the judges' weights as numbers"
            )
        asks = plan.asked > 0
        computed = plan.items and not asks
        self.name = CODE.name if computed and not judge.voters else judge.name
        self._asks = asks
        self._declared = plan.scoring
        self._judge = judge
        self._calibrate = calibrate
        self._stages = judge.stages
        self.count = len(self._stages)
        self._members: list[Member] = []
        self._grouped_rubric: Rubric | None = None
        self._grouped: dict[int, _Groups] = {}
        self._stage_of: list[int] = []
        self._voters: list[range] = []
        self._calibrated: list[bool] = []
        self._unseen: str | None = None
        for index, stage in enumerate(self._stages):
            first = len(self._stage_of)
            for member in stage.members:
                self._members.append(member)
                self._stage_of.append(index)
                self._calibrated.append(calibrate is not None and calibrate.fits(member.judge))
            self._voters.append(range(first, len(self._stage_of)))

    def judgements(self, plan: Plan) -> int:
        """How many judgements a plan takes, of a cascade those of the first stage."""
        return plan.verdicts + plan.asked * (len(self._voters[0]) - 1)

    def most_judgements(self, plan: Plan) -> int:
        """How many judgements a plan takes where everything goes on to the last stage."""
        return plan.verdicts + plan.asked * (len(self._members) - 1)

    @property
    def note(self) -> str | None:
        own = self._judge.note if self._asks else None
        return f"{own}. {self._unseen}" if own and self._unseen else own or self._unseen

    @property
    def caches_prefixes(self) -> bool:
        """Whether the judge's endpoint is known to keep the beginning of prompts."""
        return self._judge.caches_prefixes

    def decides_without(self, broken: Collection[int]) -> bool:
        """Whether a run has sense without these voters; see `Cascade.goes_on_without`."""
        stages = self._stages[:-1] or self._stages
        return all(
            len({*voters} - {*broken}) >= max(1, stage.judge.votes_needed)
            for stage, voters in zip(stages, self._voters, strict=False)
        )

    def stage_of(self, voter: int) -> int:
        """The index of the stage that a voter belongs to."""
        return self._stage_of[voter]

    def may_escalate(self, voter: int) -> bool:
        """Whether what a voter says can take further calls."""
        return self._stage_of[voter] < len(self._stages) - 1

    def first_calls(self, item: JudgedItem) -> list[Call]:
        """The calls that an item would take at the first stage, but for what waits for a gate."""
        gates = item.item.rubric.gates
        if gates is None:
            return self.calls(item)
        item.waiting = gates.waiting()
        return self.calls(item, 0, [name for name in gates.waves if not gates.of(name)])

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
        for voter in self._voters[stage]:
            member = self._members[voter]
            judge, suffix = member.judge, member.suffix
            if shown.unseen is not None and judge.text_only:
                judge = self._unseeing(judge)
            grouped = self._groups(rubric, voter)
            for criteria, asked in grouped.wanted(names) if names is not None else grouped.whole:
                if criteria[0].needs_judge:
                    calls += _calls_to(voter, judge, suffix, shown, criteria, asked)
                else:
                    calls += _calls_to(voter, CODE, "", shown, criteria, asked)
        return calls if len(self._voters[stage]) == 1 else _each_once(item, calls)

    def _unseeing(self, judge: Judge) -> Judge:
        """Who abstains in a judge's place, which `note` then says."""
        from rubricate.judge import UNSEEN_NOTE, TextOnly

        self._unseen = UNSEEN_NOTE
        return TextOnly(judge)

    def _groups(self, rubric: Rubric, voter: int) -> _Groups:
        """The criteria that a voter is asked about together."""
        if rubric is not self._grouped_rubric:  # most often all items have the same
            self._grouped_rubric, self._grouped = rubric, {}
        found = self._grouped.get(voter)
        if found is None:
            found = self._grouped[voter] = _Groups()
            groups: list[tuple[int, Group]] = []  # with the place of the first of each
            waves: dict[int, list[int]] = {}
            for index, one in enumerate(rubric.criteria):
                if one.needs_judge:
                    waves.setdefault(_wave(rubric, one.name), []).append(index)
                elif not voter:  # it is computed once, beside what the first is asked
                    groups.append((index, [one]))
            for wave, places in waves.items():
                asked = found.waves[wave] = [rubric.criteria[index] for index in places]
                judge = self._members[voter].judge
                try:
                    parts = list(map(list, judge.groups(asked)))
                    if sorted(chain.from_iterable(parts)) != list(range(len(asked))):
                        raise InputError("it must give the index of each criterion once")
                except BaseException as error:
                    why = failure_of(error, "groups").message
                    logger.warning("%s.groups: %s; each is asked alone", judge.name, why)
                    parts = [[index] for index in range(len(asked))]
                for part in filter(None, parts):
                    groups.append((places[part[0]], [asked[index] for index in part]))
            groups.sort(key=itemgetter(0))
            for place, (_, group) in enumerate(groups):
                found.whole.append((group, group))
                found.has_several |= len(group) > 1
                for one in group:
                    found.places[one.name] = place
        return found

    def take(self, item: JudgedItem, voter: int, asked: Asked, verdict: Verdict) -> None:
        """Note a judgement; the last one of a stage on a criterion has its votes counted.

        What comes of it stands, or is noted in `item.escalated`.
        """
        name = asked.criterion.name
        item.keys.setdefault(name, {})[voter] = asked.key
        try:
            settled = self._counted(item, voter, asked.criterion, verdict)
        except BaseException as error:
            votes = self._named(item.votes.get(name, {}))
            settled = Verdict(
                name,
                "failed",
                usage=Usage.total(vote.usage for vote in votes) if votes else verdict.usage,
                error=failure_of(error, f"{item.item.id}: {name}: the votes"),
                judge=self.name,
                votes=votes,
            )
        if settled is not None:
            item.settle(name, settled)

    def _counted(
        self, item: JudgedItem, voter: int, criterion: Criterion, verdict: Verdict
    ) -> Verdict | None:
        """What a judgement comes to with the others of its stage; None while that is not known."""
        if self._calibrated[voter] and self._calibrate is not None:
            verdict = self._calibrate(criterion, verdict)
        if len(self._members) == 1 or not criterion.needs_judge:
            return verdict
        votes = item.votes.setdefault(criterion.name, {})
        votes[voter] = verdict
        index = self._stage_of[voter]
        stage, voters = self._stages[index], self._voters[index]
        alike = item.alike.get(criterion.name, ())
        if any(one not in votes and one not in alike for one in voters):
            return None
        if any(one in votes and votes[one].error == NOT_RUN for one in voters):
            return self.not_run(criterion.name, votes)
        counted = stage.judge.verdict(criterion, [votes.get(one) for one in voters])
        if not isinstance(counted, Verdict):
            raise TypeError(f"{type(stage.judge).__name__}.verdict gave no Verdict")
        if len(self._stages) > 1:
            if not stage.stands(counted):
                item.escalated.setdefault(index + 1, []).append(criterion.name)
                return None
            counted = self._judge.at_stage(index, counted, self._named(votes))
        return counted

    def released(self, item: JudgedItem) -> tuple[list[Call], list[Criterion]]:
        """The first calls for what waited for gates that are known now; asked for once.

        Returns:
            The calls of the criteria whose gates hold, and the others, which have their verdicts.
            Where several criteria are asked about at once, all of a wave are waited for.
        """
        gates, waiting = item.item.rubric.gates, item.waiting
        if gates is None or waiting is None:
            return [], []
        unasked: list[Criterion] = []
        while item.settled:
            known = waiting.settle(item.settled.pop())
            outcomes: dict[int, Verdict | None] = {}  # all of a group have the same gates
            for name in known:
                required = gates.of(name)
                if id(required) not in outcomes:
                    outcomes[id(required)] = self._without_asking(item, name)
                verdict = outcomes[id(required)]
                if verdict is None:
                    item.held.append(name)
                else:
                    unasked.append(gates.criterion(name))
                    item.settle(name, self._unasked(unasked[-1], verdict))
                before = item.failed_before
                if before and any(one in before for one in gates.awaited(name)):
                    item.failed_before.add(name)
                    item.again.add(name)
        held = self._held_back(item, 0, item.held)
        free = [name for name in item.held if name not in held]
        item.held = [*held]
        return (self.calls(item, 0, free) if free else []), unasked

    def _without_asking(self, item: JudgedItem, name: str) -> Verdict | None:
        """What becomes of a criterion by its gates; None where they hold."""
        gates = item.item.rubric.gates
        assert gates is not None
        if any(item.verdicts[one].error == NOT_RUN for one in gates.awaited(name)):
            return self.not_run(name)
        try:
            return gates.outcome(name, item.verdicts, self._declared)
        except BaseException as error:  # of a criterion's own `value`, for example
            failure = failure_of(error, f"{item.item.id}: {name}: its gates")
            return Verdict(name, "failed", error=failure, judge=self.name)

    def _unasked(self, criterion: Criterion, verdict: Verdict) -> Verdict:
        """A verdict that gates have given, on one of the criteria that have them."""
        saved = {CALLS_SAVED: self.first_judgements(criterion)}
        return replace(
            verdict,
            criterion=criterion.name,
            detail=saved if verdict.status == "skipped" else None,
        )

    def first_judgements(self, criterion: Criterion) -> int:
        """How many judgements a criterion takes, of a cascade those of the first stage."""
        return len(self._voters[0]) if criterion.needs_judge else 1

    def escalations(self, item: JudgedItem, *, waits: bool = True) -> list[Call]:
        """The calls for what of an item goes on to its next stage; asked for once.

        A stage that asks about several criteria at once waits for all that may come to it, unless
        it is told not to.
        """
        calls: list[Call] = []
        for stage, names in list(item.escalated.items()):
            left = self._held_back(item, stage, names) if waits else ()
            if left:
                item.escalated[stage] = [*left]
            else:
                del item.escalated[stage]
            if len(left) < len(names):
                calls += self.calls(item, stage, [name for name in names if name not in left])
        return calls

    def _held_back(self, item: JudgedItem, stage: int, names: Collection[str]) -> Collection[str]:
        """Those of the criteria that have come to a stage that are to be asked about with others.

        Where a stage asks about several at once, it waits for all of a wave. It does not for those
        of another wave, which may wait for what these come to.
        """
        rubric = item.item.rubric
        voters = self._voters[stage]
        if not names or not any(self._groups(rubric, voter).has_several for voter in voters):
            return ()
        there, waves = {*names}, self._groups(rubric, voters[0]).waves
        open_waves = {
            wave
            for wave in {_wave(rubric, name) for name in names}
            if any(o.name not in item.verdicts and o.name not in there for o in waves.get(wave, ()))
        }
        return dict.fromkeys(name for name in names if _wave(rubric, name) in open_waves)

    def not_run(self, name: str, votes: Mapping[int, Verdict] | None = None) -> Verdict:
        """The verdict on a criterion that was not judged, or not by all who should have."""
        given = self._named(votes) if votes and len(self._members) > 1 else ()
        return Verdict(name, "failed", error=NOT_RUN, judge=self.name, votes=given)

    def _named(self, votes: Mapping[int, Verdict]) -> tuple[Verdict, ...]:
        """Verdicts in their judges' order, under their judges' names."""
        return tuple(
            replace(votes[voter], judge=self._members[voter].name) for voter in sorted(votes)
        )


def _calls_to(
    voter: int, judge: Judge, suffix: str, item: Item, criteria: Group, asked: Group
) -> list[Call]:
    """The call to a judge about those of a group that are asked now.

    Where the judge raises instead of giving their keys, each is asked about alone, and what has no
    key even then fails.
    """
    try:
        if len(criteria) == 1:
            key = judge.key(item, criteria[0])
            if not (isinstance(key, str) and key.isascii()):
                key = checked_key(judge, key)
            return [Call(voter, judge, suffix, [Asked(criteria[0], key + suffix)])]
        keys = [checked_key(judge, key) + suffix for key in judge.keys(item, criteria)]
        known = zip(criteria, keys, strict=True)
        return [Call(voter, judge, suffix, [Asked(o, key) for o, key in known if o in asked])]
    except BaseException as error:
        if len(criteria) > 1:
            return [call for o in asked for call in _calls_to(voter, judge, suffix, item, [o], [o])]
        key = unkeyed(judge, item, criteria[0]) + suffix
        return [Call(voter, Raises(judge, error), suffix, [Asked(criteria[0], key)])]


def _wave(rubric: Rubric, name: str) -> int:
    """How many criteria must be settled one after the other before one is asked about."""
    return 0 if rubric.gates is None else rubric.gates.waves[name]


def _each_once(item: JudgedItem, calls: list[Call]) -> list[Call]:
    """The calls without what another one asks, word for word; that is noted in the item."""
    keys: set[tuple[str, str]] = set()
    once: list[Call] = []
    for call in calls:
        left: list[Asked] = []
        for asked in call.asked:
            if (asked.criterion.name, asked.key) in keys:
                item.alike.setdefault(asked.criterion.name, set()).add(call.voter)
            else:
                keys.add((asked.criterion.name, asked.key))
                left.append(asked)
        if left:
            once.append(call._replace(asked=left))
    return once
