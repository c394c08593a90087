"""What each kind of criterion promises: what it refuses, how it reads, what answers are worth."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricate import (
    CodeCriterion,
    Criterion,
    MetricCriterion,
    RegexCriterion,
    Rubric,
    RubricDataset,
    ScaleCriterion,
    grade,
)
from rubricate.errors import InputError, UnreadableReply
from rubricate.rubric import Measurement, Question, Reading, _criterion

DISEASES = ["asthma", "bronchitis", "pneumonia", "pleurisy"]
OTHERS = ["emphysema", "pulmonary fibrosis", "sarcoidosis"]


def build(data: dict[str, Any]) -> Criterion:
    return Rubric.from_dict([{"requirement": "Is good", **data}])[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "scale", "low": 5, "high": 1}, "low must be less than high, found 5 and 1"),
        (
            {"kind": "scale", "levels": {1: "bad", 2: "poor", 4: "good"}},
            "levels: 3 is not described",
        ),
        ({"kind": "scale", "low": 1, "high": 3, "levels": {0: "a", 3: "b"}}, "0 is not between"),
        ({"kind": "scale", "levels": {"one": "bad", "2": "good"}}, "'one' is not a whole number"),
        ({"kind": "scale", "levels": {1: " ", 2: "good"}}, "the description of 1 is empty"),
        ({"kind": "scale", "options": [{"label": "a", "value": 1}]}, "has no options"),
        (
            {"kind": "scale", "levels": {1: "bad", "1": "poor", 2: "good"}},
            "levels: 1 is defined twice",
        ),
        ({"kind": "scale", "low": 0, "high": 10**12}, "must be within ±999999999, found 1000"),
        ({"kind": "scale", "min": 0, "max": 10}, "unknown key 'min': did you mean 'low'?"),
        ({"kind": "scale", "hihg": 7}, "unknown key 'hihg': did you mean 'high'?"),
        ({"kind": "regex"}, "pattern: missing required field"),
        (
            {"kind": "regex", "pattern": "a(b"},
            "pattern: missing ), unterminated subpattern at p",
        ),
        ({"kind": "regex", "pattern": "a", "flags": ["DOTAL"]}, "did you mean 'DOTALL'?"),
        (
            {"kind": "regex", "pattern": "a", "time_limit": 0},
            "time_limit: must be more than 0",
        ),
        ({"kind": "metric", "tp_instructions": []}, "tp_instructions: at least one item"),
        (
            {"kind": "metric", "tp_instructions": ["a", " A"]},
            "tp_instructions: 'a' is listed twice",
        ),
        (
            {"kind": "metric", "tp_instructions": ["a"], "tn_instructions": ["A"]},
            "'A' is in both tp_instructions and tn_instructions",
        ),
        (
            {"kind": "metric", "tp_instructions": ["a"], "metrics": ["accuracy"]},
            "the metric 'accuracy' needs true negatives: give tn_instructions",
        ),
        (
            {"kind": "metric", "tp_instructions": ["a"], "metrics": ["recal"]},
            "unknown metric 'recal' (known: precision, recall, f1, accuracy, specificity); did you",
        ),
        ({"kind": "metric", "tp_instructions": ["a"], "metrics": []}, "metrics: at least one"),
        (
            {"kind": "metric", "tp_instructions": ["a"], "evaluation_mode": "full_matrix"},
            "evaluation_mode is tp_only here, found 'full_matrix'",
        ),
        ({"kind": "code", "function": "no colon"}, "not of the form package.module:name"),
        (
            {"kind": "code", "function": "a:b", "time_limit": -1},
            "time_limit: must be more than 0",
        ),
        ({"levels": ["bad", "good"]}, "belong to criteria of the kind scale: add 'kind: scale'"),
        ({"low": 0, "high": 10}, "belong to criteria of the kind scale: add 'kind: scale'"),
        ({"scale": "1-5"}, "scale: 5, scale: [1, 5]), without low, high and levels beside it"),
        ({"kind": "scale", "scale": 5, "low": 1}, "scale: 5, scale: [1, 5]), without low, high"),
        (
            {"kind": "binary", "scale": 5},
            "'scale' belongs to criteria of the kind scale (whose bounds are low and high",
        ),
        ({"labels": ["a", "b"]}, "'labels' belongs to criteria of the kind multi_choice (whose"),
        ({"choices": ["a", "b"]}, "'choices' belongs to criteria of the kind multi_choice"),
        ({"kind": "binary", "scale": "1-5"}, "this one is of the kind binary"),
        ({"kind": "binary", "levels": {1: "a", 2: "b"}}, "this one is of the kind binary"),
        ({"kind": "scale", "pattern": "a"}, "kind regex: this one is of the kind scale"),
        (
            {"kind": "scale", "labels": ["a"]},
            "'labels' belongs to criteria of the kind multi_choice",
        ),
        ({"kind": "regex", "pattern": ""}, "pattern: must not be empty"),
        ({"pattern": "a+"}, "'pattern' belongs to criteria of the kind regex: add 'kind: regex'"),
    ],
)
def test_what_does_not_fit_is_refused_when_the_criterion_is_built(
    data: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        build(data)
    assert message in str(caught.value)
    assert str(caught.value).startswith("[0]")
    assert "\n" not in str(caught.value)


def test_of_a_bad_pattern_80_characters_are_shown() -> None:
    with pytest.raises(InputError) as caught:
        build({"kind": "regex", "pattern": "x" * 5000 + "("})
    assert "x" * 70 in str(caught.value)
    assert "x" * 81 not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_a_kind_is_built_by_its_own_class() -> None:
    with pytest.raises(ValueError, match="is a ScaleCriterion"):
        Criterion(requirement="x", kind="scale")
    assert isinstance(build({"kind": "scale"}), ScaleCriterion)


# Scale


def test_a_scale_is_worth_its_share_of_the_way_from_low_to_high() -> None:
    scale = ScaleCriterion(requirement="x", low=0, high=4)
    assert [scale.value(label) for label in scale.labels] == [0.0, 0.25, 0.5, 0.75, 1.0]
    lower = ScaleCriterion(requirement="x", low=0, high=4, higher_is_better=False)
    assert [lower.value(label) for label in lower.labels] == [1.0, 0.75, 0.5, 0.25, 0.0]


def test_levels_are_a_list_from_the_lowest_or_a_dict() -> None:
    listed = ScaleCriterion(requirement="x", levels=["bad", "fair", "good"])  # type: ignore[arg-type]
    assert (listed.low, listed.high) == (1, 3)
    assert listed.at(0) == build(
        {"kind": "scale", "requirement": "x", "levels": {"1": "bad", 2: "fair", 3: "good"}}
    )
    ends = ScaleCriterion(requirement="x", low=1, high=5, levels={1: "bad", 5: "good"})
    meanings = {answer.label: answer.meaning for answer in ends.ask().answers}
    assert (meanings["1"], meanings["3"], meanings["5"]) == ("bad", None, "good")


@pytest.mark.parametrize("answer", [4, "4", " 4 ", 4.0])
def test_a_scale_reads_whole_numbers(answer: object) -> None:
    assert ScaleCriterion(requirement="x").read(answer).label == "4"


@pytest.mark.parametrize("answer", [0, 6, "4 of 10", 4.5, True, None, "four", "", [4]])
def test_a_scale_never_clamps_or_guesses(answer: object) -> None:
    with pytest.raises(UnreadableReply, match="not a whole number from 1 to 5"):
        ScaleCriterion(requirement="x").read(answer)


def test_the_widest_scale_is_built_and_read_at_once() -> None:
    widest = {"kind": "scale", "low": 0, "high": 10**9 - 1}
    criterion = build({**widest, "levels": {0: "none", 10**9 - 1: "all"}})
    assert criterion.value(criterion.read(10**9 - 1).label) == 1.0
    with pytest.raises(InputError, match=r"levels: 1, 3, 4, 5, 6, \.\.\. is not described"):
        build({**widest, "levels": {0: "none", 2: "some", 10**9 - 1: "all"}})


def test_a_wide_scale_is_not_listed_level_by_level() -> None:
    wide = ScaleCriterion(requirement="x", low=0, high=100)
    assert len(wide.ask().answers) == 1
    assert wide.ask().verdict_schema["anyOf"][0] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 100,
    }
    assert wide.value(wide.read(73).label) == 0.73


# Regex


def found(data: dict[str, Any], text: str) -> str:
    criterion = build({"kind": "regex", **data})
    assert isinstance(criterion, RegexCriterion)
    return str(criterion.compute(text).answer)


def test_a_pattern_is_searched_without_regard_to_case() -> None:
    assert found({"pattern": r"\bbh3\b"}, "It binds BH3 proteins") == "MET"
    assert found({"pattern": r"\bbh3\b", "case_sensitive": True}, "It binds BH3") == "UNMET"


def test_invert_turns_the_answer_round() -> None:
    assert found({"pattern": "https?://", "invert": True}, "see http://x.org") == "UNMET"
    assert found({"pattern": "https?://", "invert": True}, "see above") == "MET"


def test_flags_are_those_of_the_re_module() -> None:
    assert found({"pattern": "^b$", "flags": ["MULTILINE"]}, "a\nb") == "MET"
    assert found({"pattern": "^b$"}, "a\nb") == "UNMET"
    assert found({"pattern": "a.b", "flags": ["DOTALL"]}, "a\nb") == "MET"
    assert found({"pattern": "a b # c", "flags": ["VERBOSE"]}, "ab") == "MET"
    assert found({"pattern": r"^\w$", "flags": ["ASCII"]}, "é") == "UNMET"


def test_the_passage_found_is_the_evidence() -> None:
    (evidence,) = RegexCriterion(pattern=r"\d+").compute("It has 46 of them").evidence
    assert (evidence.quote, evidence.start, evidence.end) == ("46", 7, 9)


# Metric


def metric(**data: Any) -> MetricCriterion:
    return MetricCriterion(requirement="Inflammatory diseases", **data)


def answer(
    criterion: MetricCriterion,
    positive: list[str],
    negative: Sequence[str] = (),
    others: Sequence[str] = (),
) -> dict[str, Any]:
    def classified(item: str) -> str:
        return "positive" if item in positive else "negative" if item in negative else "unmentioned"

    return {
        "items": [
            {"item": item, "classified": classified(item), "quote": ""} for item in criterion.items
        ],
        "others": [{"item": item, "quote": ""} for item in others],
    }


def rounded(reading_detail: Any) -> dict[str, float]:
    return {name: round(value, 2) for name, value in reading_detail["metrics"].items()}


def test_the_worked_example_of_items_to_be_named() -> None:
    criterion = metric(tp_instructions=DISEASES, fp_instructions=OTHERS)
    assert criterion.evaluation_mode == "tp_only"
    reading = criterion.read(answer(criterion, ["asthma", "bronchitis", "emphysema"]))
    assert reading.label == "tp 2, fp 1, tn 0, fn 2"
    assert reading.detail is not None
    assert rounded(reading.detail) == {"precision": 0.67, "recall": 0.5, "f1": 0.57}
    assert reading.detail["fn"] == ["pleurisy", "pneumonia"]
    assert reading.detail["expected_fp"] == ["emphysema"]
    assert criterion.value(reading.label) == pytest.approx(2 / 3)


def test_the_worked_example_of_items_to_be_classified() -> None:
    names = ("precision", "recall", "f1", "accuracy", "specificity")
    criterion = metric(
        tp_instructions=DISEASES,
        tn_instructions=[*OTHERS, "lung cancer", "tuberculosis"],
        fp_instructions=["emphysema", "sarcoidosis"],
        fn_instructions=["bronchitis", "pleurisy"],
        metrics=names,
    )
    assert criterion.evaluation_mode == "full_matrix"
    reading = criterion.read(
        answer(criterion, ["asthma", "bronchitis", "sarcoidosis"], ["emphysema"])
    )
    assert reading.label == "tp 2, fp 1, tn 1, fn 0"
    assert reading.detail is not None
    assert list(rounded(reading.detail).values()) == [0.67, 1.0, 0.8, 0.75, 0.5]
    assert reading.detail["unmentioned"] == [
        "lung cancer",
        "pleurisy",
        "pneumonia",
        "pulmonary fibrosis",
        "tuberculosis",
    ]


def test_what_is_not_mentioned_counts_where_that_is_asked_for() -> None:
    lists: dict[str, Any] = {"tp_instructions": ["a", "b"], "tn_instructions": ["c", "d"]}
    only = metric(**lists)
    assert only.read(answer(only, ["a"], ["c"])).label == "tp 1, fp 0, tn 1, fn 0"
    counted = metric(**lists, count_unmentioned=True)
    assert counted.read(answer(counted, ["a"], ["c"])).label == "tp 1, fp 0, tn 2, fn 1"


def test_the_score_is_the_first_metric_or_the_one_that_is_named() -> None:
    label = "tp 2, fp 1, tn 0, fn 2"
    assert metric(tp_instructions=["a"], metrics=["recall", "f1"]).value(label) == 0.5
    named = metric(tp_instructions=["a"], metrics=["recall"], score_metric="f1")
    assert named.value(label) == pytest.approx(4 / 7)


def test_a_metric_without_denominator_is_0_and_listed() -> None:
    criterion = metric(tp_instructions=["a"])
    measured = criterion.measured("tp 0, fp 0, tn 0, fn 1")
    assert measured == {
        "metrics": {"precision": 0.0, "recall": 0.0, "f1": 0.0},
        "undefined": ["precision"],
    }


def test_repeated_mentions_count_once_unless_asked_for() -> None:
    once = metric(tp_instructions=["a"])
    named = answer(once, ["a"], others=["x", "X ", "y", "A"])
    assert once.read(named).label == "tp 1, fp 2, tn 0, fn 0"
    each = metric(tp_instructions=["a"], repeated_extraction=False)
    named["items"][0]["times"] = 3
    assert each.read(named).label == "tp 3, fp 3, tn 0, fn 0"
    assert "times" in json.dumps(each.ask().verdict_schema)
    assert "times" not in json.dumps(once.ask().verdict_schema)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda reply: reply["items"].pop(), "'items' lacks 'b'"),
        (lambda reply: reply["items"].append(reply["items"][0]), "'a' is in 'items' twice"),
        (
            lambda reply: reply["items"][0].update(item="z"),
            "'z' in 'items' is not one of the items",
        ),
        (lambda reply: reply["items"][0].update(classified="yes"), "'classified' of 'a' is 'yes'"),
        (lambda reply: reply.update(items="a"), "'items' in the verdict is not a list"),
        (lambda reply: reply.update(others=[{}]), "an entry of 'others' has no 'item'"),
    ],
)
def test_an_answer_must_have_every_item_once(change: Any, message: str) -> None:
    criterion = metric(tp_instructions=["a", "b"])
    reply = answer(criterion, ["a"])
    change(reply)
    with pytest.raises(UnreadableReply, match=message):
        criterion.read(reply)


def test_an_item_cannot_be_left_out_and_named_among_the_others() -> None:
    criterion = build({"kind": "metric", "tp_instructions": ["a"]})
    entry = {"item": "a", "classified": "unmentioned", "quote": ""}
    with pytest.raises(UnreadableReply, match="'a' is unmentioned in 'items' and named in"):
        criterion.read({"items": [entry], "others": [{"item": "A", "quote": ""}]})


@pytest.mark.parametrize("given", ["tp 1, fp 0, tn 0, fn 0", 0.9, "0.9", 1, True, "precision 1"])
def test_counts_are_never_taken_from_a_judge(given: object) -> None:
    with pytest.raises(UnreadableReply):
        metric(tp_instructions=["a"]).read(given)


def test_the_judge_is_not_told_which_list_an_item_is_in() -> None:
    one = metric(tp_instructions=["b", "d"], tn_instructions=["a", "c"])
    other = metric(tp_instructions=["a", "c"], tn_instructions=["d", "b"])
    assert one.ask() == other.ask()


NAMES = st.sampled_from("abcdefgh")


@given(
    tp=st.sets(NAMES, min_size=1),
    tn=st.sets(NAMES),
    classes=st.dictionaries(NAMES, st.sampled_from(["positive", "negative", "unmentioned"])),
    others=st.lists(st.sampled_from("abcxyz"), max_size=5),
    count_unmentioned=st.booleans(),
)
def test_counts_equal_a_brute_force_count(
    tp: set[str],
    tn: set[str],
    classes: dict[str, str],
    others: list[str],
    count_unmentioned: bool,
) -> None:
    tn = tn - tp
    criterion = metric(
        tp_instructions=sorted(tp),
        tn_instructions=sorted(tn),
        count_unmentioned=count_unmentioned,
    )
    said = {item: classes.get(item, "unmentioned") for item in tp | tn}
    others = [item for item in others if said.get(item, "positive") == "positive"]
    reply = {
        "items": [{"item": item, "classified": said[item]} for item in sorted(said)],
        "others": [{"item": item} for item in others],
    }
    if count_unmentioned and tn:
        said = {item: "negative" if c == "unmentioned" else c for item, c in said.items()}
    counts = [
        sum(said[item] == "positive" for item in tp),
        sum(said[item] == "positive" for item in tn),
        sum(said[item] == "negative" for item in tn),
        sum(said[item] == "negative" for item in tp),
    ]
    if not tn:
        counts[1] = len(set(others) - tp)
        counts[3] = sum(said[item] != "positive" for item in tp)
    expected = "tp {}, fp {}, tn {}, fn {}".format(*counts)
    assert criterion.read(reply).label == expected
    kept = criterion.read(reply).answer
    assert criterion.read(json.loads(json.dumps(kept))) == criterion.read(kept)


# All kinds


EACH: list[dict[str, Any]] = [
    {"kind": "scale", "low": 0, "high": 3, "levels": ["a", "b", "c", "d"], "weight": -2},
    {"kind": "scale", "higher_is_better": False},
    {"kind": "regex", "pattern": "a+", "invert": True, "flags": ["DOTALL"], "time_limit": 0.1},
    {"kind": "metric", "tp_instructions": ["a"], "tn_instructions": ["b"], "metrics": ["accuracy"]},
    {"kind": "metric", "tp_instructions": ["a"], "fp_instructions": ["b"], "score_metric": "f1"},
    {"kind": "code", "function": "package.module:name", "time_limit": 3.0},
]


@pytest.mark.parametrize("data", EACH)
def test_what_is_written_reads_back_equal(data: dict[str, Any], tmp_path: Any) -> None:
    rubric = Rubric.from_dict([{"name": "x", "requirement": "y", **data, "note": "kept"}])
    for file in ("rubric.yaml", "rubric.json"):
        rubric.to_file(tmp_path / file)
        again = Rubric.from_file(tmp_path / file)
        assert again == rubric
        assert type(again[0]) is type(rubric[0])
    assert Rubric.model_validate(rubric.model_dump()) == rubric
    assert hash(again[0]) == hash(rubric[0])


@pytest.mark.parametrize(
    "criterion",
    [RegexCriterion(pattern="a+"), CodeCriterion(function="package.module:name")],
    ids=["regex", "code"],
)
def test_a_criterion_without_words_reads_back_equal(criterion: Criterion) -> None:
    rubric = Rubric([criterion])
    assert Rubric.from_json(rubric.to_json()) == rubric
    assert Rubric.from_yaml(rubric.to_yaml()) == rubric
    assert Rubric.model_validate(rubric.model_dump()) == rubric
    assert "requirement" not in criterion.to_dict()


def test_an_item_of_several_lines_is_one_line_for_the_judge() -> None:
    question = build({"kind": "metric", "tp_instructions": ["a\n  b\n", "c"]}).ask()
    assert question.material == "Items:\n- a b\n- c"


@pytest.mark.parametrize(
    ("data", "labels", "values"),
    [
        ({"kind": "scale"}, [4, "4", "4.0"], [0.75, 0.75, 0.75]),
        ({"kind": "regex", "pattern": "a"}, ["MET", "UNMET"], [1.0, 0.0]),
        ({"kind": "code", "function": "a:b"}, ["MET", 0.3, False], [1.0, 0.3, 0.0]),
        ({"kind": "metric", "tp_instructions": ["a"]}, [0.5, "tp 1, fp 1, tn 0, fn 0"], [0.5, 0.5]),
    ],
)
def test_people_label_every_kind(data: Any, labels: list[Any], values: list[float]) -> None:
    criterion = build(data)
    assert [criterion.verdict(label).value for label in labels] == values
    with pytest.raises(InputError, match=r"has no label|expects a label"):
        criterion.verdict("seven")


def test_a_kind_of_ones_own_is_known_to_files_once_its_class_is_defined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_criterion, "KINDS", dict(_criterion.kinds()))

    class Echo(Criterion):
        kind: Literal["echo"] = "echo"
        telltale: ClassVar[tuple[str, ...]] = ("echoed",)
        echoed: str

    data = {"kind": "echo", "name": "a", "requirement": "x", "echoed": "y"}
    rubric = Rubric.from_dict([data])
    assert isinstance(rubric[0], Echo)
    with pytest.raises(ValueError, match="'echoed' belongs to criteria of the kind echo"):
        Criterion(requirement="x", echoed="y")


def test_ask_read_and_value_are_enough_for_a_kind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_criterion, "KINDS", dict(_criterion.kinds()))

    class Quantity(Criterion):
        kind: Literal["quantity"] = "quantity"
        enough: int

        @property
        def measurement(self) -> Measurement:
            return "numeric"

        @property
        def labels(self) -> tuple[str, ...]:
            return ()

        def ask(self) -> Question:
            return Question(self.requirement, (), {"type": "integer"}, "A whole number.")

        def read(self, answer: object) -> Reading:
            if not isinstance(answer, int):
                raise UnreadableReply("not a whole number")
            return Reading(str(answer))

        def value(self, label: str) -> float | None:
            if not label.isdigit():
                raise InputError(f"'{label}' is not a whole number")
            return min(1.0, int(label) / self.enough)

    def says(number: int) -> Callable[..., str]:
        return lambda messages: json.dumps({"reason": "r", "evidence": [], "verdict": number})

    rubric = [{"name": "q", "requirement": "Sources", "kind": "quantity", "enough": 4}]
    items = [{"submission": "s", "description": "d", "ground_truth": ["3"]}]
    data = RubricDataset.from_dict({"name": "d", "prompt": "p", "rubric": rubric, "items": items})
    for judge, label, value in ((says(2), "2", 0.5), ([says(2), says(4)], "0.75", 0.75)):
        for _ in range(2):
            result = grade(data, judge, run_dir=tmp_path / "run")
            verdict = result.items[0].criteria["q"]
            assert (verdict.label, verdict.value) == (label, value)
        assert verdict.resumed
    with pytest.raises(InputError, match="'many' is not a whole number"):
        RubricDataset.from_dict(
            {
                "name": "d",
                "prompt": "p",
                "rubric": rubric,
                "items": [{"submission": "s", "description": "d", "ground_truth": ["many"]}],
            }
        )


@pytest.mark.parametrize(
    ("first", "criterion", "built"),
    [
        ("", {"kind": "scale", "high": 3}, "ScaleCriterion"),  # of which nobody has asked yet
        (
            "class A(Criterion):\n    kind: str | None = 'regex'\n",
            {"kind": "regex", "pattern": "a"},
            "RegexCriterion",
        ),
    ],
    ids=["a kind not asked for yet", "a name that a class of one's own takes"],
)
def test_what_a_file_names_is_built_by_the_packages_own_class(first, criterion, built):
    program = (
        f"from rubricate.rubric import Criterion, Rubric\n{first}"
        f"rubric = Rubric.from_dict([{ {'requirement': 'Is clear', **criterion} }])\n"
        "print(type(rubric.criteria[0]).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [built]


@pytest.mark.parametrize(
    ("scale", "bounds"), [(5, (1, 5)), ([0, 10], (0, 10)), ([1, 5], (1, 5))], ids=str
)
def test_a_scale_is_its_highest_score_or_its_bounds(scale: Any, bounds: tuple[int, int]) -> None:
    for kind in ({}, {"kind": "scale"}):
        built = Rubric.from_dict([{"name": "a", "requirement": "Tone", "scale": scale, **kind}])[0]
        assert isinstance(built, ScaleCriterion)
        assert (built.low, built.high) == bounds


def test_a_key_of_another_kind_that_is_null_is_not_set():
    build({"kind": "binary", "scale": None, "levels": None, "options": None})
