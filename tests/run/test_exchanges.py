"""What was sent and received is kept to the letter, and found again from a line of results."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import Criterion, Rubric, RubricDataset
from rubricate.analysis import Selection, conversation_lines, read_run
from rubricate.errors import InputError
from rubricate.judge import Cascade, Completion, HTTPModel
from rubricate.run.journal._exchanges import LONGEST
from rubricate.run.results import ROWS, Conversation, Conversations, ResultRow, read_lines
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

MET = '{"reason": "r", "evidence": [], "verdict": "MET"}'


def conversations(folder: Path) -> list[tuple[ResultRow, list[Conversation]]]:
    """Each verdict with what was sent and received for it."""
    with Conversations(folder) as kept:
        return [(row, kept.of(row)) for row in read_lines(folder / "results.jsonl", ROWS)]


def sent(folder: Path) -> set[str]:
    """The messages of all that is kept."""
    return {
        json.dumps([dict(message) for message in exchange.messages])
        for _, found in conversations(folder)
        for conversation in found
        for exchange in conversation.exchanges
    }


def received(endpoint: ScriptedEndpoint) -> set[str]:
    """The messages of all that came to an endpoint."""
    return {json.dumps(request.body["messages"]) for request in endpoint.requests}


def long_dataset() -> RubricDataset:
    text = "\n\n".join(f"Section {n}. " + "Light is fast, and so on. " * 40 for n in range(12))
    rubric = Rubric([Criterion(name="speed", requirement="Gives roughly 300000 kilometres")])
    dataset = RubricDataset("How fast is light?", rubric)
    dataset.add_item(f"{text} Roughly 300000 kilometres.", "long")
    return dataset


WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "explained": ({}, {}),
    "json object": ({}, {"formats": ("json_object", "text")}),
    "tags": ({}, {"formats": ("text",)}),
    "grouped": ({"criteria_per_call": "all"}, {}),
    "probability": ({"mode": "probability", "correct_prior": False}, {}),
    "probability by samples": ({"mode": "probability"}, {"logprobs": "ignored"}),
    "panel": ({"judge": ["one", "two"]}, {}),
    "replicates": ({"replicates": 2}, {}),
    "orders": ({"permutations": 2, "shuffle": 3}, {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_kept_is_what_the_endpoint_received(make_dataset, tmp_path, way):
    options, scripted = WAYS[way]
    options = {"judge": "m"} | options
    with ScriptedEndpoint(**scripted) as endpoint:
        result = rubricate.grade(
            make_dataset(2), base_url=endpoint.url, run_dir=tmp_path, **options
        )
    assert result.failed == 0
    came = received(endpoint)
    if scripted.get("formats"):  # refused forms of the same request are not exchanges
        came = {one for one in came if ("<verdict>" in one) == ("json_object" not in str(scripted))}
    assert sent(tmp_path) == came
    for row, found in conversations(tmp_path):
        assert found
        assert len(found) == max(1, len(row.votes))
        for conversation in found:
            assert conversation.missing is None
            assert all(exchange.reply for exchange in conversation.exchanges)


def test_of_a_long_document_the_requests_about_its_parts_are_kept(tmp_path):
    with ScriptedEndpoint() as endpoint:
        rubricate.grade(
            long_dataset(), "m", base_url=endpoint.url, run_dir=tmp_path, chunk_tokens=500
        )
    assert len(endpoint.requests) > 2
    assert sent(tmp_path) == received(endpoint)
    ((_, [conversation]),) = conversations(tmp_path)
    assert len(conversation.exchanges) == len(endpoint.requests)


def test_every_attempt_of_a_failed_judgement_is_kept_over_several_runs(make_dataset, tmp_path):
    rules = [Rule(reply="nonsense of run 1", times=6), Rule(reply="nonsense of run 2")]
    with ScriptedEndpoint(rules) as endpoint:
        for _ in range(2):
            rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, run_dir=tmp_path)
    for _, [conversation] in conversations(tmp_path):
        replies = [exchange.reply for exchange in conversation.exchanges]
        assert replies == ["nonsense of run 1"] * 3 + ["nonsense of run 2"] * 3
        again = conversation.exchanges[1].messages
        assert again[2] == {"role": "assistant", "content": "nonsense of run 1"}
        assert [message["role"] for message in again] == ["system", "user", "assistant", "user"]


def test_a_failed_request_is_kept_with_its_error_and_without_the_key(
    make_dataset, tmp_path, monkeypatch
):
    monkeypatch.setenv("RUBRICATE_API_KEY", "sk-very-secret-key")
    rule = Rule(status=400, message="no, not with sk-very-secret-key")
    with ScriptedEndpoint([rule]) as endpoint:
        rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, run_dir=tmp_path)
    (row, [conversation]), _ = conversations(tmp_path)
    *_, last = conversation.exchanges
    assert last.reply is None
    assert last.error == (row.error.kind, row.error.message)
    assert last.messages
    for path in tmp_path.iterdir():
        assert b"very-secret" not in path.read_bytes()


def test_a_long_reply_is_kept_by_its_beginning_and_end_and_says_so(make_dataset, tmp_path):
    reply = f"begin {'x' * 100_000} end"
    with ScriptedEndpoint([Rule(reply=reply)]) as endpoint:
        rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, run_dir=tmp_path)
    for _, [conversation] in conversations(tmp_path):
        for exchange in conversation.exchanges:
            kept = exchange.reply or ""
            assert len(kept) < LONGEST + 100
            assert kept.startswith("begin xx")
            assert kept.endswith("xx end")
            assert exchange.left_out == len(reply) - LONGEST
            assert f"{exchange.left_out} characters are not kept" in kept
    assert (tmp_path / "journal.sqlite").stat().st_size < 500_000


@pytest.mark.parametrize("in_parts", [False, True])
def test_an_answer_from_the_cache_comes_with_its_exchanges(make_dataset, tmp_path, in_parts):
    runs = [tmp_path / "a", tmp_path / "b"]
    dataset = long_dataset() if in_parts else make_dataset(3)
    with ScriptedEndpoint() as endpoint:
        options: Any = {"base_url": endpoint.url, "cache": tmp_path / "cache"}
        options |= {"chunk_tokens": 500} if in_parts else {}
        for folder in runs:
            result = rubricate.grade(dataset, "m", run_dir=folder, **options)
    assert result.cached == (1 if in_parts else 6)
    first, second = ([found for _, found in conversations(folder)] for folder in runs)
    assert first == second
    assert sent(runs[1]) == received(endpoint)


def test_a_resumed_run_still_has_the_exchanges(make_dataset, tmp_path, endpoint):
    for _ in range(2):
        rubricate.grade(make_dataset(2), "m", base_url=endpoint.url, run_dir=tmp_path)
    assert sent(tmp_path) == received(endpoint)


def test_what_is_computed_or_never_asked_says_so(tmp_path, make_dataset):
    rubricate.grade(make_dataset(1), "builtin", run_dir=tmp_path)
    for _, [conversation] in conversations(tmp_path):
        assert conversation.missing == "no request was sent for it"


def as_before(folder: Path) -> None:
    """Make a run folder one of the version that kept no exchanges."""
    database = sqlite3.connect(folder / "journal.sqlite")
    database.executescript(
        "ALTER TABLE records DROP COLUMN exchanges; DROP TABLE texts; PRAGMA user_version=2"
    )
    database.close()
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    for line in lines:
        del line["keys"]
    (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_run_of_before_opens_and_says_that_they_were_not_kept(make_dataset, tmp_path, endpoint):
    rubricate.grade(make_dataset(2), "m", base_url=endpoint.url, run_dir=tmp_path)
    as_before(tmp_path)
    for _, [conversation] in conversations(tmp_path):
        assert "not kept by the version" in str(conversation.missing)
    result = rubricate.grade(make_dataset(3), "m", base_url=endpoint.url, run_dir=tmp_path)
    assert (result.calls, result.resumed) == (2, 4)
    missing = [found[0].missing for _, found in conversations(tmp_path)]
    assert ["not kept by" in str(one) for one in missing] == [True] * 4 + [False] * 2
    assert missing[4:] == [None, None]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE records SET exchanges = CAST(replace(exchanges, 'MET', 'NOT') AS BLOB)",
        "DELETE FROM texts",
    ],
    ids=["exchanges", "their texts"],
)
def test_damaged_exchanges_are_said_to_be_and_cost_no_answer(
    make_dataset, tmp_path, endpoint, damage: str
):
    rubricate.grade(make_dataset(2), "m", base_url=endpoint.url, run_dir=tmp_path)
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as database, database:
        database.execute(damage)
    for _, [conversation] in conversations(tmp_path):
        assert [exchange.damaged for exchange in conversation.exchanges] == [True]
    result = rubricate.grade(make_dataset(2), "m", base_url=endpoint.url, run_dir=tmp_path)
    assert (result.calls, result.resumed) == (0, 4)


def test_each_text_is_kept_once(make_dataset, tmp_path, endpoint):
    rubricate.grade(make_dataset(10), "m", base_url=endpoint.url, run_dir=tmp_path)
    database = sqlite3.connect(tmp_path / "journal.sqlite")
    (count,) = database.execute("SELECT count(*) FROM texts").fetchone()
    database.close()
    assert count == 1 + 10 + 2  # instructions, items, criteria


def test_a_cascade_keeps_every_stage(make_dataset, tmp_path):
    def respond(request: JudgeRequest) -> Rule:
        return Rule(verdict="CANNOT_ASSESS" if request.body["model"] == "a" else "MET")

    with ScriptedEndpoint(respond=respond) as endpoint:
        models = [HTTPModel(name, base_url=endpoint.url) for name in ("a", "b")]
        rubricate.grade(make_dataset(1), Cascade(models, 0.5), run_dir=tmp_path)
    for _, found in conversations(tmp_path):
        assert [(one.judge, len(one.exchanges)) for one in found] == [("a", 1), ("b", 1)]


def test_a_missing_journal_is_an_error_that_names_it(make_dataset, tmp_path, endpoint):
    rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, run_dir=tmp_path)
    (tmp_path / "journal.sqlite").unlink()
    with pytest.raises(InputError, match=r"journal\.sqlite: what was sent and received cannot"):
        Conversations(tmp_path)


def test_without_a_run_folder_nothing_is_held(make_dataset, endpoint, monkeypatch):
    monkeypatch.setattr(
        "rubricate.run.journal._exchanges.Transcript.answered", lambda *noted: 1 / 0
    )
    assert rubricate.grade(make_dataset(1), "m", base_url=endpoint.url).failed == 0


def test_an_answer_that_stood_in_the_reasoning_is_kept_as_such(tmp_path):
    def respond(messages: Any) -> Completion:
        return Completion("", elsewhere=MET)

    dataset = RubricDataset("How fast?", Rubric([Criterion(name="speed", requirement="Is fast")]))
    dataset.add_item("It is fast.", "one")
    result = rubricate.grade(dataset, respond, run_dir=tmp_path / "run")
    assert result.items[0].criteria["speed"].label == "MET"
    ((_, (conversation,)),) = conversations(tmp_path / "run")
    (exchange,) = conversation.exchanges
    assert (exchange.reply, exchange.elsewhere) == ("", MET)
    assert exchange.to_dict()["elsewhere"] == MET


def test_of_a_damaged_journal_the_exchanges_that_can_be_read_are_kept(
    make_dataset, tmp_path, endpoint
):
    options = {"base_url": endpoint.url, "run_dir": tmp_path}
    rubricate.grade(make_dataset(40), "m", **options)
    path = tmp_path / "journal.sqlite"
    content = path.read_bytes()
    # One that has answers: which are in the middle of the file is another one each time.
    page = max(
        range(4096, len(content), 4096),
        key=lambda at: content[at : at + 4096].count(b"judged by keywords"),
    )
    path.write_bytes(content[:page] + bytes(4096) + content[page + 4096 :])
    result = rubricate.grade(make_dataset(40), "m", **options)
    assert 0 < result.calls < 80
    intact = [
        bool(conversation.exchanges) and not any(one.damaged for one in conversation.exchanges)
        for _, (conversation,) in conversations(tmp_path)
    ]
    assert sum(intact) > result.calls
    known = received(endpoint)
    for _, (conversation,) in conversations(tmp_path):
        for one in conversation.exchanges:
            assert one.damaged or json.dumps([dict(m) for m in one.messages]) in known


def test_a_models_thinking_is_kept_beside_its_reply_and_is_shown(make_dataset, tmp_path):
    message = {"role": "assistant", "content": MET, "reasoning_content": "I think. " * 2000}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    with ScriptedEndpoint([Rule(reply=MET, body=body)]) as endpoint:
        rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, run_dir=tmp_path / "run")
    for _, [conversation] in conversations(tmp_path / "run"):
        [exchange] = conversation.exchanges
        assert exchange.reply == MET
        assert exchange.thinking.startswith("I think. ")
        assert LONGEST < len(exchange.thinking) < LONGEST + 100
        assert exchange.to_dict()["thinking"] == exchange.thinking
    shown = [*conversation_lines(Selection(read_run(tmp_path / "run")))]
    assert any(line.startswith("I think. ") for line in shown)
