"""What loading a rubric accepts, keeps and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubricate import Criterion, InputError, Rubric
from rubricate.errors import MissingFileError

A = {"name": "a", "requirement": "Says A"}
B = {"name": "b", "weight": -2, "requirement": "Says B"}
CHOICE = {
    "name": "c",
    "requirement": "Says C",
    "options": [{"label": "no", "value": 0}, {"label": "yes", "value": 1}],
}
AB = Rubric([Criterion(**A), Criterion(**B)])


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(content: Any, name: str = "rubric.json") -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_text(text, encoding="utf-8")
        return path

    return write


# Shapes


@pytest.mark.parametrize(
    "data",
    [
        [A, B],
        {"criteria": [A, B]},
        {"rubric": [A, B]},
        {"rubric": {"criteria": [A, B]}},
        {"rubric": {"rubric": [A, B]}},
        [Criterion(**A), B],
        AB,
    ],
)
def test_every_shape_gives_the_same_rubric(data: Any) -> None:
    assert Rubric.from_dict(data) == AB


def test_a_rubric_is_built_from_criteria_dictionaries_or_any_iterable() -> None:
    assert Rubric([A, B]) == Rubric(iter(AB.criteria)) == Rubric(criteria=[A, B]) == AB


def test_sections_become_tags_in_front_of_a_criterions_own() -> None:
    rubric = Rubric.from_dict(
        {
            "sections": [
                {"name": "form", "criteria": [{**A, "tags": ["short"]}]},
                {"name": "content", "criteria": [B, CHOICE]},
            ]
        }
    )
    assert rubric.names == ["a", "b", "c"]
    assert [criterion.tags for criterion in rubric] == [
        ("form", "short"),
        ("content",),
        ("content",),
    ]


def test_criteria_may_stand_beside_sections_and_come_first() -> None:
    data = {"sections": [{"name": "s", "criteria": [A]}], "criteria": [B]}
    rubric = Rubric.from_dict(data)
    assert rubric.names == ["b", "a"]
    assert [criterion.tags for criterion in rubric] == [(), ("s",)]


@pytest.mark.parametrize(
    "data",
    [
        {"name": "r", "guidelines": "Be kind.", "criteria": [A]},
        {"name": "r", "guidelines": "Be kind.", "rubric": [A]},
        {"name": "r", "rubric": {"guidelines": "Be kind.", "criteria": [A]}},
        {"rubric": {"name": "r", "guidelines": "Be kind.", "criteria": [A]}},
        {"name": "r", "rubric": {"name": "in", "guidelines": "Be kind.", "criteria": [A]}},
    ],
)
def test_name_and_guidelines_may_stand_at_either_level_and_the_outer_name_wins(data: Any) -> None:
    rubric = Rubric.from_dict(data)
    assert (rubric.name, rubric.guidelines) == ("r", "Be kind.")


@pytest.mark.parametrize(
    ("inside", "beside", "found"),
    [("in", None, "in"), (None, "out", "out"), ("in", " ", "in"), ("\n", "out", "out")],
)
def test_guidelines_stand_inside_or_beside_and_none_are_lost(
    inside: str | None, beside: str | None, found: str
) -> None:
    rubric = {"guidelines": inside, "criteria": [A]}
    assert Rubric.from_dict({"guidelines": beside, "rubric": rubric}).guidelines == found


@pytest.mark.parametrize("beside", ["in", "out"])
def test_two_texts_of_guidelines_are_an_error(beside: str) -> None:
    rubric = {"guidelines": "in", "criteria": [A]}
    with pytest.raises(InputError, match="'guidelines' are inside 'rubric' and beside it"):
        Rubric.from_dict({"guidelines": beside, "rubric": rubric})


@pytest.mark.parametrize("given", [[A, {"requirement": "x"}], [B], [{**A, "weight": 1}, B]])
def test_a_weight_that_is_left_out_needs_no_warning(given: Any, caplog) -> None:
    Rubric.from_dict(given)
    assert caplog.messages == []


@pytest.mark.parametrize("other", ["criteria", "sections"])
def test_criteria_beside_a_rubric_are_an_error_and_not_dropped(other: str) -> None:
    with pytest.raises(InputError, match=f"found both 'rubric' and '{other}'"):
        Rubric.from_dict({"rubric": [A], other: [B]})


@pytest.mark.parametrize("data", [None, 7, "text", {}, {"title": "r"}])
def test_anything_else_is_an_error_that_lists_the_shapes(data: Any) -> None:
    with pytest.raises(InputError, match=r"a rubric is a list of criteria, \{criteria: \[...\]\}"):
        Rubric.from_dict(data)


@pytest.mark.parametrize("data", [A, {"name": "a", "kind": "regex", "pattern": "x"}])
def test_one_criterion_instead_of_a_list_is_an_error_that_says_so(data: Any) -> None:
    with pytest.raises(InputError, match=r"one criterion, and a rubric is a list.*'- '"):
        Rubric.from_dict(data)


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"criteria": {"a": A}}, "criteria"),
        ({"criteria": None}, "criteria"),
        ({"sections": "s"}, "sections"),
        ({"rubric": {"criteria": 3}}, "rubric.criteria"),
        ({"sections": [{"name": "s", "criteria": 3}]}, "sections[0].criteria"),
    ],
)
def test_what_should_be_a_list_and_is_not_is_named(data: Any, path: str) -> None:
    with pytest.raises(InputError) as caught:
        Rubric.from_dict(data)
    assert str(caught.value).startswith(f"{path}: expected a list")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("s", "a section is an object"),
        ({"criteria": [A]}, "a section needs a name and criteria"),
        ({"name": "s"}, "a section needs a name and criteria"),
        ({"name": 3, "criteria": [A]}, "a section needs a name and criteria"),
        ({"name": "s", "criteria": [A], "colour": "red"}, "move 'colour'"),
        ({"name": "s", "critera": [A]}, "did you mean 'criteria'?"),
    ],
)
def test_a_section_has_a_name_and_criteria_only(section: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Rubric.from_dict({"sections": [section]})
    assert str(caught.value).startswith("sections[0]: ")
    assert message in str(caught.value)


# The rubric's own properties


def test_criteria_are_also_there_as_rubric_by_index_and_by_iteration() -> None:
    assert tuple(AB) == tuple(AB.rubric) == AB.criteria
    assert AB[1].name == "b"
    assert len(AB) == 2


def test_the_total_positive_weight_leaves_faults_out() -> None:
    assert Rubric([{**A, "weight": 0.5}, B, CHOICE]).total_positive_weight == 1.5


def test_weights_too_large_to_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match="the weights are too large"):
        Rubric([{**A, "weight": 1e308}, {**B, "weight": 1e308}])


# Errors: what, and where


@pytest.mark.parametrize("rest", ["clear and short", "clear"])
def test_a_text_that_yaml_cuts_at_a_comma_is_an_error_at_its_place(rest):
    with pytest.raises(
        InputError, match=rf"'{rest}' has no value: .* put the whole text in quo"
    ) as e:
        Rubric.from_yaml(f"- {{name: a, requirement: Is good, {rest}}}")
    assert (e.value.line, e.value.column) == (1, 35)


def test_an_unknown_key_without_a_value_is_kept():
    written = "- name: a\n  weight: 1.0\n  requirement: Is good\n  our own:\n"
    assert Rubric.from_yaml(written).to_dict()[0]["our own"] is None


WRONG_CRITERIA = {
    "nan": ({**B, "weight": float("nan")}, ".weight", "must be a finite number, found nan"),
    "empty requirement": ({**B, "requirement": " "}, ".requirement", "must not be empty"),
    "no requirement": ({"name": "b"}, ".requirement", "missing required field"),
    "misspelt": (
        {"requirement": "Says B", "wieght": 1},
        "",
        "unknown key 'wieght': did you mean 'weight'?",
    ),
    "unknown kind": ({"kind": "binari"}, ".kind", "unknown kind 'binari'"),
    "kind is a list": ({**B, "kind": ["binary"]}, ".kind", "binary"),
    "no object": (3, "", "a criterion is a sentence or"),
    "a sentence with a colon": ({"Says": "yes"}, "", "put a sentence with ': ' in it into quotes"),
    "one word": ("Says", "", "a sentence of at least two words"),
    "options no list": ({**B, "options": {"yes": 1}}, ".options", "must be a list"),
    "option no object": ({**B, "options": ["yes", "no"]}, ".options[0]", "yes"),
    "tags no list": ({**B, "tags": "short"}, ".tags", "tags are a list, or an object"),
    "one option": ({**CHOICE, "options": CHOICE["options"][:1]}, "", "at least two must be scora"),
    "value too large": (
        {**CHOICE, "options": [{"label": "no", "value": 0}, {"label": "yes", "value": 100}]},
        ".options[1]",
        "the value of the option 'yes' must be between 0 and 1, found 100",
    ),
    "misspelt in an option": (
        {**CHOICE, "options": [{"label": "no", "valeu": 0}, {"label": "yes", "value": 1}]},
        ".options[0]",
        "unknown key 'valeu': did you mean 'value'?",
    ),
    "label is a YAML boolean": (
        {**CHOICE, "options": [{"label": False, "value": 0}, {"label": True, "value": 1}]},
        ".options[0].label",
        "put quotes around words such as Yes, No",
    ),
}
SHAPES = {
    "[1]": lambda criterion: [A, criterion],
    "criteria[1]": lambda criterion: {"criteria": [A, criterion]},
    "rubric[1]": lambda criterion: {"rubric": [A, criterion]},
    "sections[0].criteria[1]": lambda criterion: {
        "sections": [{"name": "s", "criteria": [A, criterion]}]
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("wrong", WRONG_CRITERIA)
def test_a_wrong_criterion_is_named_by_file_and_path(wrong: str, shape: str, write: Any) -> None:
    criterion, below, message = WRONG_CRITERIA[wrong]
    path = write(SHAPES[shape](criterion))
    with pytest.raises(InputError) as caught:
        Rubric.from_file(path)
    place = f"{shape}{below}"
    if isinstance(criterion, dict) and "name" in criterion:
        around = "sections[0]: " if "sections" in shape else ""
        place = f"{around}criterion '{criterion['name']}'{below.replace('.', ': ', 1)}"
    assert str(caught.value).startswith(f"{path}: {place}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "at least one criterion, found none"),
        ({"criteria": []}, "at least one criterion, found none"),
        ({"sections": []}, "at least one criterion, found none"),
        ([A, B, {**B, "name": "a"}], "criterion 'a': the name is defined twice: criteria 1 and 3"),
        ([{"name": "criterion_2", "requirement": "x"}, {"requirement": "y"}], "is defined twice"),
        (
            {"criteria": [A], "guidlines": "x"},
            "unknown key 'guidlines': did you mean 'guidelines'?",
        ),
        ({"criterai": [A]}, "unknown key 'criterai': did you mean 'criteria'?"),
        ({"Rubric": [A]}, "unknown key 'Rubric': did you mean 'rubric'?"),
        ({"criteria": [A], "guidelines": ["x"]}, "guidelines: must be a text"),
    ],
)
def test_what_is_wrong_with_the_whole_rubric_names_the_file(
    data: Any, message: str, write: Any
) -> None:
    path = write(data)
    with pytest.raises(InputError) as caught:
        Rubric.from_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_the_path_of_the_whole_rubric_leads_through_its_key() -> None:
    with pytest.raises(InputError) as caught:
        Rubric.from_dict({"rubric": [A, A]})
    assert (
        str(caught.value) == "rubric: criterion 'a': is there twice: criteria 1 and 2; delete one"
    )


@pytest.mark.parametrize("key", ["qid", "uid", "idx", "nap"])
def test_a_short_key_of_its_own_meaning_is_no_misspelling(key: str) -> None:
    options = [{**option, key: 1} for option in CHOICE["options"]]
    assert Rubric.from_dict([{**CHOICE, "options": options}]).to_dict()[0]["options"][0][key] == 1


@pytest.mark.parametrize("key", ["NA", "n/a", "n_a"])
def test_a_short_key_in_another_spelling_is_refused(key: str) -> None:
    options = [*CHOICE["options"], {"label": "not my case", "value": 0, key: True}]
    with pytest.raises(InputError, match="did you mean 'na'"):
        Rubric.from_dict([{**CHOICE, "options": options}])


def test_a_key_that_is_not_text_is_an_error() -> None:
    with pytest.raises(InputError, match="keys must be text, found False"):
        Rubric.from_yaml("- requirement: x\n  no: 3\n")


# Files


TWICE = "the key 'weight' is defined twice in one object"


@pytest.mark.parametrize(
    ("suffix", "content", "place", "message"),
    [
        (
            "json",
            '[\n  {"name": "a",\n   "weight": Says A}\n]',
            ":3:14: ",
            "Failed to parse JSON: ",
        ),
        ("yaml", "- name: a\n  requirement: x\n weight: 2\n", ":3:", "Failed to parse YAML"),
        ("json", '[{"requirement": "x", "weight": 1, "weight": 2}]', ": ", TWICE),
        ("yml", "- requirement: x\n  weight: 1\n  weight: 2\n", ":3:3: ", TWICE),
        *((name, b"[\xff", ":1: ", "is not UTF-8 text; save") for name in ("json", "yaml")),
        *(
            (name, content, "", "file is empty")
            for name in ("json", "yaml")
            for content in ("", " \n\t\n", "\ufeff")
        ),
    ],
)
def test_what_cannot_be_read_is_named_by_its_file_and_place(
    suffix: str, content: Any, place: str, message: str, write: Any
) -> None:
    path = write(content, f"rubric.{suffix}")
    with pytest.raises(InputError) as caught:
        Rubric.from_file(path)
    assert str(caught.value).startswith(f"{path}{place}")
    assert message in str(caught.value)


def test_yaml_anchors_and_merged_keys_may_be_overridden() -> None:
    rubric = Rubric.from_yaml(
        "- &first {name: a, weight: 2, requirement: x}\n"
        "- &second {<<: *first, name: b}\n"
        "- {<<: *second, name: c, weight: 3}\n"
    )
    assert rubric.names == ["a", "b", "c"]
    assert [criterion.weight for criterion in rubric] == [2, 2, 3]


def test_a_date_in_yaml_is_text_as_it_is_in_json() -> None:
    rubric = Rubric.from_yaml("criteria: [{requirement: 2026-01-31}]\nmade: 2026-01-31\n")
    assert rubric[0].requirement == "2026-01-31"
    assert json.loads(rubric.to_json())["made"] == "2026-01-31"


@pytest.mark.parametrize("name", ["rubric.json", "rubric.yaml"])
def test_a_byte_order_mark_is_no_obstacle(name: str, write: Any) -> None:
    path = write(b"\xef\xbb\xbf" + json.dumps([A, B]).encode(), name)
    assert Rubric.from_file(path) == Rubric.from_file(str(path)) == AB


def test_a_missing_file_is_a_file_not_found_error_that_names_it_and_a_folder_is_no_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "none.json"
    with pytest.raises(FileNotFoundError) as caught:
        Rubric.from_file(path)
    assert str(caught.value) == f"{path}: file not found"
    assert isinstance(caught.value, MissingFileError)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(InputError, match="is a folder, expected a file"):
        Rubric.from_file(tmp_path)


@pytest.mark.parametrize("text", ["[" * 100_000, f'[{{"weight": {"1" * 5000}}}]'])
def test_json_past_all_measure_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match="Failed to parse JSON"):
        Rubric.from_json(text)
