"""What a run would take, before anything is spent."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import (
    Criterion,
    HTTPModel,
    InputError,
    Judge,
    MissingKeyError,
    PythonModel,
    Rubric,
    Verdict,
)
from rubricate.judge import Completion, Request
from rubricate.judge.models import ModelPrice, read_prices
from rubricate.rubric import Usage
from rubricate.testing import Rule, ScriptedEndpoint
from rubricate.views import dollars, unit_prices

NO_THINKING = {"reasoning_effort": "none"}


@pytest.mark.parametrize(
    ("judge", "options", "thinks"),
    [
        ("openai/gpt-4.1-mini", {}, False),
        ("openai/gpt-4.1-mini", {"reasoning_effort": "low"}, True),
        ("openai/gpt-6-luna", {}, True),
        ("openai/gpt-6-luna", NO_THINKING, False),
        ("openrouter/anthropic/claude-haiku-4-5", {}, False),
        ("anthropic/claude-haiku-4-5", {"thinking": {"type": "adaptive"}}, True),
        ("gemini/gemini-2.5-flash", {}, True),
    ],
)
def test_of_a_model_that_may_think_no_figure_is_likely_before_a_pilot(
    make_dataset, monkeypatch, judge: str, options: dict[str, Any], thinks: bool
):
    for name in ("OPENAI", "OPENROUTER", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "k" * 20)
    prices = {judge: ModelPrice(input=1000, output=2000)}
    model = HTTPModel(judge, prices=prices, model_options=options)
    found = rubricate.estimate(make_dataset(5), model)
    assert found.thinking == ((judge,) if thinks else ())
    assert (found.cost.likely is None, found.output_tokens.likely is None) == (thinks, thinks)
    assert found.input_tokens.likely is not None
    assert ("run --limit 5 first" in str(found)) == thinks


@pytest.mark.parametrize(
    ("judge", "options"),
    [
        ("openai/gpt-6-luna", {}),
        ("anthropic/claude-haiku-4-5", {"batch": True}),
        (["openai/gpt-6-luna", "gemini/gemini-2.5-flash"], {}),
    ],
)
def test_an_estimate_needs_no_api_key_and_a_run_does(make_dataset, judge: Any, options: Any):
    data = make_dataset(2)
    assert rubricate.estimate(data, judge, **options).requests > 0
    if isinstance(judge, str) and not options:
        assert rubricate.estimate_pair("a", "b", judge=judge, rubric=["Is right"]).requests == 2
        assert rubricate.estimate_redteam(judge, limit=1).requests > 0
    with pytest.raises(MissingKeyError, match="API_KEY"):
        rubricate.grade(data, judge, **options)


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text("m: {input: 1000, output: 2000, cached_input: 100}\n")
    return path


def test_an_estimate_sends_nothing_writes_nothing_and_has_the_truth_between_its_ends(
    make_dataset, tmp_path, endpoint, prices
):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run", "prices": prices}
    found = rubricate.estimate(make_dataset(20), "m", **options)
    assert endpoint.requests == []
    assert not (tmp_path / "run").exists()
    assert (found.items, found.verdicts, found.known, found.requests) == (20, 40, 0, 40)
    assert found.models == {"m": 40}
    assert found.cost.low > found.input_tokens.low * 1000 / 1e6
    taken = rubricate.grade(make_dataset(20), "m", **options).usage
    assert found.input_tokens.low <= taken.input_tokens <= found.input_tokens.high


@pytest.mark.parametrize(("body", "measured"), [({}, 10), ({"usage": None}, 0)])
def test_what_is_likely_is_by_stored_answers_whose_tokens_are_known(
    make_dataset, tmp_path, prices, body: dict[str, Any], measured: int
):
    with ScriptedEndpoint([Rule(verdict="MET", body=body)]) as endpoint:
        options = {"base_url": endpoint.url, "cache": tmp_path / "cache", "prices": prices}
        options["model_options"] = NO_THINKING
        unmeasured = rubricate.estimate(make_dataset(10), "m", **options)
        rubricate.grade(make_dataset(5), "m", **options)
        found = rubricate.estimate(make_dataset(10), "m", **options)
    assert (found.known, found.measured) == (10, measured)
    if not measured:
        assert found.cost.likely < unmeasured.cost.likely  # half of it, by the usual lengths
        assert found.cost.low < found.cost.likely < found.cost.high


@pytest.mark.parametrize(("words", "cached_input"), [(4000, 100), (4000, 1000), (50, 100)])
def test_an_estimate_has_the_price_with_the_providers_cache_where_that_is_cheaper(
    tmp_path, endpoint, words, cached_input
):
    prices = tmp_path / "prices.yaml"
    prices.write_text(f"m: {{input: 1000, output: 2000, cached_input: {cached_input}}}\n")
    rubric = Rubric([Criterion(name=name, requirement=f"is {name}") for name in "abcd"])
    dataset = rubricate.RubricDataset("p", rubric)
    for number in range(3):
        dataset.add_item(f"text {number} " + "word " * words)
    options = {"base_url": endpoint.url, "prices": prices, "model_options": NO_THINKING}
    found = rubricate.estimate(dataset, "m", **options)
    with_cache = found.cost_with_cache
    if words < 1000 or cached_input == 1000:
        assert with_cache is None
        assert "with the provider's cache" not in str(found)
        return
    # Three of an item's four prompts begin as the first: 0.25 + 0.75 / 10 of the input's price.
    assert 0.3 < with_cache.low / found.cost.low < 0.4
    assert 0.3 < with_cache.high / found.cost.high < 0.45
    assert found.cost.low < found.cost.likely < found.cost.high
    assert with_cache.low < with_cache.likely < with_cache.high
    shown = " ".join(str(found).split())
    assert f"{dollars(with_cache.high)}) with the provider's cache of prompts" in shown
    assert found.to_dict()["cost_with_cache"] == asdict(with_cache)
    plain, cached = (unit_prices(cost.likely, 12, 3) for cost in (found.cost, with_cache))
    assert f"price {plain}; {cached} with the cache" in shown


def test_a_verdict_and_an_item_have_a_price_before_and_after(make_dataset, prices, tmp_path):
    options = {"prices": prices, "run_dir": tmp_path / "run", "cache": None}
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        options["base_url"] = endpoint.url
        rubricate.grade(make_dataset(2), "m", limit=1, **options)
        left = rubricate.estimate(make_dataset(2), "m", **options)
        assert f"price     {unit_prices(left.cost.likely, left.requests, 1)}\n" in f"{left}\n"
        result = rubricate.grade(make_dataset(2), "m", **options)
        verdicts = sum(len(item.criteria) for item in result)
        price = unit_prices(result.run_usage.cost, verdicts, 2)
        assert f"price {price}" in " ".join(str(result.summary()).split())
        again = rubricate.estimate(make_dataset(2), "m", **options)
        assert "price" not in str(again)  # nothing is left to pay for
    assert unit_prices(0.0012345, 3, 1) == "$0.00041 a verdict, $0.0012 an item"
    assert unit_prices(25, 10, 2) == "$2.50 a verdict, $12.50 an item"


def test_what_is_known_is_not_in_the_estimate(make_dataset, tmp_path, endpoint):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run", "cache": tmp_path / "cache"}
    rubricate.grade(make_dataset(3), "m", **options)
    found = rubricate.estimate(make_dataset(5), "m", **options)
    assert (found.known, found.requests) == (6, 4)
    elsewhere = options | {"run_dir": tmp_path / "other"}
    assert rubricate.estimate(make_dataset(5), "m", **elsewhere).known == 6
    assert rubricate.estimate(make_dataset(5), "m", fresh=True, **options).requests == 10
    assert rubricate.estimate(make_dataset(5), "m", retry_failed=True, **options).requests == 0


def test_an_unknown_price_is_unknown_and_not_nothing(make_dataset, endpoint):
    assert rubricate.estimate(make_dataset(2), "m", base_url=endpoint.url).cost is None


def test_criteria_that_need_no_judge_cost_nothing(endpoint):
    rubric = Rubric([Criterion(name="a", requirement="r")])
    rubric = Rubric.from_dict([*rubric.to_dict(), {"name": "b", "kind": "regex", "pattern": "x"}])
    dataset = rubricate.RubricDataset("p", rubric)
    dataset.add_item("text")
    assert rubricate.estimate(dataset, "m", base_url=endpoint.url).requests == 1


def test_prices_set_what_a_run_costs(make_dataset, prices):
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        result = rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, prices=prices)
    usage = result.usage
    fresh = usage.input_tokens - usage.cached_tokens
    cost = (fresh * 1000 + usage.cached_tokens * 100 + usage.output_tokens * 2000) / 1e6
    assert usage.cost == pytest.approx(cost)


def test_own_prices_go_before_the_tables(monkeypatch, prices):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    prices.write_text(json.dumps({"openai/gpt-4.1-mini": {"input": 1.0, "output": 0.0}}))
    own = HTTPModel("openai/gpt-4.1-mini", prices=read_prices(prices))
    assert own.price(Usage(1, 1_000_000)) == 1.0
    assert HTTPModel("openai/gpt-4.1-mini").price(Usage(1, 1_000_000)) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "expected prices by model"),
        ("m: {input: 1}", "m.output"),
        ("m: {input: -1, output: 1}", "m.input"),
        ("m: {inputs: 1, input: 1, output: 1}", "inputs"),
    ],
)
def test_a_file_of_prices_that_does_not_fit_says_where(prices, content: str, message: str):
    prices.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read_prices(prices)
    assert str(caught.value).startswith(str(prices))


def test_a_dry_run_prints_what_it_would_take(rubricate, write_dataset, endpoint, prices, tmp_path):
    write_dataset()
    judge = ("--judge", "m", "--base-url", endpoint.url, "--dry-run")
    done = rubricate("grade", "data.json", *judge)
    assert (done.returncode, done.stderr) == (0, "")
    assert "requests  4: 4 of m" in done.stdout
    assert "cost      unknown" in done.stdout
    done = rubricate("grade", "data.json", *judge, "--json", "--prices", prices)
    figures = json.loads(done.stdout)
    assert figures["cost"]["low"] < figures["cost"]["high"]
    assert endpoint.requests == []
    assert not (tmp_path / "runs").exists()


class Asker(Judge):
    """Asks a model twice for each verdict, and tells nothing of what that took."""

    name = "asker"

    def __init__(self, model: HTTPModel) -> None:
        self._model = model

    def key(self, item: Any, criterion: Criterion) -> str:
        return f"asker {item.submission} {criterion.name}"

    async def judge(self, item: Any, criterion: Criterion, send: Any) -> Verdict:
        for turn in ("a", "b"):
            found = await send(self._model, Request(({"role": "user", "content": f"turn {turn}"},)))
        return Verdict(criterion.name, "judged", "MET", 1.0, reason=found.text)


@pytest.mark.parametrize("bounded", [{}, {"max_cost": 100}])
def test_what_a_judge_does_not_tell_of_its_requests_is_counted(make_dataset, prices, bounded):
    with ScriptedEndpoint() as endpoint:
        priced = HTTPModel("m", base_url=endpoint.url, prices=read_prices(prices))
        result = rubricate.grade(make_dataset(1), Asker(priced), **bounded)
    assert result.usage.requests == len(endpoint.requests) == 4
    assert result.usage.output_tokens > 0
    assert result.usage.cost is not None
    assert result.usage.cost > 0
    verdicts = [verdict for _, verdict in result.verdicts()]
    assert sum(verdict.usage.requests for verdict in verdicts) == 4


def test_a_cost_that_nobody_knows_is_unknown_and_never_nothing(make_dataset):
    with ScriptedEndpoint() as endpoint:
        unpriced = HTTPModel("m", base_url=endpoint.url)
        result = rubricate.grade(make_dataset(1), Asker(unpriced))
    assert (result.usage.requests, result.usage.cost) == (4, None)
    silent = PythonModel(lambda messages: Completion('{"reason": "r", "verdict": "MET"}'))
    result = rubricate.grade(make_dataset(1), silent)
    assert (result.usage.requests, result.usage.cost) == (2, None)
