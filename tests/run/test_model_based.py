"""Random runs against a sequential reference, written from the documentation.

Each case is a chain of runs into one folder. Kinds of criteria, items that are the same, rubrics of
their own, trees, gates, panels, cascades, grouping, orders, replicates, weights, submissions,
concurrency and the ways of ending early are drawn by the case's number; the judges answer by a hash
of what they are asked and of the run in which they are asked, so that an answer that was asked for
twice shows.

The machine of items (`run/items`) is tried with such chains by itself, too: without an event loop,
a journal or prompts, that is three times as many in less time.

Some hundred cases run here. `RUBRICATE_MODEL_RUNS=5000 pytest tests/run/test_model_based.py` runs
more, `RUBRICATE_MODEL_CASE=17` one alone.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import os
import random
import re
import statistics
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import rubricate
from rubricate import (
    Cascade,
    Criterion,
    CriterionOption,
    DataItem,
    Group,
    MetricCriterion,
    Panel,
    PythonModel,
    RegexCriterion,
    Rubric,
    RubricDataset,
    RunStopped,
    ScaleCriterion,
    Usage,
    Verdict,
)
from rubricate.dataset import Item
from rubricate.judge import Completion, Explained, Judge, ModelJudge
from rubricate.rubric import Failure
from rubricate.run import Progress, RunOptions
from rubricate.run._plan import Plan
from rubricate.run.items import Call, ItemMachine, JudgedItem, Question, Stages
from rubricate.run.journal import Known, record_of, to_json, verdict_from_record

RUNS = int(os.environ.get("RUBRICATE_MODEL_RUNS", "80"))
MACHINE_RUNS = 3 * RUNS
ONLY = os.environ.get("RUBRICATE_MODEL_CASE")
BATCHES = 8
PRICE = 0.01
ABSTAINS = "CANNOT_ASSESS"
NOT_RUN = ("not_run", "not_run", None)
TEXTS = ("Rome, Paris: one", "Rome, Paris: two 12", "Rome, Paris: three")
VALUES: dict[str, dict[str, float | None]] = {
    "b1": {"MET": 1.0, "UNMET": 0.0},
    "b2": {"MET": 1.0, "UNMET": 0.0},
    "c1": {"poor": 0.0, "fair": 0.4, "good": 1.0, "n/a": None},
    "s1": {"1": 0.0, "2": 0.5, "3": 1.0},
    "m1": {"0": 0.0, "1": 0.5, "2": 1.0},
    "r1": {"MET": 1.0, "UNMET": 0.0},
}
"""What the answers to each criterion are worth; of the metric, by how many items are found."""
WEIGHTS = {"b1": 2.0, "b2": -1.0, "c1": 1.0, "s1": 3.0, "m1": 1.0, "r1": 1.0}
GROUP_WEIGHTS = {"g": 2.0, "h": 1.0}
ORDERS = {"b1": 6, "b2": 6, "c1": 6, "s1": 6, "m1": 1}
"""How many different orders of the answers there are, at least."""


EARLIER = ("r1", "c1", "b1", "s1", "m1", "b2")
"""A criterion requires earlier ones only."""


class Gate(NamedTuple):
    """What a criterion requires: another one, or the group `g`."""

    of: str
    label: str | None = None
    at_least: float | None = None

    def document(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value is not None}


Nested = tuple["str | tuple[str, Nested]", ...]
"""Names of criteria, and groups: a name with what is in it."""


def flat(nodes: Nested) -> tuple[str, ...]:
    return tuple(
        name for node in nodes for name in ((node,) if isinstance(node, str) else flat(node[1]))
    )


def criterion(name: str, weight: float, gates: tuple[Gate, ...] = ()) -> Criterion:
    told: dict[str, Any] = {"name": name, "weight": weight, "requirement": f"Question {name}?"}
    told["requires"] = [
        {{"of": "criterion"}.get(key, key): value for key, value in gate.document().items()}
        for gate in gates
    ]
    match name:
        case "c1":
            worths = VALUES[name].items()
            options = [CriterionOption(label=n, value=v) for n, v in worths if v is not None]
            return Criterion(
                **told,
                scale_type="nominal",
                options=(*options, CriterionOption(label="n/a", na=True)),
            )
        case "s1":
            return ScaleCriterion(**told, low=1, high=3)
        case "m1":
            return MetricCriterion(**told, tp_instructions=("Rome", "Paris"), metrics=("recall",))
        case "r1":
            told.pop("requirement")
            return RegexCriterion(**told, pattern=r"\d")
    return Criterion(**told)


def chance(*about: object) -> random.Random:
    return random.Random(zlib.crc32(repr(about).encode()))


def answered(case: int, epoch: int, judge: str, text: str, name: str, order: object) -> str | None:
    """What a judge says of a text when it is asked in a run; None for nothing that can be read."""
    draw = chance(case, epoch, judge, text, name, order)
    if draw.random() < 0.08:
        return None
    if name != "m1" and draw.random() < 0.1:
        return ABSTAINS
    return draw.choice(list(VALUES[name]))


class Ask(NamedTuple):
    """A request: who was asked about what, each criterion with the order of its answers."""

    judge: str
    text: str
    about: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass
class World:
    """The judges of a case, as language models in this process."""

    case: int
    epoch: int = 0
    asks: list[Ask] = field(default_factory=list)
    stop: asyncio.Event | None = None
    stop_after: int = 0

    def __post_init__(self) -> None:
        self.models = {name: self._model(name) for name in "abc"}

    def judge(self, name: str, size: int) -> ModelJudge:
        if size == 1:
            return ModelJudge(self.models[name])
        return ModelJudge(self.models[name], Explained(criteria_per_call=size))

    def _model(self, judge: str) -> PythonModel:
        async def answer(messages: Any) -> Completion:
            return await self._answer(judge, messages)

        return PythonModel(answer, name=judge)

    async def _answer(self, judge: str, messages: Any) -> Completion:
        prompt = messages[1]["content"]
        _, text, asked = re.split(r"<submission-\w+>\n|\n</submission-\w+>", prompt)
        names = re.findall(r"Question (\w+)\?", asked)
        parts = re.split(r"Question \w+\?", asked)[1:]
        about = tuple(
            (name, tuple(re.findall(r"^- (\w+|n/a)(?::.*)?$", part, re.MULTILINE)))
            for name, part in zip(names, parts, strict=True)
        )
        self.asks.append(Ask(judge, text, tuple((n, () if n == "m1" else o) for n, o in about)))
        for _ in range(chance(self.case, len(self.asks)).randrange(3)):
            await asyncio.sleep(0)
        if self.stop is not None and len(self.asks) >= self.stop_after:
            self.stop.set()
        usage = Usage(requests=1, cost=PRICE)
        said = [
            answered(self.case, self.epoch, judge, text, name, () if name == "m1" else order)
            for name, order in about
        ]
        if None in said:
            return Completion("?", usage)
        replies = [_reply(name, label) for (name, _), label in zip(about, said, strict=True)]
        grouped = "each to be judged by itself" in asked
        reply: Any = {str(n): one for n, one in enumerate(replies, 1)} if grouped else replies[0]
        return Completion(json.dumps(reply), usage)


def _reply(name: str, label: str | None) -> dict[str, Any]:
    verdict: Any = int(label) if name == "s1" and label != ABSTAINS else label
    if name == "m1":
        found = int(label or 0)
        verdict = {
            "items": [
                {
                    "item": item,
                    "classified": "positive" if place < found else "unmentioned",
                    "quote": item if place < found else "",
                }
                for place, item in enumerate(("Rome", "Paris"))
            ],
            "others": [],
        }
    return {"reason": "r", "evidence": [], "verdict": verdict}


# What is drawn


@dataclass(frozen=True)
class StageDrawn:
    judges: tuple[str, ...]
    size: int = 1
    replicates: int = 1
    permutations: int = 1
    min_votes: int = 1

    @property
    def votes(self) -> bool:
        return len(self.judges) * self.replicates * self.permutations > 1

    def members(self) -> Iterator[tuple[str, int, int]]:
        """Judge, order and replicate of each member."""
        orders, numbers = range(self.permutations), range(1, self.replicates + 1)
        return itertools.product(self.judges, orders, numbers)


@dataclass(frozen=True)
class RunDrawn:
    items: tuple[tuple[str, tuple[str, ...] | None], ...]  # text, and the names of its own rubric
    rubric: tuple[str, ...]
    factors: dict[str, float]
    stages: tuple[StageDrawn, ...]
    threshold: float
    cannot_assess: str
    concurrency: int
    leader_first: bool
    only_failed: bool
    fresh: bool
    limit: int | None
    ends: str | None  # early: `stop` or `cost`
    after: int
    places: dict[str, str]  # of criteria: in the group `g`, or in `h` that is in it
    wanted: dict[str, tuple[Gate, ...]]  # by criterion, or by the group `g`
    skipped: str

    def __post_init__(self) -> None:
        """Leave out what depends on which item comes first: two that share a later stage's group,
        of which each brings another part; where gates differ, of the first stage too. And of items
        that are the same, which one finds that a gate failed in an earlier run."""
        if any(self.wanted.values()):
            if self.only_failed:
                first = {text: (text, own) for text, own in reversed(self.items)}
                object.__setattr__(self, "items", tuple(reversed(first.values())))
            if len(self.items) > 1 and any(own is not None for _, own in self.items):
                stages = tuple(replace(stage, size=1) for stage in self.stages)
                object.__setattr__(self, "stages", stages)
        if len(self.items) > 1:
            later = tuple(replace(stage, size=1) for stage in self.stages[1:])
            object.__setattr__(self, "stages", (self.stages[0], *later))

    @property
    def simple(self) -> bool:
        """Whether each request is about one criterion, and made once."""
        return all(stage.size == 1 == stage.replicates for stage in self.stages)

    def nested(self, own: tuple[str, ...] | None) -> Nested:
        """The rubric, a group standing where the first of what is in it would."""
        names = self.rubric if own is None else own
        inner = tuple(name for name in names if self.places.get(name) == "h")
        group: list[Any] = []
        nodes: list[Any] = []
        for name in names:
            place = self.places.get(name, "")
            if place and not group:
                nodes.append("g")
            if place == "h" and ("h", inner) not in group:
                group.append(("h", inner))
            elif place == "g":
                group.append(name)
            elif not place:
                nodes.append(name)
        return tuple(("g", tuple(group)) if node == "g" else node for node in nodes)

    def names(self, own: tuple[str, ...] | None) -> tuple[str, ...]:
        return flat(self.nested(own))

    def gates(self, names: tuple[str, ...], name: str) -> tuple[Gate, ...]:
        """What a criterion, or the group `g`, requires in a rubric of these criteria."""
        of_group = [EARLIER.index(one) for one in names if self.places.get(one)]
        place = min(of_group, default=0) if name == "g" else EARLIER.index(name)
        found = []
        for gate in self.wanted.get(name, ()):
            if gate.of == "g":
                if of_group and max(of_group) < place:
                    found.append(gate)
            elif gate.of in names and EARLIER.index(gate.of) < place:
                found.append(gate)
        return tuple(found)

    def all_gates(self, names: tuple[str, ...], name: str) -> tuple[Gate, ...]:
        """The same of a criterion, with those of its group."""
        above = self.gates(names, "g") if self.places.get(name) else ()
        return (*above, *self.gates(names, name))

    def weight(self, name: str) -> float:
        return WEIGHTS[name] * self.factors[name]


def drawn(draw: random.Random) -> RunDrawn:
    def names() -> tuple[str, ...]:
        return tuple(draw.sample(list(WEIGHTS), draw.randint(1, 5)))

    def stage() -> StageDrawn:
        judges = tuple(draw.sample("abc", draw.choice([1, 1, 2, 3])))
        replicates, permutations = draw.choice([1, 1, 1, 2]), draw.choice([1, 1, 2, 3])
        most = len(judges) * replicates * permutations
        least = draw.choice([1, 1, 1, min(2, most), most])
        return StageDrawn(judges, draw.choice([1, 1, 2, 9]), replicates, permutations, least)

    def gate(name: str) -> Gate:
        of = draw.choice(EARLIER[: EARLIER.index(name)] if name != "g" else EARLIER[:3])
        if name not in ("g", "r1", "c1") and draw.random() < 0.25:
            return Gate("g", at_least=draw.choice([0.3, 0.5, 1.0]))
        if of == "m1" or draw.random() < 0.3:
            return Gate(of, at_least=draw.choice([0.0, 0.4, 0.5, 1.0]))
        return Gate(of, label=draw.choice([None, *VALUES[of]]))

    def gates(name: str) -> tuple[Gate, ...]:
        count = draw.choice([0, 1, 1, 2]) if name != "g" else draw.choice([0, 1])
        return tuple(gate(name) for _ in range(count))

    stages = tuple(stage() for _ in range(draw.choice([1, 1, 2])))
    has_tree, has_gates = draw.random() < 0.4, draw.random() < 0.5
    run = RunDrawn(
        items=tuple(
            (draw.choice(TEXTS), names() if draw.random() < 0.5 else None)
            for _ in range(draw.randint(1, 5))
        ),
        rubric=names(),
        factors={name: draw.choice([1.0, 1.0, 2.5]) for name in WEIGHTS},
        stages=stages,
        threshold=draw.choice([0.5, 0.7, 1.0]),
        cannot_assess=draw.choice(["skip", "zero", "partial", "fail"]),
        concurrency=draw.choice([1, 2, 5, 32]),
        leader_first=draw.random() < 0.5,
        only_failed=draw.random() < 0.15,
        fresh=False,
        limit=draw.choice([None, None, None, 2]),
        ends=None,
        after=draw.randint(1, 12),
        places={name: draw.choice(["", "g", "h"]) for name in WEIGHTS} if has_tree else {},
        wanted={name: gates(name) for name in (*EARLIER[1:], "g")} if has_gates else {},
        skipped=draw.choice(["zero", "skip"]),
    )
    changes: dict[str, Any] = {"fresh": not run.only_failed and draw.random() < 0.1}
    if run.simple and not run.only_failed and draw.random() < 0.4:
        changes["ends"] = draw.choice(["stop", "cost"])
    return RunDrawn(**{**run.__dict__, **changes})


# The engine


def judge_of(run: RunDrawn, judge: Callable[[str, int], Judge]) -> Any:
    """The judge, panel or cascade that is drawn, of judges by name and criteria in a call."""

    def one(stage: StageDrawn) -> Any:
        made: list[Any] = [judge(name, stage.size) for name in stage.judges]
        if not stage.votes:
            return made[0]
        return Panel(
            made,
            replicates=stage.replicates,
            permutations=stage.permutations,
            min_votes=stage.min_votes,
        )

    stages = [one(stage) for stage in run.stages]
    return stages[0] if len(stages) == 1 else Cascade(stages, run.threshold)


def dataset_of(run: RunDrawn) -> RubricDataset:
    def rubric(own: tuple[str, ...] | None) -> Rubric:
        names = run.names(own)

        def built(nodes: Nested) -> list[Any]:
            return [
                criterion(node, run.weight(node), run.gates(names, node))
                if isinstance(node, str)
                else Group(
                    name=node[0],
                    weight=GROUP_WEIGHTS[node[0]],
                    criteria=built(node[1]),
                    requires=[
                        {"criterion": gate.of}
                        | {k: v for k, v in gate.document().items() if k != "of"}
                        for gate in (run.gates(names, "g") if node[0] == "g" else ())
                    ],
                )
                for node in nodes
            ]

        return Rubric(built(run.nested(own)), scoring={"skipped": run.skipped})

    items = [
        DataItem(text, id=str(place), rubric=None if own is None else rubric(own))
        for place, (text, own) in enumerate(run.items)
    ]
    return RubricDataset("A task.", rubric(None), items)


def graded(world: World, run: RunDrawn, folder: Path, ends: str | None) -> rubricate.Result:
    dataset = dataset_of(run)
    told: dict[str, Any] = {"max_cost": PRICE * run.after} if ends == "cost" else {}
    if ends != "stop" and run.only_failed:
        told["retry_failed"] = True

    async def main() -> rubricate.Result:
        world.stop = asyncio.Event() if ends == "stop" else None
        world.stop_after = run.after
        try:
            return await rubricate.agrade(
                dataset,
                judge_of(run, world.judge),
                run_dir=folder,
                concurrency=run.concurrency,
                leader_first=run.leader_first,
                cannot_assess=run.cannot_assess,
                limit=run.limit,
                stop=world.stop,
                **told,
            )
        except RunStopped as stopped:
            if ends is None:
                raise
            return stopped.result

    world.asks.clear()
    world.epoch += 1
    (folder / "run.json").unlink(missing_ok=True)  # whatever the folder has may be replaced
    return asyncio.run(main())


# The machine of items alone: no event loop, no model


class HashJudge(Judge):
    """Answers at once, by a hash of what it is asked."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self._size = size
        self._turn = 0

    def in_turn(self, turn: int) -> HashJudge:
        other = HashJudge(self.name, self._size)
        other._turn = turn
        return other

    def groups(self, criteria: Sequence[Criterion]) -> list[list[int]]:
        indices = range(len(criteria))
        return [[*indices[start : start + self._size]] for start in indices[:: self._size]]

    def keys(self, item: Item, criteria: Sequence[Criterion]) -> list[str]:
        about = [(one.name, _order(one.name, self._turn)) for one in criteria]
        return [repr((self.name, item.submission, about, one.name)) for one in criteria]

    def key(self, item: Item, criterion: Criterion) -> str:
        return self.keys(item, [criterion])[0]

    async def judge(self, item: Item, criterion: Criterion, send: Any) -> Verdict:
        raise NotImplementedError  # there is no event loop

    def answers(self, case: int, epoch: int, text: str, names: list[str]) -> tuple[Ask, list[Any]]:
        """What it is asked, and the answers; None instead of each where one cannot be read."""
        about = tuple((name, _order(name, self._turn)) for name in names)
        said = [answered(case, epoch, self.name, text, *one) for one in about]
        ask = Ask(self.name, text, about)
        if None in said:
            return ask, [None] * len(names)
        return ask, [_reply(*pair)["verdict"] for pair in zip(names, said, strict=True)]


