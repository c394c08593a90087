"""What tests share: the installed command, scripted endpoints, small datasets."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from cluster import _started, ray_cluster  # noqa: F401 (fixtures)
from hypothesis import settings
from postgres import own_postgres, pooled, postgres, postgres_server, tool  # noqa: F401 (fixtures)

from rubricate.cli import _progress
from rubricate.cli._app import run_command
from rubricate.errors import MissingExtraError
from rubricate.testing import ScriptedEndpoint

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
"""Modules are compiled once, as for users, not by each process of the tests anew."""

settings.register_profile("rubricate", deadline=None)
settings.load_profile("rubricate")
"""An example that takes long on a busy machine is not wrong."""

MISSING = {
    name
    for name in (
        *("bs4", "boto3", "datasets", "flask", "krippendorff", "mammoth", "markdownify"),
        *("moto", "opentelemetry", "pandas", "playwright", "polars", "psycopg", "pyarrow"),
        *("pypdf", "ray", "resvg_py", "s3fs", "sklearn", "statsmodels", "uvloop"),
    )
    if importlib.util.find_spec(name) is None
}
"""What the tests use of the extras, and of other packages of `dev`, and that is not installed."""
COMMAND = Path(sys.executable).with_name("rubricate")
PLAIN = {"COLUMNS": "100", "NO_COLOR": "1"}
KEY_VARIABLES = ("_API_KEY", "_BASE_URL")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--renew-snapshots",
        action="store_true",
        help="write tests/snapshots and the output in docs anew",
    )
    parser.addoption(
        "--generated", type=int, default=60, help="cases that a generator makes of each kind (60)"
    )


def pytest_configure() -> None:
    """Have signals be as in a terminal: background jobs ignore Ctrl-C, and so do children."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Three for a core, as tests wait twice as long as they work, and for single files one.

    Not so many that starting them takes longer than the tests.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = cores or 1
    alone = all(".py" in argument for argument in config.args)
    return cores if alone else max(cores, min(3 * cores, 12))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Any:
    """What collecting makes is there to the end: looking for garbage among it finds nothing."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


def _needs(error: BaseException | None) -> str | None:
    """The package of an extra that an error says is not installed."""
    while error is not None:
        if isinstance(error, MissingExtraError) and MISSING:
            return str(error)
        if isinstance(error, subprocess.CalledProcessError):  # a program of the test's own
            told = re.search(r"No module named '(\w+)|\[(\w+)\]'", str(error.stderr))
            return f"needs {told[1] or told[2]}" if told and MISSING else None
        if isinstance(error, ImportError) and (error.name or "").partition(".")[0] in MISSING:
            return f"needs {error.name}"
        error = error.__cause__ or error.__context__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    """A module of tests that imports what is not installed is skipped."""
    report = yield
    found = re.search(r"No module named '(\w+)", str(report.longrepr)) if report.failed else None
    if found and found[1] in MISSING:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: needs {found[1]}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A test that needs what is not installed is skipped."""
    report = yield
    needs = None if call.excinfo is None or not report.failed else _needs(call.excinfo.value)
    if needs:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {needs}")
    return report


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests see no real keys or addresses, so that nothing can leave this machine by accident."""
    if Path(".env").exists():
        monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.endswith(KEY_VARIABLES):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command's cache is in a folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.with_name(f"{tmp_path.name}-cache")))


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    """An endpoint that judges by keywords."""
    with ScriptedEndpoint() as running:
        yield running


@pytest.fixture
def unused_url() -> Iterator[str]:
    """A base URL on this machine where nobody listens, and no other process can."""
    held = tool("held_port")
    with held.held_port() as holder:
        yield f"http://127.0.0.1:{held.port_of(holder)}/v1"


Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def installed(tmp_path: Path) -> Command:
    """Run the installed command in `tmp_path`; keyword arguments are environment variables."""

    def run(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **PLAIN, **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def run_here() -> Command:
    """Run the command in a folder and in this process: a process of its own costs half a second.

    The arguments, exit code and both outputs are the command's (`together`: both in one, in the
    order in which they came); environment, folder and modules of the folder are as before when it
    ends. On a busy machine no lines of progress come between.
    """

    def run(
        folder: Path, *arguments: str | Path, together: bool = False, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        given = [str(COMMAND), *map(str, arguments)]
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
        with (
            mock.patch.dict(os.environ, {**PLAIN, **variables}),
            mock.patch.object(sys, "argv", given),
            mock.patch.object(sys, "path", [*sys.path]),
            mock.patch.object(_progress, "LINE_INTERVAL", math.inf),
            contextlib.chdir(folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out if together else err),
            pytest.raises(SystemExit) as end,
        ):
            run_command()
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(f"{folder}{os.sep}"):
                del sys.modules[name]
        written = []
        for stream in (out, err):
            stream.flush()
            written.append(stream.buffer.getvalue().decode())
        return subprocess.CompletedProcess(given, end.value.code, *written)

    return run


@pytest.fixture
def rubricate(run_here: Command, tmp_path: Path) -> Command:
    """As `installed`, in this process: for what a process of its own adds nothing to."""
    return partial(run_here, tmp_path)


def dataset_dict(**changes: Any) -> dict[str, Any]:
    """Two items by two criteria, one of them a fault; `changes` replace its top-level keys."""
    return {
        "name": "light",
        "prompt": "How fast is light?",
        "rubric": [
            {"name": "speed", "weight": 2.0, "requirement": "Gives roughly 300000 kilometres"},
            {"name": "boasting", "weight": -1.0, "requirement": "Praises itself shamelessly"},
        ],
        "items": [
            {
                "submission": "Roughly 300000 kilometres a second.",
                "description": "right",
                "ground_truth": ["MET", "UNMET"],
            },
            {
                "submission": "Fast, and shamelessly it praises itself.",
                "description": "wrong",
                "ground_truth": ["UNMET", "MET"],
            },
        ],
        **changes,
    }


@pytest.fixture
def write_dataset(tmp_path: Path) -> Callable[..., Path]:
    """Write `dataset_dict` with changes to a file and give its path."""

    def write(name: str = "data.json", **changes: Any) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(dataset_dict(**changes)), encoding="utf-8")
        return path

    return write


@pytest.fixture
def shipped_example() -> Callable[[str], Path]:
    """The path of a dataset in `examples/`."""
    return lambda name: Path(__file__).parents[1] / "examples" / name
