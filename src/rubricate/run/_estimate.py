"""What a run would take, found out without sending anything."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from rubricate._files import check_no_links, user_path
from rubricate._spelling import common_prefix
from rubricate.dataset import Item
from rubricate.errors import ModelError
from rubricate.judge import Completion, Judge, Model, Request, keyed
from rubricate.rubric import Criterion, Usage, Verdict
from rubricate.run._options import RunOptions
from rubricate.run._plan import Plan
from rubricate.run._progress import Progress
from rubricate.run._queue import BLOCK, Opened
from rubricate.run.items import Calibrate, Call, ItemMachine, JudgedItem, Question, Stages
from rubricate.run.journal import (
    Access,
    Answers,
    Known,
    MemoryJournal,
    Place,
    open_journal,
    verdict_from_record,
)
from rubricate.run.results import (
    DocumentFigures,
    DocumentTally,
    OtherRunError,
    cache_place,
    journal_place,
)
from rubricate.views import Report

if TYPE_CHECKING:
    from rubricate.views import Section

BYTES_PER_TOKEN = (5.0, 4.0, 3.0)
"""Of a prompt's UTF-8, in words of few tokens, in English prose, and in words of many."""
REPLY_TOKENS = (40, 120, 400)
"""A short reason without a quote, the usual one, and a long one with several; for each criterion
that a request is about."""
CHOICE_TOKENS = (1, 1, 4)
"""A reply that is one letter or digit."""
MOST_MEASURED = 500
"""Stored answers of which it is looked up what they took. In simulated runs whose replies vary by
half, 500 give their mean to 2 %; half of it to 3 %, double to 1.5 %, for twice the time."""
LEAST_PREFIX = 1024
"""Tokens that prompts begin with alike, from which on providers cache them: OpenAI, Gemini and
Anthropic from 1,024 on, some models from 2,048, DeepSeek from 64. At half, a saving is shown that
most do not give; at double, one is left out that most do."""
MOST_COUNTED = 10_000
"""Items of which it is counted what a refused run would take: a second or two."""
NOTES = "notes " * 50
"""What is used as the notes on a part of a long document that has not been read."""


@dataclass(frozen=True, slots=True)
class Range:
    """From the least to the most that is likely.

    Attributes:
        low, high: these.
        likely: the figure in between that is most likely. It is by what stored answers of the same
            model took, if there are some, else by the usual length of words and replies, without a
            model's thinking. None where it depends on verdicts how many requests there are.
    """

    low: float
    high: float
    likely: float | None = None


@dataclass(frozen=True, slots=True)
class RunEstimate(Report):
    """What a run would take, were every request answered at the first time.

    Attributes:
        items: how many items there are.
        verdicts: how many verdicts they have together; the votes, where several judges vote.
        known: how many of those the journal and the cache have.
        requests: how many requests would be sent for the others.
        most_requests: how many, if all verdicts of a cascade went on that may; else the same.
        input_tokens, output_tokens: of all requests together.
        cost: US dollars, if nothing comes from the provider's cache of prompts; None where the
            price of a model is not known.
        cost_with_cache: the same if the provider's cache serves what successive prompts begin with
            alike; None where that is not known, or not cheaper.
        models: requests by model, the most of them.
        documents: what reading long documents in parts takes (by the last stages of a cascade, at
            most), and would take if every part were
            read for every criterion.
        measured: stored answers by which it is counted what is likely.
    """

    items: int
    verdicts: int
    known: int
    requests: int
    most_requests: int
    input_tokens: Range
    output_tokens: Range
    cost: Range | None
    models: dict[str, int]
    documents: DocumentFigures = field(default_factory=DocumentFigures)
    cost_with_cache: Range | None = None
    measured: int = 0

    @property
    def title(self) -> str:
        return "What the run would take"

    def to_dict(self) -> dict[str, Any]:
        """The estimate as JSON values."""
        return Report.to_dict(self) | {"documents": self.documents.model_dump()}

    def sections(self) -> Iterator[Section]:
        """Four facts, five with long documents."""
        from rubricate.views import Facts

        models = ", ".join(f"{count} of {name}" for name, count in self.models.items())
        requests = f"{self.requests}"
        if self.most_requests > self.requests:
            requests += f" to {self.most_requests}"
            models += " at most"
        cost = "unknown (no price for this model; give --prices)"
        if self.cost is not None:
            cost = _dollars(self.cost)
            if self.cost_with_cache is not None:
                cost += f"; {_dollars(self.cost_with_cache)} with the provider's cache of prompts"
            if self.measured:
                cost += f"; by what {self.measured} stored answers took"
        known = f"{self.known} of them known already"
        read = f"{self.input_tokens.low:.0f} to {self.input_tokens.high:.0f} in"
        written = f"{self.output_tokens.low:.0f} to {self.output_tokens.high:.0f} out"
        facts = [
            ("verdicts", f"{self.verdicts} of {self.items} items, {known}"),
            ("requests", requests + (f": {models}" if models else "")),
            ("tokens", f"{read}, {written}"),
            ("cost", cost),
        ]
        yield Facts((*facts, *self.documents.facts()))