@dataclass
class Driven:
    """Runs of the machine alone: its calls are answered one after the other, as is drawn."""

    case: int
    stored: dict[str, dict[str, Any]] = field(default_factory=dict)
    asks: Counter[Ask] = field(default_factory=Counter)
    epoch: int = 0

    def run(self, run: RunDrawn) -> list[dict[str, Found]]:
        self.asks, self.epoch = Counter(), self.epoch + 1
        plan = Plan(dataset_of(run), RunOptions(limit=run.limit))
        stages = Stages(judge_of(run, HashJudge), plan)
        progress = Progress(total=stages.judgements)
        machine = ItemMachine(stages, progress, only_failed=run.only_failed)
        items = [
            self._judged(machine, *machine.start(item, at), run) for at, item in enumerate(plan)
        ]
        assert progress.done == progress.total
        return [_found(item.verdicts) for item in items]

    def _judged(
        self, machine: ItemMachine, item: JudgedItem, calls: list[Call], run: RunDrawn
    ) -> JudgedItem:
        draw, pending = chance(self.case, self.epoch, item.index), list[Call]()
        while True:
            while calls:
                keys = [key for call in calls for key in call.keys if key in self.stored]
                left = machine.take_known(
                    item, calls, Known({key: self.stored[key] for key in keys})
                )
                pending += item.lead(left) if run.leader_first else left
                calls = machine.next_calls(item)
            if not pending:
                assert item.is_complete
                return item
            assert not item.is_complete
            call = pending.pop(draw.randrange(len(pending)))
            machine.take(item, call, [self._answer(item, call, one) for one in call.questions])
            calls = machine.next_calls(item)
            if item.leads(call):
                pending += item.follow(call)

    def _answer(self, item: JudgedItem, call: Call, question: Question) -> Verdict:
        """The verdict of a call on one of its criteria, which is stored; the first asks for all."""
        criterion, text = question.criterion, item.item.submission
        if not isinstance(call.judge, HashJudge):
            verdict = Verdict(
                criterion.name, "judged", "MET" if re.search(r"\d", text) else "UNMET"
            )
        else:
            names = [one.criterion.name for one in call.questions]
            ask, answers = call.judge.answers(self.case, self.epoch, text, names)
            if question is call.questions[0]:
                self.asks[ask] += 3 if None in answers else 1
            answer = answers[names.index(criterion.name)]
            if answer is None:
                verdict = call.failed(question, Failure("unreadable_reply", "?"))
            else:
                verdict = criterion.verdict_of(criterion.read(answer))
        record = json.loads(to_json(record_of(verdict)))
        self.stored[question.key] = record
        return verdict_from_record(record, criterion)


