"""Anchors: a judge that changed behind its name is found before runs are compared."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rubricate as package
from rubricate import Criterion, InputError, Judge, RubricDataset, Verdict
from rubricate.stats import changed_answers_test
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

ITEMS = 40


class Endpoint:
    """A model that finds every text MET and, once `changed`, every fourth UNMET."""

    def __init__(self) -> None:
        self.changed = False

    def respond(self, request: JudgeRequest) -> Rule:
        number = int(request.submission.partition(".")[0])
        return Rule(verdict="UNMET" if self.changed and number % 4 == 0 else "MET")


@pytest.fixture
def model() -> Endpoint:
    return Endpoint()


@pytest.fixture
def server(model: Endpoint) -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(respond=model.respond) as running:
        yield running


@pytest.fixture
def asking(rubricate: Any, tmp_path: Path, server: ScriptedEndpoint) -> tuple[str, ...]:
    """Two runs of the same texts, and a file of their judge's anchors."""
    rubric = [{"name": "speed", "requirement": "Gives the speed"}]
    items = [{"id": f"i{place}", "submission": f"{place}. Fast."} for place in range(ITEMS)]
    data = {"name": "d", "prompt": "How fast?", "rubric": rubric, "items": items}
    (tmp_path / "d.json").write_text(json.dumps(data))
    judge = ("--judge", "m", "--base-url", server.url)
    for name in ("a", "b"):
        done = rubricate("grade", "d.json", *judge, "--run-dir", name)
        assert done.returncode == 0, done.stderr
    done = rubricate("trust", "anchors", "a", *judge, "--dry-run", "--json")
    assert json.loads(done.stdout)["requests"] == 30 * 9
    before = len(server.requests)
    done = rubricate("trust", "anchors", "a", *judge)
    assert done.stdout.startswith("anchors.json: 30 anchors of m, which find a change of 15% "), (
        done.stderr
    )
    assert " power of 0.99" in done.stdout
    assert len(server.requests) == before + 30 * 9
    return judge


def compared(rubricate: Any, *more: str) -> Any:
    return rubricate("compare", "a", "b", "--anchors", "anchors.json", *more)


def test_a_changed_judge_is_said_before_anything_is_compared(
    rubricate: Any, asking: tuple[str, ...], server: ScriptedEndpoint, model: Endpoint
) -> None:
    model.changed = True
    before = len(server.requests)
    done = compared(rubricate, *asking, "--fail-if-worse", "0.9")
    assert done.returncode == 0
    assert done.stderr.startswith("The judge m has changed since its anchors were kept: ")
    assert "Cannot tell: " in done.stdout
    assert len(server.requests) == before + 30
    strict = compared(rubricate, *asking, "--fail-if-worse", "0.9", "--on-unclear", "fail")
    assert strict.returncode == 7
    assert len(server.requests) == before + 30  # asked once for each run B
    check = json.loads(compared(rubricate, *asking, "--json").stdout)["anchors"]
    assert (check["changed"], check["anchors"], check["answers"]) == (True, 30, 30)
    assert check["p_value"] < 0.01


def test_the_same_judge_is_not_accused(
    rubricate: Any, asking: tuple[str, ...], server: ScriptedEndpoint
) -> None:
    before = len(server.requests)
    done = compared(rubricate, *asking, "--fail-if-worse", "0.9", "--dry-run")
    assert (done.returncode, len(server.requests)) == (0, before)
    done = compared(rubricate, *asking, "--fail-if-worse", "0.9")
    assert done.stderr.startswith("The judge m answers its anchors as before: 0 of 30 answers")
    assert (done.returncode, len(server.requests)) == (0, before + 30)


def test_anchors_of_another_judge_are_refused(
    rubricate: Any, asking: tuple[str, ...], tmp_path: Path, server: ScriptedEndpoint
) -> None:
    before = len(server.requests)
    done = compared(rubricate, *asking, "--temperature", "0.7")
    assert (done.returncode, len(server.requests)) == (1, before)
    assert "has the anchors of m, asked with other options" in done.stderr
    done = rubricate("compare", "a", "b", "--anchors", "d.json", *asking)
    assert done.stderr == (
        "Error: d.json: has no anchors: make them with rubricate trust anchors RUN\n"
    )
    assert "--judge" in compared(rubricate).stderr
    done = rubricate("trust", "anchors", "a", *asking, "--temperature", "0.7")
    assert "gave none of the verdicts of a" in done.stderr


class Noisy(Judge):
    """A judge that errs in a share of its verdicts, and may have changed others."""

    name = "noisy"

    def __init__(self, seed: int, errors: float, changed: float = 0.0) -> None:
        self._chance = random.Random(seed)
        self._errors, self._changed = errors, changed

    def key(self, item: Any, criterion: Any) -> str:
        return f"noisy {item.submission} {criterion.name}"

    async def judge(self, item: Any, criterion: Any, send: Any) -> Verdict:
        fixed = random.Random(item.submission)
        met = (fixed.random() < 0.7) ^ (fixed.random() < self._changed)
        met ^= self._chance.random() < self._errors
        return Verdict(criterion.name, "judged", "MET" if met else "UNMET")


def test_in_python(tmp_path: Path) -> None:
    rubric = [Criterion(name="c", requirement="c").to_dict()]
    items = [{"id": str(n), "submission": f"text {n}"} for n in range(ITEMS)]
    data = {"name": "d", "prompt": "", "rubric": rubric, "items": items}
    package.grade(RubricDataset.from_dict(data), Noisy(0, 0.05), run_dir=tmp_path / "a")
    package.anchors(tmp_path / "a", Noisy(1, 0.05)).to_file(tmp_path / "anchors.json")
    same = package.check_anchors(tmp_path / "anchors.json", Noisy(2, 0.05))
    other = package.check_anchors(tmp_path / "anchors.json", Noisy(3, 0.05, changed=0.4))
    assert (same.changed, other.changed) == (False, True)
    with pytest.raises(InputError, match="several judges"):
        package.anchors(tmp_path / "a", [Noisy(1, 0.0), "builtin"])


def test_the_answers_of_replicates_are_used(tmp_path: Path) -> None:
    rubric = [Criterion(name="c", requirement="c").to_dict()]
    items = [{"id": str(n), "submission": f"text {n}"} for n in range(5)]
    data = {"name": "d", "prompt": "", "rubric": rubric, "items": items}
    judge = Noisy(0, 0.05)
    package.grade(RubricDataset.from_dict(data), judge, replicates=4, run_dir=tmp_path / "a")
    kept = package.anchors(tmp_path / "a", judge, answers=4, replicates=4)
    assert [sum(item.metadata["answers"]["c"].values()) for item in kept.items] == [4] * 5


def test_answers_of_the_same_judge_are_exchangeable() -> None:
    assert changed_answers_test([{"MET": 9}] * 3, [{"UNMET": 1}] * 3) == (
        3,
        pytest.approx(1e-3),
    )
    assert changed_answers_test([{"MET": 9}] * 3, [{"MET": 1}] * 3) == (0, pytest.approx(1.0))
    assert changed_answers_test([], []) == (0, 1.0)
    assert changed_answers_test([{"MET": 3, "UNMET": 1}], [{"UNMET": 1}]) == (
        1,
        pytest.approx(2 / 5),
    )
    with pytest.raises(InputError):
        changed_answers_test([{"MET": -1}], [{"MET": 1}])
    with pytest.raises(InputError):
        changed_answers_test([{"MET": 1}], [])
