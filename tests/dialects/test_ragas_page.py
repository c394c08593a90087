"""The usage examples of Ragas' page, `ragas` in the import lines replaced, against an endpoint."""

from __future__ import annotations

import inspect
import json
import re
import runpy
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rubricate.dialects.ragas.metrics import MetricOutputType, RubricsScore
from rubricate.dialects.ragas.metrics.collections import DomainSpecificRubrics
from rubricate.errors import InputError
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint


def by_length(request: JudgeRequest) -> Rule:
    """The score of a short material is 2, of a longer one 5."""
    score = 5 if len(request.body["messages"][1]["content"]) > 200 else 2
    return Rule(reply=f'{{"feedback": "by length", "score": {score}}}')


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(respond=by_length) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        yield endpoint


BASIC = """
import asyncio

from ragas.metrics import RubricsScore
from ragas.dataset_schema import SingleTurnSample

metric = RubricsScore()
metric.llm = "openai/gpt-4.1-mini"
sample = SingleTurnSample(
    user_input="What is photosynthesis?",
    response="Photosynthesis is the process by which plants convert light energy into "
    "chemical energy.",
)
score = asyncio.run(metric.single_turn_ascore(sample))
"""

WITH_REFERENCE = """
import asyncio

from ragas.metrics import RubricsScore
from ragas.metrics._domain_specific_rubrics import DEFAULT_WITH_REFERENCE_RUBRICS
from ragas.dataset_schema import SingleTurnSample

metric = RubricsScore(
    name="reference_rubric_eval",
    rubrics=DEFAULT_WITH_REFERENCE_RUBRICS
)
metric.llm = "openai/gpt-4.1-mini"
sample = SingleTurnSample(user_input="Q?", response="A.", reference="B.")
score = asyncio.run(metric.single_turn_ascore(sample))
"""

MULTI_TURN = """
import asyncio

from ragas.metrics import RubricsScore
from ragas.dataset_schema import AIMessage, HumanMessage, MultiTurnSample

metric = RubricsScore()
metric.llm = "openai/gpt-4.1-mini"
multi_turn_sample = MultiTurnSample(
    user_input=[HumanMessage(content="Hello?"), AIMessage(content="Hello!")], reference="A greeting"
)
score = asyncio.run(metric.multi_turn_ascore(multi_turn_sample))
"""


COLLECTIONS = """
import asyncio

from ragas.llms import llm_factory
from ragas.metrics.collections import (
    DomainSpecificRubrics,
    InstanceSpecificRubrics,
    RubricsScoreWithReference,
    RubricsScoreWithoutReference,
)

llm = llm_factory("gpt-4.1-mini")
given = {"user_input": "Capital of France?", "response": "Paris.", "reference": "Paris"}


async def main():
    own = {"score1_description": "wrong", "score5_description": "right"}
    return [
        await DomainSpecificRubrics(llm=llm).ascore(**given),
        await DomainSpecificRubrics(llm=llm, with_reference=True).ascore(**given),
        await RubricsScoreWithReference(llm=llm).ascore(**given),
        await RubricsScoreWithoutReference(llm=llm, rubrics=own).ascore(response="Paris."),
        await InstanceSpecificRubrics(llm=llm).ascore(rubrics=own, **given),
    ]


results = asyncio.run(main())
"""


def run(program: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(re.sub(r"(?m)^from ragas\b", "from rubricate.dialects.ragas", program), namespace)
    return namespace


def prompt_of(endpoint: ScriptedEndpoint) -> str:
    (request,) = endpoint.requests
    return "\n".join(message["content"] for message in request.body["messages"])


def test_the_basic_usage_gives_an_integer_score(served):
    score = run(BASIC)["score"]
    assert (score, type(score)) == (5, int)
    assert "What is photosynthesis?" in prompt_of(served)


def test_the_rubric_with_reference_reaches_the_judge_with_the_reference(served):
    namespace = run(WITH_REFERENCE)
    assert namespace["score"] == 2
    rubrics = namespace["DEFAULT_WITH_REFERENCE_RUBRICS"]
    for key, text in rubrics.items():
        assert f"{key}: {text}" in prompt_of(served)
    assert "\nB.\n" in prompt_of(served)


def test_a_conversation_reaches_the_judge_as_text_with_its_reference(served):
    assert run(MULTI_TURN)["score"] == 2
    assert "Human: Hello?\nAI: Hello!" in prompt_of(served)
    assert "\nA greeting\n" in prompt_of(served)


def test_the_metrics_that_are_asked_field_by_field_give_score_and_reason(served):
    results = run(COLLECTIONS)["results"]
    assert {one.reason for one in results} == {"by length"}
    assert {one.value for one in results} == {2, 5}
    shown = [request.body["messages"][0]["content"] for request in served.requests]
    assert ["reference answer says" in text for text in shown][:3] == [False, True, True]


def test_a_field_that_no_sample_has_is_refused_before_anything_is_sent(served):
    metric = DomainSpecificRubrics("openai/gpt-4.1-mini")
    with pytest.raises(
        InputError, match="ascore has no argument refrence; the fields of a sample are user"
    ):
        metric.score(response="a", refrence="b")
    with pytest.raises(InputError, match=r"retrieved_contexts: .*must be a list"):
        metric.score(response="a", retrieved_contexts="one")
    assert metric.name == "domain_specific_rubrics"
    assert served.requests == []


THERE = Path(__file__).parents[1] / "neighbours"
RECORDED = Path(__file__).with_name("data") / "ragas" / "program.json"


def test_the_documented_program_finds_here_what_it_finds_with_ragas(monkeypatch):
    respond = runpy.run_path(str(THERE / "test_with_ragas.py"))["respond"]
    with ScriptedEndpoint(respond=respond) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        with warnings.catch_warnings():
            program = run((THERE / "ragas_program.py").read_text("utf-8"))
            found = program["main"](endpoint.url)
    assert found == json.loads(RECORDED.read_text("utf-8"))


def test_the_defaults_are_those_of_the_page():
    parameters = inspect.signature(RubricsScore).parameters
    assert {name: p.default for name, p in parameters.items() if name != "rubrics"} == {
        "name": "domain_specific_rubrics",
        "llm": None,
        "required_columns": None,
        "output_type": MetricOutputType.DISCRETE,
        "single_turn_prompt": None,
        "multi_turn_prompt": None,
        "max_retries": 1,
    }
    assert list(parameters)[1] == "rubrics"


def test_both_default_rubrics_have_five_levels():
    run(
        "from ragas.metrics import *\n"
        "for rubrics in (DEFAULT_REFERENCE_FREE_RUBRICS, DEFAULT_WITH_REFERENCE_RUBRICS):\n"
        "    assert list(rubrics) == [f'score{n}_description' for n in range(1, 6)]\n"
        "    assert len(set(rubrics.values())) == 5\n"
    )
