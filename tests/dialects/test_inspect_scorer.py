"""The scorer for inspect, by the little of inspect that it uses; see `tests/neighbours`.

inspect_ai is too large for the development environment. What stands for it here has the shapes of
its documentation: `Score` with its fields, `scorer` as a decorator, a state with an output.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import math
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rubricate import Criterion, InputError, Rubric
from rubricate.errors import MissingExtraError

DOOR = "rubricate.dialects.inspect_ai.scorer"
RUBRIC = Rubric(
    [
        Criterion(name="speed", weight=2.0, requirement="Gives roughly 300000 kilometres"),
        Criterion(name="praise", weight=-1.0, requirement="Praises itself shamelessly"),
    ]
)


class Score(SimpleNamespace):
    """As inspect's: what it was made with."""


def scorer(metrics: Any) -> Any:
    """As inspect's: notes the metrics."""

    def decorate(make: Any) -> Any:
        make.metrics = metrics
        return make

    return decorate


@pytest.fixture
def door(monkeypatch):
    """The scorer's module, with something for inspect_ai."""
    stand_ins = {
        "inspect_ai": {},
        "inspect_ai.scorer": {
            "Score": Score,
            "Scorer": Any,
            "Target": Any,
            "mean": lambda: "mean",
            "scorer": scorer,
            "stderr": lambda: "stderr",
        },
        "inspect_ai.solver": {"TaskState": Any},
    }
    for name, contents in stand_ins.items():
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, DOOR, raising=False)
    yield importlib.import_module(DOOR)
    sys.modules.pop(DOOR, None)


class Message(SimpleNamespace):
    def model_dump(self) -> dict[str, Any]:
        return vars(self)


def state(output: str = "Roughly 300000 km.", **metadata: Any) -> Any:
    """A sample's state after its model has answered."""
    messages = [
        Message(role="user", content="How fast is light?"),
        Message(role="assistant", content=output, tool_calls=None),
    ]
    return SimpleNamespace(
        input_text="How fast is light?",
        messages=messages,
        metadata=metadata,
        output=SimpleNamespace(completion=output),
    )


def target(text: str = "") -> Any:
    return SimpleNamespace(text=text)


class Judge:
    """A model that says what it is told to for each criterion, and remembers what it was asked."""

    def __init__(self, **replies: str) -> None:
        self.replies = replies
        self.asked: list[str] = []
        self.now = self.most = 0

    async def __call__(self, messages: Any) -> str:
        text = json.dumps(messages)
        self.asked.append(text)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.now -= 1
        said = self.replies["speed" if "300000 kilometres" in text else "praise"]
        return json.dumps({"verdict": said, "reason": "so it is"})


def scored(scoring: Any, *states: Any, reference: str = "") -> list[Any]:
    """The scores of samples that are scored at the same time."""

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(scoring(one, target(reference)) for one in states))

    return asyncio.run(all_of_them())


def test_a_score_has_a_value_for_the_whole_and_for_each_criterion_and_says_why(door):
    judge = Judge(speed="MET", praise="UNMET")
    [score] = scored(door.rubric(RUBRIC, judge), state(), reference="299792 km/s")
    assert score.value == {"score": 1.0, "speed": 1.0, "praise": 0.0}
    assert score.answer == "Roughly 300000 km."
    assert score.reason is None
    assert score.explanation == "speed: MET: so it is\npraise: UNMET: so it is"
    assert score.metadata["criteria"]["speed"]["reason"] == "so it is"
    assert (score.metadata["lowest"], score.metadata["highest"]) == (1.0, 1.0)
    assert score.metadata["usage"]["requests"] == 2
    for part in ("How fast is light?", "Roughly 300000 km.", "299792 km/s"):
        assert part in judge.asked[0]
    assert door.rubric.metrics == {"*": ["mean", "stderr"]}


def test_a_failed_judgement_is_unscored_and_never_0(door):
    judge = Judge(speed="MET", praise="perhaps")
    [score] = scored(door.rubric(RUBRIC, judge), state())
    assert score.value["speed"] == 1.0
    assert math.isnan(score.value["praise"])
    assert math.isnan(score.value["score"])
    assert score.reason == "grader_failed"
    assert "praise: failed (unreadable_reply): " in score.explanation
    assert score.metadata["criteria"]["praise"]["error"]["kind"] == "unreadable_reply"
    assert (score.metadata["lowest"], score.metadata["highest"]) == (0.5, 1.0)