def _found(verdicts: Mapping[str, Verdict]) -> dict[str, Found]:
    return {
        name: (one.status, one.error.kind if one.error else one.label, one.value)
        for name, one in verdicts.items()
    }


# The reference: one after the other, from what the documentation says

Found = tuple[str, str | None, float | None]
"""Status, label (of a failure its kind) and value of a verdict."""


@dataclass
class Reference:
    """What is known by key, and what a run makes of it.

    A key is what would be asked: judge, text, the criteria of the request with their orders, which
    of them, and the replicate.
    """

    case: int
    known: dict[object, str | None] = field(default_factory=dict)
    asks: Counter[Ask] = field(default_factory=Counter)
    calls: int = 0
    failed_before: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)

    def run(self, run: RunDrawn, epoch: int) -> list[dict[str, Found]]:
        self.asks, self.calls = Counter(), 0
        return [
            self._item(run, epoch, text, own)
            for text, own in run.items[: run.limit or len(run.items)]
        ]

    def _item(
        self, run: RunDrawn, epoch: int, text: str, own: tuple[str, ...] | None
    ) -> dict[str, Found]:
        """The verdicts of an item, wave by wave of what its criteria require of each other."""
        names = run.names(own)
        found: dict[str, Found] = {}
        self.failed_before, self.again = set(), set()
        while len(found) < len(names):
            wave = [
                name
                for name in names
                if name not in found and all(one in found for one in awaited(run, names, name))
            ]
            released = []
            for name in wave:
                outcome = gated(run, own, name, found)
                if outcome is None:
                    released.append(name)
                    if self.failed_before & {*awaited(run, names, name)}:
                        self.failed_before.add(name)
                        self.again.add(name)
                else:
                    found[name] = outcome
            found |= self._wave(run, epoch, text, wave, released)
        return found

    def _wave(
        self, run: RunDrawn, epoch: int, text: str, wave: list[str], released: list[str]
    ) -> dict[str, Found]:
        """The verdicts on criteria that are asked about side by side.

        What is asked about together does not depend on which gates hold.
        """
        found: dict[str, Found] = {}
        if "r1" in released:
            found["r1"] = self._computed(run, text)
        open_ = [name for name in released if name != "r1"]
        asked = [name for name in wave if name != "r1"]
        for place, stage in enumerate(run.stages):
            votes: dict[str, list[object]] = {name: [] for name in open_}
            seen: set[object] = set()
            for judge, turn, replicate in stage.members():
                for start in range(0, len(asked), stage.size):
                    group = asked[start : start + stage.size]
                    about = tuple((name, _order(name, turn)) for name in group)
                    left: list[tuple[str, object]] = []
                    for name in group:
                        if name not in open_:
                            continue
                        key = (judge, text, about, name, replicate)
                        if key in seen:  # the same answer is the same vote
                            continue
                        seen.add(key)
                        if self.known.get(key) is not None:
                            continue
                        if key in self.known:
                            self.failed_before.add(name)
                        if key in self.known or not run.only_failed or name in self.again:
                            left.append((name, key))
                    if left:
                        self._ask(epoch, judge, text, left, dict(about))
                    for name in group:
                        if name in open_:
                            votes[name].append((judge, text, about, name, replicate))
            for name in list(open_):
                keys = list(dict.fromkeys(votes[name]))
                given = [self._said(name, key) for key in keys]
                verdict = _counted(stage, name, given, run.weight(name))
                is_last = place == len(run.stages) - 1
                if verdict == NOT_RUN or is_last or _sure(verdict, given, run.threshold):
                    found[name] = verdict
                    open_.remove(name)
        return found

    def _computed(self, run: RunDrawn, text: str) -> Found:
        if ("r1", text) not in self.known:
            if run.only_failed and "r1" not in self.again:
                return NOT_RUN
            self.calls += 1
            self.known["r1", text] = "MET" if re.search(r"\d", text) else "UNMET"
        label = self.known["r1", text] or ""
        return "judged", label, VALUES["r1"][label]

    def _ask(
        self,
        epoch: int,
        judge: str,
        text: str,
        left: list[tuple[str, object]],
        orders: dict[str, tuple[str, ...]],
    ) -> None:
        said = {
            name: answered(self.case, epoch, judge, text, name, orders[name]) for name, _ in left
        }
        failed = None in said.values()
        ask = Ask(judge, text, tuple((name, orders[name]) for name, _ in left))
        self.asks[ask] += 3 if failed else 1  # what cannot be read is asked again, twice
        self.calls += len(left)
        for name, key in left:
            self.known[key] = None if failed else said[name]

    def _said(self, name: str, key: object) -> Found:
        if key not in self.known:
            return NOT_RUN
        label = self.known[key]
        if label is None:
            return "failed", "unreadable_reply", None
        if label == ABSTAINS:
            return "abstained", ABSTAINS, None
        value = VALUES[name][label]
        if value is None:
            return "not_applicable", label, None
        if name == "m1":
            label = f"tp {label}, fp 0, tn 0, fn {2 - int(label)}"
        return "judged", label, value


