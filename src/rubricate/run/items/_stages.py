"""The judges of a run, and the calls that an item takes at each of its stages.

A call is what a judge is asked about an item at once, with the keys of its answers. If the judge's
own code raises an error, the call's verdicts are failed, and the run continues.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import Protocol

from rubricate.dataset import Item
from rubricate.errors import InputError, JournalError, described
from rubricate.judge import Judge, Member, Send, checked_key
from rubricate.rubric import Criterion, Failure, Rubric, Verdict
from rubricate.run._plan import Plan
from rubricate.run.sending import RunEnds

logger = logging.getLogger(__name__)
NOT_RUN = Failure("not_run", "the run ended before this was judged")
Group = list[Criterion]
"""Criteria that are asked about together."""


@dataclass(slots=True)
class Question:
    """A criterion to be judged, and the key of the answer."""

    criterion: Criterion
    key: str


@dataclass(slots=True)
class Call:
    """The criteria of an item that a judge is asked about together, mostly one.

    Attributes:
        voter: the judge's index among all of the run.
        judge: who is asked.
        suffix: what the keys of its replicate end in.
        questions: the criteria, with the keys of the answers.
        keys: these keys.
        failed_before: whether it failed in an earlier run.
    """

    voter: int
    judge: Judge
    suffix: str
    questions: list[Question]
    keys: list[str]
    failed_before: bool = False

    def about(self, questions: list[Question], *, failed_before: bool = False) -> Call:
        """The same call about some of its questions."""
        keys = [question.key for question in questions]
        return Call(self.voter, self.judge, self.suffix, questions, keys, failed_before)

    @property
    def needs_judge(self) -> bool:
        """Whether a judge is asked; if not, the verdict is computed."""
        return self.questions[0].criterion.needs_judge

    def failed(self, question: Question, failure: Failure) -> Verdict:
        """The verdict on one of its criteria where there is no usable answer."""
        name = question.criterion.name
        return Verdict(name, failure.status, error=failure, judge=self.judge.name)


def calls_about(
    voter: int, judge: Judge, suffix: str, item: Item, group: Group, wanted: Group
) -> list[Call]:
    """The call about those criteria of a group that are wanted.

    If the judge raises instead of giving their keys, each criterion gets its own call, and
    what has no key even then fails.
    """
    try:
        if len(group) == 1:
            key = judge.key(item, group[0])
            if not (isinstance(key, str) and key.isascii()):
                key = checked_key(judge, key)
            key += suffix
            return [Call(voter, judge, suffix, [Question(group[0], key)], [key])]
        keys = [checked_key(judge, key) + suffix for key in judge.keys(item, group)]
        pairs = zip(group, keys, strict=True)
        questions = [Question(criterion, key) for criterion, key in pairs if criterion in wanted]
        return [Call(voter, judge, suffix, questions, [question.key for question in questions])]
    except BaseException as error:
        if len(group) > 1:
            return [
                call
                for criterion in wanted
                for call in calls_about(voter, judge, suffix, item, [criterion], [criterion])
            ]
        key = unkeyed(judge, item, group[0]) + suffix
        return [Call(voter, Raises(judge, error), suffix, [Question(group[0], key)], [key])]


def failure_of(error: BaseException, what: str) -> Failure:
    """Why a verdict is failed whose judge or criterion raised this.

    Everything that they raise fails one verdict, so that no text and no bug costs the others. The
    log at debug level has the traceback.

    Args:
        error: what was raised.
        what: what was being done, for the log.

    Raises:
        BaseException: the error itself, where it is not the judge's: the run is stopped or
            cancelled, or its journal cannot be written.
    """
    if _is_of_the_run(error):
        raise error
    logger.debug("%s: %s", what, described(error), exc_info=error)
    kind = "cancelled" if isinstance(error, asyncio.CancelledError) else "judge_error"
    return Failure(kind, described(error))


def _is_of_the_run(error: BaseException) -> bool:
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        # A judge may raise them, too. Then nobody has cancelled the task that it works in.
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no loop is running: the coroutine is thrown away
            return True
        return task is None or task.cancelling() > 0
    return isinstance(error, RunEnds | JournalError | KeyboardInterrupt)


class Raises(Judge):
    """In place of a judge whose `key` has raised: raises the same, where its verdict is due.

    Args:
        judge: the judge.
        error: what it has raised.
    """

    def __init__(self, judge: Judge, error: BaseException) -> None:
        self.name = judge.name
        self._error = error

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        raise self._error


def unkeyed(judge: Judge, item: Item, criterion: Criterion) -> str:
    """A key for what a judge has none for, under which only its failure is ever kept."""
    texts = (judge.name, item.id, item.submission, item.prompt, item.reference, criterion.name)
    digest = hashlib.blake2b(repr(texts).encode("utf-8", "surrogatepass"), digest_size=16)
    return f"no-key-{digest.hexdigest()}"


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
        judgements, most_judgements: how many judgements the plan takes at the first stage, and at
            all of them together.

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
        self.judgements = plan.verdicts + plan.to_judge * (len(self.voters[0]) - 1)
        self.most_judgements = plan.verdicts + plan.to_judge * (len(self.members) - 1)

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
