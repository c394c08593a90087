"""`rubricate.ray`: rows of a Ray dataset get verdicts, and trainers share one reward function."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from rubricate import (
    CodeCriterion,
    Criterion,
    Group,
    InputError,
    Judge,
    Panel,
    RewardFunction,
    Rubric,
    Verdict,
)
from rubricate.ray import Grader, reward_settings
from rubricate.testing import Rule, ScriptedEndpoint

pyarrow = pytest.importorskip("pyarrow")
RUBRIC = Rubric(
    [
        Criterion(name="a", requirement="Says alpha"),
        Criterion(name="b", weight=2.0, requirement="Says beta"),
    ]
)


def met(messages: Any) -> dict[str, Any]:
    return {"reason": "r", "evidence": [], "verdict": "MET"}


def test_rows_keep_their_columns_and_get_verdicts():
    rules = [Rule(submission="second", criterion="beta", verdict="UNMET"), Rule(verdict="MET")]
    with ScriptedEndpoint(rules) as endpoint:
        grade = Grader(RUBRIC, "m", base_url=endpoint.url)
        found = grade({"id": [1, 2], "submission": ["first", "second"]}).to_pylist()
    expected = {"failed": False, "error": None, "verdict.a": "MET", "value.a": 1.0}
    assert found == [
        {"id": 1, "submission": "first", "score": 1.0, "verdict.b": "MET", "value.b": 1.0}
        | expected,
        {"id": 2, "submission": "second", "score": pytest.approx(1 / 3), "verdict.b": "UNMET"}
        | {"value.b": 0.0}
        | expected,
    ]


def test_a_failed_row_has_its_cause_and_no_score_and_the_others_go_on():
    rules = [Rule(submission="bad", criterion="beta", reply="?"), Rule(verdict="MET")]
    with ScriptedEndpoint(rules) as endpoint:
        grade = Grader(RUBRIC, "m", base_url=endpoint.url, submission="text")
        found = grade({"text": ["good", "bad", None]}).to_pylist()
    assert [row["score"] for row in found] == [1.0, None, None]
    assert [row["failed"] for row in found] == [False, True, True]
    assert found[1]["error"].startswith("b: ")
    assert [row["verdict.b"] for row in found] == ["MET", "failed", "failed"]
    assert found[2]["error"] == "the row has no text to be judged"


def test_an_endpoint_that_is_gone_is_no_error_of_the_job(unused_url):
    grade = Grader(RUBRIC, "m", base_url=unused_url, attempts=1, max_outage=0.1)
    (row,) = grade({"submission": ["x"]}).to_pylist()
    assert row["failed"]
    assert row["score"] is None
    assert row["error"]


def test_tables_and_frames_are_batches_too():
    pandas = pytest.importorskip("pandas")
    grade = Grader(RUBRIC, met)
    assert grade(pyarrow.table({"submission": ["x"]})).to_pylist()[0]["score"] == 1.0
    assert grade(pandas.DataFrame({"submission": ["x"]})).to_pylist()[0]["score"] == 1.0
    assert grade({"submission": []}).num_rows == 0
    with pytest.raises(InputError, match="no column 'submission'; there are: text"):
        grade({"text": ["x"]})


SCRIPT = """
import json, os, sys
import ray
from rubricate import Criterion, Rubric
from rubricate.ray import Grader, shared_reward

address, url = sys.argv[1:]
ray.init(address, logging_level="CRITICAL", log_to_driver=False)
ray.data.DataContext.get_current().enable_progress_bars = False
rubric = Rubric([Criterion(name="a", requirement="Says alpha")], name="light")
met = {"reason": "r", "evidence": [], "verdict": "MET"}
texts = ray.data.from_items([{"submission": f"alpha {n}"} for n in range(40)])
graded = texts.map_batches(
    Grader, fn_constructor_args=[rubric, "m"], fn_constructor_kwargs={"base_url": url},
    concurrency=2, batch_size=10, num_cpus=0.5,
)
rows = graded.take_all()

@ray.remote(num_cpus=0.1)
def rank(number):
    reward = shared_reward("light", rubric, "m", base_url=url)
    return reward([f"alpha from {number}"], ["p"]), reward.__name__

scores = ray.get([rank.remote(number) for number in range(3)])

def said(reward):
    try:
        return reward(["alpha"])
    except Exception as error:
        return f"{type(error).__name__}: {error}"

