"""What a criterion and its options promise when they are built."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any, cast

import pytest
from pydantic import ValidationError

from rubricate import (
    Criterion,
    CriterionOption,
    CriterionVerdict,
    Gate,
    Group,
    RegexCriterion,
    Rubric,
    RubricDataset,
    ScaleCriterion,
)
from rubricate.errors import InputError, UnreadableReply

OPTIONS = [
    {"label": "poor", "value": 0.25},
    {"label": "good", "value": 0.75},
    {"label": "no case", "na": True},
]


def choice(**changes: Any) -> Criterion:
    return Criterion(**{"requirement": "Quality", "options": OPTIONS, **changes})


def test_a_requirement_is_all_that_a_criterion_needs_and_options_make_it_multi_choice() -> None:
    criterion = Criterion(requirement="Is short")
    assert (criterion.weight, criterion.name, criterion.is_multi_choice) == (1.0, "", False)
    assert Criterion(requirement="x", weight=-3).weight == -3.0
    assert choice().is_multi_choice
    assert choice().options[0] == CriterionOption(label="poor", value=0.25)


@pytest.mark.parametrize("weight", [math.nan, math.inf, -math.inf, "1", True, None, 10**400])
def test_a_weight_is_a_finite_number(weight: Any) -> None:
    with pytest.raises(ValueError, match="weight"):
        Criterion(requirement="x", weight=weight)


@pytest.mark.parametrize("field", ["name", "requirement"])
@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_names_and_requirements_are_not_empty(field: str, text: str) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        Criterion(**{"requirement": "x", field: text})


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf])
def test_an_options_value_is_between_0_and_1(value: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        CriterionOption(label="a", value=value)


def test_an_option_without_a_value_must_be_not_applicable() -> None:
    assert CriterionOption(label="a", na=True).value is None
    with pytest.raises(ValueError, match="the option 'a' needs a value"):
        CriterionOption(label="a")


@pytest.mark.parametrize("label", ["CANNOT_ASSESS", " cannot_assess "])
def test_no_option_takes_the_label_that_is_always_allowed(label: str) -> None:
    with pytest.raises(ValueError, match="always allowed"):
        CriterionOption(label=label, value=1.0)


@pytest.mark.parametrize(
    "options",
    [
        [],
        [{"label": "a", "value": 1.0}],
        [{"label": "a", "value": 1.0}, {"label": "b", "na": True}],
    ],
)
def test_at_least_two_options_are_scorable(options: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="at least two must be scorable"):
        choice(options=options)


@pytest.mark.parametrize("again", ["good", "GOOD", " Good "])
def test_two_options_of_one_label_are_refused_whatever_the_letter_case(again: str) -> None:
    with pytest.raises(ValueError, match="is defined twice"):
        choice(options=[*OPTIONS, {"label": again, "value": 0.0}])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "binary", "options": OPTIONS}, "a binary criterion has no options"),
        ({"kind": "multi_choice"}, "needs options"),
        ({"scale_type": "ordinal"}, "needs options"),
        ({"kind": "multi-choice"}, "did you mean 'multi_choice'"),
        ({"kind": "poem"}, "unknown kind 'poem'"),
        ({"kind": ["binary"]}, "kind"),
        ({"scale_type": "cubic", "options": OPTIONS}, "scale_type"),
        ({"aggregation": "mean"}, "unknown strategy 'mean' for binary criteria"),
        ({"aggregation": "medain", "options": OPTIONS}, "for ordinal .*did you mean 'median'"),
        ({"aggregation": "min", "options": OPTIONS, "scale_type": "nominal"}, "for nominal"),
    ],
)
def test_kind_scale_aggregation_and_options_must_fit_together(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Criterion(requirement="x", **fields)


def test_an_option_has_its_value_by_index() -> None:
    assert [choice().get_option_value(index) for index in range(3)] == [0.25, 0.75, None]
    for index in (-1, 3):
        with pytest.raises(InputError, match=f"there is no option {index}; they are 0 to 2"):
            choice().get_option_value(index)
    with pytest.raises(InputError, match="is binary and has no options"):
        Criterion(requirement="x").get_option_value(0)
    assert (Criterion(requirement="x").is_binary, choice().is_binary) == (True, False)


def test_an_aggregation_is_kept_and_one_without_votes_is_refused() -> None:
    kept = Rubric.from_dict(Rubric([choice(aggregation="min")]).to_dict())[0]
    assert kept.aggregation == "min"
    with pytest.raises(ValueError, match="this criterion needs no judge"):
        RegexCriterion(requirement="x", pattern="x", aggregation="any")


def test_a_misspelt_argument_is_an_error_with_the_right_spelling() -> None:
    with pytest.raises(ValueError, match="unknown key 'wieght': did you mean 'weight'"):
        Criterion(requirement="x", wieght=2.0)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (
            lambda: Criterion(requirement="x", importance=2),
            r"unexpected keyword argument 'importance' \(known: name, weight, .*; what is only to "
            r"be kept goes into extra=\{'importance': ...\}",
        ),
        (
            lambda: Rubric([Criterion(requirement="x")], colour="x"),
            "keyword argument 'colour'",
        ),
        (lambda: Group(name="g", criteria=[], depth=1), "at least one criterion, found none"),
        (
            lambda: Group(name="g", criteria=[Criterion(requirement="x")], depth=1),
            "unexpected keyword argument 'depth'",
        ),
        (
            lambda: CriterionOption(label="a", value=1.0, colour=1),
            "keyword argument 'colour'",
        ),
        (lambda: Gate(criterion="a", colour=1), "keyword argument 'colour'"),
        (lambda: ScaleCriterion(requirement="x", low=1, high=3, steps=2), "argument 'steps'"),
        (lambda: Criterion(requirement="x", extra={"wieght": 2}), "did you mean 'weight'"),
        (lambda: Criterion(requirement="x", extra={"weight": 2}), "'weight' is an argument by"),
        (lambda: Criterion(requirement="x", extra=2), "extra must be a dict, found 2"),
        (lambda: Criterion("Is short"), "Criterion takes its arguments by name"),
    ],
)
def test_an_unknown_argument_is_an_error_of_one_line(make: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        make()
    assert len(str(caught.value).splitlines()) == 1


def test_extra_is_what_a_file_keeps_beside_the_known_keys() -> None:
    criterion = Criterion(requirement="x", extra={"source": "a paper"})
    rubric = Rubric([criterion], extra={"version": 3})
    assert (criterion.extra, rubric.extra) == ({"source": "a paper"}, {"version": 3})
    written = rubric.to_dict()
    assert written == {
        "version": 3,
        "criteria": [{"weight": 1.0, "requirement": "x", "source": "a paper"}],
    }
    again = Rubric.from_dict(written)
    assert (again.extra, again[0].extra) == (rubric.extra, criterion.extra)
    assert again.model_copy(update={"criteria": list(again)}).extra == rubric.extra


def test_a_criterion_cannot_be_changed() -> None:
    criterion = Criterion(requirement="x")
    with pytest.raises(ValidationError, match="frozen"):
        criterion.weight = 2.0


def test_met_unmet_and_cannot_assess_are_worth_one_zero_and_nothing() -> None:
    criterion = Criterion(requirement="x", weight=-2.0)
    values = [criterion.value(verdict) for verdict in CriterionVerdict]
    assert dict(zip(CriterionVerdict, values, strict=True)) == {
        CriterionVerdict.MET: 1.0,
        CriterionVerdict.UNMET: 0.0,
        CriterionVerdict.CANNOT_ASSESS: None,
    }


def test_a_label_is_worth_its_options_value_and_one_that_does_not_apply_nothing() -> None:
    criterion = choice()
    assert [criterion.value(option["label"]) for option in OPTIONS] == [0.25, 0.75, None]
    assert criterion.find_option_by_label("good") == 1


@pytest.mark.parametrize("criterion", [Criterion(requirement="x"), choice()])
def test_an_unknown_label_is_an_input_error_that_names_the_nearest_one(
    criterion: Criterion,
) -> None:
    for use in (criterion.find_option_by_label, criterion.value):
        with pytest.raises(InputError):
            use("goof")
    with pytest.raises(InputError, match=r"'goof' \(known: .*\); did you mean 'good'\?"):
        choice().value("goof")


def test_the_question_shows_neither_weights_nor_values() -> None:
    question = choice(weight=-7.5).ask()
    assert [answer.label for answer in question.answers] == [
        *(option["label"] for option in OPTIONS),
        "CANNOT_ASSESS",
    ]
    assert not any(number in repr(question) for number in ("7.5", "0.25", "0.75"))


def test_met_means_that_the_fault_is_present_where_the_weight_is_negative() -> None:
    question = Criterion(requirement="x", weight=-1.0).ask()
    assert "fault" in (question.answers[0].meaning or "")
    assert "present" in (question.answers[0].meaning or "")


@pytest.mark.parametrize(
    ("criterion", "answer", "status", "label"),
    [
        (Criterion(requirement="x"), " met ", "judged", "MET"),
        (Criterion(requirement="x"), "Unmet", "judged", "UNMET"),
        (Criterion(requirement="x"), "cannot_assess", "abstained", "CANNOT_ASSESS"),
        (choice(), "GOOD", "judged", "good"),
        (choice(), "No case", "not_applicable", "no case"),
        (choice(), "CANNOT_ASSESS", "abstained", "CANNOT_ASSESS"),
    ],
)
def test_an_answer_is_read_as_the_rubric_spells_it(
    criterion: Criterion, answer: str, status: str, label: str
) -> None:
    reading = criterion.read(answer)
    assert (criterion.worth(reading)[0], reading.label) == (status, label)


@pytest.mark.parametrize("answer", ["MET.", "**MET**", "`met`", "'Met'", " MET \n"])
def test_markup_around_a_label_is_passed_over(answer: str) -> None:
    assert Criterion(requirement="x").read(answer).label == "MET"
    assert Criterion(requirement="x").read("cannot assess.").label == "CANNOT_ASSESS"
    grades = [CriterionOption(label=label, value=0.5) for label in ("A", "A.", "B")]
    graded = Criterion(requirement="x", options=grades)
    assert [graded.read(one).label for one in ("A", "A.", "**B**")] == ["A", "A.", "B"]
    with pytest.raises(UnreadableReply):
        graded.read("**A**")


@pytest.mark.parametrize(
    "answer", ["", "yes", "MET?", "not MET", None, 1, True, ["MET"], {"label": "MET"}]
)
def test_any_other_answer_is_unreadable_and_never_guessed_at(answer: Any) -> None:
    for criterion in (Criterion(requirement="x"), choice()):
        with pytest.raises(UnreadableReply, match="is not one of"):
            criterion.read(answer)


def test_a_label_becomes_the_verdict_it_stands_for() -> None:
    verdict = choice(name="quality").verdict("good")
    assert (verdict.criterion, verdict.status, verdict.label, verdict.value) == (
        "quality",
        "judged",
        "good",
        0.75,
    )
    assert choice().verdict("no case").status == "not_applicable"


def test_rubrics_can_be_sent_to_another_process() -> None:
    rubric = Rubric([choice(name="a", extra={"source": "x"})], name="r", extra={"colour": "red"})
    assert pickle.loads(pickle.dumps(rubric)) == rubric


QUOTES, WHOLE = " (put quotes around it)", " (write a whole number without quotes)"
WRONG: dict[str, Callable[[], object]] = {
    'weight: must be a number, found "heavy" (write a number without '
    "quotes or unit: 2, or 0.5 for 50%)": lambda: Criterion(
        requirement="r", weight=cast("Any", "heavy")
    ),
    "name: must be a text, found 3" + QUOTES: lambda: Criterion(
        requirement="r", name=cast("Any", 3)
    ),
    'options[0].value: must be a number, found "x" (write a number without '
    "quotes or unit: 2, or 0.5 for 50%)": lambda: Criterion(
        requirement="r", options=cast("Any", [{"label": "a", "value": "x"}])
    ),
    "label: must be a text, found 3" + QUOTES: lambda: CriterionOption(
        label=cast("Any", 3), value=1.0
    ),
    'low: must be a whole number, found "x"' + WHOLE: lambda: ScaleCriterion(
        requirement="r", low=cast("Any", "x")
    ),
    "criteria[1].requirement: must be a text, found 3" + QUOTES: lambda: Rubric(
        [Criterion(requirement="r"), cast("Any", {"requirement": 3})]
    ),
    "rubric.criteria[0].requirement: must be a text, found 3" + QUOTES: lambda: RubricDataset(
        "p", cast("Any", {"criteria": [{"requirement": 3}]})
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_argument_is_told_in_one_line(message: str) -> None:
    with pytest.raises(InputError) as caught:
        WRONG[message]()
    assert str(caught.value) == message
