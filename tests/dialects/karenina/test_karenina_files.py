"""Benchmarks as JSON-LD: what is written, what is read, what is refused."""

from __future__ import annotations

import base64
import json
import os
import re
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricate import InputError
from rubricate.dialects.karenina import Benchmark
from rubricate.dialects.karenina.schemas import (
    CallableRubricTrait,
    ManualRubricTrait,
    MetricRubricTrait,
    Rubric,
    RubricTrait,
    StoredTrait,
    Template,
    TemplateField,
    merge_rubrics,
)
from rubricate.testing import Rule

ROOT = Path(__file__).parents[3]
DATA = Path(__file__).with_name("data")
CURRENT = DATA / "current"
SHARED = Path(os.environ.get("RUBRICATE_SHARED_DATA", ROOT.parent / "shared" / "data"))
SAMPLES = sorted((*DATA.rglob("*.jsonld"), *(SHARED / "karenina").glob("*.jsonld")))
"""Files after Karenina's documentation and, beside this repository, files that it wrote."""


def load(path: Path) -> Benchmark:
    """A benchmark, some of whose traits may not be judged here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Benchmark.load(path)


def full_benchmark() -> Benchmark:
    made = Benchmark.create("Genomics", "All kinds of traits", "2.1.0", "A. Person")
    made.set_global_rubric(
        Rubric(
            "Quality",
            [
                RubricTrait(name="Clarity", description="How clear", kind="score", weight=2.5),
                RubricTrait(name="Depth", kind="score", min_score=0, max_score=10),
                RubricTrait(name="Zero or one", kind="score", min_score=0, max_score=1),
                RubricTrait(name="Rambles", kind="boolean", higher_is_better=False),
                ManualRubricTrait(name="No links", pattern=r'https?://[^\s"]+', invert=True),
            ],
        )
    )
    own = Rubric(
        "Own",
        [
            MetricRubricTrait(
                name="Diseases",
                metrics=["specificity", "f1"],
                tp_instructions=["asthma", "Bronchitis – acute"],
                tn_instructions=["emphysema"],
                fp_instructions=["emphysema"],
                fn_instructions=["asthma"],
                repeated_extraction=False,
            )
        ],
    )
    fields = [
        TemplateField(name="n", comparison="number", expected=46, tolerance=0.5),
        TemplateField(name="t", comparison="exact", expected="α", also_accepted=["alpha"]),
        TemplateField(name="b", description="d", comparison="boolean", expected=False),
        TemplateField(name="s", comparison="set", expected=["x", "y"]),
    ]
    made.add_question("How many chromosomes?", "46", own, template=Template(fields=fields), id="q1")
    made.add_question("What does Venetoclax target?", "BCL2")
    made.questions[0].keywords = ("cells", "counting")
    return made


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_file_is_written_back_as_it_was(path, tmp_path):
    loaded = load(path)
    loaded.save(tmp_path / "again.jsonld")
    again = json.loads((tmp_path / "again.jsonld").read_text("utf-8"))
    assert again == json.loads(path.read_text("utf-8"))


def test_a_benchmark_comes_back_as_it_was(tmp_path):
    made = full_benchmark()
    made.save(tmp_path / "b.jsonld")
    assert Benchmark.load(tmp_path / "b.jsonld") == made


def test_results_come_back_as_they_were(endpoint, script, models, tmp_path):
    script.changes["bad answer"] = Rule(status=401, message="bad key")
    script.changes["template"] = Rule(reply="no template")
    script.changes["extraction"] = Rule(
        verdict={"n": 46, "t": "alpha", "b": None, "s": ["y"]}, evidence=["chromosomes"]
    )
    made = full_benchmark()
    made.generate_all_templates(models().answering_models[0])
    results = made.run_verification(models("mini bad", "one two"))
    assert results.failed
    made.save(tmp_path / "b.jsonld")
    loaded = Benchmark.load(tmp_path / "b.jsonld")
    assert loaded == made
    assert loaded.results.rows() == results.rows()
    assert loaded.results[0].extracted == results[0].extracted
    assert loaded.results.stopped == results.stopped


def test_what_a_file_says_of_traits_is_understood():
    rubric = load(DATA / "with_rubrics.jsonld").global_rubric
    traits = {trait.name: trait for trait in rubric}
    assert traits["Clarity"].kind == "score"
    assert traits["Clarity"].bounds == (1, 5)
    assert traits["Accuracy"].kind == "binary"
    assert traits["HasCitations"].pattern == r"\[\d+\]"
    assert traits["HasCitations"].case_sensitive
    question = Benchmark.load(DATA / "test_checkpoint.jsonld").questions[0]
    assert [trait.name for trait in question.rubric] == ["conciseness"]


def test_code_in_a_file_is_never_run(endpoint, models, tmp_path):
    trap = tmp_path / "trap"
    code = f"open({str(trap)!r}, 'w').write('run')"
    document = json.loads((DATA / "with_rubrics.jsonld").read_text("utf-8"))
    document["rating"][5]["additionalProperty"][0]["value"] = base64.b64encode(
        code.encode()
    ).decode()
    document["dataFeedElement"] = document["dataFeedElement"][:1]
    document["dataFeedElement"][0]["item"]["hasPart"]["text"] = code
    path = tmp_path / "b.jsonld"
    path.write_text(json.dumps(document), "utf-8")
    loaded = load(path)
    stored = loaded.global_rubric.traits[5]
    assert isinstance(stored, StoredTrait)
    assert loaded.questions[0].template_code == code
    loaded.questions[0].question = "Of chromosomes"
    (result,) = loaded.run_verification(models())
    assert not trap.exists()
    assert result.failures["ContainsCitations"].message == (
        "it is Python code, which is not run from a file: pass it with code="
    )
    assert result.failures["answer template"].kind == "template_is_code"
    assert result.rubric_scores == {"Clarity": 4, "Accuracy": True, "Completeness": 4}


def test_a_trait_without_what_it_needs_is_kept_and_fails_with_its_cause(endpoint, script, models):
    script.changes["answer"] = Rule(reply="Paris")
    (result,) = load(DATA / "with_results.jsonld").run_verification(models())
    assert result.failures["Citations"].message.startswith("pattern: missing required field")
    assert result.failures["Conciseness"].message == CODE
    assert script.asked == {"answer": 1}


def changed(**changes) -> dict[str, object]:
    document = json.loads((DATA / "minimal.jsonld").read_text("utf-8"))
    item = document["dataFeedElement"][0]["item"]
    item |= changes.pop("item", {})
    return {**document, **changes}


def a_rating(kind: str = "GlobalRubricTrait", **settings) -> dict[str, object]:
    properties = [
        {"@type": "PropertyValue", "name": name, "value": value} for name, value in settings.items()
    ]
    return {
        "@type": "Rating",
        "name": "Clear",
        "additionalType": f"karenina:{kind}",
        "additionalProperty": properties,
    }


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "expected an object of the type DataFeed, found []"),
        (changed(**{"@type": "Dataset"}), "expected @type 'DataFeed', found 'Dataset'"),
        (changed(name=""), "'name' is missing"),
        (
            changed(item={"@type": "Thing"}),
            "dataFeedElement[0].item: expected @type 'Question', found 'Thing'",
        ),
        (changed(item={"text": 4}), "dataFeedElement[0].item: 'text' is missing or not text"),
        (changed(item={"acceptedAnswer": None}), "dataFeedElement[0].item.acceptedAnswer: "),
        (changed(rating="good"), 'rating: expected a list, found "good"'),
        (
            changed(rating=[a_rating("QuestionSpecificRubricTrait")]),
            "rating[0]: additionalType: a trait of a question does not belong here",
        ),
        (
            changed(dataFeedElement=[{**changed()["dataFeedElement"][0], "@id": ["q"]}]),
            "dataFeedElement[0]: '@id' is not text: [\"q\"]",
        ),
        (changed(rating=[a_rating(), a_rating()]), "two traits with the name 'Clear'"),
        (
            changed(
                rating=[a_rating()], item={"rating": [a_rating("QuestionSpecificRubricTrait")]}
            ),
            "dataFeedElement[0]: the trait 'Clear' is in both",
        ),
        (
            changed(item={"additionalProperty": [{"name": "answer_template", "value": {}}]}),
            "the answer template cannot be read",
        ),
        (
            changed(item={"additionalProperty": [{"name": "verification_results", "value": [{}]}]}),
            "verification_results cannot be read",
        ),
    ],
)
def test_what_cannot_be_represented_is_an_error_that_names_it(document, message, tmp_path):
    path = tmp_path / "b.jsonld"
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(InputError) as caught:
        Benchmark.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


CODE = "it is Python code, which is not run from a file: pass it with code="
AGENT = "its kind 'karenina:{}AgenticRubricTrait' is unknown"
STORED = {
    "agentic": {
        "Runs": AGENT.format("Global"),
        "Audit": AGENT.format("Global"),
        "Findings": "kind: unknown word 'template' (known: score, binary, boolean, literal)",
    },
    "callables": dict.fromkeys(("Short", "Sentences", "Tone"), CODE),
    "deep_judgment": {"Weighed": "there is no setting 'weighing' here: leave it out"},
    "literal": {},
    "metrics": {
        "Correlation": "unknown metric 'mcc' (known: precision, recall, f1, accuracy, specificity)"
    },
}
"""What the current files have that is kept and not judged."""


@pytest.mark.parametrize("name", STORED)
def test_a_current_file_loads_and_names_what_it_keeps_unjudged(name, endpoint, models):
    path = CURRENT / f"{name}.jsonld"
    stored = STORED[name]
    if stored:
        with pytest.warns(UserWarning, match="kept but not judged") as told:
            loaded = Benchmark.load(path)
        (line,) = [str(warning.message) for warning in told]
        assert line.startswith(f"{path}: traits are kept but not judged: ")
        assert "\n" not in line
        assert all(f"'{trait}': {problem}" in line for trait, problem in stored.items())
    else:
        loaded = Benchmark.load(path)
    assert loaded.not_judged == stored
    (result,) = loaded.run_verification(models())
    failed = {name: failure.message for name, failure in result.failures.items()}
    assert failed == stored
    outcomes = {
        **result.rubric_scores,
        **result.manual_rubric_results,
        **result.metric_rubric_results,
    }
    assert outcomes.keys() | stored.keys() == set(result.verdicts)
    assert len(outcomes) >= 1


def test_a_class_is_its_index_and_its_name_also_after_a_file(endpoint, models, tmp_path):
    loaded = Benchmark.load(CURRENT / "literal.jsonld")
    (result,) = loaded.run_verification(models())
    loaded.save(tmp_path / "b.jsonld")
    for found in (result, Benchmark.load(tmp_path / "b.jsonld").results[0]):
        assert found.rubric_scores == {"Structure": 1, "Clarity": 4, "Framing": 1}
        assert found.rubric_labels == {"Structure": "broken", "Framing": "clinical_first"}
    assert result.score.value == pytest.approx((1 / 3 + 3 / 4) / 2)  # Framing has no direction


@pytest.mark.parametrize(
    ("kind", "settings", "problem"),
    [
        ("GlobalPoeticTrait", {}, "its kind 'karenina:GlobalPoeticTrait' is unknown"),
        ("GlobalRubricTrait", {"include_ground_truth": "yes"}, "include_ground_truth: must be"),
        ("GlobalRegexTrait", {"pattern": "("}, "pattern: missing )"),
        ("GlobalLLMRubricTrait", {"classes": {"one": "alone"}}, "classes: kind='literal' needs 2"),
    ],
)
def test_a_trait_that_cannot_be_judged_is_kept_beside_the_others(kind, settings, problem, tmp_path):
    other = {**a_rating(), "name": "Other"}
    document = changed(rating=[a_rating(kind, **settings), other])
    path = tmp_path / "b.jsonld"
    path.write_text(json.dumps(document), "utf-8")
    loaded = load(path)
    assert loaded.not_judged["Clear"].startswith(problem)
    loaded.save(path)
    assert json.loads(path.read_text("utf-8")) == document


def test_a_trait_name_in_a_warning_cannot_write_to_the_terminal(tmp_path):
    path = tmp_path / "b.jsonld"
    hostile = {**a_rating("GlobalAgenticTrait"), "name": "a\x1b[2J\nb"}
    path.write_text(json.dumps(changed(rating=[hostile])), "utf-8")
    with pytest.warns(UserWarning, match="kept but not judged") as told:
        Benchmark.load(path)
    assert "\\x1b[2J\\nb" in str(told[0].message)


def test_a_changed_trait_is_written_with_what_else_its_file_has(tmp_path):
    loaded = load(CURRENT / "metrics.jsonld")
    own = loaded.questions[0].rubric
    heavier = own.traits[0].model_copy(update={"weight": 2.0})
    loaded.questions[0].rubric = Rubric(own.name, [heavier])
    loaded.save(tmp_path / "b.jsonld")
    node = json.loads((tmp_path / "b.jsonld").read_text("utf-8"))["dataFeedElement"][0]["item"]
    properties = {one["name"]: one["value"] for one in node["rating"][0]["additionalProperty"]}
    assert properties["weight"] == 2.0
    assert properties["tp_instructions"] == ["46 chromosomes"]
    assert load(tmp_path / "b.jsonld").questions[0].rubric.traits[0].weight == 2.0


def test_one_property_that_stands_alone_is_a_list_of_one(tmp_path):
    node = {**a_rating("GlobalRegexTrait"), "@id": "urn:x"}
    node["additionalProperty"] = {"@type": "PropertyValue", "name": "pattern", "value": "x"}
    path = tmp_path / "b.jsonld"
    path.write_text(json.dumps(changed(rating=[node])), "utf-8")
    loaded = Benchmark.load(path)
    (trait,) = loaded.global_rubric
    assert (trait.pattern, trait.case_sensitive) == ("x", True)
    loaded.set_global_rubric(Rubric("r", [trait.model_copy(update={"weight": 3.0})]))
    loaded.save(path)
    (again,) = Benchmark.load(path).global_rubric
    assert (again.weight, again.node["@id"]) == (3.0, "urn:x")


def test_a_stored_trait_that_moves_to_a_question_is_written_as_one(tmp_path):
    loaded = load(CURRENT / "agentic.jsonld")
    moved = loaded.global_rubric.traits[0]
    loaded.global_rubric = None
    loaded.questions[0].rubric = Rubric("own", [moved])
    loaded.save(tmp_path / "b.jsonld")
    again = load(tmp_path / "b.jsonld")
    assert again.not_judged == {"Runs": AGENT.format("QuestionSpecific")}
    assert again.questions[0].rubric.traits[0].node == {
        **moved.node,
        "additionalType": "karenina:QuestionSpecificAgenticRubricTrait",
    }


def of_code() -> Benchmark:
    """The file of traits that are code, with functions for them."""
    own = {
        "Short": lambda text: len(text.split()) < 3,
        "Sentences": lambda text: text.count("."),
        "Tone": lambda text: "casual",
    }
    return Benchmark.load(CURRENT / "callables.jsonld", code=own)


def test_functions_given_in_python_judge_the_traits_that_are_code_in_a_file(
    endpoint, script, models, tmp_path
):
    loaded = of_code()
    assert loaded.not_judged == {}
    (result,) = loaded.run_verification(models())
    assert result.callable_rubric_results == {"Short": False, "Sentences": 1, "Tone": 1}
    assert result.rubric_labels == {"Tone": "casual"}
    assert script.asked["score"] == 1  # a model is asked about Clarity alone
    assert result.score.value == pytest.approx((0.0 + 0.0 + 0.75) / 3)
    loaded.results = None
    loaded.save(tmp_path / "b.jsonld")
    again = json.loads((tmp_path / "b.jsonld").read_text("utf-8"))
    was = json.loads((CURRENT / "callables.jsonld").read_text("utf-8"))
    assert again["rating"] == was["rating"]


def test_a_function_for_a_trait_that_is_no_code_is_refused():
    path = CURRENT / "callables.jsonld"
    with pytest.raises(InputError, match="code: no trait with the name 'Clarity' is code in this"):
        Benchmark.load(path, code={"Clarity": str.isupper})


def test_the_function_of_a_trait_stays_out_of_files(tmp_path):
    made = Benchmark.create("Any")
    made.add_global_rubric_trait(
        CallableRubricTrait.from_callable(
            "Lines", lambda text: text.count("\n"), kind="score", min_score=0, max_score=9
        )
    )
    made.save(tmp_path / "b.jsonld")
    assert load(tmp_path / "b.jsonld").not_judged == {"Lines": CODE}
    again = Benchmark.load(tmp_path / "b.jsonld", code={"Lines": len})
    (trait,) = again.global_rubric
    assert (trait.kind, trait.min_score, trait.max_score) == ("score", 0, 9)


TEXTS = st.text(min_size=1).filter(str.strip)
COMMON = {"name": TEXTS.filter(lambda name: name != "answer template"), "description": TEXTS}
WEIGHTS = st.floats(-100, 100)
TRAITS = st.one_of(
    st.builds(
        RubricTrait,
        kind=st.just("score"),
        min_score=st.none() | st.integers(-5, 0),
        max_score=st.none() | st.integers(2, 9),
        higher_is_better=st.booleans(),
        weight=WEIGHTS,
        **COMMON,
    ),
    st.builds(
        RubricTrait,
        kind=st.just("binary"),
        higher_is_better=st.none() | st.booleans(),
        include_ground_truth=st.booleans(),
        weight=WEIGHTS,
        **COMMON,
    ),
    st.builds(
        RubricTrait,
        kind=st.just("literal"),
        classes=st.lists(
            st.integers().map("class {}".format), min_size=2, max_size=20, unique=True
        ).map(lambda names: dict.fromkeys(names, "what it means")),
        higher_is_better=st.none() | st.booleans(),
        **COMMON,
    ),
    st.builds(
        ManualRubricTrait,
        pattern=TEXTS.map(re.escape),
        case_sensitive=st.booleans(),
        invert=st.booleans(),
        **COMMON,
    ),
    st.builds(
        MetricRubricTrait,
        metrics=st.lists(st.sampled_from(["f1", "recall"]), min_size=1, unique=True),
        tp_instructions=st.lists(st.integers().map("tp {}".format), min_size=1, unique=True),
        tn_instructions=st.lists(st.integers().map("tn {}".format), unique=True),
        repeated_extraction=st.booleans(),
        **COMMON,
    ),
)


@given(st.lists(TRAITS, min_size=1, max_size=4, unique_by=lambda trait: trait.name))
def test_every_trait_survives_a_file(traits):
    made = Benchmark.create("Any")
    made.set_global_rubric(Rubric("Any", traits))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.jsonld"
        made.save(path)
        loaded = Benchmark.load(path)
    criteria = [trait.criterion() for trait in loaded.global_rubric]
    assert criteria == [trait.criterion() for trait in traits]
    for read, written in zip(loaded.global_rubric, traits, strict=True):
        for name in ("include_ground_truth", "higher_is_better"):
            assert getattr(read, name, None) == getattr(written, name, None)


def test_what_json_cannot_hold_is_an_error_that_names_it(tmp_path):
    made = full_benchmark()
    made.questions[1].node["item"] = {"when": object()}
    with pytest.raises(InputError, match=r"dataFeedElement\[1\].item.when: JSON cannot hold"):
        made.save(tmp_path / "b.jsonld")
    assert not (tmp_path / "b.jsonld").exists()
    with pytest.raises(InputError, match="cannot be written"):
        full_benchmark().save(tmp_path / "no folder" / "b.jsonld")


def test_a_benchmark_made_here_has_what_kareninas_reader_requires(tmp_path):
    made = Benchmark.create("t")
    made.add_question("Q?", "a")
    made.set_global_rubric(
        Rubric("g", [RubricTrait(name="Wide", kind="score", min_score=0, max_score=10)])
    )
    made.save(path := tmp_path / "t.jsonld")
    document = json.loads(path.read_text())
    part = document["dataFeedElement"][0]["item"]["hasPart"]
    assert part["@type"] == "SoftwareSourceCode"
    compile(part["text"], "hasPart", "exec")
    settings = {
        entry["name"]: entry["value"] for entry in document["rating"][0]["additionalProperty"]
    }
    assert (settings["min_score"], settings["max_score"]) == (0, 10)
    loaded = Benchmark.load(path)
    assert loaded.questions[0].template_code is None
    loaded.save(again := tmp_path / "again.jsonld")
    assert json.loads(again.read_text())["dataFeedElement"] == document["dataFeedElement"]


def test_bounds_beside_a_yes_or_no_trait_are_those_of_scores(tmp_path):
    made = Benchmark.create("t")
    made.save(path := tmp_path / "t.jsonld")
    document = json.loads(path.read_text())
    settings = {"higher_is_better": True, "min_score": 1, "max_score": 5}
    document["rating"] = [
        {
            "@type": "Rating",
            "name": "Safe",
            "bestRating": 1.0,
            "worstRating": 0.0,
            "additionalType": "karenina:GlobalRubricTrait",
            "additionalProperty": [
                {"@type": "PropertyValue", "name": name, "value": value}
                for name, value in settings.items()
            ],
        }
    ]
    path.write_text(json.dumps(document))
    [trait] = Benchmark.load(path).global_rubric.traits
    assert trait.kind == "binary"
    assert [trait.validate_score(score) for score in (True, 1)] == [True, False]


def test_rubrics_answer_for_their_traits_as_kareninas_do():
    score = RubricTrait(name="Clear", kind="score")
    metric = MetricRubricTrait(name="Terms", metrics=["precision"], tp_instructions=["asthma"])
    first, second = Rubric("g", [score, metric]), Rubric("q", [RubricTrait(name="x", kind="score")])
    assert first.get_trait_names() == ["Clear", "Terms"]
    assert (first.get_llm_trait_names(), first.get_metric_trait_names()) == (["Clear"], ["Terms"])
    assert merge_rubrics(first, second).get_trait_names() == ["Clear", "Terms", "x"]
    assert merge_rubrics(None, second).name == "q"
    assert merge_rubrics(None, None) is None
    assert metric.get_required_buckets() == {"tp", "fp"}
    assert [score.validate_score(value) for value in (1, 5, 6, True, 2.5)] == [
        True,
        True,
        *[False] * 3,
    ]
