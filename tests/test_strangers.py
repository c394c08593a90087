"""What a stranger's folder or file can make us do: each row has a trap, and nothing falls into it.

docs/reliability/security.md has the same table.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

SECRET = "SECRET-of-the-grader"


@dataclass
class Trap:
    """A server that asks whoever connects for the password as plain text, as PostgreSQL can."""

    port: int
    heard: list[bytes] = field(default_factory=list)

    def address(self, query: str = "", host: str = "127.0.0.1") -> str:
        return f"postgresql://u@{host}:{self.port}/x?sslmode=disable{query}"


@pytest.fixture
def trap() -> Iterator[Trap]:
    listener = socket.create_server(("127.0.0.1", 0))
    found = Trap(listener.getsockname()[1])

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(3)
                try:
                    if len(connection.recv(4000)) == 8:  # asks for TLS
                        connection.sendall(b"N")
                        connection.recv(4000)
                    connection.sendall(b"R\0\0\0\x08\0\0\0\x03")
                    found.heard.append(connection.recv(4000))
                except OSError as error:
                    found.heard.append(repr(error).encode())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield found
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


Command = Callable[..., Any]


@pytest.fixture
def strangers_run(rubricate: Command, write_dataset: Command, tmp_path: Path) -> Path:
    """A finished run folder that says nothing yet of where its journal is."""
    write_dataset()
    done = rubricate("grade", "data.json", "--run-dir", "run", "--quiet", "--no-cache")
    assert done.returncode == 0, done.stderr
    for file in (tmp_path / "run").glob("journal*"):
        file.unlink()
    return tmp_path / "run"


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a grader's environment may have: passwords for servers that nobody here is."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    passwords = tmp_path.with_name(f"{tmp_path.name}-pgpass")
    passwords.write_text(f"db.example:*:*:*:{SECRET}\n127.0.0.1:*:*:*:{SECRET}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    monkeypatch.setenv("PGPASSWORD", SECRET)


ADDRESSES: dict[str, tuple[str, dict[str, str]]] = {
    "a server": ("postgresql://u@127.0.0.1:{port}/x", {}),
    "without TLS": ("postgresql://u@127.0.0.1:{port}/x?sslmode=disable", {}),
    "a server at another port of PGHOST": (
        "postgresql://u@127.0.0.1:{port}/x",
        {"PGHOST": "127.0.0.1"},
    ),
    "hostaddr beside the user's host": (
        "postgresql://u@db.example:{port}/x?hostaddr=127.0.0.1",
        {"PGHOST": "db.example", "PGPORT": "{port}"},
    ),
    "several hosts, the user's first": (
        "postgresql://u@db.example:1,127.0.0.1:{port}/x",
        {"PGHOST": "db.example", "PGPORT": "1"},
    ),
    "the host in the query": ("postgresql:///x?host=127.0.0.1&port={port}", {}),
    "the host twice": (
        "postgresql://db.example:{port}/x?host=127.0.0.1",
        {"PGHOST": "db.example", "PGPORT": "{port}"},
    ),
    "a service file's server": ("postgresql:///x?service=theirs", {}),
    "a file of passwords": (
        "postgresql://u@127.0.0.1:{port}/x?passfile={passwords}",
        {"PGHOST": "127.0.0.1", "PGPORT": "{port}"},
    ),
    "options for the server": (
        "postgresql://u@127.0.0.1:{port}/x?options=-csearch_path%3Dtheirs",
        {"PGHOST": "127.0.0.1", "PGPORT": "{port}"},
    ),
    "TLS switched off for the user's server": (
        "postgresql://u@127.0.0.1:{port}/x?sslmode=disable",
        {"PGHOST": "127.0.0.1", "PGPORT": "{port}"},
    ),
    "a password of its own": ("postgresql://u:theirs@127.0.0.1:{port}/x", {}),
    "a database that is an address": (
        "postgresql:///host%3D127.0.0.1%20port%3D{port}",
        {"PGHOST": "127.0.0.1", "PGPORT": "1"},
    ),
}
LOOKING = {
    "show": ("show", "run"),
    "show --prompt": ("show", "run", "--criterion", "speed", "--prompt"),
    "report": ("report", "run", "-o", "page.html"),
    "report --compare": ("report", "run", "--compare", "run", "-o", "page.html"),
    "export": ("export", "run", "-o", "table.csv"),
    "runs": ("runs", "."),
    "compare": ("compare", "run", "run"),
    "agree": ("trust", "agree", "run"),
    "estimate": ("grade", "data.json", "--run-dir", "run", "--dry-run"),
}


def _settled(trap: Trap, environment: dict[str, str]) -> dict[str, str]:
    return {name: value.format(port=trap.port) for name, value in environment.items()}


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("what", ADDRESSES)
@pytest.mark.parametrize("way", ["a run folder", "journal", "cache", "share_limits"])
def test_a_server_that_only_a_file_names_is_not_connected_to(
    what: str, way: str, rubricate: Command, strangers_run: Path, trap: Trap, tmp_path: Path
):
    address, environment = ADDRESSES[what]
    passwords = os.environ["PGPASSFILE"]
    address = address.format(port=trap.port, passwords=passwords)
    services = tmp_path / "services.conf"
    services.write_text(f"[theirs]\nhost=127.0.0.1\nport={trap.port}\nuser=u\n")
    environment = {**_settled(trap, environment), "PGSERVICEFILE": str(services)}
    told = ["--no-cache", "--max-outage", "0.1", "--quiet"]
    if way == "a run folder":
        separator = "&" if "?" in address else "?"
        (strangers_run / "journal.url").write_text(f"{address}{separator}run=r\n")
        told += ["data.json", "--run-dir", "run"]
    else:
        (tmp_path / "theirs.yaml").write_text(
            json.dumps({"data": "data.json", "run_dir": "new", way: address})
        )
        told += ["--config", "theirs.yaml"]
    done = rubricate("grade", *(told[1:] if way == "cache" else told), **environment)
    assert trap.heard == []
    if what != "a database that is an address":  # that is one of the user's own server
        assert "name it yourself: --" in done.stderr
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert SECRET not in done.stderr


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("what", LOOKING)
@pytest.mark.parametrize("query", ["", "&hostaddr=127.0.0.1"])
def test_looking_at_a_strangers_run_folder_connects_to_nobody(
    what: str, query: str, rubricate: Command, strangers_run: Path, trap: Trap
):
    host = "db.example" if query else "127.0.0.1"
    (strangers_run / "journal.url").write_text(trap.address(f"{query}&run=r", host) + "\n")
    done = rubricate(*LOOKING[what])
    assert trap.heard == []
    asks = what in ("show --prompt", "report", "report --compare", "estimate")
    assert ("name it yourself: --journal" in done.stderr) == asks
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("planted")
def test_the_users_own_word_connects(
    rubricate: Command, strangers_run: Path, trap: Trap, tmp_path: Path
):
    (strangers_run / "journal.url").write_text(trap.address("&run=r") + "\n")
    rubricate("report", "run", "-o", "page.html", "--journal", trap.address())
    assert SECRET.encode() in trap.heard.pop()
    rubricate("show", "run", "--criterion", "speed", "--prompt", "--journal", trap.address())
    assert SECRET.encode() in trap.heard.pop()
    address = f"postgresql://u@127.0.0.1:{trap.port}/x"
    (strangers_run / "journal.url").write_text(f"{address}?run=r\n")
    own = {"PGHOST": "127.0.0.1", "PGPORT": str(trap.port), "PGSSLMODE": "disable"}
    rubricate("report", "run", "-o", "page.html", **own)
    assert SECRET.encode() in trap.heard.pop()
    other = rubricate("report", "run", "--journal", "postgresql://u@127.0.0.1:1/x")
    assert (other.returncode, "leave out --journal" in other.stderr) == (1, True)
    assert trap.heard == []


def test_a_run_folder_of_ones_own_is_looked_at_without_being_asked(
    rubricate: Command, write_dataset: Command, postgres: str, tmp_path: Path
):
    write_dataset()
    made = rubricate("grade", "data.json", "--run-dir", "run", "--journal", postgres, "--quiet")
    assert made.returncode == 0, made.stderr
    assert "speed" in rubricate("show", "run", "--criterion", "speed", "--prompt").stdout
    assert rubricate("report", "run").stderr == ""
    assert rubricate("grade", "data.json", "--run-dir", "run", "--quiet").returncode == 0
    copied = tmp_path / "copied"
    shutil.copytree(tmp_path / "run", copied)
    assert rubricate("report", "copied").stderr == ""
    note = (copied / "journal.url").read_text()
    (copied / "journal.url").write_text(note.replace("?", "?options=-cwork_mem%3D1MB&", 1))
    assert "name it yourself" in rubricate("report", "copied").stderr


TASK = {
    "prompt_id": "1",
    "prompt": [{"role": "user", "content": "q"}],
    "rubrics": [{"criterion": "Says blue", "points": 5, "tags": ["axis:a"]}],
    "example_tags": ["theme:x"],
}
REPORT_TASK = {
    "prompt": "q",
    "sample_id": "1",
    "domain": "x",
    "rubrics": [{"criterion": "Says blue", "weight": 5, "axis": "Explicit Criteria"}],
}
COMMANDS = {
    "grade": ("grade", "tasks.jsonl", "--submissions", "answers", "--no-cache"),
    "researchrubrics": ("researchrubrics", "answers", "--tasks", "reports.jsonl", "--no-cache"),
}


@pytest.fixture
def submissions(tmp_path: Path) -> Path:
    """A folder of texts in a folder that also has a file of the grader's own."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.txt").write_text(f"{SECRET} blue")
    (tmp_path / "answers").mkdir()
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    (tmp_path / "reports.jsonl").write_text(json.dumps(REPORT_TASK) + "\n")
    return tmp_path / "answers"


