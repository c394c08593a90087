"""Items with images, audio, video or files: judges see text alone, and abstain unasked."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import (
    Cascade,
    Criterion,
    DataItem,
    HTTPModel,
    Judge,
    Panel,
    RegexCriterion,
    RewardFunction,
    Rubric,
    RubricDataset,
    Transcript,
    Verdict,
)
from rubricate.dataset import Sample, read_table, text_of_chat
from rubricate.judge import People
from rubricate.testing import Rule, ScriptedEndpoint

PIXEL = "data:image/png;base64,iVBORw0KGgo="
IMAGE = {"type": "image", "image": PIXEL}
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "inspect": ("an image", IMAGE),
    "inspect audio": ("audio", {"type": "audio", "audio": "a.wav", "format": "wav"}),
    "inspect video": ("a video", {"type": "video", "video": "a.mp4", "format": "mp4"}),
    "inspect document": ("a file", {"type": "document", "document": "a.pdf"}),
    "openai": ("an image", {"type": "image_url", "image_url": {"url": PIXEL}}),
    "openai responses": ("an image", {"type": "input_image", "image_url": PIXEL}),
    "openai audio": (
        "audio",
        {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}},
    ),
    "openai file": ("a file", {"type": "file", "file": {"file_data": "x", "filename": "a.pdf"}}),
    "anthropic": ("an image", {"type": "image", "source": {"type": "base64", "data": "x"}}),
    "anthropic file": ("a file", {"type": "document", "source": {"type": "url", "url": "x"}}),
    "anthropic tool": ("an image", {"type": "tool_result", "tool_use_id": "1", "content": [IMAGE]}),
    "gemini": ("an image", {"inline_data": {"mime_type": "image/png", "data": "x"}}),
    "gemini camel": ("audio", {"inlineData": {"mimeType": "audio/wav", "data": "x"}}),
    "gemini file": ("a file", {"file_data": {"mime_type": "application/pdf", "file_uri": "x"}}),
    "bedrock": ("an image", {"image": {"format": "png", "source": {"bytes": "x"}}}),
    "vllm video": ("a video", {"type": "video_url", "video_url": {"url": "x"}}),
}
ASKED = {"type": "text", "text": "What is on it?"}
RUBRIC = Rubric(
    [
        Criterion(name="right", requirement="Says what is shown"),
        Criterion(name="short", requirement="Is short"),
        RegexCriterion(name="cat", pattern="cat"),
    ]
)


def spoken(part: dict[str, Any], role: str = "user") -> list[dict[str, Any]]:
    return [{"role": role, "content": [ASKED, part]}, {"role": "assistant", "content": "A cat."}]


def dataset(*submissions: Any, rubric: Rubric = RUBRIC, **item: Any) -> RubricDataset:
    return RubricDataset("p", rubric, [DataItem(one, **item) for one in submissions])


def statuses(result: Any, index: int = 0) -> dict[str, str]:
    return {name: one.status for name, one in result.items[index].criteria.items()}


ABSTAINS = {"right": "abstained", "short": "abstained", "cat": "judged"}


def jsonl(folder: Path, *records: dict[str, Any]) -> Any:
    file = folder / "items.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return read_table(str(file), rubric=RUBRIC)


def in_csv(folder: Path, messages: Any) -> Any:
    with (folder / "items.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["submission"], [json.dumps(messages)]])
    return read_table(str(folder / "items.csv"), rubric=RUBRIC)


def in_file(folder: Path, messages: Any) -> Any:
    data = {"prompt": "p", "rubric": RUBRIC.to_dict(), "items": [{"submission": messages}]}
    (folder / "data.json").write_text(json.dumps(data))
    return RubricDataset.from_file(folder / "data.json")


def sample(input: Any) -> Any:
    return RubricDataset.from_samples(
        [Sample(input=input, metadata={"answer": "A cat."})], rubric=RUBRIC, submission="answer"
    )


PLACES: dict[str, Callable[[Path, dict[str, Any]], Any]] = {
    "transcript": lambda folder, part: dataset(Transcript(spoken(part))),
    "messages": lambda folder, part: dataset(spoken(part)),
    "a tool's result": lambda folder, part: dataset(
        [{"role": "tool", "content": [part]}, {"role": "assistant", "content": "A cat."}]
    ),
    "what the assistant says": lambda folder, part: dataset(
        [{"role": "assistant", "content": [{"type": "text", "text": "cat"}, part]}]
    ),
    "json lines": lambda folder, part: jsonl(folder, {"submission": spoken(part)}),
    "csv": lambda folder, part: in_csv(folder, spoken(part)),
    "dataset file": lambda folder, part: in_file(folder, spoken(part)),
    "prompt": lambda folder, part: jsonl(
        folder, {"prompt": [{"role": "user", "content": [ASKED, part]}], "submission": "A cat."}
    ),
    "prompt of several": lambda folder, part: jsonl(
        folder,
        {"prompt": [{"role": "system", "content": "s"}, *spoken(part)], "submission": "A cat."},
    ),
    "trainer's": lambda folder, part: dataset(text_of_chat(spoken(part))),
    "trainer's prompt": lambda folder, part: dataset(
        "A cat.", prompt=text_of_chat([{"role": "user", "content": [ASKED, part]}])
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", PLACES)
def test_an_item_with_a_part_that_is_not_text_abstains_without_a_request(
    place: str, form: str, tmp_path: Path
) -> None:
    kind, part = FORMS[form]
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        data = PLACES[place](tmp_path, part)
        result = rubricate.grade(data, "m", base_url=endpoint.url, cache=None)
        assert endpoint.requests == []
    assert statuses(result) == ABSTAINS
    where = "prompt" if "prompt" in place else "submission"
    reason = f"Not judged: the {where} has {kind}, which the judge does not see."
    assert result.items[0].criteria["right"].reason == reason
    assert result.items[0].criteria["cat"].label == "MET"
    assert (result.summary().note or "").count("the judge sees text alone") == 1


def test_a_samples_input_with_an_image_abstains() -> None:
    result = rubricate.grade(sample([{"role": "user", "content": [ASKED, IMAGE]}]), cache=None)
    assert statuses(result) == ABSTAINS


def test_neighbours_are_judged_and_a_text_that_says_image_is_text() -> None:
    plain = Transcript([{"role": "user", "content": "[image]"}, *spoken(IMAGE)[1:]])
    reasoned = spoken({"type": "reasoning", "reasoning": "Hm."})
    data = dataset("A cat.", spoken(IMAGE), plain, "user: What is on it?\n  [image]", reasoned)
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        result = rubricate.grade(data, "m", base_url=endpoint.url, cache=None)
        assert len(endpoint.requests) == 8
    judged = [set(statuses(result, index).values()) == {"judged"} for index in range(5)]
    assert judged == [True, False, True, True, True]


def test_an_item_with_another_text_in_the_place_of_one_with_an_image_is_judged() -> None:
    plain = replace(DataItem(spoken(IMAGE)), submission="A cat.")
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        data = RubricDataset("p", RUBRIC, [plain])
        result = rubricate.grade(data, "m", base_url=endpoint.url, cache=None)
    assert set(statuses(result).values()) == {"judged"}


def test_an_abstention_is_no_answer_about_the_same_text_nor_the_other_way(tmp_path: Path) -> None:
    shown = Transcript(spoken(IMAGE))
    told: dict[str, Any] = {"cache": tmp_path / "cache"}
    for order in ([str(shown), shown], [shown, str(shown)]):
        with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
            results = [
                rubricate.grade(dataset(one), "m", base_url=endpoint.url, **told) for one in order
            ]
        found = {type(one): statuses(result) for one, result in zip(order, results, strict=True)}
        assert found[Transcript] == ABSTAINS
        assert set(found[str].values()) == {"judged"}


WAYS: dict[str, dict[str, Any]] = {
    "grouped": {"criteria_per_call": "all"},
    "probability": {"mode": "probability"},
    "replicates": {"replicates": 3},
    "in parts": {"chunk_tokens": 200},
    "several orders": {"permutations": 2},
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_asking_abstains(way: str) -> None:
    long = [{"role": "user", "content": "Quick. " * 800}, *spoken(IMAGE)]
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        data = dataset(long, spoken(IMAGE))
        result = rubricate.grade(data, "m", base_url=endpoint.url, cache=None, **WAYS[way])
        assert endpoint.requests == []
    assert [statuses(result, index) for index in (0, 1)] == [ABSTAINS] * 2


class Sees(Judge):
    """A judge of a user's own, which looks at the item."""

    name = "sees"

    def key(self, item: Any, criterion: Criterion) -> str:
        return f"{item.submission} {criterion.name}"

    async def judge(self, item: Any, criterion: Criterion, send: Any) -> Verdict:
        seen = "image" in str(item.data.submission.messages[0].content)
        return Verdict(criterion.name, "judged", "MET" if seen else "UNMET", float(seen))


