"""The state of an item: from its plan and the answers so far to the calls that it needs next."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.rubric import Criterion, Failure, Usage, Verdict
from rubricate.run._plan import author_of
from rubricate.run._progress import Progress
from rubricate.run.items._stages import NOT_RUN, Call, Question, Stages, failure_of, wave_of
from rubricate.run.journal import Known, verdict_from_record
from rubricate.run.results import CALLS_SAVED, ItemResult

if TYPE_CHECKING:
    from rubricate.rubric import ScoringRules, Waiting


@dataclass(slots=True)
class JudgedItem:
    """An item at an index of its dataset, and what has come of it so far.

    Attributes:
        item, index: the item and its place.
        verdicts: by criterion name.
        votes: those of several judges so far, by criterion name and voter.
        keys: the journal's keys of all judgements so far, as `votes`.
        duplicates: the voters that have no vote of their own on a criterion, by its name: they
            would be asked what another voter is asked, in the same words.
        escalated: the criteria that continue at a stage of a cascade, by its index.
        waiting: the criteria whose gates are not known yet; None where there are none.
        settled: the criteria whose verdicts have come since the gates were looked at.
        held: criteria whose gates hold, but that are asked about together with others.
        failed_before: the criteria that failed in an earlier run.
        again: those that failed there because a criterion that they require did.
        followers: the calls that wait for the first one to the same judge, by the judge's identity:
            all its replicates begin with what the first one has put into the endpoint's cache.
        led: the judges whose first call has ended.
        written: the item's result and its lines in `results.jsonl`, where a worker has made them.
    """

    item: Item
    index: int
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    votes: dict[str, dict[int, Verdict]] = field(default_factory=dict)
    keys: dict[str, dict[int, str]] = field(default_factory=dict)
    duplicates: dict[str, set[int]] = field(default_factory=dict)
    escalated: dict[int, list[str]] = field(default_factory=dict)
    waiting: Waiting | None = None
    settled: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    failed_before: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    followers: dict[int, list[Call]] = field(default_factory=dict)
    led: set[int] = field(default_factory=set)
    written: tuple[ItemResult, bytes] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all its verdicts are there."""
        return len(self.verdicts) == len(self.item.rubric.criteria)

    @property
    def has_next(self) -> bool:
        """Whether answers have come that may make further calls necessary."""
        return bool(self.escalated or self.settled)

    def result(self, rules: ScoringRules, author_key: str | None) -> ItemResult:
        """The item's result, once its verdicts are there.

        Args:
            rules: how it is scored.
            author_key: where its metadata says which model wrote it; None for the usual keys.
        """
        author = author_of(self.item, author_key)
        return ItemResult.scored(
            self.item, self.verdicts, rules, index=self.index, author=author, keys=self.keys
        )

    def lead(self, calls: list[Call]) -> list[Call]:
        """Those of new calls that may be made: of all to a judge one first, the others behind it.

        What needs no judge waits for none.
        """
        first: list[Call] = []
        for call in calls:
            judge = id(call.judge)
            if not call.needs_judge or judge in self.led:
                first.append(call)
            elif judge in self.followers:
                self.followers[judge].append(call)
            else:
                self.followers[judge] = []
                first.append(call)
        return first

    def leads(self, call: Call) -> bool:
        """Whether others wait, or may come to wait, for a call."""
        return id(call.judge) in self.followers and call.needs_judge

    def follow(self, call: Call) -> list[Call]:
        """The calls that have waited for the first one to the same judge, which has ended."""
        self.led.add(id(call.judge))
        return self.followers.pop(id(call.judge), [])


Pending = tuple[JudgedItem, Call | None]
"""An item and one of its calls; None if it needs none."""


