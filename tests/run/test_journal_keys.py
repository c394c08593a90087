"""The journal's keys, byte for byte: what was paid for is found again by every later version.

A key is a hash of all that could change an answer. A change that alters a key below makes everyone
who has such a journal pay again: it must be meant (another prompt, another classifier of the
built-in judge), and be told to users. `python tests/run/test_journal_keys.py` prints the table.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import orjson
import pytest

import rubricate
from rubricate import (
    Cascade,
    Criterion,
    CriterionOption,
    DataItem,
    HTTPModel,
    Judge,
    MetricCriterion,
    Model,
    Panel,
    RegexCriterion,
    Rubric,
    RubricDataset,
    ScaleCriterion,
    Transcript,
    Usage,
    Verdict,
)
from rubricate.judge import Completion, Examples, PromptTemplate, Request

TEXT = "Light travels at roughly 300000 kilometres a second: »c«."
BINARY = Criterion(name="speed", weight=2.0, requirement="Gives roughly 300000 kilometres")
FAULT = Criterion(name="boasting", weight=-1.0, requirement="Praises itself shamelessly")
STYLE = Criterion(
    name="style",
    requirement="How is the style?",
    options=(
        CriterionOption(label="poor", value=0.0),
        CriterionOption(label="fair", value=0.5, description="readable"),
        CriterionOption(label="good", value=1.0),
        CriterionOption(label="n/a", na=True),
    ),
)
SCALE = ScaleCriterion(name="depth", requirement="How deep is it?", low=1, high=5)
METRIC = MetricCriterion(
    name="units", requirement="Names the units", tp_instructions=("metre", "second")
)
PATTERN = RegexCriterion(name="number", pattern=r"\d{6}")
PROMPT = """---
variables: [submission, criterion, options]
---
Read: {{ submission }}
Does it hold? {{ criterion }} {{ options }}
"""


def data(*criteria: Criterion, texts: tuple[str, ...] = (TEXT,), **item: Any) -> RubricDataset:
    rubric = Rubric(criteria or (BINARY,), guidelines=item.pop("guidelines", None))
    items = [DataItem(text, **item) for text in texts]
    return RubricDataset("How fast is light?", rubric, items, name="light")


def labelled() -> Examples:
    dataset = data(texts=("Very fast.", "300000 kilometres a second."))
    dataset.items[0].ground_truth, dataset.items[1].ground_truth = ["UNMET"], ["MET"]
    return Examples(dataset, count=2)


class OwnJudge(Judge):
    """A judge as a user writes one: its keys are its own."""

    name, note = "own", None

    def key(self, case: Any, criterion: Criterion) -> str:
        return f"own-{len(case.submission)}-{criterion.name}"

    async def judge(self, case: Any, criterion: Criterion, send: Any) -> Verdict:
        return Verdict(criterion.name, "judged", "MET", 1.0, judge=self.name)

    async def aclose(self) -> None:
        return None


class OwnModel(Model):
    """A model as a user writes one."""

    name, endpoint = "own/model", "own"

    def fingerprint(self) -> dict[str, Any]:
        return {"model": self.name, "seed": 7}

    async def complete(self, request: Request) -> Completion:
        return answer(request)

    async def aclose(self) -> None:
        return None


def answer(request: Request) -> Completion:
    """The first answer that a request allows."""
    usage = Usage(requests=1)
    if request.choices:
        sure = dict.fromkeys(request.choices, 0.0) | {request.choices[0]: 1.0}
        return Completion(request.choices[0], usage, probabilities=sure)
    return Completion(orjson.dumps(_allowed(request.schema or {})).decode(), usage)


def _allowed(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _allowed(schema["anyOf"][0])
    kind = schema["type"]
    if kind == "object":
        return {name: _allowed(one) for name, one in schema["properties"].items()}
    return {"array": [], "string": "r", "integer": schema.get("minimum", 1), "boolean": True}[kind]


NAME = "openai/gpt-4.1-mini"
TWO = ["openai/gpt-4.1-mini", "openai/gpt-4.1"]
LONG = "\n\n".join(
    f"# Section {n}\n\nLight is fast, number {n}. " + "Words. " * 120 for n in (1, 2)
)
CASES: dict[str, Callable[[Path], Any]] = {
    "binary": lambda to: rubricate.grade(data(), NAME, run_dir=to),
    "multi-choice": lambda to: rubricate.grade(data(STYLE), NAME, run_dir=to),
    "scale": lambda to: rubricate.grade(data(SCALE), NAME, run_dir=to),
    "metric": lambda to: rubricate.grade(data(METRIC), NAME, run_dir=to),
    "negative weight": lambda to: rubricate.grade(data(FAULT), NAME, run_dir=to),
    "regex": lambda to: rubricate.grade(data(PATTERN), NAME, run_dir=to),
    "reference and guidelines": lambda to: rubricate.grade(
        data(reference_submission="300000 km/s", guidelines="Be fair."), NAME, run_dir=to
    ),
    "context": lambda to: rubricate.grade(
        data(context=[rubricate.ContextDocument("c is 299792 km/s", title="Units")]),
        NAME,
        run_dir=to,
    ),
    "conversation": lambda to: rubricate.grade(
        data(
            texts=(
                Transcript(
                    [
                        {"role": "user", "content": "How fast?"},
                        {"role": "assistant", "content": "300000\nkm/s"},
                    ]
                ),
            )
        ),
        NAME,
        run_dir=to,
    ),
    "examples": lambda to: rubricate.grade(data(), NAME, examples=labelled(), run_dir=to),
    "own prompt": lambda to: rubricate.grade(
        data(), NAME, judge_prompt=PromptTemplate(PROMPT), run_dir=to
    ),
    "probability": lambda to: rubricate.grade(data(STYLE), NAME, mode="probability", run_dir=to),
    "grouped": lambda to: rubricate.grade(
        data(BINARY, STYLE, SCALE), NAME, criteria_per_call=2, run_dir=to
    ),
    "shuffled": lambda to: rubricate.grade(data(STYLE), NAME, shuffle=3, run_dir=to),
    "permutations and replicates": lambda to: rubricate.grade(
        data(STYLE), NAME, permutations=2, replicates=2, run_dir=to
    ),
    "panel": lambda to: rubricate.grade(data(), TWO, run_dir=to),
    "cascade": lambda to: rubricate.grade(data(), Cascade(TWO, 0.9), run_dir=to),
    "document in parts": lambda to: rubricate.grade(
        data(texts=(LONG,)), OwnModel(), chunk_tokens=200, run_dir=to
    ),
    "pair": lambda to: rubricate.compare_pair(
        "300000 km/s", "Fast.", rubric=Rubric([BINARY]), judge=NAME, run_dir=to
    ),
    "built-in judge": lambda to: rubricate.grade(data(), run_dir=to),
    "own judge": lambda to: rubricate.grade(data(), Panel([OwnJudge()], replicates=2), run_dir=to),
    "own model": lambda to: rubricate.grade(data(), OwnModel(), run_dir=to),
    "base URL": lambda to: rubricate.grade(
        data(), "m", base_url="http://localhost:8000/v1", run_dir=to
    ),
    "temperature": lambda to: rubricate.grade(data(), NAME, temperature=0.7, run_dir=to),
    "no temperature, max tokens": lambda to: rubricate.grade(
        data(), NAME, temperature=None, max_tokens=99, run_dir=to
    ),
    "document in parts, probability": lambda to: rubricate.grade(
        data(texts=(LONG,)), OwnModel(), chunk_tokens=200, mode="probability", run_dir=to
    ),
    "model options": lambda to: rubricate.grade(
        data(), NAME, model_options={"top_p": 0.5, "reasoning_effort": "high"}, run_dir=to
    ),
}
EXPECTED: dict[str, list[str]] = {
    "binary": [
        "748d772f039d5e1f19cc639ccdfacdc9",
    ],
    "multi-choice": [
        "282b94c288f6ed5f3dba34be52ba802a",
    ],
    "scale": [
        "380efe8f697ad1e8eb7715a3fff822ee",
    ],
    "metric": [
        "59f8010650859342cced4e1c155ce738",
    ],
    "negative weight": [
        "d7fc90e13faaec450c666d6479fdbf27",
    ],
    "regex": [
        "ebc4ee47031c57712b0fb262575f5982",
    ],
    "reference and guidelines": [
        "401a6a756f0573059301f3d544a451aa",
    ],
    "context": [
        "0ebed527df0eed7e8dc538d447cca25f",
    ],
    "conversation": [
        "54f963a53656ea95f90d3ba9edaa85f9",
    ],
    "examples": [
        "cd889d48a79e2f355eeff0150649a537",
    ],
    "own prompt": [
        "02048bc60b8ca54716d0a4714499796a",
    ],
    "probability": [
        "65d9dcb3fd3b2071e35ab8aee1444d54",
        "request-4283a2870156e64f5ab1df488adbbc57",
        "request-80001469afb2c68a9b0fa62962a83140",
        "request-ddc0faacad53679da3dc0bf70982fad9",
        "request-f32e1f18d11f482e9a375782f0ce4310",
    ],
    "grouped": [
        "380efe8f697ad1e8eb7715a3fff822ee",
        "3fd3f156fa518628d9ef1c5ced2d28f1-1",
        "3fd3f156fa518628d9ef1c5ced2d28f1-2",
    ],
    "shuffled": [
        "80e5a03af88c5876b80c8222154f04d2",
    ],
    "permutations and replicates": [
        "282b94c288f6ed5f3dba34be52ba802a",
        "282b94c288f6ed5f3dba34be52ba802a-r2",
        "f58382077836c2fdd5e8827d7b01dd82",
        "f58382077836c2fdd5e8827d7b01dd82-r2",
    ],
    "panel": [
        "748d772f039d5e1f19cc639ccdfacdc9",
        "aceafc160e962e2546bd296f9b898999",
    ],
    "cascade": [
        "748d772f039d5e1f19cc639ccdfacdc9",
        "aceafc160e962e2546bd296f9b898999",
    ],
    "document in parts": [
        "2e001c8d8c2b25f3d65ffe767d15b4e8",
        "44517bc4ebbb4df14c0795e749527e4f",
        "4629a6903b115488e701c993a3a4e1b1",
        "81b41cf9a480db62da2556aa6a29378c",
        "960cbbccc0f86bb58eb86a251c6f874c",
        "a3c0df513ae98f4b0d34d97a6cff6e68",
    ],
    "pair": [
        "091e20aa66135368745623a3613f7fab",
        "e4c032f51346aa579ab23b8f0628cb79",
    ],
    "built-in judge": [
        "e3f12137aad46799a26b21ab99782e02",
    ],
    "own judge": [
        "own-57-speed",
        "own-57-speed-r2",
    ],
    "own model": [
        "346982ae41d4981845b52c1b449fa29c",
    ],
    "base URL": [
        "2ddb9d9a3c922e9fd62e258cdb5d8323",
    ],
    "temperature": [
        "adb00d5cb211aadd54f87898ad2df946",
    ],
    "no temperature, max tokens": [
        "5293f5ad2cb973d2efd8c756d9fca6ac",
    ],
    "document in parts, probability": [
        "2e001c8d8c2b25f3d65ffe767d15b4e8",
        "44517bc4ebbb4df14c0795e749527e4f",
        "4629a6903b115488e701c993a3a4e1b1",
        "7810bf4b47b32a0f5538bbce054ec04e",
        "960cbbccc0f86bb58eb86a251c6f874c",
        "a3c0df513ae98f4b0d34d97a6cff6e68",
        "request-27b6b967995c41e661482a62f254c052",
        "request-7070b07082e465f128e5f68cf2f20f34",
        "request-d22a7e6cda7f8d52884642004a203e13",
        "request-e7a83efcd39a973f46c8e502fb3c06da",
    ],
    "model options": [
        "2e9d9f6fa1fbbc82c2c346d2462548c5",
    ],
}


@contextmanager
def _without_network() -> Iterator[None]:
    """Models that are named answer here; the built-in judge, whose keys have the version in them,
    is of version 0."""

    async def complete(self: HTTPModel, request: Request) -> Completion:
        return answer(request)

    with (
        mock.patch.object(HTTPModel, "complete", complete),
        mock.patch("rubricate.judge.builtin._judge.__version__", "0"),
        mock.patch.dict("os.environ", {"OPENAI_API_KEY": "none"}),
    ):
        yield


def keys_of(case: str, folder: Path) -> list[str]:
    """The keys in the journal of a case's run."""
    with _without_network():
        CASES[case](folder)
    with closing(sqlite3.connect(folder / "journal.sqlite")) as journal:
        return sorted(key for (key,) in journal.execute("SELECT key FROM records"))


@pytest.mark.parametrize("case", CASES)
def test_the_keys_of_answers_are_the_same_as_ever(case: str, tmp_path: Path):
    assert keys_of(case, tmp_path / "run") == EXPECTED[case]


def test_only_what_could_change_an_answer_changes_a_key(tmp_path: Path):
    judge_alone = set(keys_of("binary", tmp_path / "alone"))
    assert judge_alone < set(keys_of("panel", tmp_path / "panel"))
    assert judge_alone <= set(keys_of("cascade", tmp_path / "cascade"))
    others = [name for name in CASES if name not in ("binary", "panel", "cascade")]
    assert not [name for name in others if judge_alone & set(EXPECTED[name])]


if __name__ == "__main__":
    for name in CASES:
        with tempfile.TemporaryDirectory() as place:
            print(f'    "{name}": [')
            for key in keys_of(name, Path(place) / "run"):
                print(f'        "{key}",')
            print("    ],")