def test_a_group_has_a_value_unless_a_criterion_of_it_failed(door):
    speed = {"name": "speed", "requirement": "Gives roughly 300000 kilometres"}
    praise = {"name": "praise", "requirement": "Praises itself shamelessly"}
    inner = {"name": "inner", "criteria": [praise]}
    tree = Rubric.from_dict(
        {
            "criteria": [
                {"name": "facts", "criteria": [speed]},
                {"name": "style", "criteria": [inner]},
            ]
        }
    )
    [score] = scored(door.rubric(tree, Judge(speed="MET", praise="UNMET")), state())
    assert score.value == {
        "score": 0.5, "facts": 1.0, "style": 0.0, "inner": 0.0, "speed": 1.0, "praise": 0.0,
    }  # fmt: skip
    [score] = scored(door.rubric(tree, Judge(speed="MET", praise="perhaps")), state())
    unscored = [name for name, value in score.value.items() if math.isnan(value)]
    assert unscored == ["score", "style", "inner", "praise"]
    assert score.value["facts"] == 1.0


def test_a_dead_endpoint_leaves_everything_unscored(door, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    scoring = door.rubric(RUBRIC, "openai/gpt-4.1-mini", base_url="http://127.0.0.1:9", attempts=1)
    for score in scored(scoring, state(), state()):
        assert all(map(math.isnan, score.value.values()))
        assert score.reason == "grader_failed"


def test_a_criterion_that_cannot_be_told_is_unscored_and_the_others_make_the_score(door):
    judge = Judge(speed="MET", praise="CANNOT_ASSESS")
    [score] = scored(door.rubric(RUBRIC, judge), state())
    assert math.isnan(score.value["praise"])
    assert (score.value["score"], score.reason) == (1.0, None)
    assert score.explanation.splitlines()[1] == "praise: CANNOT_ASSESS: so it is"


def test_samples_bring_rubrics_of_their_own_and_are_unscored_without(door):
    own = {"criteria": [{"name": "c", "requirement": "Gives roughly 300000 kilometres"}]}
    scoring = door.rubric(None, Judge(speed="MET", praise="MET"))
    states = [
        state(rubric=own),
        state(rubric=own["criteria"]),
        state(rubric=json.dumps(own)),
        state(rubric=RUBRIC),
        state(),
        state(rubric=7),
        state(rubric=[{"name": "c"}]),
    ]
    scores = scored(scoring, *states)
    assert [score.value for score in scores[:4]] == [{"score": 1.0}] * 3 + [{"score": 0.5}]
    assert list(scores[0].metadata["criteria"]) == ["c"]
    for score in scores[4:]:
        assert math.isnan(score.value["score"])
        assert score.reason == "no_rubric"
        assert score.explanation.startswith("metadata")


def test_the_whole_conversation_is_judged_where_that_is_asked_for(door):
    judge = Judge(speed="MET", praise="MET")
    given = state("Done.")
    call = {"id": "1", "function": "look_up", "arguments": {"what": "light"}, "type": "function"}
    given.messages.insert(1, Message(role="assistant", content="", tool_calls=[call]))
    scored(door.rubric(RUBRIC, judge, conversation=True), given)
    assert "look_up" in judge.asked[0]


def test_names_that_a_terminal_would_take_for_markup_are_shown_as_they_are(door):
    names = ["[/red]", "[bold]x", "cites [1]"]
    rubric = Rubric([Criterion(name=name, requirement="300000 kilometres") for name in names])
    [score] = scored(door.rubric(rubric, Judge(speed="MET")), state())
    assert list(score.value) == ["score", r"\[/red]", r"\[bold]x", "cites [1]"]
    assert list(score.metadata["criteria"]) == names


def test_samples_that_are_scored_together_share_the_limit(door):
    judge = Judge(speed="MET", praise="UNMET")
    scored(door.rubric(RUBRIC, judge, concurrency=2), *(state(f"Text {n}.") for n in range(20)))
    assert len(judge.asked) == 40
    assert judge.most == 2


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda rubric: rubric(7), InputError, "must be a Rubric"),
        (lambda rubric: rubric("nowhere.yaml"), InputError, "nowhere.yaml: file not found"),
        (lambda rubric: rubric(RUBRIC, "nobody/x"), InputError, "unknown judge"),
        (lambda rubric: rubric(RUBRIC, concurrency=0), InputError, "at least 1"),
        (lambda rubric: rubric(RUBRIC, concurency=3), TypeError, "concurrency"),
        (lambda rubric: rubric(RUBRIC, max_cost=1.0), TypeError, "max_cost"),
        (
            lambda rubric: rubric(Rubric([Criterion(name="score", requirement="x")])),
            InputError,
            "the criterion name 'score' is reserved",
        ),
    ],
)
def test_what_cannot_be_meant_is_said_before_anything_is_run(door, make, error, says):
    with pytest.raises(error, match=says):
        make(door.rubric)


def test_without_inspect_the_scorer_says_what_to_install():
    code = (
        "import sys; sys.modules['inspect_ai'] = None\n"
        f"try:\n    import {DOOR}\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(MissingExtraError.__name__)
    assert "[inspect]" in done.stdout


def test_nothing_else_of_the_package_imports_inspect():
    code = (
        "import sys, rubricate, rubricate.dialects.inspect_ai.dataset\n"
        "import rubricate.dialects.inspect_ai.model, rubricate.dialects.inspect_ai.tool\n"
        "print('inspect_ai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