class ItemMachine:
    """Which calls items need next, and what their verdicts are; one for all items of a run.

    Args:
        stages: who judges.
        progress: is kept up to date.
        only_failed: ask for nothing but what failed in an earlier run.
        on_settled: called with an item and a criterion's name when its verdict is there.
    """

    def __init__(
        self,
        stages: Stages,
        progress: Progress,
        *,
        only_failed: bool = False,
        on_settled: Callable[[JudgedItem, str], None] | None = None,
    ) -> None:
        self.stages = stages
        self._progress = progress
        self._only_failed = only_failed
        self._on_settled = on_settled
        self._calibrated: set[int] = set()  # voters
        if stages.calibrate is not None:
            fits = stages.calibrate.fits
            self._calibrated = {v for v, m in enumerate(stages.members) if fits(m.judge)}
        self._has_votes = len(stages.members) > 1
        self._last_stage = stages.voters[-1]  # the voters after whom nobody is asked

    def start(self, item: Item, index: int) -> tuple[JudgedItem, list[Call]]:
        """The state of an item, and the calls that it takes first if no answer is known."""
        judged = JudgedItem(item, index)
        if item.data.unreadable is not None:  # its criteria fail; the journal keeps nothing of that
            for name in item.rubric.names:
                verdict = Verdict(name, "failed", error=Failure("document", item.data.unreadable))
                self._progress.count(verdict)
                self._settle(judged, name, verdict)
            return judged, []
        gates = item.rubric.gates
        if gates is None:
            return judged, self._calls(judged, 0)
        judged.waiting = gates.waiting()
        return judged, self._calls(judged, 0, [name for name in gates.waves if not gates.of(name)])

    def _calls(
        self, item: JudgedItem, stage: int, names: Collection[str] | None = None
    ) -> list[Call]:
        """The calls at a stage. One answer is one vote.

        Where two judges of a stage would be asked the same in the same words (one of them in
        another order of answers, of which a criterion has none), the second has no call.
        """
        calls = self.stages.calls(item.item, stage, names)
        if stage:  # what the first stage takes is in the total from the start
            self._progress.total += sum(len(call.questions) for call in calls)
        if len(self.stages.voters[stage]) == 1:
            return calls
        keys: set[tuple[str, str]] = set()
        distinct: list[Call] = []
        for call in calls:
            questions: list[Question] = []
            for question in call.questions:
                name = question.criterion.name
                if (name, question.key) in keys:
                    item.duplicates.setdefault(name, set()).add(call.voter)
                    self._progress.total -= 1
                else:
                    keys.add((name, question.key))
                    questions.append(question)
            if questions:
                distinct.append(call.about(questions))
        return distinct

    def take_known(self, item: JudgedItem, calls: list[Call], known: Known) -> list[Call]:
        """Take the verdicts whose answers are stored; gives the calls that are to be made.

        Args:
            item: whose calls these are.
            calls: the calls.
            known: what is stored of their answers, at least.
        """
        if not (known.records or self._only_failed):
            return calls
        saved: list[Usage] = []
        remaining = [self._unanswered(item, call, known, saved) for call in calls]
        if saved:
            self._progress.saved = Usage.total((self._progress.saved, *saved))
        return [call for call in remaining if call is not None]

    def _unanswered(
        self, item: JudgedItem, call: Call, known: Known, saved: list[Usage]
    ) -> Call | None:
        """A call about what is not stored of its answers; None where all are.

        Args:
            item, call, known: as of `take_known`.
            saved: gets what the stored ones took when they were asked for.
        """
        progress, (records, cached) = self._progress, known
        questions: list[Question] = []
        for question in call.questions:
            record, name = records.get(question.key), question.criterion.name
            if record is not None and record["status"] != "failed":
                verdict = _remembered(item, call, question, record)
                self._vote(item, call.voter, question, verdict)
                progress.count(verdict)
                if question.key in cached:
                    progress.cached += 1
                else:
                    progress.resumed += 1
                saved.append(verdict.usage)
            elif record is None and self._only_failed and name not in item.again:
                self._vote(item, call.voter, question, call.failed(question, NOT_RUN))
                progress.done += 1
            else:
                questions.append(question)
                if record is not None:
                    item.failed_before.add(name)
        if not questions:
            return None
        failed_before = questions[0].key in records
        if len(questions) == len(call.questions) and failed_before == call.failed_before:
            return call
        return call.about(questions, failed_before=failed_before)

    def take(self, item: JudgedItem, call: Call, verdicts: Collection[Verdict]) -> None:
        """Take a judge's answers, one to each question of a call."""
        for question, verdict in zip(call.questions, verdicts, strict=True):
            self._vote(item, call.voter, question, verdict)
            self._progress.count(verdict)

    def next_calls(self, item: JudgedItem, *, waits: bool = True) -> list[Call]:
        """The calls that the answers since the last time have made necessary, each given once.

        They are at a further stage of a cascade, or about criteria whose gates hold. Criteria whose
        gates do not hold get their verdicts.

        Args:
            item: the item.
            waits: whether a stage that asks about several criteria at once waits for all that may
                come to it.
        """
        calls: list[Call] = []
        for stage, names in list(item.escalated.items()):
            held = self._held_back(item, stage, names) if waits else ()
            if held:
                item.escalated[stage] = [*held]
            else:
                del item.escalated[stage]
            if free := [name for name in names if name not in held]:
                calls += self._calls(item, stage, free)
        if item.settled:
            calls += self._calls_behind_gates(item)
        return calls

    def end(self, item: JudgedItem) -> int:
        """Note what an item has no verdict on because the run has ended; how many these are."""
        names = [name for name in item.item.rubric.names if name not in item.verdicts]
        for name in names:
            self._settle(item, name, self.stages.not_run(name, item.votes.get(name)))
        return len(names)

    def may_bring_more(self, item: JudgedItem, call: Call) -> bool:
        """Whether other calls wait for a call, or its answers can make further ones necessary."""
        return (
            item.waiting is not None
            or id(call.judge) in item.followers
            or call.voter not in self._last_stage
        )

    # Votes

    def _settle(self, item: JudgedItem, name: str, verdict: Verdict) -> None:
        """Note the verdict on a criterion, which others may wait for."""
        item.verdicts[name] = verdict
        if item.waiting is not None:
            item.settled.append(name)
        if self._on_settled is not None:
            self._on_settled(item, name)

    def _vote(self, item: JudgedItem, voter: int, question: Question, verdict: Verdict) -> None:
        """Note a judgement; the last one of a stage on a criterion has its votes counted.

        What comes of it is the item's verdict, or goes to the next stage (`escalated`).
        """
        name, stages = question.criterion.name, self.stages
        item.keys.setdefault(name, {})[voter] = question.key
        if not (self._calibrated or self._has_votes):  # one judge, whose answers are the verdicts
            self._settle(item, name, verdict)
            return
        try:
            settled = self._counted(item, voter, question.criterion, verdict)
        except BaseException as error:
            votes = stages.named(item.votes.get(name, {}))
            settled = Verdict(
                name,
                "failed",
                usage=Usage.total(vote.usage for vote in votes) if votes else verdict.usage,
                error=failure_of(error, f"{item.item.id}: {name}: the votes"),
                judge=stages.name,
                votes=votes,
            )
        if settled is not None:
            self._settle(item, name, settled)

    def _counted(
        self, item: JudgedItem, voter: int, criterion: Criterion, verdict: Verdict
    ) -> Verdict | None:
        """What a judgement comes to with the others of its stage; None while that is not known."""
        stages = self.stages
        if voter in self._calibrated and stages.calibrate is not None:
            verdict = stages.calibrate(criterion, verdict)
        if not self._has_votes or not criterion.needs_judge:
            return verdict
        votes = item.votes.setdefault(criterion.name, {})
        votes[voter] = verdict
        index = stages.stage_of[voter]
        stage, voters = stages.stages[index], stages.voters[index]
        duplicates = item.duplicates.get(criterion.name, ())
        if any(other not in votes and other not in duplicates for other in voters):
            return None
        if any(other in votes and votes[other].error == NOT_RUN for other in voters):
            return stages.not_run(criterion.name, votes)
        counted = stage.judge.verdict(criterion, [votes.get(other) for other in voters])
        if not isinstance(counted, Verdict):
            raise TypeError(f"{type(stage.judge).__name__}.verdict gave no Verdict")
        if len(stages.stages) > 1:
            if not stage.stands(counted):
                item.escalated.setdefault(index + 1, []).append(criterion.name)
                return None
            counted = stages.judge.at_stage(index, counted, stages.named(votes))
        return counted

    # Gates and groups

    def _calls_behind_gates(self, item: JudgedItem) -> list[Call]:
        """The first calls about criteria whose gates hold, as is known now.

        Criteria whose gates do not hold get their verdicts. Where several criteria are asked about
        at once, all of a wave are waited for.
        """
        gates, waiting = item.item.rubric.gates, item.waiting
        assert gates is not None
        assert waiting is not None
        while item.settled:
            known = waiting.settle(item.settled.pop())
            outcomes: dict[int, Verdict | None] = {}  # all of a group have the same gates
            for name in known:
                required = gates.of(name)
                if id(required) not in outcomes:
                    outcomes[id(required)] = self._verdict_by_gates(item, name)
                verdict = outcomes[id(required)]
                if verdict is None:
                    item.held.append(name)
                else:
                    judgements = self.stages.first_judgements(gates.criterion(name))
                    self._progress.total -= judgements
                    saved = {CALLS_SAVED: judgements} if verdict.status == "skipped" else None
                    self._settle(item, name, replace(verdict, criterion=name, detail=saved))
                before = item.failed_before
                if before and any(other in before for other in gates.awaited(name)):
                    item.failed_before.add(name)
                    item.again.add(name)
        held = self._held_back(item, 0, item.held)
        free = [name for name in item.held if name not in held]
        item.held = [*held]
        return self._calls(item, 0, free) if free else []

    def _verdict_by_gates(self, item: JudgedItem, name: str) -> Verdict | None:
        """The verdict that a criterion's gates give it; None where they hold."""
        gates, stages = item.item.rubric.gates, self.stages
        assert gates is not None
        if any(item.verdicts[other].error == NOT_RUN for other in gates.awaited(name)):
            return stages.not_run(name)
        try:
            return gates.outcome(name, item.verdicts, stages.declared)
        except BaseException as error:  # of a criterion's own `value`, for example
            failure = failure_of(error, f"{item.item.id}: {name}: its gates")
            return Verdict(name, "failed", error=failure, judge=stages.name)

    def _held_back(self, item: JudgedItem, stage: int, names: Collection[str]) -> Collection[str]:
        """Those of the criteria at a stage that wait, to be asked about together with others.

        Where a stage asks about several at once, it waits for all of a wave. It does not for those
        of another wave, which may wait for what these come to.
        """
        stages, rubric = self.stages, item.item.rubric
        voters = stages.voters[stage]
        if not names or not any(stages.groups(rubric, voter).has_several for voter in voters):
            return ()
        here, waves = {*names}, stages.groups(rubric, voters[0]).waves
        open_waves = {
            wave
            for wave in {wave_of(rubric, name) for name in names}
            if any(
                criterion.name not in item.verdicts and criterion.name not in here
                for criterion in waves.get(wave, ())
            )
        }
        return dict.fromkeys(name for name in names if wave_of(rubric, name) in open_waves)


def _remembered(
    item: JudgedItem, call: Call, question: Question, record: dict[str, Any]
) -> Verdict:
    """The verdict of a journal's record; failed where the criterion cannot read the answer."""
    try:
        verdict = verdict_from_record(record, question.criterion)
        if verdict.value is not None and not 0 <= verdict.value <= 1:
            raise InputError(f"the criterion gave the value {verdict.value}: not from 0 to 1")
        return verdict
    except BaseException as error:
        return call.failed(question, failure_of(error, f"{item.item.id}: a stored answer"))
