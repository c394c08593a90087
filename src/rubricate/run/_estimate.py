"""What a run would take, found out without sending anything."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from rubricate._files import check_no_links, user_path
from rubricate._spelling import common_prefix
from rubricate.dataset import Item
from rubricate.errors import ModelError
from rubricate.judge import Completion, Judge, Model, Request, keyed
from rubricate.rubric import NO_USAGE, Criterion, Usage, Verdict
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
from rubricate.views import Report, dollars

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
            model's thinking. None where it depends on verdicts how many requests there are, and
            for the output and cost of a model that may think and of which nothing is stored.
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
        thinking: models that may think, which is billed on top, and of which nothing is stored.
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
    thinking: tuple[str, ...] = ()

    title = "What the run would take"

    def to_dict(self) -> dict[str, Any]:
        """The estimate as JSON values."""
        return Report.to_dict(self) | {"documents": self.documents.model_dump()}

    def sections(self) -> Iterator[Section]:
        """Four facts, five with long documents."""
        from rubricate.views import Facts, unit_prices

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
            if self.thinking and self.cost.high:
                cost += "; thinking comes on top: run --limit 5 first to see how much"
        known = f"{self.known} of them stored already"
        read = f"{self.input_tokens.low:.0f} to {self.input_tokens.high:.0f} in"
        written = f"{self.output_tokens.low:.0f} to {self.output_tokens.high:.0f} out"
        facts = [
            ("verdicts", f"{self.verdicts} of {self.items} items, {known}"),
            ("requests", requests + (f": {models}" if models else "")),
            ("tokens", f"{read}, {written}"),
            ("cost", cost),
        ]
        ways = [(self.cost, ""), (self.cost_with_cache, " with the cache")]
        share = 1 - self.known / max(self.verdicts, 1)
        prices = [
            unit_prices(way.likely / share, self.verdicts, self.items) + words
            for way, words in ways
            if way is not None and way.likely and share
        ]
        if prices:
            facts.append(("price", "; ".join(prices)))
        yield Facts((*facts, *self.documents.facts()))


def _dollars(cost: Range) -> str:
    if not cost.high:
        return dollars(0.0)
    span = f"{dollars(cost.low)} to {dollars(cost.high)}"
    return span if cost.likely is None else f"about {dollars(cost.likely)} ({span})"


class _Figures(NamedTuple):
    """What requests to a model would take: tokens, and dollars (NaN if a price is not known)."""

    input_tokens: float = 0
    output_tokens: float = 0
    prompts: float = 0.0
    prompts_with_cache: float = 0.0
    replies: float = 0.0

    def plus(self, other: _Figures, read: float = 1, wrote: float = 1) -> _Figures:
        """The sum, with a factor for what the other reads and one for what it writes."""
        factors = read, wrote, read, read, wrote
        return _Figures(*(a + by * b for a, by, b in zip(self, factors, other, strict=True)))

    @property
    def cost(self) -> float:
        return self.prompts + self.replies

    @property
    def cost_with_cache(self) -> float:
        return self.prompts_with_cache + self.replies


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
        self.thinking: set[str] = set()
        # By model: the least, what is likely, and the most.
        self.figures: dict[str, tuple[_Figures, ...]] = {}
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
        self.thinking |= {model.name} if model.may_think else set()
        prompt = "".join([message["content"] for message in request.messages])
        kept = common_prefix(self._last.get(model.name, ""), prompt)
        written = 0
        if request.shared:  # what comes after it is asked for too seldom, or at the same time
            kept = min(kept, prompt.index(request.shared) + len(request.shared))
        if model.marks_prefixes:
            system = len(request.messages[0]["content"])
            ends = {system, system + len(request.shared) * request.is_one_of_several}
            marks = [end for end in ends if end >= BYTES_PER_TOKEN[1] * LEAST_PREFIX]
            kept = max((end for end in marks if end <= kept), default=0)
            written = max(marks, default=0) - kept
        self._last[model.name] = prompt
        text, cached = len(prompt.encode()), len(prompt[:kept].encode())
        written = len(prompt[:written].encode())
        schema = 0 if request.choices else len(orjson.dumps(request.schema))
        sizes = (text, text, text + schema)
        figures = (
            _priced(model, size / each, cached / each, written / each, self._criteria * tokens)
            for size, each, tokens in zip(sizes, BYTES_PER_TOKEN, reply, strict=True)
        )
        before = self.figures.get(model.name, (_Figures(),) * 3)
        self.figures[model.name] = tuple(map(_Figures.plus, before, figures))

    def total(self, place: int) -> _Figures:
        """The least (0) or the most (2) that all requests take."""
        return reduce(_Figures.plus, (each[place] for each in self.figures.values()), _Figures())

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
        self.took: dict[str, Usage] = {}

    async def measure(self, item: JudgedItem, calls: Sequence[Call], known: Known) -> None:
        """Look up what stored answers to an item's calls took, where their endpoint said it."""
        for call in filter(attrgetter("needs_judge"), calls):
            if self.answers >= MOST_MEASURED:
                return
            records = [known.records.get(key, {}) for key in call.keys]
            usages = [Usage(**record["usage"]) for record in records if "usage" in record]
            model, requests = call.judge.model, self.models.total()
            is_whole = len(usages) == len(records) and any(u.input_tokens for u in usages)
            if model is not None and is_whole:
                await self.count(item, call, call.questions, set())
                if self.models.total() > requests:
                    before = self.took.get(model.name, NO_USAGE)
                    self.took[model.name] = Usage.total([before, *usages])
                    self.answers += len(usages)

    def corrected(self, counting: _Counting) -> _Figures:
        """What is likely of requests, by what answers took instead of by their length."""
        total = _Figures()
        for model, (_, likely, _) in counting.figures.items():
            read = wrote = 1.0
            if took := self.took.get(model):
                guessed = self.figures[model][1]
                read = took.input_tokens / guessed.input_tokens
                wrote = took.output_tokens / guessed.output_tokens or 1.0
            total = total.plus(likely, read, wrote)
        return total


