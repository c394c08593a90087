"""Batches: every judgement once, through faults of the provider and of this machine."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import BatchModel, Cascade, Criterion, HTTPModel, Rubric, RubricDataset
from rubricate.errors import InputError, RunStopped
from rubricate.judge import batches_in
from rubricate.judge.models._batch_protocols import GeminiBatches
from rubricate.testing import BatchScript, Rule, ScriptedEndpoint

JUDGES = {
    "openai": "openai/gpt-4.1-mini",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
    "responses": "openai-responses/gpt-5-mini",
}
OPENAI = JUDGES["openai"]
QUICK: dict[str, Any] = {"batch": True, "batch_interval": 0.05, "cache": None}


@contextmanager
def endpoint(
    script: BatchScript | None = None, rules: list[Rule] | None = None, **options: Any
) -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(rules or [], batches=script, **options) as listening:
        variables = {f"{name.upper()}_API_KEY": "k" * 20 for name in JUDGES}
        variables |= {f"{name.upper()}_BASE_URL": listening.url for name in JUDGES}
        variables["GEMINI_BASE_URL"] = listening.gemini_url
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            yield listening


def dataset(items: int = 3, criteria: int = 2) -> RubricDataset:
    asked = [Criterion(name=f"c{n}", requirement=f"Gives the speed {n}") for n in range(criteria)]
    data = RubricDataset("How fast is light?", Rubric(asked))
    for number in range(items):
        data.add_item(f"Answer {number}: the speed {number % 5} of light, or {number % 3} of sound")
    return data


def labels(result: Any) -> list[str | None]:
    return [verdict.label for item in result for verdict in item.criteria.values()]


@pytest.mark.parametrize("provider", JUDGES)
def test_2000_judgements_come_once_each_through_all_that_goes_wrong_with_batches(
    provider: str, tmp_path: Path
):
    script = BatchScript(
        seconds=0.1, expired=0.1, failed=0.05, repeated=0.05, shuffled=True, truncated=2
    )
    data, judge, folder = dataset(200, 10), JUDGES[provider], tmp_path / "run"
    with endpoint(script) as provider_side:
        result = rubricate.grade(data, judge, run_dir=folder, **QUICK)
        batches = provider_side.batches
        assert len(batches.answered) == len(set(batches.answered)) == 2000
        assert batches.batches[0].state == "expired"
        sent = len(provider_side.requests)
        assert result.failed == 0
        assert labels(rubricate.grade(data, judge, run_dir=folder, cache=None)) == labels(result)
        assert len(provider_side.requests) == sent  # live, and nothing is asked
        live = rubricate.grade(data, judge, cache=None)
        assert labels(live) == labels(result)


@pytest.mark.parametrize("provider", JUDGES)
def test_a_request_in_a_batch_costs_half_and_dry_runs_say_so(provider: str, tmp_path: Path):
    data, judge = dataset(4), JUDGES[provider]
    with endpoint():
        batch = rubricate.grade(data, judge, run_dir=tmp_path / "run", **QUICK)
    with endpoint():
        live = rubricate.grade(data, judge, cache=None, concurrency=1, leader_first=False)
        estimates = [rubricate.estimate(data, judge, batch=batch) for batch in (False, True)]
    assert batch.usage.cost == pytest.approx(live.usage.cost / 2)
    assert estimates[1].cost.high == pytest.approx(estimates[0].cost.high / 2)


def test_nobody_waits_where_that_is_asked_for_and_the_next_command_collects(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    options = QUICK | {"run_dir": tmp_path / "run", "wait": False}
    with endpoint(BatchScript(seconds=math.inf)) as provider:
        for text in (": 6 requests are out in 1 batch", ": not ready: 6 .* 1 batch since 2.* UTC"):
            with pytest.raises(RunStopped, match=text):
                rubricate.grade(dataset(), OPENAI, **options)
        [(run, batch)] = batches_in(tmp_path)
        assert (run, batch.state, batch.id) == (tmp_path / "run", "out", "batch-1")
        assert provider.requests == []
        provider.batches.finish()
        result = rubricate.grade(dataset(), OPENAI, **options)
        assert result.failed == 0
        assert len(provider.batches.batches) == 1
    assert not caplog.records


def test_a_wait_for_a_day_and_a_batch_that_is_paid_and_not_collected_are_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    options = QUICK | {"run_dir": tmp_path}
    looks: list[str] = []

    def look(event: str) -> None:
        looks.append(event)
        if looks.count("look") == 3:
            provider.batches.finish()

    with endpoint(BatchScript(seconds=math.inf)) as provider:
        with pytest.raises(RunStopped):
            rubricate.grade(dataset(), OPENAI, wait=False, **options)
        provider.batches.script.on_event = look
        assert rubricate.grade(dataset(), OPENAI, fresh=True, **options).failed == 0
    said, waits = (record.getMessage() for record in caplog.records)
    assert f"`rubricate batches {tmp_path} --cancel`" in said
    assert waits.startswith("waiting for batch-2 with 6 requests, up to a day.")


def test_a_batch_that_the_command_of_another_day_does_not_ask_for_is_said(tmp_path: Path):
    """Other options are other requests, which are paid; those of before are paid for nothing."""
    options = QUICK | {"run_dir": tmp_path / "run", "wait": False}
    dataset().to_file(tmp_path / "data.json")
    with endpoint(BatchScript(seconds=math.inf)) as provider:
        with pytest.raises(RunStopped, match=r"6 requests are out in 1 batch$"):
            rubricate.grade(dataset(), OPENAI, max_tokens=200, **options)
        with pytest.raises(
            RunStopped, match="12 requests are out in 2 batches; batch-1 of another"
        ):
            rubricate.grade(dataset(), OPENAI, **options)
        provider.batches.finish()
        done = started(tmp_path, OPENAI, stderr=subprocess.PIPE)
        assert b"This run is complete. 6 requests are out in batches" in done.communicate()[1]
        assert done.returncode == 0


def test_a_batch_that_the_provider_no_longer_has_names_the_file_that_sends_it_again(tmp_path: Path):
    options = QUICK | {"run_dir": tmp_path}
    with endpoint(BatchScript(seconds=math.inf)) as provider:
        with pytest.raises(RunStopped):
            rubricate.grade(dataset(), OPENAI, wait=False, **options)
        [file] = (tmp_path / "batches").iterdir()
        file.write_text(file.read_text().replace("batch-1", "batch-9"))
        provider.batches.finish()
        with pytest.raises(RunStopped, match=rf"no longer has batch-9.* remove {file}"):
            rubricate.grade(dataset(), OPENAI, **options)
        file.unlink()
        assert rubricate.grade(dataset(), OPENAI, **options).failed == 0


def test_a_server_without_batches_is_an_error_before_anything_is_paid(tmp_path: Path):
    with endpoint() as provider:
        options = QUICK | {"base_url": f"{provider.url}/nowhere", "run_dir": tmp_path}
        with pytest.raises(RunStopped, match=r"no batches of this model.* leave out --batch"):
            rubricate.grade(dataset(), "a/model", **options)
        assert provider.requests == []


def test_what_a_batch_leaves_goes_live_where_that_is_asked_for(tmp_path: Path):
    with endpoint(BatchScript(expired=0.5)) as provider:
        result = rubricate.grade(
            dataset(20), OPENAI, run_dir=tmp_path / "run", then_live=True, **QUICK
        )
        [batch] = provider.batches.batches
        assert result.failed == 0
        assert len(provider.requests) == 40
        assert 0 < batch.unanswered == 40 - len(provider.batches.answered)


def test_a_cancelled_batch_is_asked_again_by_the_next_command(tmp_path: Path):
    with endpoint(BatchScript(seconds=math.inf)) as provider:
        dataset().to_file(tmp_path / "data.json")
        line = ["grade", tmp_path / "data.json", "--judge", OPENAI, "--batch", "--no-wait"]
        done = command(*line, "--batch-interval", "0.05", "--run-dir", tmp_path / "run")
        assert done.returncode == 8
        assert "6 requests are out in 1 batch. The same command" in done.stderr
        done = command("batches", tmp_path, "--cancel", "--json")
        assert '"cancelled": "cancelled"' in done.stdout
        provider.batches.finish()
        result = rubricate.grade(dataset(), OPENAI, run_dir=tmp_path / "run", **QUICK)
        assert result.failed == 0
        assert [batch.state for batch in provider.batches.batches] == ["cancelled", "ended"]


@pytest.mark.parametrize("provider", JUDGES)
def test_a_batch_whose_making_has_no_answer_is_found_and_not_sent_again(
    provider: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with endpoint(BatchScript(hidden=1)) as provider_side:
        result = rubricate.grade(dataset(), JUDGES[provider], run_dir=tmp_path / "run", **QUICK)
        assert "a batch has to wait, an hour at most: cannot reach" in caplog.text
        assert result.failed == 0
        assert len(provider_side.batches.batches) == 1


def test_replicates_reasks_and_stages_get_answers_of_their_own(tmp_path: Path):
    unreadable = Rule(criterion="speed 0", reply="no verdict", times=1)
    with endpoint(rules=[unreadable]) as provider:
        panel = rubricate.grade(
            dataset(3, 1), OPENAI, run_dir=tmp_path / "panel", replicates=3, **QUICK
        )
        assert panel.failed == 0
        assert len(provider.batches.answered) == len(set(provider.batches.answered)) == 10
        again = rubricate.grade(
            dataset(3, 1), OPENAI, run_dir=tmp_path / "panel", replicates=3, cache=None
        )
        assert labels(again) == labels(panel)
        assert len(provider.requests) == 10
    with endpoint(rules=[Rule(reply="none", criterion="speed 1", times=3)]) as provider:
        first = BatchModel(OPENAI, every=0.05)
        cascade = Cascade([first, HTTPModel(JUDGES["anthropic"])], 1.0)
        result = rubricate.grade(dataset(3), cascade, run_dir=tmp_path / "cascade", cache=None)
        assert result.failed == 0


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_sampled_replies_are_answers_of_their_own(provider: str, tmp_path: Path):
    options = QUICK | {"mode": "probability", "correct_prior": False, "samples": 3}
    with endpoint() as provider_side:
        result = rubricate.grade(dataset(2, 1), JUDGES[provider], run_dir=tmp_path, **options)
        answered = provider_side.batches.answered
    assert result.failed == 0
    assert result.usage.requests == len(answered) == len(set(answered)) == 2 * 2 * 3


def test_what_depends_on_other_verdicts_comes_in_further_batches(tmp_path: Path):
    data = RubricDataset.from_dict(
        {
            "prompt": "How fast is light?",
            "rubric": [
                {"name": "speed", "requirement": "Gives the speed of light"},
                {"name": "unit", "requirement": "Gives the unit metres", "requires": "speed"},
            ],
            "items": [{"submission": "The speed of light in metres"}, {"submission": "No idea"}],
        }
    )
    judges = [JUDGES["anthropic"], JUDGES["responses"]]
    with endpoint() as provider:
        result = rubricate.grade(data, judges, run_dir=tmp_path / "run", **QUICK)
        assert sorted(len(batch.rows) for batch in provider.batches.batches) == [1, 1, 2, 2]
        assert [item.criteria["unit"].status for item in result] == ["judged", "skipped"]
        sent = len(provider.requests)
        live = rubricate.grade(data, judges, run_dir=tmp_path / "run", cache=None)
        assert (labels(live), len(provider.requests)) == (labels(result), sent)


def test_retry_failed_asks_anew_what_a_batch_answered_badly(tmp_path: Path):
    bad = Rule(criterion="speed 1", reply="no verdict", times=9)
    with endpoint(rules=[bad]) as provider:
        options = QUICK | {"run_dir": tmp_path / "run"}
        assert rubricate.grade(dataset(), OPENAI, **options).failed == 3
        before = len(provider.requests)
        assert rubricate.grade(dataset(), OPENAI, retry_failed=True, **options).failed == 0
        assert len(provider.requests) == before + 3


def test_a_full_queue_is_waited_for(tmp_path: Path):
    with endpoint(BatchScript(queue=0)) as provider:

        def make_room(event: str) -> None:
            provider.batches.script.queue = None

        provider.batches.script.on_event = make_room
        provider.batches.script.queue = 0
        result = rubricate.grade(dataset(), OPENAI, run_dir=tmp_path / "run", **QUICK)
        assert result.failed == 0


def test_max_cost_counts_what_is_committed(tmp_path: Path):
    options = QUICK | {"run_dir": tmp_path / "run", "max_tokens": 100}
    with endpoint():
        whole = rubricate.grade(dataset(20), OPENAI, **options | {"run_dir": tmp_path / "whole"})
    with endpoint() as provider:
        half = whole.usage.cost / 2
        with pytest.raises(RunStopped, match="maximum cost") as stopped:
            rubricate.grade(dataset(20), OPENAI, max_cost=half, **options)
        assert 0 < len(provider.requests) < 40
        assert 0 < stopped.value.result.usage.cost <= half
        assert rubricate.grade(dataset(20), OPENAI, **options).failed == 0
        assert len(provider.requests) == 40
        with pytest.raises(InputError, match="max_tokens"):
            rubricate.grade(dataset(), OPENAI, run_dir=tmp_path / "other", max_cost=1.0, **QUICK)
        with pytest.raises(InputError, match="max_tokens"):
            rubricate.estimate(dataset(), OPENAI, max_cost=1.0, **QUICK)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"then_live": True}, "then_live is about batches"),
        ({"batch": True}, "give run_dir"),
        ({"batch": True, "judge": "deepseek/deepseek-chat"}, "no batches are known of"),
        ({"batch": True, "judge": "builtin"}, "batch is for models given by name"),
    ],
)
def test_what_cannot_be_is_an_error_of_one_line(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DEEPSEEK_API_KEY", "k" * 20)
    judge = options.pop("judge", OPENAI)
    with endpoint(), pytest.raises(InputError, match=message):
        rubricate.grade(dataset(), judge, cache=None, **options)


PRICES: dict[str, dict[str, float]] = {
    JUDGES["anthropic"]: {"input": 3.0, "output": 15.0, "cached_input": 0.3, "cache_write": 3.75},
    "openai/gpt-5-mini": {"input": 0.25, "output": 2.0, "cached_input": 0.025},
}
LONG = "The speed of light is known. " * 966


def bill(provider: ScriptedEndpoint, judge: str) -> tuple[float, float]:
    """What an endpoint charges for all that it has answered, live: input, and output."""
    price = PRICES[judge]
    if usages := provider.batches.usages:
        total = {name: sum(usage[name] for usage in usages) for name in usages[0]}
        read = price["input"] * total["input_tokens"]
        read += price["cached_input"] * total["cache_read_input_tokens"]
        read += price["cache_write"] * total["cache_creation_input_tokens"]
        return read / 1e6, price["output"] * total["output_tokens"] / 1e6
    cached = sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in provider.usages)
    fresh = sum(usage["prompt_tokens"] for usage in provider.usages) - cached
    wrote = sum(usage["completion_tokens"] for usage in provider.usages)
    read = price["input"] * fresh + price["cached_input"] * cached
    return read / 1e6, price["output"] * wrote / 1e6


def billed(
    judge: str, data: RubricDataset, folder: Path, options: dict[str, Any]
) -> tuple[float, Any, Any]:
    """Input that was charged, dollars in all, and the dry run; the cost shown is the bill.

    Where the model may think, a pilot of one item comes before both.
    """
    options = {"prices": folder.parent / "prices.json", "cache": None} | options
    options["run_dir"] = folder
    options["prices"].write_text(json.dumps(PRICES))
    rule = Rule(verdict="MET", reason="It says so. " * 38, thinking=options.pop("thinking", ""))
    part = 0.5 if "batch" in options else 1.0
    with endpoint(rules=[rule]) as provider:
        before = (0.0, 0.0)
        dry = rubricate.estimate(data, judge, **options)
        if dry.thinking:  # nobody knows how much before a few items have been graded
            assert (dry.thinking, dry.cost.likely, dry.output_tokens.likely) == (
                (judge,),
                None,
                None,
            )
            rubricate.grade(data, judge, limit=1, **options)
            before = bill(provider, judge)
            dry = rubricate.estimate(data, judge, **options)
        result = rubricate.grade(data, judge, **options)
        read, wrote = bill(provider, judge)
    assert result.failed == 0
    dollars = part * (read + wrote - sum(before))
    assert result.usage.cost == pytest.approx(dollars, abs=1e-6)
    return part * read, dollars, dry


def long_dataset(items: int) -> RubricDataset:
    asked = [Criterion(name=f"c{n}", requirement=f"Gives number {n}") for n in range(20)]
    data = RubricDataset("How fast is light?", Rubric(asked))
    for number in range(items):
        data.add_item(f"Answer {number}. {LONG}")
    return data


@pytest.mark.parametrize("judge", PRICES)
def test_one_criterion_a_request_costs_as_much_as_caches_and_batches_make_it(
    judge: str, tmp_path: Path
):
    """20 criteria, 50 submissions of 7,000 tokens: the bill is what is shown, and it is small."""
    data = long_dataset(50)
    together, _, _ = billed(judge, data, tmp_path / "together", {"criteria_per_call": "all"})
    alone, _, _ = billed(judge, data, tmp_path / "alone", {})
    batch, _, _ = billed(judge, data, tmp_path / "batch", dict(QUICK))
    assert alone <= 3.3 * together
    assert batch <= 1.6 * together


WAYS: dict[str, dict[str, Any]] = {
    "live": {},
    "grouped": {"criteria_per_call": 5},
    "together": {"criteria_per_call": "all"},
    "panel": {"replicates": 3},
    "batch": QUICK,
    "batch, grouped": QUICK | {"criteria_per_call": 5},
    "thinking": {
        "thinking": "I think. " * 200,
        "model_options": {"thinking": {"type": "adaptive"}},
    },
}
WAYS["batch, thinking"] = QUICK | WAYS["thinking"]


@pytest.mark.parametrize("judge", PRICES)
@pytest.mark.parametrize("way", WAYS)
def test_a_dry_run_says_the_bill_to_a_tenth(way: str, judge: str, tmp_path: Path):
    _, dollars, dry = billed(judge, long_dataset(4), tmp_path / "run", dict(WAYS[way]))
    cost = dry.cost if dry.cost_with_cache is None else dry.cost_with_cache
    assert cost.likely == pytest.approx(dollars, rel=0.1)
    assert cost.low <= cost.likely <= cost.high
    assert bool(dry.measured) == ("thinking" in way or judge.startswith("openai"))


@pytest.mark.parametrize("batch", [False, True])
def test_a_cache_that_expires_within_an_item_is_billed_as_it_is(batch: bool, tmp_path: Path):
    judge, data = JUDGES["anthropic"], long_dataset(2)

    def respond(request: Any) -> None:
        if len(provider.requests) % 20 == 10:
            provider.batches.expire_caches()

    options = QUICK | {"run_dir": tmp_path / "run"} if batch else {"cache": None}
    with endpoint(respond=respond) as provider:
        result = rubricate.grade(data, judge, concurrency=1, **options)
        usages = provider.batches.usages
        read, wrote = bill(provider, judge)
    writes = [usage["cache_creation_input_tokens"] > 0 for usage in usages]
    assert [number for number, written in enumerate(writes) if written] == [0, 9, 20, 29]
    assert result.usage.cost == pytest.approx((read + wrote) * (0.5 if batch else 1), abs=1e-9)


EFFORTS: dict[str, dict[str, Any]] = {
    "openai/gpt-5-mini": {"reasoning_effort": "low"},
    "openai-responses/gpt-5-mini": {"reasoning": {"effort": "low", "summary": "auto"}},
    "anthropic/claude-sonnet-4-5": {"thinking": {"type": "enabled", "budget_tokens": 2000}},
    "anthropic/claude-opus-4-6": {
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
    },
    "groq/openai/gpt-oss-20b": {"reasoning_effort": "low"},
}
"""Models that reason, and how their providers' documentation says how much."""


