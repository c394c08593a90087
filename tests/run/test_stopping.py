"""Runs that end early: they stop at once and keep what was judged."""

from __future__ import annotations

import asyncio
import contextlib
import html
import json
import re
import time
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote

import pytest

import rubricate
from rubricate import Model, RunStopped, grade
from rubricate.errors import JournalError, MissingKeyError, ModelError
from rubricate.testing import Rule, ScriptedEndpoint

KEY = "sk-planted-0123456789"
MET = {"reason": "r", "evidence": [], "verdict": "MET"}


def stopped(dataset: rubricate.RubricDataset, judge: Any, **options: Any) -> RunStopped:
    with pytest.raises(RunStopped) as caught:
        rubricate.grade(dataset, judge, **options)
    return caught.value


def statuses(result: rubricate.Result) -> list[str]:
    return [verdict.status for _, verdict in result.verdicts()]


def test_a_dead_endpoint_stops_the_run_after_the_attempts_of_one_call(
    make_dataset, unused_url, tmp_path, rows
):
    error = stopped(
        make_dataset(50), "m", base_url=unused_url, attempts=3, run_dir=tmp_path / "run"
    )
    assert unused_url in str(error)
    assert not error.interrupted
    assert Counter(statuses(error.result)) == {"failed": 1, "not_run": 99}
    assert error.result.usage.requests == 3
    kinds = {verdict.error.kind for _, verdict in error.result.verdicts()}
    assert kinds == {"connection", "not_run"}
    assert len(rows(tmp_path / "run")) == 100


def test_a_run_folder_of_an_earlier_version_says_apart_what_was_not_run(
    make_dataset, tmp_path, unused_url
):
    stopped(make_dataset(3), "m", base_url=unused_url, attempts=1, run_dir=tmp_path)
    path = tmp_path / "results.jsonl"
    lines = path.read_text()
    assert lines.count('"status":"not_run"') == 5
    path.write_text(lines.replace('"status":"not_run"', '"status":"failed"'))
    found = Counter(row.status for row in rubricate.read_run(tmp_path).rows)
    assert found == {"failed": 1, "not_run": 5}


@pytest.mark.parametrize("answered", [0, 6])
def test_an_endpoint_that_asks_to_wait_longer_than_a_call_may_take_stops_the_run(
    make_dataset, answered
):
    def respond(request: Any) -> Rule:
        if len(endpoint.requests) <= answered:
            return Rule(verdict="MET")
        return Rule(status=429, headers={"Retry-After": "7200"}, message="that was all for today")

    async def twice(url: str) -> list[RunStopped]:
        caught = []
        for _ in range(2):
            with pytest.raises(RunStopped) as stop:
                await rubricate.agrade(make_dataset(20), "m", base_url=url, concurrency=4)
            caught.append(stop.value)
        return caught

    with ScriptedEndpoint(respond=respond) as endpoint:
        first, second = asyncio.run(twice(endpoint.url))
        assert len(endpoint.requests) < 20
    assert "asks to wait for 120 min: HTTP 429: that was all for today" in str(first)
    assert first.result.calls - first.result.failed <= answered
    assert "asks to wait for 120 min" in str(second)  # without a request
    assert second.result.usage.requests == 0


def test_a_server_that_never_answers_is_given_up_after_an_outages_time(make_dataset):
    with ScriptedEndpoint([Rule(fault="hang")]) as endpoint:
        error = stopped(
            make_dataset(20),
            "m",
            base_url=endpoint.url,
            timeout=0.3,
            attempts=1000,
            max_outage=0.5,
            concurrency=2,
        )
        # Within the deadline of a call, 600 s, there would be thousands.
        assert len(endpoint.requests) < 20
    assert str(error).startswith("no answer within 0.3 s")


def test_a_key_refused_on_the_way_stops_at_once_and_what_was_judged_is_in_results(
    make_dataset, tmp_path, rows
):
    def respond(request: Any) -> Rule:
        if len(endpoint.requests) <= 7:
            return Rule(verdict="MET")
        return Rule(status=401, message=f"Incorrect API key provided: {KEY}")

    with ScriptedEndpoint(respond=respond) as endpoint:
        options: Any = {"base_url": endpoint.url, "run_dir": tmp_path, "concurrency": 4}
        error = stopped(make_dataset(50), "m", **options)
    assert 8 <= len(endpoint.requests) <= 7 + 4
    assert "RUBRICATE_API_KEY" in str(error)
    assert statuses(error.result).count("judged") == 7
    written = rows(tmp_path)
    assert [row["status"] for row in written].count("judged") == 7
    assert len(written) == 100
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert "RUBRICATE_API_KEY" in summary["stopped"]
    assert summary["not_run"] >= 100 - 7 - 4