def _dollars(cost: Range) -> str:
    span = f"${cost.low:.4f} to ${cost.high:.4f}"
    return span if cost.likely is None else f"about ${cost.likely:.4f} ({span})"


@dataclass(slots=True)
class _Likely:
    """What requests are likely to take: tokens, and dollars of these.

    Attributes:
        input_tokens, output_tokens: tokens.
        reading, reading_with_cache, writing: dollars; 0 where the price is not known.
    """

    input_tokens: float = 0.0
    output_tokens: float = 0.0
    reading: float = 0.0
    reading_with_cache: float = 0.0
    writing: float = 0.0

    @property
    def cost(self) -> float:
        return self.reading + self.writing

    @property
    def cost_with_cache(self) -> float:
        return self.reading_with_cache + self.writing


class _Counting:
    """Takes a judge's requests, and answers none but those that further ones depend on.

    Args:
        answers: what is stored.
        documents: is added to by what long documents take.
    """

    def __init__(self, answers: Answers, documents: DocumentTally) -> None:
        self._answers = answers
        self._documents = documents
        self._asked: set[bytes] = set()
        self.models: Counter[str] = Counter()
        self.low = self.low_with_cache = Usage()
        self.high = self.high_with_cache = Usage()
        self.likely: defaultdict[str, _Likely] = defaultdict(_Likely)  # by model
        self._criteria = 1
        self._last: dict[str, str] = {}  # by model: the prompt of the last request

    async def count(
        self, item: JudgedItem, call: Call, questions: Sequence[Question], counted: set[int]
    ) -> None:
        """Count what is asked for some questions of a call, unless their keys were counted."""
        if not questions or (key := hash(questions[0].key)) in counted:
            return
        counted.add(key)
        criteria = [question.criterion for question in questions]
        self._criteria = len(criteria)
        send = keyed(self, call.suffix)
        for verdict in await call.judge.judge_group(item.item, criteria, send):
            self._documents.add_verdict(verdict)

    async def __call__(self, model: Model, request: Request) -> Completion:
        if request.choices:
            return self._chosen(model, request)
        self._count(model, request, REPLY_TOKENS)
        raise ModelError("bad_request", "this is only counted")

    def _chosen(self, model: Model, request: Request) -> Completion:
        """What answers a request with choices: no choice is more probable than another."""
        identity = orjson.dumps([model.name, request.messages, request.sample])
        digest = hashlib.blake2b(identity, digest_size=16).digest()
        if digest not in self._asked:  # a run keeps the completion
            self._asked.add(digest)
            self._count(model, request, CHOICE_TOKENS)
        if not model.gives_probabilities:
            return Completion(request.choices[0])
        share = 1 / len(request.choices)
        shares = dict.fromkeys(request.choices, share)
        return Completion(request.choices[0], probabilities=shares)

    def _count(self, model: Model, request: Request, reply: tuple[int, int, int]) -> None:
        self.models[model.name] += 1
        prompt = "".join([message["content"] for message in request.messages])
        kept = common_prefix(self._last.get(model.name, ""), prompt)
        written = 0
        if request.shared:  # what comes after it is asked for too seldom, or at the same time
            shared = prompt.index(request.shared) + len(request.shared)
            kept = min(kept, shared)
            if model.marks_prefixes and (kept < shared or not request.is_one_of_several):
                kept, written = 0, shared if request.is_one_of_several else 0
        self._last[model.name] = prompt
        text, cached = len(prompt.encode()), len(prompt[:kept].encode())
        written = len(prompt[:written].encode())
        few, usual, many = BYTES_PER_TOKEN
        least, expected, most = (self._criteria * tokens for tokens in reply)
        schema = 0 if request.choices else len(orjson.dumps(request.schema))
        low = Usage(1, round(text / few), 0, least)
        high = Usage(1, round((text + schema) / many), 0, most)
        self.low += _priced(model, low)
        self.high += _priced(model, high)
        self.low_with_cache += _priced(model, low, cached / few, written / few)
        self.high_with_cache += _priced(model, high, cached / many, written / many)
        sums, read = self.likely[model.name], Usage(1, round(text / usual))
        with_cache = _priced(model, read, cached / usual, written / usual)
        sums.input_tokens += read.input_tokens
        sums.output_tokens += expected
        sums.reading += model.price(read) or 0.0
        sums.reading_with_cache += with_cache.cost or 0.0
        both = model.price(replace(read, output_tokens=expected))
        sums.writing += (both or 0.0) - (model.price(read) or 0.0)

    async def part(
        self, key: str, criterion: Criterion, ask: Callable[[], Awaitable[Verdict]]
    ) -> Verdict:
        """The stored answer to a part of a judgement, else something in its place."""
        record = self._answers.known([key]).records.get(key)
        if record is not None and record["status"] != "failed":
            return verdict_from_record(record, criterion)
        await ask()
        return Verdict(criterion.name, "judged", reason=NOTES)


