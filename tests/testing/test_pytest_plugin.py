"""The pytest plugin, in pytest runs of their own."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
import scipy.stats  # noqa: F401  (pytester forgets what a run imports: numpy can be but once)

from rubricate import Criterion, InputError, Rubric
from rubricate.errors import JudgementError
from rubricate.testing import GivenUp, Rule, ScriptedEndpoint, assert_rubric

pytest_plugins = ["pytester"]

RUBRIC = """
from rubricate import Criterion, Rubric

RUBRIC = Rubric(
    [
        Criterion(name="speed", weight=2.0, requirement="Gives roughly 300000 kilometres"),
        Criterion(name="boasting", weight=-1.0, requirement="Praises itself shamelessly"),
    ]
)
"""
RIGHT, WRONG = "Roughly 300000 kilometres a second.", "Fast, and shamelessly it praises itself."


def rubric() -> Rubric:
    names: dict[str, Rubric] = {}
    exec(RUBRIC, names)
    return names["RUBRIC"]


@pytest.fixture
def pytest_run(pytester, endpoint, monkeypatch):
    """Run pytest on a test file in this process, with the scripted endpoint as judge.

    What others need a process of their own for says so with `-n`: xdist starts them.
    """

    def run(source: str, *arguments: str, url: str = endpoint.url) -> pytest.RunResult:
        pytester.makepyfile(RUBRIC + source)
        return pytester.runpytest_inprocess(
            *("-p", "no:randomly", "--rubric-judge", "m", "--rubric-base-url", url, *arguments)
        )

    return run


def test_a_text_that_meets_the_rubric_passes_and_one_that_does_not_says_why(pytest_run):
    done = pytest_run(
        f"""
def test_right(assert_rubric):
    item = assert_rubric({RIGHT!r}, RUBRIC, min_score=0.9, require=["speed"])
    assert item.score.value == 1.0

def test_wrong(assert_rubric):
    assert_rubric({WRONG!r}, RUBRIC, min_score=0.9, require=["speed"])
"""
    )
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*AssertionError: score 0.00, less than 0.9 and 1 of 1 required criteria not met, "
            "says m",
            "E*speed: UNMET, required",
            "E*asked: Gives roughly 300000 kilometres",
            "E*reason: judged by keywords",
            "E*boasting (a fault): MET",
            "rubricate: 2 judged by m: 4 verdicts asked, 0 known, cost unknown",
        ]
    )
    assert "_assertion.py" not in done.stdout.str()  # the traceback ends at the test's own line


def test_what_was_judged_is_not_asked_again_not_even_by_other_processes(pytest_run, endpoint):
    source = f"""
import pytest

@pytest.mark.parametrize("number", range(4))
def test_right(assert_rubric, number):
    assert_rubric({RIGHT!r} + " " * number, RUBRIC)
"""
    pytest_run(source, "-n", "2").assert_outcomes(passed=4)
    first = len(endpoint.requests)
    assert first == 8
    done = pytest_run(source, "-n", "0")
    done.assert_outcomes(passed=4)
    done.stdout.fnmatch_lines(["rubricate: 4 judged by m: 0 verdicts asked, 8 known, $0"])
    assert len(endpoint.requests) == first
    pytest_run(source, "--cache-clear").assert_outcomes(passed=4)
    assert len(endpoint.requests) == 2 * first


def test_a_failed_judgement_is_an_error_with_its_cause_and_is_asked_again(pytest_run):
    source = f"""
def test_right(assert_rubric):
    assert_rubric({RIGHT!r}, RUBRIC)
"""
    with ScriptedEndpoint([Rule(status=401)]) as refusing:
        for arguments in ((), ("-n", "1")):
            done = pytest_run(source, *arguments, url=refusing.url)
            done.assert_outcomes(errors=1)
            assert done.ret == 1
            done.stdout.fnmatch_lines(
                [
                    "*JudgementError: m could not judge 2 of 2 criteria: this says nothing of*",
                    "*speed: auth: *",
                ]
            )
    pytest_run(source).assert_outcomes(passed=1)


def test_one_test_waits_for_a_dead_endpoint_and_what_does_not_need_it_goes_on(
    pytest_run, pytester, endpoint
):
    known = f"""
def test_known(assert_rubric):
    assert_rubric({RIGHT!r}, RUBRIC, attempts=3)
"""
    with ScriptedEndpoint() as dead:
        pytest_run(known, url=dead.url).assert_outcomes(passed=1)
    others = f"""
def test_in_part(assert_rubric):
    assert_rubric({RIGHT!r} + "b", RUBRIC, attempts=3)

def test_another_endpoint(assert_rubric):
    assert_rubric({RIGHT!r} + "b", RUBRIC, base_url={endpoint.url!r}, attempts=3)

def test_another_judge(assert_rubric):
    judge = lambda messages: {{"reason": "mine", "verdict": "MET"}}
    assert_rubric("text", RUBRIC, require=["speed"], judge=judge, attempts=3)