def awaited(run: RunDrawn, names: tuple[str, ...], name: str) -> list[str]:
    """What must be settled before a criterion's gates are known."""
    found: list[str] = []
    for gate in run.all_gates(names, name):
        found += [one for one in names if run.places.get(one)] if gate.of == "g" else [gate.of]
    return found


def gated(
    run: RunDrawn, own: tuple[str, ...] | None, name: str, found: dict[str, Found]
) -> Found | None:
    """What becomes of a criterion by its gates: docs/rubrics.md; None where they hold."""
    names = run.names(own)
    if any(found[one] == NOT_RUN for one in awaited(run, names, name)):
        return NOT_RUN
    outcomes: set[str | None] = set()
    for gate in run.all_gates(names, name):
        if gate.of == "g":
            outcomes.add(_of_group(run, own, gate, found))
            continue
        status, label, value = found[gate.of]
        if status in ("failed", "abstained", "skipped"):
            outcomes.add(status)
        elif gate.label is not None:
            outcomes.add(None if label == gate.label else "skipped")
        else:
            least = 1.0 if gate.at_least is None else gate.at_least
            holds = value is not None and value >= least - 1e-9
            outcomes.add(None if holds else "skipped")
    if "skipped" in outcomes:
        return "skipped", None, None
    if "failed" in outcomes:
        return "failed", "gate", None
    return ("abstained", ABSTAINS, None) if "abstained" in outcomes else None