@pytest.mark.parametrize("judge", EFFORTS)
def test_headers_efforts_and_further_fields_go_out_with_batches_as_they_do_live(
    judge: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fields = {"top_p": 0.5, **EFFORTS[judge]}
    options: dict[str, Any] = {"model_options": fields, "headers": {"x-team": "a"}}
    with endpoint() as provider:
        monkeypatch.setenv("GROQ_API_KEY", "k" * 20)
        base = {"base_url": provider.url} if judge.startswith("groq/") else {}
        sent: list[dict[str, Any]] = []
        monkeypatch.setattr(HTTPModel, "_post", noting(sent, HTTPModel._post))
        options |= base
        rubricate.grade(dataset(2), judge, run_dir=tmp_path / "run", **options, **QUICK)
        [batch] = provider.batches.batches
        rubricate.grade(dataset(2), judge, cache=None, **options)
        headers = [request.headers["x-team"] for request in provider.requests]
    assert headers == ["a"] * 8
    assert batch.headers["x-team"] == "a"
    bodies = [body for _, body in batch.rows]
    for name, value in fields.items():
        assert all(
            body[name].items() >= value.items() if isinstance(value, dict) else body[name] == value
            for body in (*bodies, *sent)
        )
    assert sorted(map(json.dumps, bodies * 2)) == sorted(map(json.dumps, sent))


def noting(sent: list[Any], post: Any) -> Any:
    async def noted(self: Any, payload: dict[str, Any], form: Any) -> Any:
        sent.append(json.loads(json.dumps(payload)))
        return await post(self, payload, form)

    return noted


@pytest.mark.parametrize(
    ("model", "options", "sent"),
    [
        ("gemini-2.5-flash", {"reasoning_effort": "none"}, {"thinkingBudget": 0}),
        ("gemini-2.5-pro", {"reasoning_effort": "medium"}, {"thinkingBudget": 8192}),
        ("gemini-3-flash-preview", {"reasoning_effort": "minimal"}, {"thinkingLevel": "minimal"}),
        ("gemini-3-pro-preview", {"reasoning_effort": "high"}, {"thinkingLevel": "high"}),
        (
            "gemini-2.5-flash",
            {"extra_body": {"google": {"thinking_config": {"thinking_budget": 800}}}},
            {"thinking_budget": 800},
        ),
        ("gemini-3-pro-preview", {"reasoning_effort": "none"}, "cannot but think"),
        ("gemini-2.5-flash", {"extra_body": {"google": {}}}, "no option like 'extra_body'"),
    ],
)
def test_geminis_batches_think_as_much_as_the_documentation_says(
    model: str, options: dict[str, Any], sent: Any, tmp_path: Path
):
    """https://ai.google.dev/gemini-api/docs/openai#thinking: levels from Gemini 3 on."""
    options = {"model_options": options | {"top_p": 0.5}, "headers": {"x-team": "a"}}
    with endpoint() as provider:
        result = rubricate.grade(
            dataset(1, 1), f"gemini/{model}", run_dir=tmp_path / "run", **options, **QUICK
        )
        if isinstance(sent, str):
            [item] = result
            assert sent in item.criteria["c0"].error.message
            return
        [batch] = provider.batches.batches
    [(_, body)] = batch.rows
    assert batch.headers["x-team"] == "a"
    assert body["generationConfig"]["thinkingConfig"] == sent
    assert body["generationConfig"]["topP"] == 0.5


def test_an_option_that_a_batch_cannot_have_fails_with_its_name(tmp_path: Path):
    options = QUICK | {"run_dir": tmp_path / "run", "model_options": {"top_k": 3}}
    with endpoint():
        result = rubricate.grade(dataset(), JUDGES["gemini"], **options)
    errors = {verdict.error.message for item in result for verdict in item.criteria.values()}
    assert result.failed == 6
    assert errors == {"a batch of Gemini has no option like 'top_k'; leave out --batch"}


def test_a_form_that_nobody_knows_fails_requests_and_none_waits_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def answers(self: object, results: bytes) -> Iterator[Any]:
        yield from json.loads(results)["no such thing"]

    monkeypatch.setattr(GeminiBatches, "answers", answers)
    with endpoint():
        result = rubricate.grade(dataset(), JUDGES["gemini"], run_dir=tmp_path / "run", **QUICK)
    assert {verdict.error.message for item in result for verdict in item.criteria.values()} == {
        "KeyError: 'no such thing'"
    }


def test_a_damaged_note_beside_them_fails_requests_and_none_waits_for_ever(tmp_path: Path):
    def damage(event: str) -> None:
        (tmp_path / "run" / "batches" / "a.json").write_text('{"rows": 5}')

    data = dataset(4)
    with endpoint(BatchScript(expired=0.5, on_event=damage)):
        result = rubricate.grade(data, OPENAI, run_dir=tmp_path / "run", **QUICK)
    errors = [v.error.message for item in result for v in item.criteria.values() if v.error]
    assert 0 < len(errors) < 8
    assert all("is damaged: remove it" in error for error in errors)


# A stranger's run folder


def note(folder: Path, **changed: object) -> None:
    batch = {"key": "k", "model": "m", "url": "u", "rows": ["r"], "state": "out", "id": "b"}
    (folder / "batches").mkdir(parents=True, exist_ok=True)
    (folder / "batches" / "k.json").write_text(json.dumps({**batch, "created": 1.0, **changed}))


def test_an_address_that_only_a_run_folder_names_gets_no_request_and_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RUBRICATE_API_KEY", "sk-0123456789abcdef")
    with endpoint(BatchScript(seconds=math.inf)) as server:
        options = QUICK | {"run_dir": tmp_path / "run", "wait": False, "base_url": server.url}
        with pytest.raises(RunStopped):
            rubricate.grade(dataset(), "a/model", **options)
        done = command("batches", tmp_path, "--cancel")
        assert f"not cancelled: if the server is yours, give --base-url {server.url}" in done.stdout
        assert server.batches.batches[0].state == "running"
        done = command("batches", tmp_path, "--cancel", "--base-url", "http://127.0.0.1:9/v1")
        assert server.batches.batches[0].state == "running"
        done = command("batches", tmp_path, "--cancel", "--base-url", server.url)
        assert done.stdout.endswith("cancelled\n")
        assert server.batches.batches[0].state == "cancelled"


@pytest.mark.parametrize(
    "changed",
    [{"rows": 5}, {"created": "soon"}, {"state": "lost"}, {"id": "../files/f"}, {"more": 1}],
)
def test_a_note_in_another_form_is_one_clear_line(tmp_path: Path, changed: dict[str, Any]):
    note(tmp_path / "run", **changed)
    done = command("batches", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "k.json: is damaged: remove it" in done.stderr


def test_a_folder_that_is_not_there_is_not_one_without_batches(tmp_path: Path):
    done = command("batches", tmp_path / "nowhere")
    assert done.returncode == 1
    assert "nowhere: no such folder" in done.stderr


# Processes


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "rubricate", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def started(
    folder: Path, judge: str, *arguments: object, stderr: int | None = None
) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "rubricate", "grade", folder / "data.json", "--judge", judge]
    line += ["--batch", "--batch-interval", "0.05", "--run-dir", folder / "run", "-q"]
    line += ["--no-cache", *arguments]
    line = [str(part) for part in line]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=stderr)