class _Measuring(_Counting):
    """Counts requests that were answered, and what they took.

    Attributes:
        answers: how many answers that were.
        took: by model.
    """

    def __init__(self, answers: Answers) -> None:
        super().__init__(answers, DocumentTally())
        self.answers = 0
        self.took: defaultdict[str, Usage] = defaultdict(Usage)

    async def measure(self, item: JudgedItem, calls: Sequence[Call], known: Known) -> None:
        """Look up what stored answers to an item's calls took."""
        for call in filter(attrgetter("needs_judge"), calls):
            records = [known.records.get(key, {}) for key in call.keys]
            usages = [Usage(**record["usage"]) for record in records if "usage" in record]
            model, requests = call.judge.model, self.models.total()
            is_whole = len(usages) == len(records) and any(usage.requests for usage in usages)
            if model is not None and is_whole and self.answers < MOST_MEASURED:
                await self.count(item, call, call.questions, set())
                if self.models.total() > requests:
                    self.took[model.name] += Usage.total(usages)
                    self.answers += len(usages)

    def corrected(self, likely: Mapping[str, _Likely]) -> _Likely:
        """What is likely of all models, by what their answers took instead of by their length."""
        total = _Likely()
        for model, sums in likely.items():
            guessed, took = self.likely[model], self.took[model]
            read = took.input_tokens / guessed.input_tokens if took.input_tokens else 1.0
            wrote = took.output_tokens / guessed.output_tokens if took.output_tokens else 1.0
            total.input_tokens += read * sums.input_tokens
            total.output_tokens += wrote * sums.output_tokens
            total.reading += read * sums.reading
            total.reading_with_cache += read * sums.reading_with_cache
            total.writing += wrote * sums.writing
        return total


def _priced(model: Model, usage: Usage, kept: float = 0.0, written: float = 0.0) -> Usage:
    """A usage with its cost, and N tokens from the cache or into it if that is enough for one."""
    usage = replace(usage, cached_tokens=round(kept) if kept >= LEAST_PREFIX else 0)
    cost = model.price(usage)
    if written >= LEAST_PREFIX and cost is not None:
        plain, more = model.price(Usage(1, round(written))), model.write_price(round(written))
        cost += (more or 0.0) - (plain or 0.0)
    return replace(usage, cost=cost)