def test_a_run_takes_up_where_a_refused_key_ended_it(make_dataset, tmp_path):
    calls: list[int] = []

    def judge(messages: Any) -> dict[str, Any]:
        from rubricate.errors import ModelError

        calls.append(1)
        if len(calls) == 8:
            raise ModelError("auth", "no")
        return MET

    folder = tmp_path / "run"
    error = stopped(make_dataset(10), judge, run_dir=folder)
    assert statuses(error.result).count("judged") == 7
    result = rubricate.grade(make_dataset(10), judge, run_dir=folder)
    assert (result.resumed, result.calls, result.failed) == (7, 13, 0)


@pytest.mark.parametrize(("status", "message"), [(401, "wrong"), (404, "no such model")])
def test_a_wrong_key_or_a_model_that_is_not_there_costs_one_request(make_dataset, status, message):
    with ScriptedEndpoint([Rule(status=status, message=message)]) as endpoint:
        error = stopped(make_dataset(50), "m", base_url=endpoint.url)
    assert len(endpoint.requests) == 1
    assert message in str(error)


def test_a_missing_key_is_an_error_before_anything_is_sent_or_written(
    make_dataset, endpoint, monkeypatch, tmp_path
):
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        rubricate.grade(make_dataset(), "openai/gpt-4.1-mini", run_dir=tmp_path / "run")
    assert endpoint.requests == []
    assert not (tmp_path / "run").exists()


def test_the_key_is_nowhere_in_what_a_run_leaves(make_dataset, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("RUBRICATE_API_KEY", KEY)
    progress: list[str] = []
    rules = [
        Rule(submission="Answer 1", status=400, message=f"odd request with {KEY}"),
        Rule(submission="Answer 2", status=500, message=f"{'x' * 290}{KEY}", times=1),
        Rule(submission="Answer 3", status=401, message=f"wrong key {KEY}"),
    ]
    with ScriptedEndpoint(rules) as endpoint:
        error = stopped(
            make_dataset(5),
            "m",
            base_url=endpoint.url,
            run_dir=tmp_path / "run",
            concurrency=1,
            on_progress=lambda now: progress.append(repr(now)),
        )
    assert endpoint.requests[0].headers["Authorization"] == "(given)"
    print(error.result.summary())
    files = b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())
    assert b"odd request with [key]" in files
    shown = "".join([repr(error), *progress, repr(error.result), repr(error.result.items)])
    for left in (shown, *capfd.readouterr(), files.decode("utf-8", "replace")):
        assert KEY not in left
        assert KEY[:10] not in left


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "escapes of JSON": lambda key: "".join(f"\\u{ord(one):04x}" for one in key),
    "escapes of JSON, capitals": lambda key: "".join(f"\\u{ord(one):04X}" for one in key),
    "some escapes": lambda key: key.replace("-", "\\u002d"),
    "escapes within escapes": lambda key: "".join(f"\\\\u{ord(one):04x}" for one in key),
    "escapes of Python": lambda key: "".join(f"\\\\x{ord(one):02x}" for one in key),
    "an address": lambda key: "".join(f"%{ord(one):02X}" for one in key),
    "an address in an address": lambda key: "".join(f"%25{ord(one):02x}" for one in key),
    "HTML": lambda key: "".join(f"&#{ord(one)};" for one in key),
    "HTML, hexadecimal": lambda key: "".join(f"&#x{ord(one):x};" for one in key),
    "HTML in HTML": lambda key: "".join(f"&amp;#{ord(one)};" for one in key),
    "capitals": str.upper,
    "with what is not seen": "\u200b".join,
    "with what is not seen, escaped": lambda key: key[:5] + "\\u200b" + key[5:],
    "wide letters": lambda key: "".join(chr(ord(one) + 0xFEE0) for one in key),
    "base64": lambda key: b64encode(key.encode()).decode(),
    "base64 of a header": lambda key: b64encode(f"Bearer {key}".encode()).decode(),
    "base64 of a pair": lambda key: b64encode(f"user:{key}:x".encode()).decode(),
    "hexadecimal digits": lambda key: key.encode().hex(),
}


