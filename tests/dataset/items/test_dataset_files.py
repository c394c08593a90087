"""What a dataset's files promise: the page's JSON, round trips, and errors that say where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Criterion, CriterionVerdict, DataItem, InputError, Rubric, RubricDataset

PROPERTY = settings(derandomize=True, deadline=None, max_examples=60)
MET, UNMET, CANNOT_ASSESS = CriterionVerdict
FORMATS = ["data.json", "data.yaml", "data.yml", "data.jsonl", "data.JSONL", "data"]

RUBRIC = Rubric(
    [
        Criterion(name="right", weight=10.0, requirement="Is right"),
        Criterion(
            name="style",
            weight=5.0,
            requirement="How is the style?",
            scale_type="ordinal",
            options=[
                {"label": "dry", "value": 0.0},
                {"label": "lively", "value": 1.0},
                {"label": "none", "value": 0.0, "na": True},
            ],
        ),
    ]
)
OWN = Rubric([Criterion(weight=1.0, requirement="Größe")])
PAGE_DATASET = RubricDataset(
    "Why?",
    RUBRIC,
    [
        DataItem("Because – “so”.", "good", [MET, "lively"]),
        DataItem("", "", None, None, "like this"),
        DataItem("x\n", "own rubric", [CANNOT_ASSESS], OWN, ""),
    ],
    "physics",
    "reference",
)
PAGE_JSON = r"""{
  "name": "physics",
  "prompt": "Why?",
  "rubric": [
    {
      "name": "right",
      "weight": 10.0,
      "requirement": "Is right"
    },
    {
      "name": "style",
      "weight": 5.0,
      "requirement": "How is the style?",
      "scale_type": "ordinal",
      "options": [
        {
          "label": "dry",
          "value": 0.0
        },
        {
          "label": "lively",
          "value": 1.0
        },
        {
          "label": "none",
          "value": 0.0,
          "na": true
        }
      ]
    }
  ],
  "reference_submission": "reference",
  "items": [
    {
      "submission": "Because \u2013 \u201cso\u201d.",
      "description": "good",
      "ground_truth": [
        "MET",
        "lively"
      ]
    },
    {
      "submission": "",
      "description": "",
      "ground_truth": null,
      "reference_submission": "like this"
    },
    {
      "submission": "x\n",
      "description": "own rubric",
      "ground_truth": [
        "CANNOT_ASSESS"
      ],
      "rubric": [
        {
          "weight": 1.0,
          "requirement": "Gr\u00f6\u00dfe"
        }
      ],
      "reference_submission": ""
    }
  ]
}"""
RICH_DATASET = RubricDataset(
    "Why?",
    Rubric(RUBRIC.criteria, guidelines="Be kind.", extra={"licence": "MIT"}),
    [
        DataItem("one", "1", [MET, None], id="q-1", prompt="Why not?", metadata={"grade": 3}),
        DataItem("two", "2", ["MET"], OWN, extra={"source": {"page": 3}}),
    ],
    "physics",
    metadata={"made": "2026-01-31"},
    extra={"version": 3},
)


# The page's JSON


def test_a_dataset_of_the_pages_fields_is_written_byte_for_byte_as_the_page_does() -> None:
    assert PAGE_DATASET.to_json() == PAGE_JSON
    assert RubricDataset.from_json(PAGE_JSON) == PAGE_DATASET


def test_a_bare_dataset_is_written_byte_for_byte_as_the_page_does() -> None:
    made = RubricDataset("p", items=[DataItem("a", "b", rubric=OWN)])
    assert made.to_json(indent=None) == (
        '{"prompt": "p", "rubric": null, "items": [{"submission": "a", "description": "b", '
        '"ground_truth": null, "rubric": [{"weight": 1.0, "requirement": "Gr\\u00f6\\u00dfe"}]}]}'
    )
    assert RubricDataset("p").to_json(None) == '{"prompt": "p", "rubric": null, "items": []}'


def test_what_has_gone_through_a_file_is_written_as_if_it_had_not(tmp_path: Path) -> None:
    for name in FORMATS:
        PAGE_DATASET.to_file(tmp_path / name)
        assert RubricDataset.from_file(tmp_path / name).to_json() == PAGE_JSON
    assert (tmp_path / "data.json").read_bytes() == PAGE_JSON.encode()


# Round trips


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("made", [PAGE_DATASET, RICH_DATASET, RubricDataset("p")])
def test_every_format_gives_the_dataset_back(
    made: RubricDataset, name: str, tmp_path: Path
) -> None:
    made.to_file(tmp_path / name)
    assert RubricDataset.from_file(str(tmp_path / name)) == made


TEXT = st.text(max_size=30)
ITEMS = st.builds(
    DataItem,
    TEXT,
    TEXT,
    st.none()
    | st.tuples(st.sampled_from([None, *CriterionVerdict]), st.sampled_from(["dry", None])).map(
        list
    ),
    st.none(),
    st.none() | TEXT,
    id=st.text(max_size=5),
    prompt=st.none() | TEXT,
    metadata=st.dictionaries(TEXT, TEXT | st.integers(), max_size=2),
    extra=st.dictionaries(st.sampled_from(["qid", "source"]), st.lists(TEXT, max_size=2)),
)


@PROPERTY
@given(
    st.builds(
        RubricDataset,
        TEXT,
        st.just(RUBRIC),
        st.lists(ITEMS, max_size=3),
        st.none() | TEXT,
        st.none() | TEXT,
        metadata=st.dictionaries(TEXT, TEXT, max_size=2),
        extra=st.dictionaries(st.sampled_from(["version", "source"]), TEXT),
    )
)
def test_any_dataset_survives_every_format(
    tmp_path_factory: pytest.TempPathFactory, made: RubricDataset
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("any.json", "any.yaml", "any.jsonl"):
        made.to_file(folder / name)
        assert RubricDataset.from_file(folder / name) == made


@pytest.mark.parametrize("name", FORMATS)
def test_half_a_character_from_a_broken_model_can_be_written(name: str, tmp_path: Path) -> None:
    made = RubricDataset("p", RUBRIC, [DataItem("broken \ud83d emoji", "d")])
    made.to_file(tmp_path / name)
    assert RubricDataset.from_file(tmp_path / name) == made


def test_unknown_keys_are_kept_at_their_level_and_written_back() -> None:
    data = RICH_DATASET.to_dict()
    assert data["version"] == 3
    assert data["rubric"]["licence"] == "MIT"
    assert data["items"][1]["source"] == {"page": 3}
    assert RubricDataset.from_dict(data).to_dict() == data


def test_json_lines_have_the_dataset_first_and_then_an_item_a_line(tmp_path: Path) -> None:
    PAGE_DATASET.to_file(tmp_path / "data.jsonl")
    head, *items = (tmp_path / "data.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(json.loads(head)) == ["name", "prompt", "rubric", "reference_submission"]
    assert [json.loads(line)["submission"] for line in items] == ["Because – “so”.", "", "x\n"]


def test_blank_lines_in_json_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    PAGE_DATASET.to_file(path)
    path.write_text("\n" + path.read_text("utf-8").replace("\n", "\r\n\r\n"), encoding="utf-8")
    assert RubricDataset.from_file(path) == PAGE_DATASET


def test_items_may_be_missing() -> None:
    assert len(RubricDataset.from_json('{"prompt": "p", "rubric": [{"requirement": "x"}]}')) == 0


@pytest.mark.parametrize("name", ["data.json", "data.yaml", "data.jsonl"])
def test_another_rubric_may_take_the_place_of_the_files_own(name: str, tmp_path: Path) -> None:
    RubricDataset("p", RUBRIC, [DataItem("x", "d")]).to_file(tmp_path / name)
    loaded = RubricDataset.from_file(tmp_path / name, rubric=OWN)
    assert loaded.rubric is OWN
    assert RubricDataset.from_dict({"prompt": "p"}, rubric=OWN).rubric is OWN


@pytest.mark.parametrize("head", [{"prompt": None}, {}])
@pytest.mark.parametrize("name", ["data.json", "data.jsonl"])
def test_a_dataset_needs_no_prompt_where_each_item_has_its_own(
    head: dict[str, Any], name: str, tmp_path: Path
) -> None:
    own = {"submission": "x", "prompt": "mine"}
    dataset = RubricDataset.from_dict({**head, "rubric": RUBRIC.to_dict(), "items": [own]})
    dataset.to_file(tmp_path / name)
    loaded = RubricDataset.from_file(tmp_path / name)
    assert (loaded.prompt, loaded.get_item_prompt(0)) == (None, "mine")
    with pytest.raises(InputError, match="no per-item prompt provided and no global prompt set"):
        loaded.add_item("y")
    assert len(loaded) == 1


# Errors


def data(**changes: Any) -> dict[str, Any]:
    item = {"submission": "x", "description": "d", "ground_truth": ["MET", "dry"]}
    return {"prompt": "p", "rubric": RUBRIC.to_dict(), "items": [item, item], **changes}


def items(**changes: Any) -> dict[str, Any]:
    whole = data()
    return {**whole, "items": [whole["items"][0], {**whole["items"][1], **changes}]}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in data().items() if name != key}


WRONG = {
    "no prompt": (without("prompt"), "items[0]: Missing required field: 'prompt'"),
    "no rubric": (without("rubric"), "Missing required field: 'rubric'"),
    "prompt is null": (data(prompt=None), "items[0]: Missing required field: 'prompt'"),
    "prompt is no text": (data(prompt=3), "prompt: must be a text, found 3"),
    "a list": ([data()], "Expected JSON object, got list"),
    "misspelt": (
        {**without("prompt"), "promt": "p"},
        "unknown key 'promt': did you mean 'prompt'?",
    ),
    "items misspelt": (
        {**without("items"), "itmes": []},
        "unknown key 'itmes': did you mean 'items'?",
    ),
    "items no list": (data(items={}), "items: expected a list of items"),
    "item no object": (data(items=["x"]), "items[0]: must be a dict, got str"),
    "no submission": (items(submission=None), "items[1]: missing required field: 'submission'"),
    "submission no text": (items(submission=5), "items[1].submission: must be a text"),
    "wrong label": (
        items(ground_truth=["MET", "drey"]),
        "items[1].ground_truth[1]: criterion 'style' has no label 'drey'; "
        "allowed: 'dry', 'lively', 'none'",
    ),
    "no rubric for an item": (
        {"prompt": "p", "rubric": None, "items": [{"submission": "x", "description": "d"}]},
        "items[0]: the item has no rubric and dataset has no global rubric",
    ),
    "wrong rubric": (
        data(rubric=[{"requirement": "x", "weight": float("nan")}]),
        "rubric[0].weight: must be a finite number",
    ),
    "no criteria": (data(rubric=[]), "rubric: a rubric needs at least one criterion, found none"),
    "wrong rubric of an item": (
        items(rubric={"criteria": [{"requirement": ""}]}),
        "items[1].rubric.criteria[0].requirement: must not be empty",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_in_a_file_is_named_by_file_and_path(wrong: str, tmp_path: Path) -> None:
    content, message = WRONG[wrong]
    path = tmp_path / "data.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        RubricDataset.from_file(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    with pytest.raises(InputError) as caught:  # and text gives the same error
        RubricDataset.from_json(json.dumps(content))
    assert str(caught.value).startswith(message)


HEAD = json.dumps(without("items"))


@pytest.mark.parametrize(
    ("name", "content", "place", "message"),
    [
        (
            "data.jsonl",
            HEAD + '\n\n{"submission": "x", "description": "d", "ground_truth": ["MET"]}',
            ":3: ",
            "ground_truth: Ground truth has 1 values",
        ),
        ("data.jsonl", '{"prompt": "p", "rubric": []}\n', ":1: ", "rubric: a rubric needs"),
        ("data.jsonl", HEAD + '\n{"submission": x}\n', ":2:16: ", "Failed to parse JSON: "),
        ("data.yaml", "prompt: p\nrubric: [\n", ":3:1: ", "Failed to parse YAML: "),
        ("data.yaml", "prompt: p\nrubric: [\n", ":3:1: ", "may need quotes"),
        ("data.csv", "id,submission\na,text\n", ": ", "a table is not a dataset file"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_file_and_place(
    name: str, content: str | bytes, place: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ValueError) as caught:
        RubricDataset.from_file(path)
    assert str(caught.value).startswith(f"{path}{place}")
    assert message in str(caught.value)


def test_broken_json_of_a_text_is_named_by_line_and_column() -> None:
    with pytest.raises(ValueError, match=r"^line 2:3: Failed to parse JSON: "):
        RubricDataset.from_json("{\n  prompt: 3}")