closed = shared_reward("light", rubric, "m", base_url=url)
edited = Rubric([Criterion(name="a", requirement="Says nothing")], name="light")
other = said(lambda _: shared_reward("light", edited, "m", base_url=url))
assert closed(["alpha again"], ["p"]) == [1.0]
closed.close()
assert shared_reward("light", edited, lambda _: met)(["alpha"], ["p"]) == [1.0]
shared_reward("light", edited, lambda _: met).close()
os.environ["OPENAI_API_KEY"] = "in this process alone"
keyless = shared_reward("keyless", rubric, "openai/gpt-4.1-mini")
errors = [said(closed), said(keyless), other]
keyless.close()
print(json.dumps([[row["score"] for row in rows], scores, errors]))
"""


def test_a_dataset_and_trainers_of_ray(ray_cluster, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        done = subprocess.run(
            [sys.executable, "script.py", ray_cluster.address, endpoint.url],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert len(endpoint.requests) == 44
    rows, scores, (closed, keyless, other) = json.loads(done.stdout.splitlines()[-1])
    assert rows == [1.0] * 40
    assert scores == [[[1.0], "light"]] * 3
    assert closed.startswith("RewardError: the shared reward is not there any more: ")
    assert re.fullmatch(r"InputError: on \S+: .* needs an API key: .*OPENAI_API_KEY.*", keyless)
    assert other.startswith(
        "InputError: the shared reward 'light' was started with another criterion 'a': choose "
    )


class Own(Judge):
    name = "own"

    def __init__(self, word: str) -> None:
        self.word = word

    def key(self, item: Any, criterion: Any) -> str:
        return f"own {item.submission}"

    async def judge(self, item: Any, criterion: Any, send: Any) -> Verdict:
        return Verdict(criterion.name, "judged", "MET")


class Shorter(Own):
    async def judge(self, item: Any, criterion: Any, send: Any) -> Verdict:
        return Verdict(criterion.name, "judged", "UNMET")


def unmet(messages: Any) -> dict[str, Any]:
    return {"reason": "r", "evidence": [], "verdict": "UNMET"}


def short(text: str) -> bool:
    return len(text) < 9


def long(text: str) -> bool:
    return len(text) > 9


def made(
    weight: float = 1.0, requirement: str = "r", check: Any = short, group: float = 1.0
) -> Rubric:
    leaf = Criterion(name="leaf", requirement="Says gamma")
    return Rubric(
        [
            Criterion(name="a", requirement=requirement, weight=weight),
            CodeCriterion(name="b", requirement="Is short", function=check),
            Group(name="g", weight=group, criteria=[leaf]),
        ]
    )


SAME: dict[str, tuple[Any, ...]] = {
    "a callable": (made, lambda: met, {}),
    "a class": (made, lambda: Own("x"), {}),
    "the built-in judge": (made, lambda: None, {}),
    "rows' rubrics": (lambda: None, lambda: "builtin", {}),
    "a model": (made, lambda: "m", {"base_url": "http://localhost/v1", "model_options": {"a": 1}}),
    "one written elsewhere": (made, lambda: eval("lambda _: 1"), {}),
    "a panel": (made, lambda: Panel([met, unmet], weights=[1.0, 2.0]), {"concurrency": 3}),
}
URL = {"base_url": "http://localhost/v1"}
OTHER: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], list[str]]] = {
    "weight": ((made(), None), (made(2.0), None), ["criterion 'a'"]),
    "requirement": ((made(), None), (made(requirement="x"), None), ["criterion 'a'"]),
    "code": ((made(), None), (made(check=long), None), ["criterion 'b'"]),
    "group": ((made(), None), (made(group=2.0), None), ["rubric"]),
    "no rubric": ((None, None), (RUBRIC, None), ["rubric", "criterion 'a'", "criterion 'b'"]),
    "callable": ((RUBRIC, met), (RUBRIC, unmet), ["judge"]),
    "object": ((RUBRIC, Own("x")), (RUBRIC, Own("y")), ["judge"]),
    "class": ((RUBRIC, Own("x")), (RUBRIC, Shorter("x")), ["judge"]),
    "weights of a panel": (
        (RUBRIC, Panel([met, unmet], weights=[1.0, 2.0])),
        (RUBRIC, Panel([met, unmet], weights=[2.0, 2.0])),
        ["judge"],
    ),
    "model": ((RUBRIC, "m", URL), (RUBRIC, "n", URL), ["judge"]),
    "temperature": (
        (RUBRIC, "m", URL),
        (RUBRIC, "m", URL | {"temperature": 1.0}),
        ["temperature", "judge"],
    ),
    "options": (
        (RUBRIC, met),
        (RUBRIC, met, {"on_failure": "nan", "prompt": "p"}),
        ["on_failure", "prompt"],
    ),
}


def settings(rubric: Any, judge: Any, options: Any = None) -> dict[str, str]:
    return reward_settings(rubric, judge, **(options or {}))


@pytest.mark.parametrize("what", SAME)
def test_shared_rewards_of_equal_settings_are_the_same_also_when_used(what: str):
    rubric, judge, options = SAME[what]
    used, own = judge(), rubric()
    before = settings(own, used, options)
    if "base_url" not in options:
        given = {} if own else {"rubric": [RUBRIC]}
        RewardFunction(own, used, **options)(["text"], ["p"], **given)
    assert settings(own, used, options) == settings(rubric(), judge(), options) == before


@pytest.mark.parametrize("what", OTHER)
def test_shared_rewards_of_other_settings_say_what_differs(what: str):
    one, other, differs = OTHER[what]
    first, second = settings(*one), settings(*other)
    found = [part for part in {**first, **second} if first.get(part) != second.get(part)]
    assert sorted(found) == sorted(differs)
