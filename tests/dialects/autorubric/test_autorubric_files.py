"""Sixteen files that the released AutoRubric wrote: read, written back, and made anew here."""

from __future__ import annotations

import io
import json
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rubricate
from rubricate import InputError
from rubricate.dialects import autorubric
from rubricate.dialects.autorubric import Criterion, CriterionOption, Rubric, RubricDataset

HERE = Path(__file__).parent
FILES = sorted((HERE / "files").glob("*.json"))
FACTS = json.loads((HERE / "facts.json").read_text("utf-8"))
TOLD = {
    "names-twice": "the name 'same' is defined twice: criterion 2 is 'same_3' here",
}
"""What the user is told of a file."""
REFUSED = {
    "names-twice": "criterion 'same': is there twice: criteria 1 and 2",
    "labels-as-people-write-them": "has no label ' very SATISFIED '",
    "options-of-their-own": "the value of the option 'none' must be between 0 and 1",
}
"""What the core says of a file: its strictness is its own."""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The program that made the files, with the dialect in AutoRubric's place."""
    monkeypatch.setitem(sys.modules, "autorubric", autorubric)
    path = HERE.parents[1] / "neighbours" / "autorubric_files.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_holds_here_what_it_holds_there_and_is_written_back(
    path: Path, program: Any, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    dataset = RubricDataset.from_file(path)
    told = [str(one.message) for one in recwarn]
    assert [line.startswith(TOLD.get(path.stem, "-")) for line in told] == [True] * len(told)
    assert bool(told) == (path.stem in TOLD)
    assert program.facts(dataset) == FACTS[path.stem]
    dataset.to_file(tmp_path / path.name)
    assert program.facts(RubricDataset.from_file(tmp_path / path.name)) == FACTS[path.stem]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_program_that_made_them_makes_the_same_here(program: Any) -> None:
    made = {name: program.facts(dataset) for name, dataset in program.datasets().items()}
    assert made == FACTS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_core_reads_them_too_but_for_what_it_is_strict_about(path: Path, program: Any) -> None:
    if path.stem in REFUSED:
        with pytest.raises(InputError) as caught:
            rubricate.RubricDataset.from_file(path)
        assert REFUSED[path.stem] in str(caught.value)
        assert "\n" not in str(caught.value)
    else:
        assert program.facts(rubricate.RubricDataset.from_file(path)) == FACTS[path.stem]


# Each leniency by itself, and that the core has none of it

R = {"requirement": "r"}
OPTIONS = [{"label": "Yes", "value": 1.0}, {"label": "no", "value": 0.0}]


def test_a_weight_that_is_not_given_is_ten_and_one_in_the_core(caplog) -> None:
    mixed = [{"name": "plain", **R}, {"name": "other", **R, "weight": 5.0}]
    rubric = Rubric.from_dict(mixed)
    assert [one.weight for one in rubric] == [10.0, 5.0]
    assert caplog.messages == []
    score = RubricDataset("p", rubric).compute_weighted_score(["UNMET", "MET"])
    assert score == pytest.approx(1 / 3)
    assert [one.weight for one in rubricate.Rubric.from_dict(mixed)] == [1.0, 5.0]


@pytest.mark.parametrize("value", [None, -3, 7.5])
def test_an_option_that_does_not_apply_has_any_value_or_none(value: float | None) -> None:
    given = {"label": "N/A", "na": True, "value": value}
    assert CriterionOption(**given).to_dict() == {"label": "N/A", "value": 0.0, "na": True}
    assert Criterion(**R, options=[*OPTIONS, given]).value("n/a ") is None
    if value is not None:
        with pytest.raises(ValueError, match="must be between 0 and 1"):
            rubricate.Criterion(**R, options=[*OPTIONS, given])
    with pytest.raises(ValueError, match="must be between 0 and 1"):
        CriterionOption(label="x", value=7.5)


