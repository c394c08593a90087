"""What is written can be read again, and is the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Criterion, CriterionOption, Rubric

PROPERTY = settings(derandomize=True, deadline=None, max_examples=60)

TEXT = st.text(min_size=1, max_size=20).filter(str.strip)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=4,
)
UNKNOWN = st.dictionaries(
    st.sampled_from(["source", "_comment", "größe", "a b", "qid"]), JSON, max_size=2
)
WEIGHTS = st.floats(-1e300, 1e300, allow_nan=False)
SHARES = st.floats(0, 1)


@st.composite
def options(draw: st.DrawFn) -> list[CriterionOption]:
    labels = TEXT.filter(lambda label: label.strip().casefold() != "cannot_assess")
    distinct = draw(
        st.lists(labels, min_size=2, max_size=4, unique_by=lambda x: x.strip().casefold())
    )
    described = st.none() | TEXT
    made = [
        CriterionOption(
            label=label, value=draw(SHARES), description=draw(described), extra=draw(UNKNOWN)
        )
        for label in distinct
    ]
    if draw(st.booleans()):
        made.append(CriterionOption(label="not applicable, in words nobody else has", na=True))
    return made


@st.composite
def criteria(draw: st.DrawFn) -> Criterion:
    fields: dict[str, Any] = {
        "weight": draw(WEIGHTS),
        "requirement": draw(TEXT),
        "tags": draw(st.lists(TEXT, max_size=2)),
    }
    if draw(st.booleans()):
        fields["options"] = draw(options())
        fields["scale_type"] = draw(st.sampled_from([None, "ordinal", "nominal"]))
        fields["kind"] = draw(st.sampled_from([None, "multi_choice"]))
    return Criterion(**fields, extra=draw(UNKNOWN))


@st.composite
def rubrics(draw: st.DrawFn) -> Rubric:
    made = draw(st.lists(criteria(), min_size=1, max_size=3))
    names = draw(st.lists(TEXT, min_size=len(made), max_size=len(made), unique=True))
    named = [
        criterion.model_copy(update={"name": name}) if draw(st.booleans()) else criterion
        for criterion, name in zip(made, names, strict=True)
    ]
    beside = draw(st.fixed_dictionaries({}, optional={"name": st.text(), "guidelines": st.text()}))
    return Rubric(named, **beside, extra=draw(UNKNOWN))


@PROPERTY
@given(rubrics())
def test_any_rubric_survives_dictionary_json_and_yaml(rubric: Rubric) -> None:
    assert Rubric.from_dict(rubric.to_dict()) == rubric
    assert Rubric.from_json(rubric.to_json()) == rubric
    assert Rubric.from_json(rubric.to_json(indent=None)) == rubric
    assert Rubric.from_yaml(rubric.to_yaml()) == rubric


@PROPERTY
@given(rubrics())
def test_any_rubric_survives_files(
    tmp_path_factory: pytest.TempPathFactory, rubric: Rubric
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("any.json", "any.yaml", "any.YML", "any.rubric"):
        rubric.to_file(folder / name)
        assert Rubric.from_file(folder / name) == rubric


@PROPERTY
@given(rubrics())
def test_what_is_written_again_is_written_the_same(rubric: Rubric) -> None:
    assert Rubric.from_json(rubric.to_json()).to_json() == rubric.to_json()


def test_criteria_alone_are_written_as_a_plain_list_in_the_pages_order_of_keys() -> None:
    rubric = Rubric(
        [
            Criterion(requirement="Is right", weight=10, name="accuracy"),
            Criterion(
                requirement="How clear?",
                options=[
                    {"value": 0.0, "label": "not"},
                    {"value": 1.0, "label": "very"},
                    {"na": True, "value": 0.0, "label": "N/A"},
                ],
                scale_type="ordinal",
                name="clarity",
            ),
        ]
    )
    assert rubric.to_json(indent=None) == (
        '[{"name": "accuracy", "weight": 10.0, "requirement": "Is right"}, '
        '{"name": "clarity", "weight": 1.0, "requirement": "How clear?", "scale_type": "ordinal", '
        '"options": [{"label": "not", "value": 0.0}, {"label": "very", "value": 1.0}, '
        '{"label": "N/A", "value": 0.0, "na": true}]}]'
    )


def test_unknown_keys_at_both_levels_of_a_wrapped_rubric_are_kept() -> None:
    data = {"licence": "MIT", "rubric": {"version": 3, "criteria": [{"requirement": "x"}]}}
    rubric = Rubric.from_dict(data)
    assert rubric.model_extra == {"version": 3, "licence": "MIT"}
    assert Rubric.from_dict(rubric.to_dict()) == rubric


@pytest.mark.parametrize("name", ["r.json", "r.yaml"])
def test_a_file_is_written_for_people_in_utf8(name: str, tmp_path: Path) -> None:
    Rubric([Criterion(requirement="Größe 😀")]).to_file(tmp_path / name)
    assert "Größe 😀" in (tmp_path / name).read_text(encoding="utf-8")


def test_any_other_suffix_is_written_and_read_as_json(tmp_path: Path) -> None:
    Rubric([Criterion(requirement="x")]).to_file(tmp_path / "rubric")
    assert json.loads((tmp_path / "rubric").read_text(encoding="utf-8"))[0]["requirement"] == "x"