def test_code(assert_rubric):
    from rubricate import RegexCriterion

    rubric = Rubric([RegexCriterion(name="a", pattern="kilo")])
    assert_rubric({RIGHT!r}, rubric, attempts=3)

def test_last(assert_rubric):
    assert_rubric({RIGHT!r} + "c", RUBRIC, attempts=3)
"""
    first = f"""
def test_first(assert_rubric):
    assert_rubric({RIGHT!r} + "a", RUBRIC, attempts=3)
"""
    done = pytest_run(first + known + others, "--junitxml=found.xml", url=dead.url)
    done.assert_outcomes(passed=4, errors=3)
    done.stdout.fnmatch_lines(
        [
            "*speed: connection: cannot reach *",
            "*test_in_part*",
            "*speed: not_run: given up earlier in this session: connection: cannot reach *",
            "rubricate: 5 judged by m: 3 verdicts asked, 2 known, *",
        ]
    )
    suite = ElementTree.parse(pytester.path / "found.xml").find("testsuite")
    seconds = {case.get("name"): float(case.get("time")) for case in suite.iter("testcase")}
    assert seconds["test_in_part"] + seconds["test_last"] < seconds["test_first"]


@pytest.mark.parametrize(
    ("rule", "asked"),
    [
        (Rule(status=401), [True, False, False, False]),
        (Rule(status=404), [True, False, False, False]),
        (Rule(status=500), [True, True, True, False]),  # twice the same text, then another
    ],
)
def test_a_model_is_given_up_when_no_text_can_be_the_cause(rule, asked):
    given_up, counts = GivenUp(), [0]
    with ScriptedEndpoint([rule]) as refusing:
        for text in ("a", "a", "b", "c"):
            with pytest.raises(JudgementError):
                assert_rubric(
                    *(text, rubric()),
                    judge="m",
                    base_url=refusing.url,
                    attempts=1,
                    given_up=given_up,
                )
            counts.append(len(refusing.requests))
        assert [more > before for before, more in pairwise(counts)] == asked
        with pytest.raises(JudgementError, match=r"speed: (?!not_run)"):  # who waits longer asks
            assert_rubric(
                *("d", rubric()),
                judge="m",
                base_url=refusing.url,
                attempts=2,
                given_up=given_up,
            )


def test_texts_that_a_server_fails_at_do_not_take_it_from_the_others():
    given_up = GivenUp()
    with ScriptedEndpoint([Rule(submission="poison", status=500)]) as endpoint:
        for text in ("poison", RIGHT, "more poison", RIGHT + " "):
            options = {"judge": "m", "base_url": endpoint.url, "attempts": 1, "given_up": given_up}
            if text.startswith(RIGHT):
                assert_rubric(text, rubric(), **options)
            else:
                with pytest.raises(JudgementError, match="speed: server: "):
                    assert_rubric(text, rubric(), **options)


def test_a_junit_file_tells_failed_tests_from_texts_that_could_not_be_judged(pytest_run, pytester):
    source = f"""
def test_wrong(assert_rubric):
    assert_rubric({WRONG!r}, RUBRIC)

def test_dead(assert_rubric):
    assert_rubric({RIGHT!r}, RUBRIC, base_url="http://127.0.0.1:9/v1", attempts=1)

def test_without_a_key(assert_rubric):
    assert_rubric({RIGHT!r}, RUBRIC, judge="openai/gpt-4.1-mini")

def test_misspelt(assert_rubric):
    assert_rubric({RIGHT!r}, RUBRIC, require=["sped"])
"""
    done = pytest_run(source, "--junitxml=found.xml")
    done.assert_outcomes(failed=2, errors=2)
    assert "_sync.py" not in done.stdout.str()  # the cause, not how it came up
    suite = ElementTree.parse(pytester.path / "found.xml").find("testsuite")
    assert (suite.get("failures"), suite.get("errors"), suite.get("tests")) == ("2", "2", "4")
    found = {case.get("name"): [part.tag for part in case if part.text] for case in suite}
    assert found == {
        "test_wrong": ["failure"],
        "test_dead": ["error"],
        "test_without_a_key": ["error"],
        "test_misspelt": ["failure"],
    }


def test_tests_that_run_in_a_loop_can_judge_too(pytest_run):
    done = pytest_run(
        f"""
import asyncio

def test_async(assert_rubric, aassert_rubric):
    async def inside():
        await aassert_rubric({RIGHT!r}, RUBRIC)
        assert_rubric({RIGHT!r}, RUBRIC)

    asyncio.run(inside())
""",
        *("-W", "error"),
    )
    done.assert_outcomes(passed=1)


def test_the_judge_is_from_command_line_environment_or_ini_and_builtin_says_what_it_is(
    pytester, endpoint, monkeypatch
):
    pytester.makepyfile(
        RUBRIC
        + f"""
def test_right(assert_rubric, rubric_judge):
    print("judge:", rubric_judge)
    assert_rubric({RIGHT!r}, RUBRIC, require={{"boasting": 1.0}})