def test_labels_are_found_whatever_their_case_and_outer_spaces() -> None:
    criterion = Criterion(**R, options=OPTIONS)
    assert criterion.label_of(" YES ") == "Yes"
    assert (criterion.value("yes"), criterion.find_option_by_label("NO ")) == (1.0, 1)
    with pytest.raises(InputError, match="has no label 'YE S'"):
        criterion.label_of("YE S")
    strict = rubricate.Criterion(**R, options=OPTIONS)
    for ask in (strict.label_of, strict.value, strict.find_option_by_label):
        with pytest.raises(InputError):
            ask("yes")
    assert [one.label for one in criterion.options or ()] == ["Yes", "no"]


def test_an_option_called_cannot_assess_is_the_answer_that_every_criterion_has() -> None:
    option = {"label": "cannot_assess", "value": 0.0, "na": True}
    criterion = Criterion(name="c", **R, options=[*OPTIONS, option])
    labels = [answer.label for answer in criterion.question.answers]
    assert labels == ["Yes", "no", "CANNOT_ASSESS"]
    dataset = RubricDataset("p", Rubric([criterion]))
    dataset.add_item("x", "d", ["CANNOT_ASSESS"])
    written = dataset.to_dict()["rubric"][0]
    assert written["options"][2] == option
    assert "cannot_assess_option" not in written
    assert RubricDataset.from_dict(dataset.to_dict()) == dataset
    with pytest.raises(ValueError, match="CANNOT_ASSESS is always allowed"):
        rubricate.Criterion(**R, options=[*OPTIONS, option])


def test_what_such_an_option_is_worth_is_not_used_and_that_is_told() -> None:
    option = {"label": "CANNOT_ASSESS", "value": 0.5}
    with pytest.warns(UserWarning, match="its value is ignored"):
        assert Criterion(**R, options=[*OPTIONS, option]).value("yes") == 1.0


@pytest.mark.parametrize(
    "fields",
    [
        {"aggregation": "any"},
        {"aggregation": "min", "scale_type": "nominal", "options": OPTIONS},
        {"aggregation": "least", "options": OPTIONS},
    ],
)
def test_an_aggregation_that_is_not_for_its_votes_is_told_and_left_out(fields: Any) -> None:
    with pytest.warns(UserWarning, match="does not apply to its votes; the grader's is used"):
        assert Criterion(**R, **fields).aggregation is None
    assert Criterion(**R, options=OPTIONS, aggregation="min").aggregation == "min"


def test_names_that_stand_twice_get_a_suffix_and_a_warning() -> None:
    twice = [Criterion(name="a", **R), Criterion(name="a", **R)]
    with pytest.warns(
        UserWarning, match="the name 'a' is defined twice: criterion 2 is 'a_2' here"
    ):
        assert Rubric(twice).names == ["a", "a_2"]
    with pytest.raises(ValueError, match="criterion 'a': is there twice"):
        rubricate.Rubric(twice)


def test_many_equal_names_are_told_apart_soon_and_no_name_reaches_a_terminal_raw() -> None:
    name = "a\x1b[2J\n"
    with pytest.warns(UserWarning, match="is defined twice") as told:
        rubric = Rubric(
            [{"name": name, **R}, {"name": f"{name}_2", **R}] + [{"name": name, **R}] * 999
        )
    assert len(set(rubric.names)) == 1001
    assert rubric.names[:3] == [name, f"{name}_2", f"{name}_3"]
    assert all(str(one.message).isprintable() for one in told)


def test_sections_nested_without_end_are_one_line() -> None:
    data: Any = [R]
    for _ in range(5000):
        data = [{"criteria": data}]
    with pytest.raises(InputError, match="sections are nested too deeply"):
        Rubric.from_dict(data)


@pytest.mark.parametrize(
    "data",
    [
        {"sections": [{"criteria": [R]}]},
        {"sections": [{"id": "1", "title": "T", "criteria": [R]}]},
        {"sections": [{"name": "s", "description": "d", "rubric": [R]}]},
        [{"name": "s", "criteria": [R]}],
        {"rubric": {"sections": [{"criteria": [R]}]}},
        {"rubric": [{"title": "T", "criteria": [R]}]},
        {"rubric": [R], "sections": [], "criteria": None},
        {"rubric": None, "criteria": [R]},
    ],
)
def test_sections_have_many_forms_and_are_flat(data: Any) -> None:
    rubric = Rubric.from_dict(data)
    assert [(one.requirement, one.weight) for one in rubric.tree] == [("r", 10.0)]


