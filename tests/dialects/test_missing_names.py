"""What a dialect says of a name that its system has and it has not."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rubricate.dialects import _missing
from rubricate.dialects._missing import PAGE, missing, refuse_arguments
from rubricate.errors import InputError, MissingNameError, RubricateError

DOOR = "rubricate.dialects.elsewhere"
WAYS = {"Sampl": "items are drawn with split_train_test", "^llms": "name models: openai/gpt-4.1"}
HERE = Path(__file__).parent
RECORDED = {
    **json.loads((HERE / "data" / "ragas" / "names.json").read_text("utf-8")),
    "autorubric": [
        *json.loads((HERE / "autorubric" / "names.json").read_text("utf-8")),
        *("escalation", "meta", "metrics", "prompts", "utils"),
    ],
    "karenina": ["cli", "domain", "infrastructure", "ports", "scenario", "storage", "utils"],
    "karenina.adapters": ["claude_agent_sdk", "langchain", "openrouter"],
    "karenina.benchmark": ["core", "task_eval", "verification"],
    "karenina.schemas": ["AllOf", "BaseAnswer", "DynamicRubric", "FewShotConfig", "PromptConfig"],
    "karenina.schemas.config": ["ModelRetryConfig", "PromptCachingConfig", "ToolRetryConfig"],
    "karenina.schemas.entities": ["AgenticRubricTrait", "VerifiedField", "composition"],
    "karenina.schemas.verification": ["ModelIdentity", "VerificationResultRubric"],
    "inspect_ai": ["eval", "log", "solver", "Task"],
    "inspect_ai.dataset": ["example_dataset"],
    "inspect_ai.model": ["GenerateConfig", "get_model"],
    "researchrubrics": ["calculate_metrics", "evaluate_rubrics", "prompts"],
}
"""Public names of the systems by module; of AutoRubric and Ragas, all that their releases have."""


@pytest.fixture
def door(monkeypatch):
    module = ModuleType(DOOR)
    module.__all__ = ["Grader"]
    module.Grader = object
    monkeypatch.setitem(sys.modules, DOOR, module)
    monkeypatch.setitem(_missing.WAYS, "elsewhere", ("elsewhere", WAYS))
    module.__getattr__ = missing(DOOR)
    return module


def test_importing_a_missing_name_is_an_import_error_of_one_line_with_the_way_here(door):
    with pytest.raises(ImportError) as caught:
        exec(f"from {DOOR} import Sampler")
    assert str(caught.value) == (
        f"elsewhere's Sampler is not in {DOOR}: items are drawn with split_train_test"
    )
    assert isinstance(caught.value, MissingNameError | RubricateError)


@pytest.mark.parametrize(
    "line",
    [
        f"from {DOOR} import llms",
        f"from {DOOR}.llms import OpenAI",
        f"import {DOOR}.llms",
        f"import {DOOR}.llms.base",
    ],
)
def test_a_missing_module_says_the_way_whatever_is_imported_from_it(door, line):
    with pytest.raises(MissingNameError, match=r"elsewhere's llms is not in .*: name models"):
        exec(line)


def test_a_misspelt_name_is_told_the_nearest_and_an_unknown_one_the_page(door):
    with pytest.raises(MissingNameError, match=r"did you mean Grader\?"):
        exec(f"from {DOOR} import Gradr")
    with pytest.raises(MissingNameError, match=r"docs/coming-from\.md says what is here"):
        exec(f"from {DOOR} import Quux")


def test_asking_whether_a_dialect_has_a_name_is_answered(door):
    assert hasattr(door, "Grader")
    assert not hasattr(door, "Sampler")
    with pytest.raises(AttributeError, match="split_train_test"):
        door.Sampler  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute '__wrapped__'"):
        door.__wrapped__  # noqa: B018


def test_what_a_door_has_is_imported_as_ever(door):
    space: dict[str, object] = {}
    exec(f"from {DOOR} import Grader", space)
    assert space["Grader"] is object


def test_modules_of_others_stay_unfound_as_ever(door):
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        importlib.import_module("rubricate.nothing")


def test_one_finder_serves_all_doors(door):
    before = len(sys.meta_path)
    missing(DOOR)
    assert len(sys.meta_path) == before


def test_an_argument_that_is_not_here_is_refused_in_one_line():
    with pytest.raises(InputError) as caught:
        refuse_arguments("grade()", ["callbacks"], {"callbacks": "use on_result="})
    assert str(caught.value) == "grade() takes no callbacks: use on_result="
    refuse_arguments("grade()", [], {})


@pytest.mark.parametrize(
    "system", ["autorubric", "inspect_ai", "karenina", "ragas", "researchrubrics"]
)
def test_every_public_name_of_a_system_is_here_or_says_in_one_line_what_to_use(system):
    for module, names in RECORDED.items():
        door = f"rubricate.dialects.{module}"
        here = vars(importlib.import_module(door)) if module.startswith(system) else {}
        for name in names if here else ():
            if name in here:
                continue
            with pytest.raises(MissingNameError) as caught:
                exec(f"from {door} import {name}")
            said = str(caught.value)
            assert said.startswith(f"{_missing.WAYS[system][0]}'s {name} is not in {door}: ")
            assert "\n" not in said
            assert PAGE not in said, f"{name}: what to use instead is better than the page"
            assert "did you mean" not in said


def test_what_is_wanted_most_has_a_way_of_its_own():
    for line, says in {
        "autorubric import EscalationConfig": "ask a cheap judge first with rubricate.Cascade",
        "inspect_ai.dataset import FieldSpecs": "did you mean FieldSpec?",
        "inspect_ai.solver import generate": "import it from inspect_ai",
        "inspect_ai.tool import bash": PAGE,
        "karenina.schemas import LLMRubricTrai": "did you mean LLMRubricTrait?",
        "karenina.schemas.entities.rubric import AgenticRubricTrait": "no agent runs here",
        "karenina.storage import DBConfig": "give run_verification a run_dir",
        "ragas.embeddings import LangchainEmbeddingsWrapper": "no metric here uses embeddings",
        "ragas.metrics import Faithfulness": "write what it measures as a rubric",
        "ragas.testset import TestsetGenerator": "EvaluationDataset.from_jsonl",
    }.items():
        with pytest.raises(MissingNameError) as caught:
            exec(f"from rubricate.dialects.{line}")
        assert says in str(caught.value)


def test_what_is_used_most_is_here():
    from rubricate.dialects import autorubric, ragas
    from rubricate.dialects.ragas import dataset_schema, metrics
    from rubricate.dialects.ragas.metrics import collections

    every = {*ragas.__all__, *dataset_schema.__all__, *metrics.__all__, *collections.__all__}
    assert every > {
        "DomainSpecificRubrics", "EvaluationDataset", "InstanceRubrics", "InstanceSpecificRubrics",
        "MetricOutputType", "MetricType", "MultiTurnSample", "PydanticPrompt", "RubricsScore",
        "RubricsScoreWithReference", "RubricsScoreWithoutReference", "RunConfig", "Sample",
        "SingleTurnSample", "aevaluate", "evaluate",
    }  # fmt: skip
    beside = {"CriterionGrader", "JudgeSpec"}  # in autorubric.graders
    assert set(autorubric.__all__) - beside <= set(RECORDED["autorubric"])