def _of_group(
    run: RunDrawn, own: tuple[str, ...] | None, gate: Gate, found: dict[str, Found]
) -> str | None:
    """What a gate on the group comes to: decided where no missing verdict makes a difference."""
    (group,) = (node for node in run.nested(own) if not isinstance(node, str))
    names, members = run.names(own), flat(group[1])
    given = {name: found[name] for name in members}
    value, lowest, highest = scored_nodes(run, names, group[1], given, "skip")
    assert gate.at_least is not None
    if lowest is None or highest is None or highest < gate.at_least - 1e-9:
        return "skipped"
    if value is not None and lowest >= gate.at_least - 1e-9:
        return None
    return "failed" if "failed" in {status for status, _, _ in given.values()} else "abstained"


def _order(name: str, turn: int) -> tuple[str, ...]:
    """The order of a criterion's answers, the `turn`th from 0: docs/reply-formats.md."""
    if name == "m1":
        return ()
    decided = list(VALUES[name])
    if turn % 2:
        decided.reverse()
    order = [*decided, ABSTAINS]
    start = turn // 2
    return tuple(order[start:] + order[:start])


def _counted(stage: StageDrawn, name: str, votes: list[Found], weight: float) -> Found:
    """What votes come to, where several are taken."""
    if not stage.votes:
        (vote,) = votes
        return vote
    if NOT_RUN in votes:
        return NOT_RUN
    apart = [vote for vote in votes if vote[0] == "not_applicable"]
    scoring = [vote for vote in votes if vote[0] == "judged"]
    abstained = sum(vote[0] == "abstained" for vote in votes)
    if len(apart) + len(scoring) < stage.min_votes:
        if not apart and not scoring and abstained >= stage.min_votes:
            return "abstained", ABSTAINS, None
        return "failed", "quorum", None
    if len(apart) > len(scoring):
        return apart[0]
    sign = -1.0 if weight < 0 else 1.0
    if name in ("b1", "b2", "c1"):  # majority and mode; of an even count what scores lower
        counts = Counter(scoring)
        most = [vote for vote, count in counts.items() if count == max(counts.values())]
        return min(most, key=lambda vote: sign * (vote[2] or 0.0))
    mean = statistics.fmean(vote[2] or 0.0 for vote in scoring)
    same = [vote for vote in scoring if math.isclose(vote[2] or 0.0, mean, abs_tol=1e-12)]
    if same:
        return same[0]
    if name == "m1":
        return "judged", f"{mean:.4g}", mean
    nearest = min(
        VALUES[name].items(), key=lambda one: (abs(round((one[1] or 0) - mean, 9)), one[1])
    )
    return "judged", nearest[0], mean