"""
    )
    done = pytester.runpytest_inprocess("-rP")
    done.stdout.fnmatch_lines(["judge: None", "rubricate: 1 judged by builtin: *", "  builtin *"])
    pytester.makeini(f"[pytest]\nrubric_judge = a\nrubric_base_url = {endpoint.url}\n")
    pytester.runpytest_inprocess("-rP").stdout.fnmatch_lines(["judge: a"])
    monkeypatch.setenv("RUBRICATE_JUDGE", "b, c")
    pytester.runpytest_inprocess("-rP").stdout.fnmatch_lines(["judge: ['b', 'c']"])
    done = pytester.runpytest_inprocess("-rP", "--rubric-judge", "d")
    done.stdout.fnmatch_lines(["judge: d", "rubricate: 1 judged by d: *"])
    assert {request.body["model"] for request in endpoint.requests} == {"a", "b", "c", "d"}


def test_a_judge_of_ones_own_is_an_overridden_fixture(pytest_run, endpoint):
    done = pytest_run(
        """
import pytest

@pytest.fixture(scope="session")
def rubric_judge():
    return lambda messages: {"reason": "mine", "verdict": "MET"}

def test_right(assert_rubric):
    assert_rubric("text", RUBRIC, require=["speed"])
"""
    )
    done.assert_outcomes(passed=1)
    assert not endpoint.requests


def test_the_page_about_it_tells_the_truth(pytester, endpoint):
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text("utf-8")
    source, *_ = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    pytester.makepyfile(source)
    done = pytester.runpytest_inprocess("--rubric-judge", "m", "--rubric-base-url", endpoint.url)
    done.assert_outcomes(passed=2, failed=1)


def test_who_does_not_use_it_loads_nothing_of_it(pytester):
    pytester.makepyfile(
        """
import sys

def test_nothing_is_loaded():
    ours = sorted(name for name in sys.modules if name.startswith("rubricate"))
    assert ours == ["rubricate", "rubricate._lazy", "rubricate._version", "rubricate.testing",
                    "rubricate.testing.plugin"]
    assert "pydantic" not in sys.modules
"""
    )
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(passed=1)
    assert "rubricate:" not in done.stdout.str()


def test_all_criteria_are_required_where_nothing_else_is_said():
    with ScriptedEndpoint() as endpoint:
        options = {"judge": "m", "base_url": endpoint.url}
        assert assert_rubric(RIGHT, rubric(), **options).score.value == 1.0
        with pytest.raises(AssertionError, match=r"^2 of 2 required criteria not met"):
            assert_rubric(WRONG, rubric(), **options)
        with pytest.raises(AssertionError, match=r"^1 of 1 required .*\n  boasting .*, required"):
            assert_rubric(WRONG, rubric(), require="boasting", **options)


def test_an_abstention_meets_nothing_and_is_no_failure_of_the_judge():
    def judge(messages):
        return {"reason": "who knows", "evidence": ["text"], "verdict": "CANNOT_ASSESS"}

    with pytest.raises(AssertionError, match=r"no score, less than 0\.1"):
        assert_rubric("text", rubric(), min_score=0.1, judge=judge)
    with pytest.raises(AssertionError, match=r"speed: CANNOT_ASSESS, required\n") as caught:
        assert_rubric("text", rubric(), require=["speed"], judge=judge)
    assert 'reason: who knows\n    quote: "text"' in str(caught.value)


def test_only_a_failure_of_what_is_asserted_matters():
    def judge(messages):
        if "Praises" in messages[-1]["content"]:
            raise ValueError("no idea")
        return {"reason": "r", "verdict": "MET"}

    assert assert_rubric("text", rubric(), require=["speed"], judge=judge).score.value == 1.0
    with pytest.raises(JudgementError, match=r"boasting: .*no idea") as caught:
        assert_rubric("text", rubric(), min_score=0.5, judge=judge)
    assert caught.value.result.failed == 1


def test_a_rubric_can_be_a_file_and_names_that_are_not_there_are_told(tmp_path):
    path = tmp_path / "rubric.yaml"
    path.write_text("- {name: speed, requirement: Gives roughly 300000 kilometres}\n")
    assert_rubric(RIGHT, path, min_score=0)
    with pytest.raises(InputError, match="no criterion 'sped'; did you mean 'speed'"):
        assert_rubric(RIGHT, path, require=["sped"])
    with pytest.raises(InputError, match="min_score must be between 0 and 1, found 80"):
        assert_rubric(RIGHT, path, min_score=80)
    only = Rubric([Criterion(name="a", requirement="r")])
    for wrong in (3, "1", None, math.nan):
        with pytest.raises(InputError, match="a must be between 0 and 1, found "):
            assert_rubric(RIGHT, only, require={"a": wrong})
        with pytest.raises(InputError, match="min_score must be between 0 and 1, found "):
            assert_rubric(RIGHT, only, min_score=wrong or [])
    with pytest.raises(InputError, match=r"require must be names or \{name: number\}, found 3"):
        assert_rubric(RIGHT, only, require=3)