class Killer:
    """Kills a process when something has come to the provider for the n-th time."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._event, self._times, self._seconds = "", 0, 0.0

    def wait_for(self, event: str, times: int, seconds: float) -> None:
        """Kill the process so many seconds after the n-th event of a kind from now on."""
        self._event, self._times, self._seconds = event, times, seconds

    def __call__(self, event: str) -> None:
        self._times -= event == self._event
        if self._times == 0 and event == self._event:
            self._event = ""
            threading.Timer(self._seconds, self._kill).start() if self._seconds else self._kill()

    def _kill(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)


POINTS = {
    "before upload": ("upload", 1, 0.0),
    "after upload": ("create", 1, 0.0),
    "waiting": ("look", 2, 0.0),
    "downloading": ("results", 1, 0.0),
    "second batch": ("create", 1, 0.0),
    "writing": ("results", 1, 0.02),
}
"""What a process is killed at: an event since it was started, and seconds after that."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("provider", JUDGES)
def test_kill_9_at_six_points_loses_nothing_and_nothing_is_paid_twice(
    provider: str, tmp_path: Path
):
    """Each process takes up what the one before it, killed at the point before, has left."""
    killer, judge = Killer(), JUDGES[provider]
    script = BatchScript(seconds=0.3, expired=0.4, failed=0.2, on_event=killer)
    data = dataset(60)
    data.to_file(tmp_path / "data.json")
    with endpoint(script) as provider_side:
        for name, point in POINTS.items():
            killer.wait_for(*point)
            killer.process = process = started(tmp_path, judge)
            assert process.wait(60) == -signal.SIGKILL, name
        assert started(tmp_path, judge).wait(60) == 0
        answered = provider_side.batches.answered
        assert len(answered) == len(set(answered)) == 120
        expected = labels(rubricate.grade(data, judge, cache=None))
        sent = len(provider_side.requests)
        result = rubricate.grade(data, judge, run_dir=tmp_path / "run", cache=None)
        assert labels(result) == expected
        assert len(provider_side.requests) == sent


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("provider", JUDGES)
def test_a_killed_run_within_a_greatest_cost_has_what_it_paid_for(provider: str, tmp_path: Path):
    """What it committed to a batch is not committed a second time by the command that collects."""
    killer, judge, data = Killer(), JUDGES[provider], dataset(20)
    data.to_file(tmp_path / "data.json")
    with endpoint():
        options = QUICK | {"run_dir": tmp_path / "whole", "max_tokens": 100}
        cost = rubricate.grade(data, judge, **options).usage.cost
    bounded = ["--max-tokens", "100", "--max-cost", str(1.6 * cost)]
    with endpoint(BatchScript(seconds=0.3, on_event=killer)) as provider_side:
        killer.wait_for("look", 2, 0.0)
        killer.process = started(tmp_path, judge, *bounded)
        assert killer.process.wait(60) == -signal.SIGKILL
        committed = sum(len(batch.rows) for batch in provider_side.batches.batches)
        assert 10 < committed < 40  # the bound is full of them
        assert started(tmp_path, judge, *bounded).wait(60) == 0
        answered = provider_side.batches.answered
        assert len(answered) == len(set(answered)) == 40


@pytest.mark.parametrize("provider", JUDGES)
def test_two_processes_share_what_is_out(provider: str, tmp_path: Path):
    data, judge = dataset(40), JUDGES[provider]
    data.to_file(tmp_path / "data.json")
    with endpoint(BatchScript(seconds=0.5, failed=0.05, expired=0.2)) as provider_side:
        both = [started(tmp_path, judge, "--shard", f"{part}/2") for part in (1, 2)]
        assert [process.wait(60) for process in both] == [0, 0]
        answered = provider_side.batches.answered
        assert len(answered) == len(set(answered)) == 80
        sent = len(provider_side.requests)
        assert rubricate.grade(data, judge, run_dir=tmp_path / "run").failed == 0
        assert len(provider_side.requests) == sent
