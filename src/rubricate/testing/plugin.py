"""The pytest plugin: the fixtures `assert_rubric`, `aassert_rubric` and `rubric_judge`.

pytest loads this module in every environment with rubricate, so it imports nothing until a fixture
is used."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rubricate.analysis import Result
    from rubricate.judge import JudgesLike
    from rubricate.run import ItemResult

    Check = Callable[..., ItemResult]
    AsyncCheck = Callable[..., Awaitable[ItemResult]]

_GIVEN_UP: pytest.StashKey[Any] = pytest.StashKey()
"""The key under which a session stores the models that do not work."""
PROPERTY = "rubricate"
"""The key of the test property (`user_properties`) with the figures of judgements."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rubricate", "texts judged by a rubric")
    group.addoption(
        "--rubric-judge",
        action="append",
        metavar="NAME",
        help="Who judges texts: builtin (default), openai/gpt-6-luna, ... Given several times, "
        "all of them, and they vote. Else the variable RUBRICATE_JUDGE, else the ini option.",
    )
    group.addoption(
        "--rubric-base-url",
        metavar="URL",
        help="The address of an OpenAI-compatible server that has the judge.",
    )
    parser.addini("rubric_judge", "Who judges texts, a name a line.", type="linelist", default=[])
    parser.addini("rubric_base_url", "The address of the server that has the judge.", default="")


@pytest.fixture(scope="session")
def rubric_judge(pytestconfig: pytest.Config) -> JudgesLike:
    """The judge of `assert_rubric`. Override it to use a judge or panel of your own."""
    options: list[str] = pytestconfig.getoption("--rubric-judge") or []
    variable = os.environ.get("RUBRICATE_JUDGE", "")
    names = options or [name.strip() for name in variable.split(",") if name.strip()]
    names = names or pytestconfig.getini("rubric_judge")
    return names[0] if len(names) == 1 else names or None


@pytest.fixture
def assert_rubric(request: pytest.FixtureRequest, rubric_judge: JudgesLike) -> Check:
    """Return `rubricate.testing.assert_rubric` with the judge and the cache of this pytest run."""
    from rubricate.testing import assert_rubric

    return _bound(assert_rubric, request, rubric_judge)


@pytest.fixture
def aassert_rubric(request: pytest.FixtureRequest, rubric_judge: JudgesLike) -> AsyncCheck:
    """Return the async version of `assert_rubric`."""
    from rubricate.testing import aassert_rubric

    return _bound(aassert_rubric, request, rubric_judge)


def _bound(
    check: Callable[..., Any], request: pytest.FixtureRequest, judge: JudgesLike
) -> Callable[..., Any]:
    """Bind the options of pytest to the assertion; a call may override them."""
    from rubricate.testing._assertion import GivenUp

    config = request.config
    cache = getattr(config, "cache", None)  # missing with -p no:cacheprovider
    defaults: dict[str, Any] = {
        "judge": judge,
        "cache": None if cache is None else cache.mkdir("rubricate"),
        "given_up": config.stash.setdefault(_GIVEN_UP, GivenUp()),
        "on_result": lambda result: request.node.user_properties.append(
            (PROPERTY, _figures(result))
        ),
    }
    address = config.getoption("--rubric-base-url") or config.getini("rubric_base_url")

    names = judge if isinstance(judge, list) else [judge]
    is_named = all(isinstance(name, str) for name in names)

    def bound(text: str, rubric: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        if address and "judge" not in options and is_named:
            options.setdefault("base_url", address)
        return check(text, rubric, **{**defaults, **options})

    return bound


def _figures(result: Result) -> dict[str, Any]:
    """The value of the test property, as JSON values, which pytest-xdist can transfer."""
    return {
        "judge": result.judge,
        "note": result.note,
        "score": result.items[0].score.value,
        "asked": result.calls,
        "known": result.resumed + result.cached,
        "cost": result.usage.cost,
        "estimated": result.usage.estimated_cost,
    }


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Mark the reports of tests whose text could not be judged."""
    outcome = yield
    errors = sys.modules.get("rubricate.errors")
    if call.excinfo is None or errors is None:
        return
    if call.excinfo.errisinstance((errors.JudgementError, errors.MissingKeyError)):
        outcome.get_result().rubricate_could_not_judge = True


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    """Show a text that could not be judged as an error, not as a failed test."""
    if report.when == "call" and getattr(report, "rubricate_could_not_judge", False):
        return "error", "E", "ERROR"
    return None


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """In the written JUnit file, too, turn texts that could not be judged into errors."""
    yield
    config = session.config
    path = getattr(config.option, "xmlpath", None)
    if path and not hasattr(config, "workerinput"):
        mark_errors(path)


NOT_JUDGED = ("rubricate.errors.JudgementError:", "rubricate.errors.MissingKeyError:")
"""How the messages of tests begin whose text could not be judged."""


def mark_errors(path: str) -> None:
    """Turn each `<failure>` that says nothing about the text into an `<error>`, and count it so.

    Args:
        path: the file, as in pytest's option; unchanged if all texts could be judged.
    """
    from pathlib import Path
    from xml.etree import ElementTree

    file = Path(os.path.expandvars(path)).expanduser()
    if not file.is_file() or b"rubricate.errors." not in file.read_bytes():
        return
    tree = ElementTree.parse(file)
    for suite in tree.iter("testsuite"):
        failures = [
            failure
            for failure in suite.iterfind("testcase/failure")
            if failure.get("message", "").startswith(NOT_JUDGED)
        ]
        for failure in failures:
            failure.tag = "error"
        for name, change in (("failures", -len(failures)), ("errors", len(failures))):
            suite.set(name, str(int(suite.get(name, "0")) + change))
    tree.write(file, encoding="utf-8", xml_declaration=True)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the judges and the cost, if anything was judged."""
    judgements = {
        id(figures): figures
        for reports in terminalreporter.stats.values()
        for report in reports
        for key, figures in getattr(report, "user_properties", ())
        if key == PROPERTY and report.when == "call"
    }
    if not judgements:
        return
    from rubricate.views import dollars

    by_judge: dict[str, list[dict[str, Any]]] = {}
    for figures in judgements.values():
        by_judge.setdefault(figures["judge"], []).append(figures)
    for judge, judged in by_judge.items():
        costs = [figures["cost"] for figures in judged]
        estimated = sum(figures["estimated"] for figures in judged)
        cost = "cost unknown" if None in costs else dollars(sum(costs), estimated)
        calls, known = (sum(figures[name] for figures in judged) for name in ("asked", "known"))
        terminalreporter.write_line(
            f"rubricate: {len(judged)} judged by {judge}: {calls} verdicts asked, {known} known, "
            f"{cost}"
        )
        if judged[0]["note"]:
            terminalreporter.write_line(f"  {judged[0]['note']}")
