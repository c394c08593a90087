"""Traits, model configurations and templates: what they are, and what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricate import (
    Criterion,
    InputError,
    MetricCriterion,
    RegexCriterion,
    ScaleCriterion,
)
from rubricate.dialects.karenina.schemas import (
    CallableRubricTrait,
    LLMRubricTrait,
    ManualRubricTrait,
    MetricRubricTrait,
    ModelConfig,
    RegexRubricTrait,
    RegexTrait,
    Rubric,
    RubricTrait,
    Template,
    TemplateField,
    VerificationConfig,
)
from rubricate.errors import UnreadableReply


def config(**settings) -> VerificationConfig:
    model = ModelConfig(model_provider="openai", model_name="m")
    return VerificationConfig(parsing_models=[model], **settings)


def test_a_trait_is_a_criterion_of_the_core():
    scale = RubricTrait(name="Clarity", kind="score").criterion()
    assert isinstance(scale, ScaleCriterion)
    assert (scale.low, scale.high, scale.requirement) == (1, 5, "Clarity")
    safe = RubricTrait(name="Safe", description="Is it?", kind="boolean").criterion()
    assert isinstance(safe, Criterion)
    assert (safe.measurement, safe.ask().is_choice) == ("binary", True)
    read = [safe.read(answer).label for answer in ("MET", True, False, "true", "False")]
    assert read == ["MET", "MET", "UNMET", "MET", "UNMET"]
    assert isinstance(ManualRubricTrait(name="n", pattern="x").criterion(), RegexCriterion)
    metric = MetricRubricTrait(name="n", tp_instructions=["x"]).criterion()
    assert isinstance(metric, MetricCriterion)


def test_a_bad_direction_turns_the_value_or_the_weight():
    scale = RubricTrait(name="Length", kind="score", higher_is_better=False).criterion()
    assert scale.value("5") == 0.0
    fault = RubricTrait(name="Rambles", kind="binary", weight=2.0, higher_is_better=False)
    assert fault.criterion().weight == -2.0


def test_a_literal_trait_chooses_from_its_classes_in_their_order():
    classes = {"poor": "Wrong", "fair": "", "good": "Right"}
    trait = RubricTrait(name="Quality", kind="literal", classes=classes, max_score=2)
    values = [trait.criterion().value(name) for name in trait.class_names]
    assert values == [0.0, 0.5, 1.0]
    worse = trait.model_copy(update={"higher_is_better": False}).criterion()
    assert [worse.value(name) for name in classes] == [1.0, 0.5, 0.0]
    assert (worse.weight, worse.measurement) == (1.0, "ordinal")


@pytest.mark.parametrize(
    "trait",
    [
        RubricTrait(name="n", kind="score", higher_is_better=None),
        RubricTrait(name="n", kind="boolean", higher_is_better=None),
        RubricTrait(name="n", kind="literal", classes={"a": "", "b": ""}, higher_is_better=None),
        ManualRubricTrait(name="n", pattern="x", higher_is_better=None),
    ],
)
def test_a_trait_without_direction_is_not_in_the_score(trait):
    assert trait.weight == 1.0
    assert trait.criterion().weight == 0.0


def test_metrics_have_a_direction_of_their_own():
    given = {None: 1.0, True: 1.0, False: -1.0}
    for higher_is_better, weight in given.items():
        trait = MetricRubricTrait(
            name="n", tp_instructions=["x"], higher_is_better=higher_is_better
        )
        assert trait.criterion().weight == weight


def test_the_right_answer_is_shown_to_the_traits_that_ask_for_it():
    plain = RubricTrait(name="n", kind="score")
    shown = RubricTrait(name="n", kind="score", include_ground_truth=True)
    assert plain.criterion_for("46") == plain.criterion()
    assert "46" in shown.criterion_for("46").note
    with pytest.raises(InputError, match="the trait 'n' is judged by the right answer"):
        shown.criterion_for(" ")


def test_a_rubric_takes_its_traits_by_their_kinds():
    clear = LLMRubricTrait(name="Clear", kind="boolean")
    cites = RegexTrait(name="Cites", pattern=r"\[\d+\]")
    short = CallableRubricTrait.from_callable("Short", lambda text: len(text) < 9, kind="boolean")
    found = MetricRubricTrait(name="Found", tp_instructions=["x"])
    rubric = Rubric(
        llm_traits=[clear], regex_traits=[cites], callable_traits=[short], metric_traits=[found]
    )
    assert list(rubric) == [clear, cites, short, found]
    views = (rubric.llm_traits, rubric.regex_traits, rubric.callable_traits, rubric.metric_traits)
    assert views == ([clear], [cites], [short], [found])


def test_the_current_regex_trait_minds_the_case_and_the_former_does_not():
    def found(trait, text):
        return trait.criterion().compute(text).answer

    assert found(RegexRubricTrait(name="n", pattern="Bcl"), "bcl") == "UNMET"
    assert found(ManualRubricTrait(name="n", pattern="Bcl"), "bcl") == "MET"
    hedging = RegexRubricTrait(name="n", pattern="maybe", invert_result=True)
    assert [found(hedging, text) for text in ("maybe", "surely")] == ["UNMET", "MET"]
    assert RegexRubricTrait(name="n", pattern="x") == ManualRubricTrait(
        name="n", pattern="x", case_sensitive=True
    )


LITERAL = {"kind": "literal", "classes": {"formal": "Academic", "casual": "Relaxed"}}


@pytest.mark.parametrize(
    ("settings", "gives", "label", "value"),
    [
        ({"kind": "boolean"}, True, "MET", 1.0),
        ({"kind": "binary", "invert_result": True}, True, "UNMET", 0.0),
        ({"kind": "score", "min_score": 0, "max_score": 4}, 3, "3", 0.75),
        ({"kind": "score", "min_score": 0, "max_score": 4}, 2.5, "2.5", 0.625),
        (
            {"kind": "score", "min_score": 0, "max_score": 4, "higher_is_better": False},
            3,
            "3",
            0.25,
        ),
        (LITERAL, "casual", "casual", 1.0),
        ({**LITERAL, "higher_is_better": False}, "casual", "casual", 0.0),
    ],
)
def test_a_callable_trait_says_what_its_function_finds(settings, gives, label, value):
    trait = CallableRubricTrait.from_callable("n", lambda text: gives, **settings)
    criterion = trait.criterion()
    assert criterion.read(criterion.compute("any")).label == label
    assert criterion.value(criterion.read(gives).label) == pytest.approx(value)


@pytest.mark.parametrize("gives", [5, -1, "3", None, True, float("nan")])
def test_what_a_function_may_not_give_is_no_score(gives):
    trait = CallableRubricTrait(
        name="n", func=lambda text: gives, kind="score", min_score=0, max_score=4
    )
    with pytest.raises(UnreadableReply, match=r"the function gave .*, not a number from 0"):
        trait.criterion().read(gives)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"func": lambda: 1, "kind": "boolean"}, "func: must take one argument, the answer's text"),
        ({"func": len, "kind": "score"}, r"kind='score' needs min_score and max_score"),
        ({"func": len, "kind": "literal"}, "classes: kind='literal' needs 2 to 20"),
        (
            {"func": len, "kind": "score", "invert_result": True, "min_score": 0, "max_score": 1},
            "invert_result is only allowed for kind='boolean'",
        ),
        ({"func": "os:system", "kind": "boolean"}, "func: must be callable"),
    ],
)
def test_a_callable_trait_that_cannot_be_is_refused(settings, problem):
    with pytest.raises(InputError, match=problem):
        CallableRubricTrait(name="n", **settings)


SCORE = {"name": "C", "kind": "score"}
MODEL = {"model_provider": "openai", "model_name": "m"}
AT = {"id": "i", "model_name": "m", "interface": "openai_endpoint"}
TWICE = [RubricTrait(**SCORE)] * 2


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (RubricTrait, {**SCORE, "kind": "scor"}, "RubricTrait 'C'.kind: unknown word 'scor' (kno"),
        (RubricTrait, {"name": "Clarity"}, "RubricTrait 'Clarity'.kind: missing"),
        (RubricTrait, {"kind": "score"}, "RubricTrait.name: missing"),
        (RubricTrait, {**SCORE, "name": " "}, "name: must not be empty"),
        (
            RubricTrait,
            {**SCORE, "name": "answer template"},
            "is the name of correctness in results",
        ),
        (RubricTrait, {**SCORE, "min_score": 5, "max_score": 1}, "must be less than max_score"),
        (RubricTrait, {**SCORE, "desciption": "d"}, "did you mean 'description'?"),
        (RubricTrait, {**SCORE, "votes_of_a_crowd": True}, "no setting 'votes_of_a_crowd' here"),
        (RubricTrait, {"name": "C", "kind": "literal"}, "kind='literal' needs 2 to 20, found 0"),
        (RubricTrait, {**SCORE, "classes": {"a": "", "b": ""}}, "classes are only allowed for"),
        (ManualRubricTrait, {"name": "P", "pattern": "(a"}, "at position 0 in '(a'"),
        (
            ManualRubricTrait,
            {"name": "P", "pattern": "a", "invert": True, "invert_result": False},
            "invert and invert_result are the same setting, but have different values",
        ),
        (
            MetricRubricTrait,
            {"name": "M", "tp_instructions": ["a"], "evaluation_mode": "full_matrix"},
            "evaluation_mode is 'tp_only' without tn_instructions, found 'full_matrix'",
        ),
        (Rubric, {"name": "R", "traits": []}, "the rubric 'R' needs at least one trait"),
        (Rubric, {"name": "R", "traits": ["C"]}, "trait 1 is a str, not a trait such"),
        (Rubric, {"name": "R", "traits": TWICE}, "has two traits with the name 'C': 1 and 2"),
        (ModelConfig, {**MODEL, "model_provider": "opanai"}, "unknown model_provider 'opanai' (k"),
        (
            ModelConfig,
            {**MODEL, "interface": "telepathy"},
            "interface: unknown word 'telepathy' (known",
        ),
        (ModelConfig, AT, "ModelConfig 'i': interface='openai_endpoint' needs base_url"),
        (ModelConfig, {"interface": "manual"}, "interface='manual' needs manual_traces"),
        (ModelConfig, {"interface": "manual", "manual_traces": {}}, "expected a ManualTraces, fou"),
        (ModelConfig, {**MODEL, "endpoint_api_key": "k"}, "no setting 'endpoint_api_key' here: le"),
        (
            config,
            {"replicate_count": 0},
            "must be at least 1, found 0",
        ),
        (config, {"replicate_cuont": 2}, "did you mean 'replicate_count'?"),
        (VerificationConfig, {"parsing_models": [ModelConfig(**MODEL)] * 2}, "two models have the"),
        (
            VerificationConfig,
            {"parsing_models": []},
            "should have at least 1 item",
        ),
        (VerificationConfig, {"parsing_models": ["openai/m"]}, "instance of ModelConfig, found"),
    ],
)
def test_what_cannot_be_is_one_clear_line_when_it_is_built(kind, settings, message):
    with pytest.raises(InputError) as caught:
        kind(**settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "name", "endpoint"),
    [
        ({"model_provider": "openai"}, "openai/m", "https://api.openai.com/v1"),
        ({"model_provider": "google_genai"}, "gemini/m", "https://generativelanguage"),
        ({"interface": "openrouter"}, "openrouter/m", "https://openrouter.ai/api/v1"),
        (
            {"interface": "openrouter", "model_provider": "openai"},
            "openrouter/openai/m",
            "https://openrouter.ai/api/v1",
        ),
        (
            {"interface": "openai_endpoint", "base_url": "http://localhost:9/v1"},
            "m",
            "http://localhost:9/v1",
        ),
    ],
)
def test_a_configuration_is_one_of_the_engines_models(settings, name, endpoint, monkeypatch):
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(variable, "not-a-key")
    config = ModelConfig(model_name="m", temperature=0.3, **settings)
    assert config.id == "m"
    model = config.model()
    assert model.name == name
    assert model.endpoint.startswith(endpoint)
    assert model.fingerprint()["temperature"] == 0.3


def test_a_models_token_limit_and_further_options_are_its_requests(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    plain = ModelConfig(model_provider="openai", model_name="m", model_id=None)
    assert "max_tokens" not in plain.model().fingerprint()
    told = ModelConfig(
        model_provider="openai",
        model_name="m",
        max_tokens=512,
        extra_kwargs={"reasoning_effort": "low"},
        temperature=None,
    )
    fingerprint = told.model().fingerprint()
    assert (fingerprint["max_tokens"], fingerprint["temperature"]) == (512, None)
    assert fingerprint["model_options"] == {"reasoning_effort": "low"}
    here = ModelConfig(
        model_name="m", interface="openai_endpoint", endpoint_base_url="http://localhost:9/v1"
    )
    assert here.base_url == "http://localhost:9/v1"


def test_settings_that_are_off_are_kept():
    kept = config(deep_judgment_mode="disabled", abstention_enabled=False, few_shot_config=None)
    assert kept.model_extra["abstention_enabled"] is False


# Templates


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ({"comparison": "exact", "expected": "Au"}, ["Au", " Au "], ["au", "Au.", None]),
        (
            {"comparison": "normalized", "expected": "BCL2", "also_accepted": ["Bcl two"]},
            ["bcl-2", "BCL 2.", "“BCL2”", "BCL‑2", "bcl TWO"],
            ["BCL3", "BCL", None],
        ),
        (
            {"comparison": "number", "expected": 46, "tolerance": 0.5},
            [46, 46.5, "46", "4.6e1"],
            [46.51, 45, None],
        ),
        ({"comparison": "boolean", "expected": False}, [False], [True, None]),
        (
            {"comparison": "set", "expected": ["Red", "green"]},
            [["green", "red"], ["red", "RED", "green"]],
            [["red"], ["red", "green", "blue"], [], None],
        ),
    ],
)
def test_a_field_compares_as_it_says(field, right, wrong):
    checked = TemplateField(name="f", **field)
    for values, expected in ((right, True), (wrong, False)):
        for value in values:
            assert checked.matches(checked.read(value)) is expected, value


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"comparison": "number", "expected": "46"}, "must be a number for 'number'"),
        ({"comparison": "number", "expected": True}, "must be a number"),
        ({"comparison": "number", "expected": float("nan")}, "must be a number"),
        ({"comparison": "boolean", "expected": 1}, "must be true or false"),
        ({"comparison": "exact", "expected": 4}, "must be text"),
        ({"comparison": "normalized", "expected": "--"}, "must be text"),
        ({"comparison": "set", "expected": "red"}, "must be a list of texts"),
        ({"comparison": "fuzzy", "expected": "red"}, "comparison"),
        ({"comparison": "exact", "expected": "a", "tolerance": 1}, "tolerance: only allowed for"),
        (
            {"comparison": "number", "expected": 1, "tolerance": -1},
            "tolerance: must be",
        ),
        ({"comparison": "number", "expected": 1, "also_accepted": ["one"]}, "also_accepted"),
    ],
)
def test_a_field_that_cannot_be_compared_is_refused(field, message):
    with pytest.raises(InputError, match=message):
        Template(fields=[{"name": "f", **field}])


def test_a_template_needs_fields_with_names_that_differ():
    with pytest.raises(InputError, match="at least one field"):
        Template(fields=[])
    with pytest.raises(InputError, match="two fields have the name 'f'"):
        Template(fields=[{"name": "f", "comparison": "exact", "expected": "a"}] * 2)


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1).filter(
    lambda text: any(map(str.isalnum, text))
)
FIELDS = st.one_of(
    st.fixed_dictionaries({"comparison": st.just("exact"), "expected": TEXTS}),
    st.fixed_dictionaries({"comparison": st.just("normalized"), "expected": TEXTS}),
    st.fixed_dictionaries(
        {
            "comparison": st.just("number"),
            "expected": st.floats(allow_nan=False, allow_infinity=False),
        }
    ),
    st.fixed_dictionaries({"comparison": st.just("boolean"), "expected": st.booleans()}),
    st.fixed_dictionaries({"comparison": st.just("set"), "expected": st.lists(TEXTS)}),
)


@given(FIELDS)
def test_every_field_accepts_its_own_value_and_survives_a_file(field):
    template = Template(fields=[{"name": "f", **field}])
    (checked,) = template.fields
    assert checked.matches(checked.read(field["expected"]))
    assert Template(**template.to_dict()) == template