def _priced(model: Model, read: float, kept: float, written: float, wrote: int) -> _Figures:
    """What a request takes, N tokens of it from the cache or into it if that is enough for one."""

    def price(of: Usage) -> float:
        cost = model.price(of)
        return math.nan if cost is None else cost

    prompt = Usage(1, round(read))
    plain = price(prompt)
    cached = plain if kept < LEAST_PREFIX else price(replace(prompt, cached_tokens=round(kept)))
    if written >= LEAST_PREFIX:
        tokens = round(written)
        cached += (model.write_price(tokens) or 0.0) - price(Usage(1, tokens))
    replies = price(replace(prompt, output_tokens=wrote)) - plain
    return _Figures(round(read), wrote, plain, cached, replies)


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
    if judge.answers_later:
        from rubricate.run._batching import check_batches

        check_batches(judge, options)
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
    of_all = sure.total(0), sure.total(2).plus(possible.total(2))
    likely = None if possible.models else past.corrected(sure)
    thinking = sorted((sure.thinking | possible.thinking) - past.took.keys())
    wrote = None if thinking else likely
    cost, cost_with_cache = (_range(n, *of_all, wrote) for n in ("cost", "cost_with_cache"))
    return RunEstimate(
        plan.items,
        progress.total,
        progress.resumed + progress.cached,
        sure.models.total(),
        sure.models.total() + possible.models.total(),
        _range("input_tokens", *of_all, likely) or Range(0, 0),
        _range("output_tokens", *of_all, wrote) or Range(0, 0),
        cost,
        dict(sure.models + possible.models),
        documents.counted(),
        cost_with_cache if cost and cost_with_cache and cost_with_cache.high < cost.high else None,
        past.answers,
        tuple(thinking),
    )


def _with_first_calls(
    plan: Plan, machine: ItemMachine, answers: Answers
) -> Iterator[tuple[Item, Opened, Known]]:
    """The items with their first calls, and the stored answers to those: looked up many at once."""
    items = enumerate(plan)
    while block := [(item, machine.start(item, index)) for index, item in islice(items, BLOCK)]:
        known = _stored([call for _, (_, calls) in block for call in calls], answers)
        yield from ((item, opened, known) for item, opened in block)


def _range(name: str, low: _Figures, high: _Figures, likely: _Figures | None) -> Range | None:
    """The figures of a name; None where one is not known. What was measured may be beyond both."""
    figures = [getattr(each, name) for each in (low, high, likely) if each is not None]
    if math.isnan(sum(figures)):
        return None
    return Range(min(figures), max(figures), *figures[2:])


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
    anew = await estimate(plan, judge, elsewhere.changed(fresh=True), calibrate)
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
