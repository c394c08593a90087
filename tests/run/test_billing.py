"""What a run shows that it cost is never less than what the endpoint bills, whatever becomes of the
requests. All the words in which endpoints report it are in judge/models/test_token_counts.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import rubricate
from rubricate import (
    Criterion,
    HTTPModel,
    Rubric,
    RubricDataset,
    RunStopped,
    Usage,
    Verdict,
)
from rubricate.errors import ModelError
from rubricate.judge import Completion
from rubricate.judge.models import ModelPrice
from rubricate.run.results import RunFacts
from rubricate.run.sending import _hedging, _latency
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

MET = json.dumps({"reason": "r", "evidence": [], "verdict": "MET"})
PRICE = ModelPrice(input=100.0, cached_input=25.0, cache_write=125.0, output=200.0)
ITEMS = 24


def usage(read: int = 100, output: int = 50, **more: Any) -> dict[str, Any]:
    return {
        "prompt_tokens": read,
        "completion_tokens": output,
        "total_tokens": read + output,
    } | more


def bill(read: int = 100, output: int = 50, cached: int = 0, written: int = 0) -> float:
    """Dollars for tokens; `read` without those that are cached or written."""
    prices = (PRICE.input, PRICE.output, PRICE.cached_input, PRICE.cache_write)
    counts = (read, output, cached, written)
    return sum(price * count for price, count in zip(prices, counts, strict=True)) / 1e6


Billed = Callable[[int], tuple[dict[str, Any], float]]
"""Of the n-th request: parts of a `Rule`, and what it costs."""


def reported(said: Any, cost: float) -> Billed:
    return lambda n: ({"reply": MET, "body": {"usage": said}}, cost)


def each_third(**answer: Any) -> Billed:
    """Every third request is answered otherwise, and billed as the others are."""

    def kind(n: int) -> tuple[dict[str, Any], float]:
        body = {"usage": usage()}
        if n % 3:
            return {"reply": MET, "body": body}, bill()
        return {"reply": MET, **answer, "body": body | answer.get("body", {})}, bill()

    return kind


def choice(**message: Any) -> dict[str, Any]:
    reason = message.pop("finish_reason", "stop")
    return {"choices": [{"index": 0, "finish_reason": reason, "message": message}]}


THOUGHT = {"completion_tokens_details": {"reasoning_tokens": 1000}}
CACHED = {"prompt_tokens_details": {"cached_tokens": 1000}}
KINDS: dict[str, Billed] = {
    "plain": reported(usage(), bill()),
    "cached beside the prompt": reported(
        {"prompt_tokens": 20, "completion_tokens": 50, **CACHED}, bill(20, cached=1000)
    ),
    "names of Anthropic": reported(
        {
            "input_tokens": 2000,
            "output_tokens": 50,
            "cache_read_input_tokens": 1000,
            "cache_creation_input_tokens": 300,
        },
        bill(2000, cached=1000, written=300),
    ),
    "thinking outside, in the total": reported(
        {**usage(), "total_tokens": 1150, **THOUGHT}, bill(output=1050)
    ),
    "cost as a number": reported(usage(cost=0.05), 0.05),
    "cost of 0 by a gateway that knows none": reported(usage(cost=0), bill()),
    "names of Gemini": lambda n: (
        {
            "reply": MET,
            "body": {
                "usage": None,
                "usageMetadata": {
                    "promptTokenCount": 1100,
                    "cachedContentTokenCount": 1000,
                    "candidatesTokenCount": 10,
                    "thoughtsTokenCount": 40,
                    "totalTokenCount": 1150,
                },
            },
        },
        bill(cached=1000),
    ),
    "a third refused": each_third(body=choice(content=None, refusal="no")),
    "a third stopped by the filter": each_third(
        body=choice(content="", finish_reason="content_filter")
    ),
    "a third without choices": each_third(body={"choices": []}),
    "a third errors with status 200": each_third(body={"error": {"message": "x", "code": 502}}),
    "a third cut off": each_third(body=choice(content=MET, finish_reason="length")),
    "a third unreadable": each_third(reply="no"),
    "a third 500 with usage": each_third(reply=None, status=500),
    "a third 400 with usage in the error": each_third(
        reply=None, status=400, body={"usage": None, "error": {"message": "x", "usage": usage()}}
    ),
    "a third does not report": each_third(body={"usage": None}),
    "prices vary": lambda n: (
        {"reply": MET, "body": {"usage": usage(output=10 + n * 37 % 100)}},
        bill(output=10 + n * 37 % 100),
    ),
}
UNREPORTED: dict[str, Billed] = {
    name: reported(said, bill())
    for name, said in {
        "no usage": None,
        "counts of 0": usage(0, 0),
        "counts that nobody has": usage(10**15, 10**15),
    }.items()
}


class Account:
    """An endpoint that counts what it bills, also for requests that nobody waits for any more."""

    def __init__(self, kind: Billed, delay: Callable[[int], float] = lambda n: 0.0) -> None:
        self._kind, self._delay = kind, delay
        self.billed, self.requests = 0.0, 0

    def __call__(self, request: JudgeRequest) -> Rule:
        self.requests += 1
        answer, cost = self._kind(self.requests)
        self.billed += cost
        return Rule(delay=self._delay(self.requests), **answer)


def dataset(items: int = ITEMS) -> RubricDataset:
    made = RubricDataset("p", Rubric([Criterion(name="c", requirement="Gives a number")]))
    for n in range(items):
        made.add_item(f"answer {n}")
    return made


def graded(model: HTTPModel, items: int = ITEMS, **options: Any) -> RunFacts | Any:
    """The result of a run, also of one that its maximum cost has ended."""
    try:
        return rubricate.grade(dataset(items), model, **{"concurrency": 8, "cache": None} | options)
    except RunStopped as stopped:
        return stopped.result


def live(model: HTTPModel, account: Account, tmp_path: Any, **options: Any) -> list[Any]:
    return [graded(model, **options)]


def resumed(model: HTTPModel, account: Account, tmp_path: Any, **options: Any) -> list[Any]:
    """In two commands, of which the first judges a part."""
    first = graded(model, run_dir=tmp_path / "run", limit=ITEMS // 2, **options)
    return [first, graded(model, run_dir=tmp_path / "run", **options)]


def sharded(model: HTTPModel, account: Account, tmp_path: Any, **options: Any) -> list[Any]:
    shards = [
        graded(model, run_dir=tmp_path / "run", shard=f"{number}/2", **options) for number in (1, 2)
    ]
    return [*shards, graded(model, run_dir=tmp_path / "run", **options)]


WAYS = {"live": live, "resumed": resumed, "sharded": sharded}
LATE: dict[str, Callable[[int], float]] = {
    "timeouts": lambda n: 0.6 if n % 8 == 7 else 0.0,
    "hedged": lambda n: 0.6 if n > 24 and n % 8 == 7 else 0.0,
}


@pytest.fixture
def _soon_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request is late after 50 ms instead of a second."""
    monkeypatch.setattr(_latency, "SECOND_FLOOR", 0.05)
    monkeypatch.setattr(_latency, "LOST_FLOOR", 0.2)
    monkeypatch.setattr(_hedging, "LOOK_EVERY", 0.02)