def _sure(verdict: Found, votes: list[Found], threshold: float) -> bool:
    """Whether a verdict of a stage that is not the last stands: by the share of votes for it."""
    if verdict[0] not in ("judged", "not_applicable") or len(votes) < 2:
        return False
    return sum(vote[1] == verdict[1] for vote in votes) / len(votes) >= threshold


def score_of(
    pairs: list[tuple[float, float]],
) -> float | None:
    """The score of weights and values: docs/rubrics.md."""
    raw = sum(weight * value for weight, value in pairs)
    positive = sum(weight for weight, _ in pairs if weight > 0)
    if positive:
        return min(1.0, max(0.0, raw / positive))
    negative = sum(-weight for weight, _ in pairs if weight < 0)
    return min(1.0, max(0.0, 1 + raw / negative)) if negative else None


def scored_nodes(
    run: RunDrawn,
    names: tuple[str, ...],
    nodes: Nested,
    verdicts: dict[str, Found],
    cannot_assess: str,
) -> tuple[float | None, float | None, float | None]:
    """The score, and the least and the most that it could be: all answers to what is missing."""
    when_skipped = 0.0 if run.skipped == "zero" else None

    def stand_in(weight: float) -> float | None:
        match cannot_assess:
            case "skip":
                return None
            case "partial":
                return 0.5 if weight > 0 else 0.0
            case "fail":
                return 1.0 if weight < 0 else 0.0
        return 0.0

    now: list[float | None] = []
    ways: list[set[float | None]] = []
    for name, (status, _, value) in verdicts.items():
        outside = stand_in(run.weight(name))
        at = {"judged": value, "failed": None, "not_run": None, "skipped": when_skipped}
        now.append(at.get(status, outside))
        could: set[float | None] = {now[-1]}
        if status in ("abstained", "failed", "not_run"):
            could |= {worth for worth in VALUES[name].values() if worth is not None} | {outside}
            could |= {when_skipped} if run.all_gates(names, name) else set()
        ways.append(could)

    def level(nodes: Nested, values: dict[str, float | None]) -> float | None:
        pairs = []
        for node in nodes:
            if isinstance(node, str):
                weight, value = run.weight(node), values[node]
            else:
                weight, value = GROUP_WEIGHTS[node[0]], level(node[1], values)
            if value is not None:
                pairs.append((weight, value))
        return score_of(pairs)

    def of(values: Any) -> float | None:
        return level(nodes, dict(zip(verdicts, values, strict=True)))

    all_ways = [one for values in itertools.product(*ways) if (one := of(values)) is not None]
    return of(now), min(all_ways, default=None), max(all_ways, default=None)


