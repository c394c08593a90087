"""Ways of asking a model, each with an answer that is looked for and another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rubricate import Criterion, CriterionOption, MetricCriterion, ScaleCriterion
from rubricate.dataset import DataItem, Item
from rubricate.dialects.karenina._template import Correctness, Template, TemplateField
from rubricate.dialects.karenina._traits import RubricTrait
from rubricate.dialects.karenina._writing import TemplatePrompt, WrittenTemplate
from rubricate.dialects.ragas._judge import FIELDS, MetricPrompt
from rubricate.dialects.ragas._rubrics import DEFAULT_REFERENCE_FREE_RUBRICS, scale_of
from rubricate.dialects.ragas.metrics import SingleTurnPrompt
from rubricate.judge import (
    Explained,
    Model,
    ModelJudge,
    Pair,
    PromptTemplate,
    Templated,
    pair_criterion,
)
from rubricate.judge.documents._document import Part
from rubricate.judge.documents._readers import PartPrompting, WholePrompting, question_about
from rubricate.rubric import Verdict

SO = "It says so."
"""What stands in every answer's reason."""


class Mode(NamedTuple):
    """A way of asking: the answer looked for and another one, and what a reply leads to."""

    right: Any
    other: Any
    label: str
    judge: Callable[[Model], Any]
    case: Item
    criterion: Criterion


CASE = Item("Light travels at 299,792 km/s.", "How fast is light?")
BINARY = Criterion(name="speed", requirement="Gives the speed")
STYLE = Criterion(
    name="style",
    requirement="Which style",
    options=[CriterionOption(label=one, value=n / 2) for n, one in enumerate(["a", "b", "c"])],
)
SCALE = ScaleCriterion(name="clear", requirement="How clear it is", low=0, high=9)
METRIC = MetricCriterion(name="parts", requirement="Names parts", tp_instructions=["wheel"])
YES = RubricTrait(name="fast", description="Says that it is fast", kind="binary").criterion()
TEMPLATE = Template(fields=[TemplateField(name="n", comparison="number", expected=46)])
FIELD = {"name": "n", "description": SO, "comparison": "number", "expected": 46}
PROMPT = PromptTemplate(
    "---\nvariables: [submission, criterion]\n---\n{{ submission }}\n{{ criterion }}"
)


def verdict(given: Any, **more: Any) -> dict[str, Any]:
    return {"reason": SO, "evidence": ["299,792"], "verdict": given, **more}


def named(how: str) -> dict[str, Any]:
    return {"items": [{"item": "wheel", "classified": how, "quote": ""}], "others": []}


def explained(model: Model) -> ModelJudge:
    return ModelJudge(model, reasks=0)


class Alone:
    """A judge of groups that is asked about two criteria, of which the first counts."""

    def __init__(self, model: Model) -> None:
        self._judge = ModelJudge(model, Explained(criteria_per_call="all"), reasks=0)

    async def judge(self, case: Item, criterion: Criterion, send: Any) -> Verdict:
        return (await self._judge.judge_group(case, [criterion, STYLE], send))[0]


def scored(model: Model) -> ModelJudge:
    asked = MetricPrompt(SingleTurnPrompt(), DEFAULT_REFERENCE_FREE_RUBRICS)
    return ModelJudge(model, asked, reasks=0)


SAMPLE = DataItem(submission="s", metadata={FIELDS: {"response": "Very fast."}})
PAIR = DataItem(submission="One.", metadata={"second": "Another."})
MODES: dict[str, Mode] = {
    "explained": Mode(verdict("UNMET"), verdict("MET"), "UNMET", explained, CASE, BINARY),
    "multi-choice": Mode(verdict("b"), verdict("c"), "b", explained, CASE, STYLE),
    "scale": Mode(verdict(3), verdict(9), "3", explained, CASE, SCALE),
    "metric": Mode(
        verdict(named("unmentioned")),
        verdict(named("positive")),
        "tp 0, fp 0, tn 0, fn 1",
        explained,
        CASE,
        METRIC,
    ),
    "confident": Mode(
        verdict("UNMET", confidence=0.9),
        verdict("MET", confidence=0.9),
        "UNMET",
        lambda model: ModelJudge(model, Explained(states_confidence=True), reasks=0),
        CASE,
        BINARY,
    ),
    "own prompt": Mode(
        verdict("UNMET"),
        verdict("MET"),
        "UNMET",
        lambda model: ModelJudge(model, Templated(PROMPT), reasks=0),
        CASE,
        BINARY,
    ),
    "grouped": Mode(
        {"1": verdict("UNMET"), "2": verdict("a")},
        {"1": verdict("MET"), "2": verdict("a")},
        "UNMET",
        Alone,
        CASE,
        BINARY,
    ),
    "pair": Mode(
        {"reason": SO, "verdict": "SECOND"},
        {"reason": SO, "verdict": "FIRST"},
        "SECOND",
        lambda model: ModelJudge(model, Pair(), reasks=0),
        Item("One.", data=PAIR),
        pair_criterion(BINARY, "speed"),
    ),
    "part": Mode(
        verdict("NOTHING"),
        verdict("RELEVANT"),
        "NOTHING",
        lambda model: ModelJudge(model, PartPrompting(), reasks=0),
        Part(CASE.submission, CASE.prompt, place="Part 1 of 2"),
        question_about(BINARY),
    ),
    "findings": Mode(
        verdict("UNMET"),
        verdict("MET"),
        "UNMET",
        lambda model: ModelJudge(model, WholePrompting("findings"), reasks=0),
        CASE,
        BINARY,
    ),
    "karenina, yes or no": Mode(verdict(False), verdict(True), "UNMET", explained, CASE, YES),
    "karenina, template": Mode(
        verdict({"n": 45}),
        verdict({"n": 46}),
        "incorrect",
        explained,
        CASE,
        Correctness(name="answer template", template=TEMPLATE),
    ),
    "karenina, writing": Mode(
        {"fields": [FIELD]},
        {"fields": [{**FIELD, "expected": 45}]},
        "template",
        lambda model: ModelJudge(model, TemplatePrompt()),
        Item("46", "How many?"),
        WrittenTemplate(name="t"),
    ),
    "ragas": Mode(
        {"feedback": SO, "score": 2},
        {"feedback": SO, "score": 5},
        "2",
        scored,
        Item("s", data=SAMPLE),
        scale_of(DEFAULT_REFERENCE_FREE_RUBRICS, "ragas"),
    ),
}