def check(results: list[Any], account: Account, bound: float | None, most_estimated: float) -> None:
    """What is shown is what is billed where it is reported, and at least that where it is not."""
    usages = [result.usage for result in results]
    shown = sum(usage.cost for usage in usages)
    estimated = sum(usage.estimated_cost for usage in usages)
    assert shown >= account.billed - 1e-9
    assert shown <= account.billed * (1 + 1e-9) or estimated
    assert shown <= most_estimated * account.billed
    if bound is not None:
        assert account.billed <= 1.1 * bound


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every kind in every way, if many cases are asked for; else live, and a third otherwise."""
    if "kind" not in metafunc.fixturenames:
        return
    kinds = UNREPORTED if "not_reported" in metafunc.function.__name__ else KINDS
    ways = list(LATE if "never_answered" in metafunc.function.__name__ else WAYS)
    is_thorough = metafunc.config.getoption("--generated", 60) > 60
    cases = [
        pytest.param(kind, way, id=f"{name}-{way}")
        for number, (name, kind) in enumerate(kinds.items())
        for way in ways
        if is_thorough or way == "live" or number % 6 == ways.index(way)
    ]
    metafunc.parametrize(("kind", "way"), cases)


@pytest.mark.parametrize("bounded", [False, True], ids=["unbounded", "bounded"])
def test_what_is_reported_is_shown(kind: Billed, way: str, bounded: bool, tmp_path):
    account = Account(kind)
    with ScriptedEndpoint(respond=account) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url, prices={"m": PRICE})
        bound = 8 * kind(1)[1] if bounded else None
        results = WAYS[way](model, account, tmp_path, max_cost=bound)
    assert bound is None or account.requests < ITEMS
    if results[0].usage.cost is None:  # what is not reported is unknown, never 0
        assert kind is KINDS["a third does not report"]
        assert bound is None
        return
    check(results, account, bound, 1.1)


@pytest.mark.usefixtures("_soon_late")
@pytest.mark.parametrize("bounded", [False, True], ids=["unbounded", "bounded"])
def test_what_was_sent_and_never_answered_is_estimated(kind: Billed, way: str, bounded: bool):
    account = Account(kind, LATE[way])
    bound = 30 * kind(1)[1] if bounded else None
    with ScriptedEndpoint(respond=account) as endpoint:
        timeout = 0.3 if way == "timeouts" else 10.0
        model = HTTPModel("m", base_url=endpoint.url, prices={"m": PRICE}, timeout=timeout)
        result = graded(model, 72, max_cost=bound)
    if result.usage.cost is None:
        assert kind is KINDS["a third does not report"]
        return
    assert way == "hedged" or result.usage.estimated_cost > 0.0
    assert result.usage.requests >= account.requests
    check([result], account, bound, 1.1)


def test_what_is_not_reported_is_unknown_without_a_bound_and_estimated_with_one(
    kind: Billed, way: str, tmp_path
):
    account = Account(kind)
    with ScriptedEndpoint(respond=account) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url, prices={"m": PRICE})
        assert graded(model, 2).usage.cost is None
        account.billed, account.requests = 0.0, 0
        results = WAYS[way](model, account, tmp_path, max_cost=0.5)
    assert 0 < account.requests < ITEMS
    assert sum(one.usage.cost for one in results) == sum(
        one.usage.estimated_cost for one in results
    )
    check(results, account, 0.5, 5.0)


@pytest.mark.parametrize(
    ("output", "max_tokens", "bound"),
    [
        pytest.param(lambda n: 10 if n < 40 else 1000, 1000, 2.0, id="become dear"),
        pytest.param(lambda n: 5000 if n % 7 == 0 else 10, 5000, 3.0, id="vary by 1 to 50"),
        pytest.param(lambda n: 5000 if n % 7 == 0 else 10, None, 1.0, id="of any length"),
    ],
)
def test_a_bound_is_exceeded_by_one_request_at_most(
    output: Callable[[int], int], max_tokens: int | None, bound: float
):
    def kind(n: int) -> tuple[dict[str, Any], float]:
        return reported(usage(output=output(n)), bill(output=output(n)))(n)

    account = Account(kind, lambda n: 0.01)
    with ScriptedEndpoint(respond=account) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url, prices={"m": PRICE}, max_tokens=max_tokens)
        result = graded(model, 200, max_cost=bound, concurrency=32)
    assert result.usage.cost == pytest.approx(account.billed)
    assert account.requests < 200
    dearest = max(kind(n)[1] for n in range(1, account.requests + 1))
    assert account.billed <= bound + dearest


def test_requests_without_an_answer_count_for_what_they_may_be_billed(tmp_path):
    """Replies become so long that none comes in time: all are billed, and none is seen."""

    def kind(n: int) -> tuple[dict[str, Any], float]:
        output = 10 if n < 20 else 1000
        return reported(usage(output=output), bill(output=output))(n)

    account = Account(kind, lambda n: 0.0 if n < 20 else 60.0)
    with ScriptedEndpoint(respond=account) as endpoint:
        model = HTTPModel(
            "m", base_url=endpoint.url, prices={"m": PRICE}, max_tokens=1000, timeout=0.5
        )
        options = {"max_cost": 2.0, "run_dir": tmp_path / "run"}
        with pytest.raises(RunStopped, match=r"requests without an answer may have cost \$\d"):
            rubricate.grade(dataset(60), model, cache=None, **options)
        assert 20 < account.requests < 60
        assert account.billed <= 2.0
        sent = account.requests
        assert graded(model, 60, **options).usage.requests == 0  # the next command knows it, too
    assert account.requests == sent


@pytest.mark.parametrize("option", ["max_time", "deadline"])
def test_requests_that_are_broken_off_are_estimated(option: str):
    account = Account(KINDS["plain"], lambda n: 30.0 if n % 8 == 7 else 0.0)
    with ScriptedEndpoint(respond=account) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url, prices={"m": PRICE})
        result = graded(model, 40, **{option: 0.5})
    assert result.usage.estimated_cost > 0.0
    check([result], account, None, 1.1)


def test_what_was_never_sent_costs_nothing(unused_url: str):
    model = HTTPModel("m", base_url=unused_url, prices={"m": PRICE})
    usage = graded(model, 3, max_outage=0.1, max_cost=1.0).usage
    assert (usage.cost, usage.estimated_cost) == (0.0, 0.0)


def test_a_connection_that_breaks_behind_a_request_is_estimated_and_so_is_half_an_answer():
    billed = 0

    def broken(request: JudgeRequest) -> Rule:
        nonlocal billed
        billed += 1
        if billed % 5 == 4:
            return Rule(fault="reset" if billed % 2 else "truncate")
        return Rule(reply=MET, body={"usage": usage()})

    with ScriptedEndpoint(respond=broken) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url, prices={"m": PRICE})
        result = graded(model, 40)
    assert result.failed == 0
    assert result.usage.cost == pytest.approx(billed * bill(), rel=0.05)
    assert result.usage.cost >= billed * bill() - 1e-9
    assert result.usage.estimated_cost > 0.0


def test_a_bound_counts_what_was_not_reported_before_it_was_set(tmp_path):
    account = Account(UNREPORTED["no usage"])
    with ScriptedEndpoint(respond=account) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url, prices={"m": PRICE})
        first = graded(model, limit=8, run_dir=tmp_path / "run")
        assert first.usage.cost is None
        second = graded(model, run_dir=tmp_path / "run", max_cost=0.6)
    assert account.requests > 8
    assert second.usage.cost + first.usage.estimated_cost <= 0.6
    assert account.billed <= 0.6
    assert "the maximum cost of $0.6 is reached" in second.stopped


def test_old_records_have_no_reasoning_and_no_estimates():
    old = {"requests": 1, "input_tokens": 9, "cached_tokens": 0, "output_tokens": 3}
    old |= {"cost": 0.5, "seconds": 1.0}
    usage = rubricate.Usage(**old)
    assert usage.to_dict() == old  # and what has none is as it was
    assert (usage.reasoning_tokens, usage.estimated_cost) == (0, 0.0)


IMPOSSIBLE = {
    "more tokens than there are": Usage(1, 10**30),
    "a negative number of tokens": Usage(1, 5, 0, -5),
    "a negative cost": Usage(1, 5, 0, 5, -1.0),
    "a cost that is no number": Usage(1, 5, 0, 5, float("nan")),
    "more seconds than there are": Usage(1, 5, 0, 5, 0.0, float("inf")),
    "tokens as text": Usage(1, "5"),  # type: ignore[arg-type]
    "a negative estimate": Usage(1, 5, estimated_cost=-1.0),
}


@pytest.mark.parametrize(
    ("who", "took"),
    [
        pytest.param(who, took, id=f"{who}: {name}")
        for name, took in IMPOSSIBLE.items()
        for who in ("model", "failing model", "judge")
        if (who, name) != ("judge", "tokens as text")  # that is no verdict
    ],
)
def test_a_usage_that_cannot_be_right_is_unknown_and_neither_less_nor_the_end_of_a_run(
    who: str, took: Usage, tmp_path
):
    class Own(rubricate.Judge):
        name = "own"

        def key(self, item: Any, criterion: Any) -> str:
            return item.submission

        async def judge(self, item: Any, criterion: Any, send: Any) -> Verdict:
            return Verdict(criterion.name, "judged", "MET", 1.0, usage=took)

    class Reporting(rubricate.Model):
        name = "reporting"

        def fingerprint(self) -> dict[str, Any]:
            return {}

        async def complete(self, request: Any) -> Completion:
            if who == "failing model":
                raise ModelError("refused", "no", usage=took)
            return Completion(MET, took)

    judge = Own() if who == "judge" else Reporting()
    result = rubricate.grade(dataset(3), judge, run_dir=tmp_path / "run", cache=None)
    statuses = {row.status for item in result.items for row in item.criteria.values()}
    assert statuses == {"failed" if who == "failing model" else "judged"}
    assert result.usage.cost is None
    assert result.run_usage.cost is None
    assert Usage(**json.loads(json.dumps(result.usage.to_dict()))).is_possible