# The comparison


def found_in(result: rubricate.Result) -> list[dict[str, Found]]:
    return [_found(item.criteria) for item in result]


def same(one: Found, other: Found) -> bool:
    return one[:2] == other[:2] and one[2] == pytest.approx(other[2])


def check_whole(
    run: RunDrawn,
    result: Any,
    world: World,
    reference: Reference,
    ended_before: Any = None,
) -> None:
    """A run that went to its end is what the reference says, and asked for the same."""
    expected = reference.run(run, world.epoch)
    found = found_in(result)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            assert same(one[name], other[name]), (name, one[name], other[name])
    assert Counter(world.asks) == reference.asks
    assert result.usage.requests == len(world.asks)
    assert result.usage.cost == pytest.approx(PRICE * len(world.asks))
    if ended_before is None:  # what code computes was computed before, perhaps
        assert result.calls == reference.calls
    assert result.stopped is None
    for item, verdicts, (_, own) in zip(result, expected, run.items, strict=False):
        ordered = {name: verdicts[name] for name in item.rubric.names}
        nodes, names = run.nested(own), run.names(own)
        assert names == tuple(item.rubric.names)
        value, lowest, highest = scored_nodes(run, names, nodes, ordered, run.cannot_assess)
        assert item.score.value == pytest.approx(value)
        assert item.score.lowest == pytest.approx(lowest)
        assert item.score.highest == pytest.approx(highest)