def readings(text: str) -> Iterator[str]:
    """A text, and what somebody who reads it can make of it."""
    for _ in range(4):
        yield text.casefold()
        text = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
        text = re.sub(r"\\+x([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)
        text = normalize("NFKC", html.unescape(unquote(text))).replace("\u200b", "")
    for found in re.findall(r"[A-Za-z0-9+/=]{16,}", text):
        with contextlib.suppress(ValueError):
            yield b64decode(found + "=" * (-len(found) % 4)).decode("utf-8", "replace").casefold()
        with contextlib.suppress(ValueError):
            yield bytes.fromhex(found).decode("utf-8", "replace").casefold()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_key_that_is_repeated_in_another_spelling_is_nowhere(
    spelling: str, make_dataset, tmp_path, monkeypatch, rubricate, caplog
):
    """In a reply that is read, in one that is not, in errors, and in an endpoint's own names."""
    monkeypatch.setenv("RUBRICATE_API_KEY", KEY)
    written = SPELLINGS[spelling](KEY)
    entry = json.dumps(MET | {"reason": "KEY is what I was sent"}).replace("KEY", written)
    rules = [
        Rule(submission="Answer 1", reply=entry),
        Rule(submission="Answer 2", reply=f"I was sent {written}"),
        Rule(submission="Answer 3", status=400, message=f"odd request with {written}"),
        Rule(submission="Answer 4", reply=f"<think>{written}</think>{entry}"),
        Rule(verdict="MET", body={"model": written}),
    ]
    with ScriptedEndpoint(rules) as endpoint:
        grade(make_dataset(5), "m", base_url=endpoint.url, run_dir=tmp_path / "run", concurrency=1)
    shown = rubricate("show", "run", "--item", "0", "--item", "1", "--prompt")
    whole = rubricate("show", "run", "--criterion", "speed", "--prompt", "--json")
    rubricate("report", "run")
    files = [path.read_bytes().decode("utf-8", "replace") for path in (tmp_path / "run").iterdir()]
    assert any("[key]" in text for text in files)
    for text in (shown.stdout, shown.stderr, whole.stdout, caplog.text, *files):
        for reading in readings(text):
            assert KEY.casefold() not in reading


# Stopped from outside


def test_a_run_that_is_stopped_before_it_begins_asks_nothing(make_dataset, endpoint):
    async def main() -> None:
        stop = asyncio.Event()
        stop.set()
        with pytest.raises(RunStopped) as caught:
            await rubricate.agrade(make_dataset(), "m", base_url=endpoint.url, stop=stop)
        assert caught.value.interrupted

    asyncio.run(main())
    assert endpoint.requests == []


def test_a_cancelled_run_keeps_what_was_judged(make_dataset, tmp_path, rows):
    async def main() -> None:
        async def judge(messages: Any) -> dict[str, Any]:
            calls.append(1)
            if len(calls) > 4:
                task.cancel()
                await asyncio.sleep(60)
            return MET

        grading = rubricate.agrade(make_dataset(9), judge, run_dir=tmp_path / "run", concurrency=1)
        task = asyncio.create_task(grading)
        with pytest.raises(asyncio.CancelledError):
            await task

    calls: list[int] = []
    asyncio.run(main())
    assert [row["status"] for row in rows(tmp_path / "run")].count("judged") == 4
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["stopped"] == "cancelled"


def test_a_judge_that_cancels_itself_fails_that_judgement_and_no_other(make_dataset):
    async def judge(messages: Any) -> dict[str, Any]:
        if "Answer 1:" in messages[-1]["content"]:
            waiting = asyncio.get_running_loop().create_future()
            waiting.cancel()
            await waiting
        return MET

    result = rubricate.grade(make_dataset(3), judge, concurrency=1)
    assert statuses(result) == ["judged", "judged", "failed", "failed", "judged", "judged"]
    error = result.items[1].criteria["speed"].error
    assert error is not None
    assert error.kind == "cancelled"
    assert result.stopped is None


@pytest.mark.parametrize("concurrency", [1, 2, 5])
def test_a_first_prompt_that_fails_ends_no_run_whose_answers_come_at_once(
    make_dataset, concurrency
):
    """More judgements are begun to find one that is answered; some of these workers stay."""
    count = iter(range(999))

    def answer(messages: Any) -> Any:
        if not next(count):
            raise KeyError("content")
        return {"reason": "r", "evidence": [], "verdict": "UNMET"}

    result = rubricate.grade(make_dataset(20), answer, concurrency=concurrency)
    statuses = [verdict.status for _, verdict in result.verdicts()]
    assert statuses.count("failed") == 1
    assert statuses.count("judged") == len(statuses) - 1


@pytest.mark.parametrize("judge", ["one", "panel"])
def test_a_run_whose_verdicts_are_all_known_is_whole_whatever_stop_says(
    make_dataset, tmp_path, judge: str
):
    def met(messages: Any) -> dict[str, Any]:
        return MET

    async def graded(stop: asyncio.Event) -> rubricate.Result:
        judges = met if judge == "one" else [rubricate.PythonModel(met, name=n) for n in "ab"]
        return await rubricate.agrade(make_dataset(9), judges, run_dir=tmp_path, stop=stop)

    async def main() -> rubricate.Result:
        stop = asyncio.Event()
        await graded(stop)
        stop.set()
        return await graded(stop)

    again = asyncio.run(main())
    assert (again.stopped, again.failed) == (None, 0)
    assert json.loads((tmp_path / "summary.json").read_text())["stopped"] is None


def test_an_error_in_the_callers_own_code_is_raised_and_costs_no_answer(
    make_dataset, tmp_path, rows
):
    def fall_over(progress: rubricate.Progress) -> None:
        if progress.done == 3:
            raise LookupError("my own bug")

    with pytest.raises(LookupError, match="my own bug"):
        rubricate.grade(
            make_dataset(),
            lambda messages: MET,
            run_dir=tmp_path / "run",
            on_progress=fall_over,
            concurrency=1,
        )
    assert [row["status"] for row in rows(tmp_path / "run")].count("judged") == 3


def test_a_journal_that_cannot_be_written_ends_the_run_with_its_name(
    make_dataset, tmp_path, monkeypatch
):
    from rubricate.run.journal import SQLiteJournal

    def full(self: SQLiteJournal) -> None:
        raise JournalError(f"{self._name}: database or disk is full")

    monkeypatch.setattr(SQLiteJournal, "commit", full)
    with pytest.raises(JournalError, match=r"journal\.sqlite: database or disk is full"):
        rubricate.grade(make_dataset(40), lambda messages: MET, run_dir=tmp_path / "run")


def test_an_endpoint_that_refuses_every_request_stops_the_run(make_dataset):
    with ScriptedEndpoint([Rule(status=400, message="no such parameter")]) as endpoint:
        with pytest.raises(RunStopped, match="no such parameter"):
            rubricate.grade(make_dataset(50), "m", base_url=endpoint.url, concurrency=1)
        assert len(endpoint.requests) < 10


class SlowToBegin(Model):
    """A model that blocks the loop before it sends, as a first import does, and refuses its key."""

    name = endpoint = "slow"

    def __init__(self) -> None:
        self.requests = 0

    def fingerprint(self) -> dict[str, Any]:
        return {"model": self.name}

    async def complete(self, request: Any) -> Any:
        self.requests += 1
        if self.requests == 1:
            time.sleep(0.4)  # noqa: ASYNC251
        await asyncio.sleep(0)
        raise ModelError("auth", "HTTP 401: wrong key", status=401)

    async def aclose(self) -> None:
        return None


def test_the_first_request_goes_alone_however_long_it_takes_to_begin(make_dataset):
    model = SlowToBegin()
    assert "wrong key" in str(stopped(make_dataset(20), model))
    assert model.requests == 1


def test_a_wrong_address_is_named_with_the_model_and_what_most_addresses_end_in(make_dataset):
    with ScriptedEndpoint() as endpoint:
        address = endpoint.url.removesuffix("/v1")
        error = stopped(make_dataset(5), "m", base_url=address)
    assert f"the request was for model 'm' at {address}/chat/completions" in str(error)
    assert "end in /v1" in str(error)
    assert error.result.usage.requests == 1


def test_the_summary_says_how_language_models_were_asked(make_dataset):
    def shown(**options: Any) -> str | None:
        return rubricate.grade(make_dataset(1), **options).summary().mode

    def judge(messages: Any) -> Any:
        return MET

    assert shown() is None
    assert shown(judge=judge) == "explained, one criterion a request"
    grouped = shown(judge=judge, criteria_per_call="all")
    assert grouped == "explained, all criteria a request"
    both = [rubricate.judge.ModelJudge(rubricate.judge.PythonModel(judge)), "builtin"]
    assert shown(judge=both) == "explained, one criterion a request"
    assert "asked " in str(rubricate.grade(make_dataset(1), judge).summary())