def _stored(folder: Path) -> bytes:
    """All that is in a folder and below it."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


LINKS = {
    "a path from its folder": "../private/key.txt",
    "a whole path": "{folder}/private/key.txt",
    "by another link": "way/key.txt",
    "nothing": "../private/no-such-file",
    "a device": "/dev/zero",
}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_in_a_folder_of_submissions_that_leads_out_is_refused(
    command: str, link: str, rubricate: Command, submissions: Path, tmp_path: Path
):
    (submissions / "way").symlink_to("../private", target_is_directory=True)
    (submissions / "1.md").symlink_to(LINKS[link].format(folder=tmp_path))
    done = rubricate(*COMMANDS[command], "--judge", "builtin", "--run-dir", "run", "--quiet")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "1.md: is a link that leads out of its folder" in done.stderr
    assert not (tmp_path / "run").exists() or SECRET.encode() not in _stored(tmp_path / "run")


@pytest.mark.parametrize("command", COMMANDS)
def test_links_are_followed_for_those_who_mean_it_and_within_a_folder(
    command: str, rubricate: Command, submissions: Path, tmp_path: Path
):
    told = (*COMMANDS[command], "--judge", "builtin", "--quiet", "--run-dir")
    (submissions / "1.md").symlink_to("../private/key.txt")
    done = rubricate(*told, "a", "--follow-links")
    assert done.returncode == 0, done.stderr
    assert SECRET.encode() in _stored(tmp_path / "a")
    (submissions / "1.md").unlink()
    (submissions / "parts").mkdir()
    (submissions / "parts" / "text").write_text("It says blue.")
    (submissions / "1.md").symlink_to("parts/text")
    (tmp_path / "linked").symlink_to("answers", target_is_directory=True)
    named = ["linked" if one == "answers" else one for one in told]
    assert rubricate(*named, "b").returncode == 0
    assert b"It says blue." in _stored(tmp_path / "b")


def test_a_settings_file_cannot_have_links_followed(
    rubricate: Command, submissions: Path, tmp_path: Path
):
    (submissions / "1.md").symlink_to("../private/key.txt")
    settings = {"data": "tasks.jsonl", "submissions": "answers", "follow_links": True}
    (tmp_path / "theirs.yaml").write_text(json.dumps(settings))
    done = rubricate("grade", "--config", "theirs.yaml")
    assert (done.returncode, done.stderr) == (
        1,
        "Error: theirs.yaml: follow_links: only the command line allows links to be followed "
        "(--follow-links)\n",
    )


def test_a_settings_file_cannot_have_packages_installed_for_workers(
    rubricate: Command, write_dataset: Command, tmp_path: Path
):
    write_dataset()
    (tmp_path / "env.yaml").write_text("pip: [theirs]\n")
    settings = {"data": "data.json", "workers": 2, "worker_env": "env.yaml"}
    (tmp_path / "theirs.yaml").write_text(json.dumps(settings))
    done = rubricate("grade", "--config", "theirs.yaml")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "worker_env: only the command line allows" in done.stderr


@pytest.mark.parametrize("run_dir", [None, "../run", "new"])
def test_a_settings_file_cannot_have_results_replaced(
    run_dir: str | None, rubricate: Command, write_dataset: Command, tmp_path: Path
):
    write_dataset()
    told = ("data.json", "--no-cache", "--quiet")
    own = tmp_path / ("run" if run_dir else "runs/data-builtin")
    assert rubricate("grade", *told, "--run-dir", str(own)).returncode == 0
    before = _stored(own)
    (tmp_path / "theirs").mkdir()
    settings = {"fresh": True} | ({"run_dir": run_dir} if run_dir else {})
    (tmp_path / "theirs" / "run.yaml").write_text(json.dumps(settings))
    done = rubricate("grade", *told, "--config", "theirs/run.yaml")
    assert (done.returncode, done.stderr) == (
        1,
        "Error: theirs/run.yaml: fresh: only the command line allows results to be replaced "
        "(--fresh)\n",
    )
    assert _stored(own) == before
    assert rubricate("grade", *told, "--config", "theirs/run.yaml", "--fresh").returncode == 0


def test_a_usual_folder_that_is_a_link_is_not_the_users_word(
    rubricate: Command, submissions: Path, tmp_path: Path
):
    (tmp_path / "agent_responses").symlink_to("private", target_is_directory=True)
    done = rubricate("researchrubrics", "--tasks", "reports.jsonl", "--judge", "builtin")
    assert (done.returncode, "agent_responses: is a link" in done.stderr) == (1, True)
    (submissions / "1.md").write_text("blue")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "tasks-builtin").symlink_to("../private", target_is_directory=True)
    done = rubricate("grade", "tasks.jsonl", "--submissions", "answers")
    assert (done.returncode, "is a link" in done.stderr) == (1, True)
    assert [path.name for path in (tmp_path / "private").iterdir()] == ["key.txt"]


WRITTEN = (
    *("results.jsonl", "items.jsonl", "rubric.yaml", "summary.json", "report.json", "run.json"),
    *("results.parquet", "report.html", "skipped.jsonl", "spending.sqlite"),
    *("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite-journal"),
    *("journal.url", ".locks", "shard-1-of-2", "documents", ".summary.json.PID"),
)
"""What commands write into a run folder, or read from one."""


KINDS = ("link", "dangling link", "link to a folder", "pipe")


@pytest.mark.parametrize(("kind", "name"), [*zip(cycle(KINDS), WRITTEN, strict=False)])
def test_a_run_folder_is_not_written_or_read_through_what_somebody_planted(
    kind: str, name: str, rubricate: Command, write_dataset: Command, tmp_path: Path
):
    name = name.replace("PID", str(os.getpid()))
    write_dataset()
    rubricate("grade", "data.json", "--run-dir", "run", "--quiet", "--no-cache")
    own = tmp_path / "private"
    own.mkdir()
    (own / "file").write_text(SECRET)
    planted = tmp_path / "run" / name
    planted.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(planted)
    else:
        to = {"link": "file", "dangling link": "new", "link to a folder": ""}[kind]
        planted.symlink_to(own / to)
    commands = [
        ("grade", "data.json", "--run-dir", "run", "--no-cache"),
        ("grade", "data.json", "--run-dir", "run", "--no-cache", "--fresh"),
        ("grade", "data.json", "--run-dir", "run", "--no-cache", "--shard", "1/2"),
        ("report", "run"),
        ("show", "run"),
        ("show", "run", "--criterion", "speed", "--prompt"),
        ("compare", "run", "run"),
        ("trust", "agree", "run"),
    ]
    for command in commands:
        done = rubricate(*command, "--quiet") if command[0] == "grade" else rubricate(*command)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), (command, done)
        assert f"run/{name}: is " in done.stderr
    assert rubricate("runs", ".").returncode == 0
    assert {path.name: path.read_text() for path in own.iterdir()} == {"file": SECRET}


def test_a_run_in_python_is_not_written_through_a_link(write_dataset: Command, tmp_path: Path):
    from rubricate import RubricDataset, estimate, grade
    from rubricate.errors import InputError

    (tmp_path / "run").mkdir()
    (tmp_path / "file").write_text(SECRET)
    (tmp_path / "run" / "results.jsonl").symlink_to(tmp_path / "file")
    with pytest.raises(InputError, match=r"results\.jsonl: is a link"):
        grade(RubricDataset.from_file(write_dataset()), run_dir=tmp_path / "run")
    with pytest.raises(InputError, match=r"results\.jsonl: is a link"):
        estimate(RubricDataset.from_file(write_dataset()), run_dir=tmp_path / "run")
    assert (tmp_path / "file").read_text() == SECRET


OUTSIDE = [
    *product(
        ("data", "rubric", "submissions", "judge_prompt", "examples"),
        ("../private.json", "link.json"),
    ),
    ("data", "s3://private/data.jsonl"),
    ("data", "https://intranet.invalid/data.jsonl"),
]


@pytest.mark.parametrize(("option", "path"), OUTSIDE)
def test_settings_send_nothing_from_elsewhere_to_an_address_that_only_they_name(
    option: str, path: str, rubricate: Command, write_dataset: Command, tmp_path: Path
):
    write_dataset()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "private.json").write_text(SECRET)
    (tmp_path / "theirs" / "link.json").symlink_to("../private.json")
    settings = {"judge": "m", "base_url": "http://judge.invalid/v1", option: path}
    (tmp_path / "theirs" / "run.yaml").write_text(json.dumps(settings))
    data = () if option == "data" else ("data.json",)
    done = rubricate("grade", *data, "--config", "theirs/run.yaml", "--attempts", "1")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert f"{option}: this is outside the folder of the settings" in done.stderr


def test_settings_may_send_files_from_elsewhere_to_a_server_on_this_machine(
    rubricate: Command, write_dataset: Command, endpoint: Any, tmp_path: Path
):
    write_dataset()
    (tmp_path / "own").mkdir()
    settings = {"judge": "m", "base_url": endpoint.url, "data": "../data.json"}
    (tmp_path / "own" / "run.yaml").write_text(json.dumps(settings))
    assert rubricate("grade", "--config", "own/run.yaml", "--no-cache").returncode == 0


@pytest.mark.parametrize(
    "template",
    [
        '{{ ("{0.__init__.__globals__[sys].modules[os].environ}"|attr("format"))(submission) }}',
        '{{ ("{0.__class__.__mro__}"|attr("format"))(submission) }}',
        '{{ "{0.__class__}".format(submission) }}',
        "{{ submission.__class__.__mro__ }}",
        "{{ [].__class__.__base__.__subclasses__() }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{{ self.__init__.__globals__ }}",
        "{{ lipsum.__globals__ }}",
        "{{ cycler }}",
    ],
)
def test_a_strangers_template_reads_nothing_but_its_variables(
    template: str, rubricate: Command, write_dataset: Command, endpoint: Any, tmp_path: Path
):
    write_dataset()
    (tmp_path / "theirs.jinja").write_text(
        "---\nvariables: [submission, criterion, answer_form]\n---\n"
        + template
        + "{{ submission }} {{ criterion }} {{ answer_form }}"
    )
    done = rubricate(
        *("grade", "data.json", "--judge", "m", "--base-url", endpoint.url, "--no-cache"),
        *("--judge-prompt", "theirs.jinja"),
        PLANTED=SECRET,
    )
    sent = json.dumps([request.body for request in endpoint.requests])
    assert SECRET not in sent
    assert "root:" not in sent
    assert "<class" not in sent
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr


LOOP, END = "{% for i in range(99999) %}", "{% endfor %}"
ENDLESS: dict[str, str] = {
    "a long range": "{% for i in range(10**9) %}{% endfor %}",
    "loops in loops": LOOP * 3 + END * 3,
    "loops that print": LOOP * 3 + "x" * 999 + END * 3,
    "loops with a condition": "{% for i in range(99999) if i < 0 %}{% endfor %}" * 300,
    "a recursive loop": "{% for x in range(99999) recursive %}"
    "{% if loop.depth < 9 %}{{ loop(range(99999)) }}{% endif %}{% endfor %}",
    "macros": "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}"
    "{{ f(50) }}",
    "a block in itself": "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}",
    "a multiple": "{{ 'a' * 10**10 }}",
    "a multiple of a list": "{{ [1] * 10000000000 }}",
    "a power": "{{ 3 ** 33333333 }}",
    "a filter": "{{ 'a'|center(10**10) }}",
    "a constant": "{{ 'a'|center(10000000000) }}",
    "a method": "{{ 'a'.ljust(10**10) }}",
    "an indent": "{{ ('a\n' * 999999)|indent('x' * 999999) }}",
    "a format": "{{ '%10000000000d' % 1 }}",
    "a format's argument": "{{ '%*d' % (1000000000, 1) }}",
    "a method of formats": "{{ '{:{w}}'.format(1, w=10**10) }}",
    "many fields": "{% set x = 'a' * 9999999 %}{{ ('{0}' * 9999).format(x) }}",
    "doubling": "{% set x = 'aaaa' %}" + "{% set x = x ~ x %}" * 60 + "{{ x }}",
    "doubling in blocks": "{% set x = 'a' %}"
    + "{% set x %}{{x}}{{x}}{% endset %}" * 60
    + "{{ x }}",
    "a block of output": "{% set x = 'a' * 9999999 %}{% set y %}"
    + f"{LOOP}{{{{ x }}}}{END}{{% endset %}}",
    "lists in lists": "{% set a = ['x'] %}" + "{% set a = [a, a, a] %}" * 60 + "{{ a }}",
    "lists that are equal": "{% set a = [1] %}{% set b = [1] %}"
    + "{% set a = [a, a] %}{% set b = [b, b] %}" * 60
    + "{{ a == b }}",
    "a join": "{% set x = 'a' * 9999999 %}{{ range(99999)|map('string')|join(x) }}",
    "a replacement": "{% set x = 'a' * 999999 %}{{ x.replace('', x) }}",
    "wrapping": "{% set x = 'a' * 999999 %}{{ x|wordwrap(1, wrapstring=x) }}",
    "JSON": "{{ [1, 2]|tojson(indent=1000000000) }}",
    "a filter of each": "{{ (['a'] * 99999)|map('center', 99999)|list }}",
    "parts of a text": "{% set x = 'a' * 30000000 %}"
    + "".join(f"{{% set y{n} = x[1:] %}}" for n in range(999)),
    "words": "{{ ('a b ' * 7999999)|title }}",
    "depth": "{{ " + "(" * 9000 + "1" + ")" * 9000 + " }}",
    "loops in depth": "{% for i in [1] %}" * 30 + END * 30,
}


WAYS = [("prompt", what) for what in ENDLESS]
WAYS += [("attack", what) for what, text in ENDLESS.items() if "range" not in text]


@pytest.mark.parametrize(("way", "what"), WAYS)
def test_a_template_that_would_not_end_is_one_short_line(
    way: str,
    what: str,
    rubricate: Command,
    write_dataset: Command,
    endpoint: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("rubricate._sandbox.SECONDS", 0.05)
    write_dataset()
    told = ("--judge", "m", "--base-url", endpoint.url, "--no-cache")
    if way == "attack":
        family = {"name": "a", "what": "b", "texts": [ENDLESS[what] + "{{ answer }}"]}
        (tmp_path / "theirs.yaml").write_text(json.dumps([family]))
        done = rubricate("redteam", "data.json", "--attacks", "theirs.yaml", *told)
    else:
        header = "---\nvariables: [submission, criterion]\n---\n"
        (tmp_path / "theirs.jinja").write_text(
            f"{header}{ENDLESS[what]}{{{{ submission }}}}{{{{ criterion }}}}"
        )
        done = rubricate("grade", "data.json", "--judge-prompt", "theirs.jinja", *told)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr[-500:]
    assert "theirs" in done.stderr
    assert endpoint.requests == []


def test_no_key_goes_to_an_address_that_only_settings_name(
    rubricate: Command, write_dataset: Command, endpoint: Any, tmp_path: Path
):
    write_dataset()
    settings = {"data": "data.json", "judge": "m", "base_url": endpoint.url}
    (tmp_path / "theirs.yaml").write_text(json.dumps(settings))
    done = rubricate("grade", "--config", "theirs.yaml", RUBRICATE_API_KEY=SECRET)
    assert (done.returncode, "goes only to an address that you name" in done.stderr) == (1, True)
    for judge in ("openai/gpt-4.1-mini", "anthropic/m", "groq/m"):
        (tmp_path / "theirs.yaml").write_text(json.dumps({**settings, "judge": judge}))
        keys = {"OPENAI_API_KEY": SECRET, "ANTHROPIC_API_KEY": SECRET, "GROQ_API_KEY": SECRET}
        assert rubricate("grade", "--config", "theirs.yaml", **keys).returncode == 0
    assert "Authorization" not in {name for one in endpoint.requests for name in one.headers}


def test_settings_cannot_allow_code_and_a_rubric_runs_none(
    rubricate: Command, write_dataset: Command, tmp_path: Path
):
    (tmp_path / "theirs.py").write_text("open('run.txt', 'w').write('run')\ndef f(text): return 1")
    code = {"name": "a", "requirement": "r", "kind": "code", "function": "theirs:f"}
    write_dataset(rubric=[code], items=[{"submission": "x"}])
    (tmp_path / "theirs.yaml").write_text("data: data.json\nallow_code: true\n")
    for told in (("--config", "theirs.yaml"), ("data.json",)):
        done = rubricate("grade", *told)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done
    assert not (tmp_path / "run.txt").exists()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_an_endpoint_sends_nobody_elsewhere(
    status: int, rubricate: Command, write_dataset: Command, trap: Trap
):
    from rubricate.testing import Rule, ScriptedEndpoint

    write_dataset()
    rule = Rule(status=status, headers={"Location": f"http://127.0.0.1:{trap.port}/v1"})
    with ScriptedEndpoint([rule]) as endpoint:
        told = ("--judge", "m", "--base-url", endpoint.url, "--attempts", "1", "--no-cache")
        done = rubricate("grade", "data.json", *told, RUBRICATE_API_KEY=SECRET)
    assert "redirects are not followed" in done.stdout + done.stderr
    assert trap.heard == []


def test_files_that_commands_name_themselves_are_not_written_through_links(
    rubricate: Command, tmp_path: Path
):
    (tmp_path / "private").mkdir()
    (tmp_path / "table.csv").write_text("submission\nx\n")
    (tmp_path / "rubric.json").write_text('[{"name": "a", "requirement": "r"}]')
    (tmp_path / "table.labelled.json").symlink_to("private/new.json")
    done = rubricate("label", "table.csv", "--rubric", "rubric.json", "--no-browser")
    assert (done.returncode, "table.labelled.json: is a link" in done.stderr) == (1, True)
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "run.yaml").symlink_to("../private/run.yaml")
    done = rubricate("init", "start")
    assert (done.returncode, "run.yaml already there" in done.stderr) == (1, True)
    assert [*(tmp_path / "private").iterdir()] == []


# Files that are no files, and files that are far larger than they look


def nested(seed: str = "x", levels: int = 9) -> str:
    """YAML in which each list has nine aliases of the one before it; the last is `*last`."""
    lines = [f"l0: &l0 [{','.join([seed] * 9)}]"]
    for level in range(1, levels + 1):
        aliases = ",".join([f"*l{level - 1}"] * 9)
        lines.append(f"l{level}: &{'last' if level == levels else f'l{level}'} [{aliases}]")
    return "\n".join(lines) + "\n"


MERGED = "l0: &l0 {a: 1, b: 2}\n" + "".join(
    f"l{n}: &{'last' if n == 9 else f'l{n}'} {{<<: [{','.join([f'*l{n - 1}'] * 9)}]}}\n"
    for n in range(1, 10)
)
CHAIN = "l0: &l0 [x]\n" + "".join(f"l{n}: &l{n} [*l{n - 1}]\n" for n in range(1, 3000))
DATASET = "prompt: p\nrubric: [{name: a, requirement: r}]\nitems: [{submission: x%s}]\n"
RUBRIC = "criteria: [{name: a, requirement: r%s}]\n"
HARD: dict[str, tuple[str, tuple[str, ...]]] = {
    **{
        f"a rubric's {key}": (nested() + RUBRIC % f", {key}: *last", ("data.json", "--rubric"))
        for key in ("weight", "tags", "options", "requires", "anything")
    },
    "criteria": (nested() + "criteria: [*last]\n", ("data.json", "--rubric")),
    "a shorter one": (nested(levels=4) + RUBRIC % ", weight: *last", ("data.json", "--rubric")),
    "items": (nested() + DATASET.replace("{submission: x%s}", "*last"), ()),
    "metadata": (nested() + DATASET % ", metadata: {k: *last}", ()),
    "a key": (nested() + "? *last\n: 1\n", ()),
    "merged keys": (MERGED + DATASET % ", metadata: *last", ()),
    "a chain": (CHAIN + DATASET % "", ()),
    "an alias of itself": (DATASET % ", metadata: &m {k: *m}", ()),
    "a setting": (nested() + "data: *last\n", ("--config",)),
    "another setting": (nested() + "data: data.json\njudge: *last\n", ("--config",)),
    "a long list": (
        RUBRIC % f", weight: [{','.join(['1'] * 30_000)}]",
        ("data.json", "--rubric"),
    ),
    "a long text": (RUBRIC % f", weight: {'y' * 300_000}", ("data.json", "--rubric")),
    "deep": (DATASET % f", metadata: {{k: {'[' * 400 + ']' * 400}}}", ()),
    "deeper": ("[" * 100_000, ()),
    "a number of many digits": (DATASET % f", metadata: {{k: {'9' * 5000}}}", ()),
    "a hexadecimal number": (DATASET % f", metadata: {{k: 0x{'f' * 100_000}}}", ()),
    "a time of many parts": (DATASET % f", metadata: {{k: 1{':30' * 50_000}}}", ()),
    "a weight beyond floats": (RUBRIC % f", weight: 0x{'f' * 390}", ("data.json", "--rubric")),
    "no date": (DATASET % ", metadata: {k: !!timestamp x}", ()),
    "no truth value": (DATASET % ", metadata: {k: !!bool x}", ()),
    "no number": (DATASET % ", metadata: {k: !!int ''}", ()),
    "code": (DATASET % ", metadata: {k: !!python/object/apply:os.system [id]}", ()),
}


@pytest.mark.parametrize("what", HARD)
def test_yaml_that_is_far_larger_than_its_file_is_one_short_line(
    what: str, rubricate: Command, write_dataset: Command, tmp_path: Path
):
    write_dataset()
    text, told = HARD[what]
    (tmp_path / "theirs.yaml").write_text(text)
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = rubricate("grade", *told, "theirs.yaml", "--quiet", "--no-cache")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr[:500]
    assert len(done.stderr) < 300
    assert "theirs.yaml" in done.stderr
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


def test_aliases_that_datasets_have_are_read(rubricate: Command, tmp_path: Path):
    criteria = ", ".join(f"{{name: c{n}, requirement: r{n}}}" for n in range(50))
    items = "".join(f"  - {{submission: text {n}, rubric: *one}}\n" for n in range(300))
    (tmp_path / "d.yaml").write_text(
        f"prompt: p\nmetadata: {{rubric: &one [{criteria}]}}\nrubric: null\nitems:\n{items}"
    )
    done = rubricate("grade", "d.yaml", "--dry-run", "--no-cache")
    assert (done.returncode, "15000" in done.stdout) == (0, True), done


NO_FILES = {"a device": "/dev/zero", "a pipe": "pipe", "a folder": "folder", "nothing": "/dev/null"}
NAMED: dict[str, tuple[str, ...]] = {
    "data": ("grade", "{}"),
    "a rubric": ("grade", "data.json", "--rubric", "{}"),
    "settings": ("grade", "--config", "{}"),
    "submissions": ("grade", "data.json", "--submissions", "{}/no"),
    "attacks": ("redteam", "--judge", "builtin", "--attacks", "{}"),
    "tasks": ("researchrubrics", ".", "--tasks", "{}"),
    "results": ("researchrubrics", "--rescore", "{}"),
    "a certificate": ("grade", "data.json", "--certificate", "{}", "--judge", "builtin"),
    "labels": ("label", "{}", "--no-browser"),
    "a run": ("show", "{}"),
}


@pytest.mark.parametrize("kind", NO_FILES)
@pytest.mark.parametrize("place", NAMED)
def test_what_is_no_file_is_one_short_line(
    place: str,
    kind: str,
    rubricate: Command,
    write_dataset: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("rubricate._files.PIPE_SECONDS", 0.01)
    write_dataset()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    done = rubricate(*(one.format(NO_FILES[kind]) for one in NAMED[place]))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert len(done.stderr) < 300


def test_a_pipe_that_is_written_to_is_read(rubricate: Command, write_dataset: Command, tmp_path):
    rubric = tmp_path / "rubric.json"
    os.mkfifo(rubric)
    write_dataset()
    text = json.dumps([{"name": "a", "requirement": "Gives roughly 300000 kilometres"}])
    writer = threading.Thread(target=rubric.write_text, args=(text,))
    writer.start()
    done = rubricate("grade", "data.json", "--rubric", "rubric.json", "--dry-run")
    writer.join()
    assert done.returncode == 1  # its labels are of another rubric: it was read
    assert "ground_truth" in done.stderr


def test_a_long_circle_of_gates_is_one_short_line(
    rubricate: Command, write_dataset: Command, tmp_path: Path
):
    count = 3000
    criteria = [
        {"name": f"c{n}", "requirement": "r", "requires": f"c{(n + 1) % count}"}
        for n in range(count)
    ]
    write_dataset(rubric=criteria, items=[{"submission": "x"}])
    done = rubricate("grade", "data.json")
    assert done.returncode == 1
    assert "c0 -> c1 -> c2 -> ... (2,995 more) ... -> c2998 -> c2999 -> c0" in done.stderr


@pytest.mark.parametrize(
    "where", ["ray://127.0.0.1:{port}", "8@ray://127.0.0.1:{port}", "8@127.0.0.1:{port}"]
)
def test_a_settings_file_does_not_name_the_cluster_that_code_is_given_to(
    where: str, rubricate: Command, write_dataset: Command, tmp_path: Path
):
    write_dataset()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        workers = where.format(port=server.getsockname()[1])
        (tmp_path / "run.yaml").write_text(json.dumps({"data": "data.json", "workers": workers}))
        done = rubricate("grade", "--config", "run.yaml")
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert "only the command line" in done.stderr
        with pytest.raises(TimeoutError):
            server.accept()