def test_judges_of_ones_own_and_people_are_asked(tmp_path: Path) -> None:
    own = rubricate.grade(dataset(spoken(IMAGE)), Sees())
    assert own.items[0].criteria["right"].label == "MET"
    assert own.summary().note is None
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url)
        panel = rubricate.grade(dataset(spoken(IMAGE)), Panel([model, Sees()]), cache=None)
        people = Cascade([model, People(tmp_path / "people.json")], 0.8)
        asked = rubricate.grade(dataset(spoken(IMAGE)), people, cache=None)
        assert endpoint.requests == []
    assert panel.items[0].criteria["right"].label == "MET"
    assert asked.items[0].criteria["right"].error.kind == "escalated"


def test_of_two_submissions_none_is_judged_if_one_has_an_image() -> None:
    with ScriptedEndpoint([Rule(verdict="FIRST")]) as endpoint:
        report = rubricate.compare_pair(
            dataset(spoken(IMAGE)), dataset("A dog."), judge="m", base_url=endpoint.url, cache=None
        )
        assert endpoint.requests == []
    assert (report.overall.abstained, report.overall.win_rate) == (1, None)


def test_a_reward_for_an_image_is_none_at_all() -> None:
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        reward = RewardFunction(Rubric(RUBRIC.criteria[:1]), "m", base_url=endpoint.url, cache=None)
        prompts = [[{"role": "user", "content": [ASKED, IMAGE]}], "Say cat."]
        batch = reward.score_batch(["A cat.", "A cat."], prompts)
        reward.close()
        assert len(endpoint.requests) == 1
    assert batch.scores == [None, 1.0]


def test_it_is_kept_in_files_and_resumed_without_a_request(tmp_path: Path) -> None:
    made = jsonl(
        tmp_path,
        {"prompt": [{"role": "user", "content": [ASKED, IMAGE]}], "submission": "A cat."},
    )
    items = [item.data for item in made.to_grade()]
    RubricDataset("p", RUBRIC, [*items, DataItem(spoken(FORMS["openai"][1]))]).to_file(
        tmp_path / "kept.json"
    )
    with ScriptedEndpoint() as endpoint:
        for _ in range(2):
            data = RubricDataset.from_file(tmp_path / "kept.json")
            told: dict[str, Any] = {"run_dir": tmp_path / "run", "base_url": endpoint.url}
            result = rubricate.grade(data, "m", cache=None, **told)
            assert [statuses(result, index) for index in (0, 1)] == [ABSTAINS] * 2
        assert endpoint.requests == []
