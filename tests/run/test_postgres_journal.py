"""A journal in PostgreSQL: what is promised of the file in the run folder, and for many at once."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
import traceback
from contextlib import closing
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

import rubricate
from rubricate import Criterion, Rubric, RubricDataset, Usage
from rubricate._files import is_address
from rubricate.errors import InputError, JournalError, MissingExtraError, RunStopped
from rubricate.judge import Completion, ModelJudge
from rubricate.judge.models import PythonModel
from rubricate.options import GradingOptions
from rubricate.run.journal import Database, is_same_run, open_journal, remembered
from rubricate.run.journal import _lease as lease_module
from rubricate.run.journal import _server as server_module
from rubricate.run.journal._postgres import PostgresJournal
from rubricate.run.sending._stores import PostgresStore, change
from rubricate.run.workers._worker import Job, Worker

RECORD = {"status": "judged", "label": "MET", "reason": "r", "usage": {}, "judge": None}
MET = {"reason": "r", "evidence": [], "verdict": "MET"}


def query(address: str, text: str, *values: Any) -> list[Any]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(text.encode(), values)
        return cursor.fetchall() if cursor.description else []


TEXTS = ("a\0b", "half \ud83d", "'; DROP TABLE x; --", "%s %% \\x00", "ü" * 9999)


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_kept_as_it_is(postgres, text: str):
    place = Database(postgres, "r")
    record = RECORD | {"reason": text}
    with closing(PostgresJournal(place)) as journal:
        journal.put(text, record, text.encode("utf-8", "replace"))
    with closing(PostgresJournal(place)) as journal:
        found = journal.get_many([text])[text]["reason"]
        assert found == text.encode("utf-8", "replace").decode()
        assert journal.exchanges([text]) == {text: text.encode("utf-8", "replace")}


@pytest.mark.parametrize("name", ['o\'Neil "x"; --', "100%s", "ü/?&=#", "n" * 300])
def test_any_name_of_a_run_is_its_own(postgres, name: str):
    with closing(PostgresJournal(Database(postgres, name))) as journal:
        journal.put("a", RECORD)
    with closing(PostgresJournal(Database(postgres, name))) as journal:
        assert journal.has_a_past
    place = Database.at(remembered(Database(postgres, name)))
    assert place.run == name
    with closing(PostgresJournal(place)) as journal:
        assert journal.has_a_past
    with closing(PostgresJournal(Database(postgres, "another"))) as journal:
        assert not journal.has_a_past


@pytest.mark.parametrize(
    ("address", "other"),
    [
        ("postgresql://me:secret@h:1/d?run=r", "postgresql://you@h:1/d?run=r&sslmode=require"),
        ("postgresql://me:p@h:1,g:2/d?target_session_attrs=read-write&run=r", None),
        ("postgresql://me@/d?host=/a&run=r", None),
        ("postgresql://h/d?run=r", "postgresql://h:5432/d?run=r"),
    ],
)
def test_the_address_that_a_folder_keeps_is_that_of_the_same_run(address: str, other: str | None):
    place = Database.at(address)
    assert is_same_run(place, Database.at(remembered(place)))
    if other:
        assert is_same_run(Database.at(other), place)
    elsewhere = "postgresql://g/d?run=r", "postgresql://me@/d?host=/b&run=r"
    for address in (*elsewhere, "postgresql://h:1/d?run=other", "postgresql://h:1/e?run=r"):
        assert not is_same_run(place, Database.at(address))


def test_a_name_that_no_run_can_have_is_an_input_error(make_dataset, tmp_path, postgres):
    for end in ("?run=a%00b", "?run="):
        with pytest.raises(InputError, match="name"):
            Database.at(f"postgresql://host/db{end}")
    with pytest.raises(InputError, match="--run-dir"):
        rubricate.grade(make_dataset(), lambda messages: MET, journal=postgres)


def test_a_damaged_record_is_asked_again_and_counted(make_dataset, tmp_path, endpoint, postgres):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run", "journal": postgres}
    rubricate.grade(make_dataset(5), "m", **options)
    query(
        postgres,
        "UPDATE rubricate_records SET record = convert_to(replace(convert_from(record, 'UTF8'),"
        " 'MET', 'MEH'), 'UTF8')"
        " WHERE key IN (SELECT key FROM rubricate_records ORDER BY 1 LIMIT 1)",
    )
    result = rubricate.grade(make_dataset(5), "m", **options)
    assert (result.calls, result.resumed, result.damaged, result.failed) == (1, 9, 1, 0)


def test_fresh_begins_a_new_run_of_the_name_and_keeps_the_earlier(
    make_dataset, tmp_path, endpoint, postgres
):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run", "journal": postgres}
    for fresh, calls in ((False, 4), (True, 4), (False, 0)):
        assert rubricate.grade(make_dataset(2), "m", fresh=fresh, **options).calls == calls
    assert query(postgres, "SELECT run, count(*) FROM rubricate_records GROUP BY 1 ORDER BY 1") == [
        (1, 4),
        (2, 4),
    ]


def test_a_run_folder_remembers_its_journal_without_the_password(
    make_dataset, tmp_path, endpoint, postgres_server, monkeypatch
):
    address = postgres_server.tcp_address()
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "a run"}
    rubricate.grade(make_dataset(2), "m", journal=address, **options)
    note = (tmp_path / "a run" / "journal.url").read_text()
    assert note == f"{postgres_server.tcp_address(password=None)}?run=a%20run\n"
    with pytest.raises(JournalError, match=r"~/\.pgpass"):
        rubricate.grade(make_dataset(2), "m", **options)
    monkeypatch.setenv("PGPASSWORD", "p@ss/w%rd")
    assert rubricate.grade(make_dataset(2), "m", **options).calls == 0
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another user"))
    with pytest.raises(InputError, match="name it yourself"):  # it may be somebody else's
        rubricate.grade(make_dataset(2), "m", **options)
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", str(postgres_server.port))
    assert rubricate.grade(make_dataset(2), "m", **options).calls == 0


def test_a_run_folder_with_its_journal_elsewhere_is_refused(
    make_dataset, tmp_path, endpoint, postgres
):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    rubricate.grade(make_dataset(1), "m", **options)
    with pytest.raises(InputError, match=r"journal\.sqlite: leave out --journal"):
        rubricate.grade(make_dataset(1), "m", journal=postgres, **options)
    rubricate.grade(make_dataset(1), "m", journal=postgres, fresh=True, **options)
    with pytest.raises(InputError, match=r"journal\.url"):
        rubricate.grade(make_dataset(1), "m", journal="postgresql://else/db", **options)
    assert rubricate.grade(make_dataset(1), "m", journal=postgres, **options).calls == 0


def test_a_second_driver_is_refused_and_told_of_the_first(make_dataset, tmp_path, postgres):
    place = Database(postgres, "run")
    with (
        closing(PostgresJournal(place)),
        pytest.raises(
            JournalError, match=r"another process is grading into this run \(since"
        ) as one,
    ):
        rubricate.grade(make_dataset(), lambda m: MET, run_dir=tmp_path / "run", journal=postgres)
    assert "--run-dir" in str(one.value)
    rubricate.grade(make_dataset(), lambda m: MET, run_dir=tmp_path / "run", journal=postgres)


def test_processes_that_open_an_empty_database_at_once_all_can(postgres):
    def work(number: int) -> None:
        try:
            with closing(
                PostgresJournal(Database(postgres, f"r{number % 2}"), "worker")
            ) as journal:
                journal.put(f"k{number}", RECORD)
        except JournalError:
            failed.append(traceback.format_exc())

    failed: list[str] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert query(postgres, "SELECT count(*) FROM rubricate_runs") == [(2,)]
    assert query(postgres, "SELECT count(*) FROM rubricate_records") == [(12,)]


def test_tables_of_a_newer_version_are_refused_and_older_ones_migrated(postgres, monkeypatch):
    with closing(PostgresJournal(Database(postgres, "r"))) as journal:
        journal.put("a", RECORD)
    known = server_module._STEPS
    monkeypatch.setattr(
        server_module, "_STEPS", (*known, "ALTER TABLE rubricate_runs ADD COLUMN note text")
    )
    with closing(PostgresJournal(Database(postgres, "r"))) as journal:
        assert journal.get_many(["a"]) == {"a": RECORD}
    assert query(postgres, "SELECT note FROM rubricate_runs") == [(None,)]
    monkeypatch.setattr(server_module, "_STEPS", known)
    newer = rf"newer version of rubricate \(format {len(known) + 1}.*upgrade"
    for access in ("alone", "reading"):
        with pytest.raises(JournalError, match=newer):
            open_journal(Database(postgres, "r"), access=access)
    query(postgres, "UPDATE rubricate_meta SET format = 1")
    with closing(open_journal(Database(postgres, "r"), access="reading")) as journal:
        assert journal.get_many(["a"]) == {"a": RECORD}


def test_the_conversation_of_a_run_is_read_from_its_database(
    make_dataset, tmp_path, endpoint, postgres, rubricate
):
    import rubricate as package

    package.grade(
        make_dataset(1), "m", base_url=endpoint.url, run_dir=tmp_path / "run", journal=postgres
    )
    shown = rubricate("show", "run", "--criterion", "speed", "--prompt", "--json")
    assert "messages" in shown.stdout, shown.stderr


def test_what_was_sent_and_received_is_kept_once_and_with_earlier_failures(postgres):
    place = Database(postgres, "r")
    with closing(PostgresJournal(place)) as journal:
        journal.put("a", RECORD, b"first\n")
    with closing(PostgresJournal(place)) as journal:
        journal.put("a", RECORD, b"second\n")
        assert journal.exchanges(["a"]) == {"a": b"first\nsecond\n"}
        journal.put("a", RECORD, b"second\n")  # a batch that is written again
        assert journal.exchanges(["a"]) == {"a": b"first\nsecond\n"}


@pytest.mark.parametrize("secret", ["hunter2", "p@ss/w:rd?x=1%20#"])
def test_a_password_is_in_no_error_and_in_no_repr(make_dataset, tmp_path, postgres_server, secret):
    def assert_hidden(text: str) -> None:
        assert secret not in text
        assert quoted not in text

    port, quoted = postgres_server.port, quote(secret, safe="")
    addresses = [
        f"postgresql://rubricate:{quoted}@127.0.0.1:{port}/postgres",
        f"postgresql://rubricate:{quoted}@127.0.0.1:1/postgres",
        f"postgresql://rubricate:{secret}@127.0.0.1:{port}/postgres",
        f"postgresql://127.0.0.1:{port}/postgres?user=rubricate&password={quoted}",
        f"postgres:/rubricate:{secret}@127.0.0.1/x",
    ]
    for address in addresses:
        with pytest.raises((InputError, JournalError)) as caught:
            rubricate.grade(
                make_dataset(), lambda m: MET, run_dir=tmp_path / "run", journal=address
            )
        if is_address(address):
            assert_hidden(repr(GradingOptions(journal=address)))
        assert_hidden(str(caught.value))
        assert len(str(caught.value).splitlines()) == 1


ERRORS = {
    "unreachable": ("postgresql://127.0.0.1:1/db", "refused"),
    "no such host": ("postgresql://no-such-host.invalid/db", "no-such-host"),
    "no database": ("{tcp}-none", "does not exist.*createdb"),
    "password": ("{wrong}", "password authentication failed.*PGPASSWORD"),
    "no user": ("postgresql://nobody@/postgres?host={folder}&port={port}", "nobody"),
}


@pytest.mark.parametrize("what", ERRORS)
def test_a_database_that_cannot_be_used_is_one_line_before_anything_is_sent(
    make_dataset, tmp_path, endpoint, postgres_server, what
):
    address, said = ERRORS[what]
    address = address.format(
        tcp=postgres_server.tcp_address(),
        wrong=postgres_server.tcp_address(password="wrong"),
        folder=postgres_server.folder,
        port=postgres_server.port,
    )
    with pytest.raises(JournalError, match=said) as caught:
        rubricate.grade(
            make_dataset(), "m", base_url=endpoint.url, run_dir=tmp_path / "run", journal=address
        )
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).startswith("postgresql://")
    assert endpoint.requests == []


def test_no_right_to_make_tables_says_who_may(make_dataset, tmp_path, postgres_server, postgres):
    role = f"r{postgres.rpartition('/')[2][:12]}"
    query(postgres, f"CREATE ROLE {role} LOGIN".replace("?", ""))
    query(postgres, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    address = postgres.replace("rubricate@", f"{role}@")
    with pytest.raises(JournalError, match="may make tables run the command once, or let"):
        PostgresJournal(Database(address, "r"))
    with closing(PostgresJournal(Database(postgres, "r"))):
        pass
    query(postgres, f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
    with pytest.raises(JournalError, match="may not write there; let somebody GRANT SELECT, "):
        PostgresJournal(Database(address, "r"))
    query(postgres, f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO {role}")
    tables = "rubricate_limits, rubricate_claims, rubricate_leases"
    query(postgres, f"GRANT DELETE ON {tables} TO {role}")
    with closing(PostgresJournal(Database(address, "r"))) as journal:
        journal.put("a", RECORD)


def test_a_read_only_server_is_told_before_anything_is_sent(
    make_dataset, tmp_path, endpoint, postgres
):
    told = {"base_url": endpoint.url, "run_dir": tmp_path / "run", "journal": postgres}
    rubricate.grade(make_dataset(1), "m", **told)
    sent = len(endpoint.requests)
    name = postgres.partition("?")[0].rpartition("/")[2]
    query(postgres, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(JournalError, match="it is read-only, such as a replica is"):
        rubricate.grade(make_dataset(9), "m", **told)
    assert len(endpoint.requests) == sent


async def paid(messages: Any) -> Completion:
    return Completion(json.dumps(MET), Usage(requests=1, cost=0.01))


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_a_run_through_a_pooler_belongs_to_one_process_too(
    mode, make_dataset, tmp_path, endpoint, postgres, pooled
):
    address = pooled(mode, postgres)
    name = re.search(r"/(t\w+)\?", postgres)[1]
    query(postgres, f"ALTER DATABASE {name} SET synchronous_commit = off")
    told = {"base_url": endpoint.url, "run_dir": tmp_path / "run", "journal": address}
    for calls in (80, 0):
        result = rubricate.grade(make_dataset(40), "m", share_limits=address, **told)
        assert (result.failed, result.calls) == (0, calls)
    account = {"max_cost": 0.305, "run_dir": tmp_path / "paid", "journal": address}
    with pytest.raises(RunStopped, match=r"maximum cost of \$0\.305"):
        rubricate.grade(make_dataset(40), PythonModel(paid), **account)
    assert query(postgres, "SELECT count(*) FROM rubricate_records WHERE run > 1") == [(30,)]
    with (
        closing(PostgresJournal(Database(address, "run"))),
        pytest.raises(JournalError, match="another process is grading into this run"),
    ):
        PostgresJournal(Database(address, "run"))


def test_without_the_extra_it_says_what_to_install(make_dataset, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"\[postgres\]"):
        rubricate.grade(
            make_dataset(), lambda m: MET, run_dir=tmp_path, journal="postgresql://host/db"
        )


def test_a_password_goes_to_no_server_that_only_a_file_names(
    tmp_path, postgres_server, rubricate, write_dataset
):
    write_dataset()
    address = postgres_server.tcp_address(password=None)
    (tmp_path / "run.yaml").write_text(f"data: data.json\njournal: {address}\nrun_dir: run\n")
    secret = {"PGPASSWORD": "p@ss/w%rd"}
    refused = rubricate("grade", "--config", "run.yaml", **secret)
    assert (refused.returncode, "name it yourself: --journal" in refused.stderr) == (1, True)
    named = ("--journal", address)
    assert rubricate("grade", "--config", "run.yaml", *named, **secret).returncode == 0
    trusted = rubricate("grade", "--config", "run.yaml", **secret)
    assert trusted.returncode == 0
    shown = "".join(one.stdout + one.stderr for one in (refused, trusted))
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert "p@ss" not in shown
    assert not any(b"p@ss" in content or b"p%40ss" in content for content in files)


def test_what_a_run_would_take_is_said_without_making_anything(
    make_dataset, tmp_path, endpoint, postgres
):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run", "journal": postgres}
    assert rubricate.estimate(make_dataset(2), "m", **options).known == 0
    assert query(postgres, "SELECT to_regclass('rubricate_meta')") == [(None,)]
    rubricate.grade(make_dataset(2), "m", **options)
    with closing(PostgresJournal(Database(postgres, "run"))):  # also beside a run that is on
        assert rubricate.estimate(make_dataset(3), "m", **options).known == 4
    assert query(postgres, "SELECT count(*) FROM rubricate_runs") == [(1,)]


def test_a_dry_run_looks_answers_up_a_block_at_once(make_dataset, tmp_path, postgres, monkeypatch):
    def judge(messages: Any) -> dict[str, Any]:
        return MET

    run = {"run_dir": tmp_path / "run", "journal": postgres}
    rubricate.grade(make_dataset(300), judge, **run)
    looks: list[int] = []
    rows_of = PostgresJournal._rows

    def noted(self: PostgresJournal, keys: list[str]) -> Any:
        looks.append(len(keys))
        return rows_of(self, keys)

    monkeypatch.setattr(PostgresJournal, "_rows", noted)
    found = rubricate.estimate(make_dataset(301), judge, **run)
    assert (found.known, found.requests, looks) == (600, 2, [512, 90])


def test_a_reward_function_shares_its_answers_by_a_database(make_dataset, endpoint, postgres):
    from rubricate import RewardFunction

    for requests in (2, 2):
        with RewardFunction(
            make_dataset(1).rubric, "m", base_url=endpoint.url, cache=postgres
        ) as reward:
            reward(["Roughly 300000 kilometres"], ["How fast is light?"])
        assert len(endpoint.requests) == requests


def test_a_thousand_runs_in_one_database_are_opened_as_quickly(postgres):
    with closing(PostgresJournal(Database(postgres, "r"))) as journal:
        journal.put("a", RECORD)
    query(
        postgres,
        "INSERT INTO rubricate_runs (name) SELECT 'n' || n FROM generate_series(1, 1000) n",
    )
    query(
        postgres,
        "INSERT INTO rubricate_records (run, key, record, checksum) SELECT run,"
        " convert_to('k' || key, 'UTF8'), 'x', 0 FROM generate_series(2, 1001) run,"
        " generate_series(1, 20) key",
    )
    for name in ("r", "n500"):
        with closing(PostgresJournal(Database(postgres, name))) as journal:
            assert journal.has_a_past
            assert journal.get_many(["a"]) == ({"a": RECORD} if name == "r" else {})
            assert journal.get_many(["k1"]) == {}
            assert journal.damaged == (name != "r")


@pytest.fixture
def crowded(postgres) -> str:
    """A database with answers of other runs, whose statistics know of no further one."""
    with closing(PostgresJournal(Database(postgres, "other"))):
        pass
    query(
        postgres,
        "INSERT INTO rubricate_records (run, key, record, checksum) SELECT 1 + mod(n, 5),"
        " convert_to(md5(n::text), 'UTF8'), convert_to(repeat(md5(n::text), 9), 'UTF8'), 0"
        " FROM generate_series(1, 20000) n",
    )
    query(
        postgres,
        "INSERT INTO rubricate_texts SELECT run, encode(key, 'escape'), record"
        " FROM rubricate_records",
    )
    query(postgres, "ANALYZE")
    return postgres


def test_what_is_looked_up_is_read_by_its_key_whatever_else_the_database_holds(crowded):
    """And not by reading the whole run, which the planner takes for one row."""
    with closing(PostgresJournal(Database(crowded, "new"), "worker")) as journal:
        keys = [f"{number:032x}" for number in range(3000)]
        for key in keys:
            journal.put(key, RECORD, b"exchange")
            journal.put_text(key[-24:], b"text")
        asyncio.run(journal.durable())
        seen: list[str] = []
        connection = journal._reader.do(lambda connection: connection)
        execute = connection.execute

        def explained(text: str, *told: Any, **options: Any) -> Any:
            if "rubricate_" in text:
                explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT TEXT) {text}"
                seen.extend(row[0] for row in execute(explain, *told))
            return execute(text, *told, **options)

        connection.execute = explained
        looked_up = keys[::100]
        assert len(journal.get_many(looked_up)) == len(looked_up)
        assert len(journal.exchanges(looked_up)) == len(looked_up)
        assert len(journal.texts(key[-24:] for key in looked_up)) == len(looked_up)
    scans = [line for line in seen if "Scan" in line and "Function Scan" not in line]
    conditions = [line for line in seen if "Index Cond" in line]
    assert len(scans) == len(conditions) == 3
    assert all("Index Scan" in line for line in scans)
    assert all("run = " in line and "wanted" in line for line in conditions)
    assert not any("Filter" in line for line in seen)


GATED = Rubric(
    [
        Criterion(name="first", requirement="Gives roughly 300000 kilometres"),
        Criterion(name="second", requirement="Is short", requires="first"),
    ]
)


def of_worker(items: RubricDataset, judge: Any, place: Database) -> None:
    async def work() -> None:
        worker = Worker(Job(judge, GradingOptions(concurrency=4), place))
        await worker.grade([*items.to_grade()])
        await worker.aclose()

    asyncio.run(work())


@pytest.mark.parametrize("how", ["whole", "shard", "worker"])
@pytest.mark.parametrize("known", [True, False])
def test_answers_are_looked_up_a_block_at_once_and_not_in_the_event_loop(
    how: str, known: bool, tmp_path, postgres, monkeypatch
):
    """Whatever the order of the items is, and also what is asked only behind a gate."""
    place = Database(postgres, "run")

    def grade(items: list[int]) -> None:
        dataset = RubricDataset("", GATED, name="gated")
        for number in items:
            dataset.add_item(f"text {number}")
        if how == "worker":
            return of_worker(dataset, judge, place)
        shard = "1/1" if how == "shard" else None
        run = {"run_dir": tmp_path / "run", "journal": postgres, "shard": shard}
        rubricate.grade(dataset, judge, concurrency=4, **run)
        return None

    def answer(messages: Any) -> dict[str, Any]:
        asked.append(messages)
        return MET

    asked: list[Any] = []
    judge = ModelJudge(PythonModel(answer))
    items = [*range(300)]
    if known:
        grade(items)
        items.reverse()
    looks: list[threading.Thread] = []
    rows_of = PostgresJournal._rows

    def noted(self: PostgresJournal, keys: list[str]) -> Any:
        if keys:
            looks.append(threading.current_thread())
        return rows_of(self, keys)

    monkeypatch.setattr(PostgresJournal, "_rows", noted)
    grade(items)
    assert len(asked) == 600
    assert threading.main_thread() not in looks
    assert len(looks) <= (4 if known else 4 + 300)


def connections(address: str) -> int:
    [(found,)] = query(
        address, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rubricate'"
    )
    return found


def test_a_process_takes_two_connections_and_one_where_few_are_left(own_postgres, monkeypatch):
    """Its limits and accounts, and a cache in the same database, use them, too."""
    server = own_postgres(max_connections="19")  # of which 3 are the superuser's
    address, opened = server.address(), []
    for taken in (2, 4, 6, 8, 9, 10, 11, 12):
        monkeypatch.setattr(server_module, "_BESIDE", {})  # as in another process
        opened.append(PostgresJournal(Database(address, "r"), "worker"))
        store = PostgresStore(address)
        assert change(store, "name", lambda value, now: (b"value", value)) in (None, b"value")
        opened.append(store)
        asyncio.run(opened[-2]._exchange(lambda others: None))
        opened[-2].put("a", RECORD)
        assert opened[-2].get_many(["a"]) == {"a": RECORD}
        assert connections(address) == taken
    for one in opened:
        one.close()
    while connections(address):  # the server takes a moment to see that they are closed
        time.sleep(0.01)


def test_a_lease_is_renewed_without_a_connection_of_its_own(own_postgres, monkeypatch):
    monkeypatch.setattr(lease_module, "EVERY", 0.05)
    address = own_postgres().address()
    with closing(PostgresJournal(Database(address, "r"))) as journal:
        before = renewed = query(address, "SELECT renewed FROM rubricate_leases")
        while renewed == before:
            renewed = query(address, "SELECT renewed FROM rubricate_leases")
            assert journal.lease.holds
        assert connections(address) == 2


def test_a_journal_that_is_closed_leaves_no_connection_and_no_thread_that_waits(own_postgres):
    def wait() -> None:
        with pytest.raises(JournalError):
            journal._reader.do(lambda connection: connection.execute("SELECT pg_sleep(600)"))
        with pytest.raises(JournalError, match="closed"):
            journal._reader.do(lambda connection: connection.execute("SELECT 1"))

    address = own_postgres().address()
    journal = PostgresJournal(Database(address, "r"))
    waiting = threading.Thread(target=wait)
    waiting.start()
    while not query(address, "SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'"):
        assert waiting.is_alive()
    journal.close()
    waiting.join(60)
    assert not waiting.is_alive()
    query(
        address,
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'",
    )
    while connections(address):
        time.sleep(0.01)


def test_more_workers_than_a_database_has_connections_for_are_refused_before_they_begin(
    make_dataset, tmp_path, endpoint, postgres
):
    run = {"run_dir": tmp_path / "run", "journal": postgres, "base_url": endpoint.url}
    with pytest.raises(InputError, match=r"500 workers need .* it has \d+ left.*--workers \d+"):
        rubricate.grade(make_dataset(600), "m", workers=500, **run)
    assert endpoint.requests == []


def test_a_run_folder_remembers_several_servers_and_which_of_them_is_wanted(
    make_dataset, tmp_path, endpoint, postgres_server, postgres
):
    database = postgres.partition("?")[0].rpartition("/")[2]
    folder, port = postgres_server.folder, postgres_server.port
    address = (
        f"postgresql://rubricate:secret@/{database}?host={folder}/none,{folder}&port={port},{port}"
        "&target_session_attrs=read-write&connect_timeout=5"
    )
    run = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    rubricate.grade(make_dataset(2), "m", journal=address, **run)
    note = (tmp_path / "run" / "journal.url").read_text()
    assert "target_session_attrs=read-write" in note
    assert "secret" not in note
    assert rubricate.grade(make_dataset(2), "m", **run).calls == 0


STRANGE = {
    "newer": ("UPDATE rubricate_meta SET format = 99", "a newer version of rubricate .format 99"),
    "of no version": (
        "ALTER TABLE rubricate_records RENAME COLUMN checksum TO sum",
        "not as any version of rubricate made them",
    ),
    "partly there": ("DROP TABLE rubricate_meta", "not as any version of rubricate made them"),
}


@pytest.mark.parametrize("layout", STRANGE)
def test_tables_of_another_layout_are_one_line(layout: str, postgres):
    place, (change_it, said) = Database(postgres, "r"), STRANGE[layout]
    with closing(PostgresJournal(place)) as journal:
        journal.put("a", RECORD)
    query(postgres, change_it)
    with pytest.raises(JournalError, match=said) as caught, closing(open_journal(place)) as journal:
        journal.get_many(["a"])
    assert len(str(caught.value).splitlines()) == 1