async def estimate(
    plan: Plan, judge: Judge, options: RunOptions, calibrate: Calibrate | None = None
) -> RunEstimate:
    """Go through a run without sending or writing anything; the arguments are those of `run`.

    Prompts are made as they would be, and their tokens guessed from their length. Of what a judge
    asks one after the other, only the first request is seen.
    """
    if options.run_dir is not None:
        check_no_links(user_path(options.run_dir))
    journal = None if options.fresh else _if_there(journal_place(options))
    cache = _if_there(cache_place(options.cache))
    if judge.looks_at_run:
        judge = judge.of_run(plan.whole())
    stages, documents = Stages(judge, plan, calibrate), DocumentTally()
    progress = Progress(total=stages.judgements)
    machine = ItemMachine(stages, progress, only_failed=options.retry_failed)
    with ExitStack() as stack:
        own = MemoryJournal() if journal is None else open_journal(journal, access="reading")
        of_cache: Access = "cache" if isinstance(cache, Path) else "reading"
        shared = None if cache is None else open_journal(cache, access=of_cache)
        stack.enter_context(closing(own))
        answers = Answers(own, shared, reads_cache=not options.fresh)
        stack.callback(answers.close)
        sure, possible = _Counting(answers, documents), _Counting(answers, documents)
        past = _Measuring(answers)
        counted: set[int] = set()  # hashes of keys: what is the same is asked once
        for source, opened, of_block in _with_first_calls(plan, machine, answers):
            (item, calls), known = opened, of_block
            open_at: dict[str, int] = {}
            await past.measure(item, calls, known)
            while calls:
                for call in machine.take_known(item, calls, known):
                    if call.needs_judge:
                        stage = stages.stage_of[call.voter]
                        open_at |= dict.fromkeys(_names(call.questions), stage)
                        await sure.count(item, call, call.questions, counted)
                calls = machine.next_calls(item, waits=False)
                known = _stored(calls, answers)
            waiting = _waiting(item, open_at)
            open_at |= dict.fromkeys(waiting, -1)
            for stage in range(len(stages.stages)):
                names = [name for name, at in open_at.items() if at < stage]
                calls = stages.calls(source, stage, names) if names else []
                records = _stored(calls, answers).records
                for call in filter(attrgetter("needs_judge"), calls):
                    missing = [
                        question
                        for question in call.questions
                        if (
                            (record := records.get(question.key)) is None
                            and (not options.retry_failed or question.criterion.name in waiting)
                        )
                        or (record is not None and record["status"] == "failed")
                    ]
                    await possible.count(item, call, missing, counted)
    low, high = sure.low, sure.high + possible.high
    with_cache = sure.low_with_cache, sure.high_with_cache + possible.high_with_cache
    likely = None if possible.models else past.corrected(sure.likely)
    cost = _range("cost", low, high, likely)
    cost_with_cache = _range("cost", *with_cache, likely, "cost_with_cache")
    return RunEstimate(
        plan.items,
        progress.total,
        progress.resumed + progress.cached,
        sure.models.total(),
        sure.models.total() + possible.models.total(),
        _range("input_tokens", low, high, likely) or Range(0, 0),
        _range("output_tokens", low, high, likely) or Range(0, 0),
        cost,
        dict(sure.models + possible.models),
        documents.counted(),
        cost_with_cache if cost and cost_with_cache and cost_with_cache.high < cost.high else None,
        past.answers,
    )


def _with_first_calls(
    plan: Plan, machine: ItemMachine, answers: Answers
) -> Iterator[tuple[Item, Opened, Known]]:
    """The items with their first calls, and the stored answers to those: looked up many at once."""
    items = enumerate(plan)
    while block := [(item, machine.start(item, index)) for index, item in islice(items, BLOCK)]:
        known = _stored([call for _, (_, calls) in block for call in calls], answers)
        yield from ((item, opened, known) for item, opened in block)


def _range(
    name: str, low: Usage, high: Usage, likely: _Likely | None, likely_name: str = ""
) -> Range | None:
    """The figures of a name; None where one is not known. What was measured may be beyond both."""
    least, most = getattr(low, name), getattr(high, name)
    if least is None or most is None:
        return None
    if likely is None:
        return Range(least, most)
    figure = getattr(likely, likely_name or name)
    return Range(min(least, figure), max(most, figure), figure)


async def with_requests(
    error: OtherRunError,
    plan: Plan,
    judge: Judge,
    options: RunOptions,
    calibrate: Calibrate | None = None,
) -> OtherRunError:
    """The error with the requests that this run would take in another folder, and from nothing."""
    if plan.items > MOST_COUNTED:
        return error
    elsewhere = options.changed(run_dir=None, journal=None, retry_failed=False, fresh=False)
    cached = await estimate(plan, judge, elsewhere, calibrate)
    anew = await estimate(plan, judge, replace(elsewhere, fresh=True), calibrate)
    return OtherRunError(error.folder, error.differs, (cached.requests, anew.requests))


def _waiting(item: JudgedItem, being_asked: Collection[str]) -> list[str]:
    """What of an item waits for a gate that is asked about, and so may come to be."""
    gates = item.item.rubric.gates
    if gates is None:
        return []
    waiting: list[str] = []
    open_names = {
        *being_asked,
        *(each.name for each in item.item.rubric if not each.needs_judge),
    }
    for name in sorted(gates.waves, key=gates.waves.__getitem__):
        if name not in item.verdicts and not open_names.isdisjoint(gates.awaited(name)):
            waiting.append(name)
            open_names.add(name)
    return waiting


def _stored(calls: Sequence[Call], answers: Answers) -> Known:
    """What is stored of the answers to calls."""
    keys = [key for call in calls for key in call.keys]
    return answers.known(keys) if keys else Known({})


def _names(questions: Sequence[Question]) -> list[str]:
    return [question.criterion.name for question in questions]


def _if_there(place: Place | None) -> Place | None:
    return None if isinstance(place, Path) and not place.exists() else place