def check_ended(run: RunDrawn, result: Any, world: World) -> None:
    """A run that ended early has counted what it spent, within its bound."""
    if run.ends == "cost":
        assert result.usage.cost == pytest.approx(PRICE * len(world.asks))
        assert result.usage.cost <= PRICE * run.after + 1e-9


def lost(run: RunDrawn, first: list[Ask], second: list[Ask], reference: Reference, at: int) -> None:
    """Note what the first, ended run has made known, and check what the second asked again."""
    again = Counter(second)
    for ask, times in Counter(first).items():
        said = answered(reference.case, at, ask.judge, ask.text, *ask.about[0])
        key = (ask.judge, ask.text, ask.about, ask.about[0][0], 1)
        if said is None:
            reference.known.setdefault(key, None)
        elif not again[ask]:
            assert times == 1, ask
            reference.known[key] = said
    twice = [
        ask
        for ask in set(first) & set(second)
        if answered(reference.case, at, ask.judge, ask.text, *ask.about[0]) is not None
    ]
    assert len(twice) <= run.concurrency, "more was asked again than was in flight"
    if run.ends == "cost":
        assert not twice


def _settled(verdicts: Mapping[str, Verdict]) -> set[str]:
    """The criteria whose verdicts rest on nothing that failed, which would be asked again.

    A skipped verdict rests on those that its gates read, here on any of its item.
    """
    sound = {
        name
        for name, verdict in verdicts.items()
        if all(part.status not in ("failed", "not_run") for part in (verdict, *verdict.votes))
    }
    if len(sound) == len(verdicts):
        return sound
    return {name for name in sound if verdicts[name].status != "skipped"}


def check_case(case: int, folder: Path) -> None:
    draw = chance("case", case)
    world, reference = World(case), Reference(case)
    run = drawn(draw)
    for _ in range(draw.randint(2, 4)):
        into = folder / "run"
        if run.fresh:
            into = folder / f"run {world.epoch}"
            reference.known.clear()
            folder = into
            into = folder / "run"
        if run.ends is not None:
            early = graded(world, run, into, run.ends)
            first, at = list(world.asks), world.epoch
            check_ended(run, early, world)
            whole = graded(world, run, into, None)
            lost(run, first, world.asks, reference, at)
            settled = [_settled(item.criteria) for item in early]
            for names, one, other in zip(settled, found_in(early), found_in(whole), strict=True):
                assert all(same(one[name], other[name]) for name in names)
            check_whole(run, whole, world, reference, early)
        else:
            check_whole(run, graded(world, run, into, None), world, reference)
        again = graded(world, run, into, None)  # asks for nothing but what failed
        check_whole(run, again, world, reference)
        run = changed(run, draw)


def changed(run: RunDrawn, draw: random.Random) -> RunDrawn:
    """The same run with something changed, or another one."""
    other = drawn(draw)
    names = draw.choice(
        [
            ("factors",),
            ("items",),
            ("stages",),
            ("threshold", "cannot_assess", "skipped"),
            ("places", "wanted"),
            tuple(run.__dict__),
        ]
    )
    kept = {"ends", "only_failed", "fresh", "concurrency", "leader_first", "limit", "after"}
    taken = {*names, *kept}
    made = {name: getattr(other if name in taken else run, name) for name in run.__dict__}
    found = RunDrawn(**made)
    return found if found.simple or not found.ends else RunDrawn(**{**made, "ends": None})


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_runs_are_what_a_sequential_reference_says(batch: int, tmp_path: Path):
    cases = [int(ONLY)] if ONLY else range(batch, RUNS, BATCHES)
    for case in cases:
        try:
            check_case(case, tmp_path / str(case))
        except Exception as error:
            error.add_note(f"RUBRICATE_MODEL_CASE={case}")
            raise


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_items_are_what_a_sequential_reference_says(batch: int):
    for case in [int(ONLY)] if ONLY else range(batch, MACHINE_RUNS, BATCHES):
        draw = chance("case", case)
        driven, reference, run = Driven(case), Reference(case), drawn(draw)
        try:
            for _ in range(draw.randint(2, 6)):
                if run.fresh:
                    driven.stored.clear()
                    reference.known.clear()
                pairs = zip(driven.run(run), reference.run(run, driven.epoch), strict=True)
                for one, other in pairs:
                    assert one.keys() == other.keys()
                    assert all(same(one[name], other[name]) for name in one), (one, other)
                assert driven.asks == reference.asks
                run = changed(run, draw)
        except Exception as error:
            error.add_note(f"RUBRICATE_MODEL_CASE={case}")
            raise
