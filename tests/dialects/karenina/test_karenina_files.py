"""Benchmarks as JSON-LD: what is written, what is read, what is refused."""

from __future__ import annotations

import base64
import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricate import InputError
from rubricate.dialects.karenina import Benchmark
from rubricate.dialects.karenina.schemas import (
    ManualRubricTrait,
    MetricRubricTrait,
    Rubric,
    RubricTrait,
    StoredTrait,
    Template,
    TemplateField,
)
from rubricate.testing import Rule

DATA = Path(__file__).with_name("data")
SAMPLES = sorted(DATA.glob("*.jsonld"))


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
    loaded = Benchmark.load(path)
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
    rubric = Benchmark.load(DATA / "with_rubrics.jsonld").global_rubric
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
    loaded = Benchmark.load(path)
    stored = loaded.global_rubric.traits[5]
    assert isinstance(stored, StoredTrait)
    assert stored.code == loaded.questions[0].template_code == code
    loaded.questions[0].question = "Of chromosomes"
    (result,) = loaded.run_verification(models())
    assert not trap.exists()
    assert result.failures["ContainsCitations"].message == (
        "it is Python code in a file, which is not run"
    )
    assert result.failures["answer template"].kind == "template_is_code"
    assert result.rubric_scores == {"Clarity": 4, "Accuracy": True, "Completeness": 4}


def test_a_trait_without_what_it_needs_is_kept_and_fails_with_its_cause(endpoint, script, models):
    script.changes["answer"] = Rule(reply="Paris")
    (result,) = Benchmark.load(DATA / "with_results.jsonld").run_verification(models())
    assert result.failures["Citations"].message == "the file gives no pattern for it"
    assert result.failures["Conciseness"].message == "the file gives no code for it"
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
        ([], "expected an object of the type DataFeed, found list"),
        (changed(**{"@type": "Dataset"}), "expected @type 'DataFeed', found 'Dataset'"),
        (changed(name=""), "'name' is missing"),
        (
            changed(item={"@type": "Thing"}),
            "dataFeedElement[0].item: expected @type 'Question', found 'Thing'",
        ),
        (changed(item={"text": 4}), "dataFeedElement[0].item: 'text' is missing or no text"),
        (changed(item={"acceptedAnswer": None}), "dataFeedElement[0].item.acceptedAnswer: "),
        (changed(rating="good"), "rating: expected a list, found str"),
        (
            changed(rating=[a_rating("GlobalAgenticTrait")]),
            "rating[0]: additionalType: unknown kind of trait 'karenina:GlobalAgenticTrait'",
        ),
        (
            changed(rating=[a_rating("GlobalRegextrait")]),
            "did you mean 'GlobalRegexTrait'?",
        ),
        (
            changed(rating=[a_rating("QuestionSpecificRubricTrait")]),
            "rating[0]: additionalType: a trait of a question stands elsewhere",
        ),
        (
            changed(rating=[a_rating(deep_judgment_enabled=True)]),
            "rating[0].RubricTrait 'Clear': there is no setting 'deep_judgment_enabled' here",
        ),
        (
            changed(rating=[{**a_rating(), "bestRating": 4.5}]),
            "rating[0]: bestRating: expected a whole number, found 4.5",
        ),
        (
            changed(rating=[a_rating("GlobalRegexTrait", pattern="(")]),
            "rating[0].ManualRubricTrait 'Clear': pattern: missing )",
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


def test_two_questions_with_one_identifier_are_refused(tmp_path):
    made = full_benchmark()
    made.questions[1].id = "q1"
    made.save(tmp_path / "b.jsonld")
    with pytest.raises(InputError, match=r"dataFeedElement\[1\]: the @id 'q1' stands twice"):
        Benchmark.load(tmp_path / "b.jsonld")


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
        higher_is_better=st.booleans(),
        weight=WEIGHTS,
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


def test_what_json_cannot_hold_is_an_error_that_names_it(tmp_path):
    made = full_benchmark()
    made.questions[1].extra["item"] = {"when": object()}
    with pytest.raises(InputError, match=r"dataFeedElement\[1\].item.when: JSON cannot hold"):
        made.save(tmp_path / "b.jsonld")
    assert not (tmp_path / "b.jsonld").exists()
    with pytest.raises(InputError, match="cannot be written"):
        full_benchmark().save(tmp_path / "no folder" / "b.jsonld")