def test_a_section_is_the_tag_of_its_criteria_and_what_it_says_beside_is_told() -> None:
    sections = [{"title": "T", "weight": 2, "criteria": [{**R, "tags": ["own"]}]}]
    with pytest.warns(UserWarning, match="a section's 'weight' is not used"):
        rubric = Rubric.from_dict({"sections": sections})
    assert rubric[0].tags == ("T", "own")
    with pytest.raises(InputError, match="a section needs a name"):
        rubricate.Rubric.from_dict({"sections": [{"criteria": [R]}]})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"rubric": {"rubric": [R]}}, "'rubric' inside 'rubric'"),
        ({"sections": [{"criteria": [R]}], "criteria": [R]}, "there are both"),
        ({"title": "x"}, "has a list under rubric, sections, criteria; found keys: title"),
        ({"sections": {"a": [R]}}, "expected a list of criteria"),
        ({"sections": [{"criteria": []}]}, "needs at least one criterion"),
        ({"sections": [{"criteria": [{"requirment": "x"}]}]}, r"sections\[0\].criteria\[0\]: unkn"),
        ([{**R, "wieght": 3}], r"\[0\]: unknown key 'wieght': did you mean 'weight'"),
        ({"guidelines": "a", "rubric": {"guidelines": "b", "criteria": [R]}}, "keep one of them"),
        ("Be right", "expected a list of criteria"),
    ],
)
def test_what_is_no_rubric_is_one_line_that_says_where(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Rubric.from_dict(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["r.json", "r.yaml", "r.txt", "r.rubric"])
@pytest.mark.parametrize("opened", [None, "r", "rb"])
def test_a_rubric_comes_from_a_path_or_an_open_file(
    name: str, opened: str | None, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text("- requirement: r\n" if name != "r.json" else json.dumps([R]), "utf-8")
    if opened is None:
        assert len(Rubric.from_file(path)) == 1
    else:
        with path.open(opened) as file:
            assert len(Rubric.from_file(file)) == 1
    assert len(Rubric.from_file(io.StringIO(json.dumps([R])))) == 1


def test_a_file_without_a_rubric_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    path.write_text("A rubric in words.", "utf-8")
    with pytest.raises(InputError, match=r"r\.txt: Unsupported file format '\.txt'"):
        Rubric.from_file(path)
    with pytest.raises(InputError, match="Unsupported file format"):
        Rubric.from_file(io.StringIO("words"))
    with pytest.raises(FileNotFoundError):
        Rubric.from_file(tmp_path / "none.json")


def test_a_dataset_comes_from_json_lines_with_the_same_leniency(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    head = {"prompt": "p", "rubric": [{**R, "options": OPTIONS}]}
    lines = [head, {"submission": "x", "ground_truth": ["YES"]}]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    assert RubricDataset.from_file(path)[0].ground_truth == ["Yes"]


def test_other_kinds_and_a_rubric_of_the_core_are_taken() -> None:
    scale = {"name": "s", **R, "kind": "scale", "low": 1, "high": 5}
    assert (Rubric.from_dict([scale])[0].kind, Rubric.from_dict([scale])[0].weight) == ("scale", 10)
    with pytest.raises(InputError, match=r"^sections\[0\]: criterion 's': unknown key 'wieght'"):
        Rubric.from_dict({"sections": [{"criteria": [{**scale, "wieght": 2}]}]})
    core = rubricate.Rubric([rubricate.Criterion(**R)])
    assert Rubric.from_dict(core)[0].weight == 1.0
    tree = rubricate.Rubric.from_dict([{"name": "g", "criteria": [R]}])
    with pytest.raises(InputError, match="supports nested criteria"):
        Rubric.from_dict(tree)
