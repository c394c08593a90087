"""The public names as a user writes them; checked by mypy, never run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import pandas
import polars

import rubricate
from rubricate import (
    ContextDocument,
    Criterion,
    CriterionOption,
    CriterionVerdict,
    DataItem,
    FinishedRun,
    Gate,
    Group,
    HTTPModel,
    ItemResult,
    LengthPenalty,
    Model,
    ModelJudge,
    PairReport,
    Panel,
    PythonModel,
    RedTeamReport,
    Result,
    Rubric,
    RubricDataset,
    Score,
    Transcript,
    Usage,
    Verdict,
)
from rubricate.analysis import (
    GateOutcome,
    PairResult,
    PairSummary,
    agreement_report,
    compare_runs,
    read_run,
)
from rubricate.dataset import Item, LabelFile, NewLabel, open_label_file, read_table
from rubricate.dialects import autorubric
from rubricate.dialects.autorubric.graders import CriterionGrader, JudgeSpec
from rubricate.dialects.karenina import Benchmark
from rubricate.dialects.karenina import schemas as karenina
from rubricate.dialects.ragas import (
    EvaluationResult,
    RubricsScore,
    SingleTurnSample,
    evaluate,
)
from rubricate.dialects.ragas.metrics import SingleTurnPrompt
from rubricate.judge import (
    Completion,
    Conversation,
    Message,
    Probability,
    Prompting,
    Reply,
    Request,
    status_error,
)
from rubricate.labelling import LabelServer, LabelSession
from rubricate.report import ReportPage, write_report
from rubricate.run import RunEstimate
from rubricate.run.results import Summary
from rubricate.stats import LabelAgreement, label_agreement, score_agreement
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint, assert_rubric
from rubricate.views import Picture


def answer(messages: list[Message]) -> str:
    return messages[-1]["content"]


rubric = Rubric(
    [
        Criterion(name="a", weight=1.0, requirement="r", extra={"source": "a paper"}),
        Criterion(
            requirement="r",
            scale_type="ordinal",
            options=(
                CriterionOption(label="no", value=0.0),
                CriterionOption(label="yes", value=1.0),
            ),
        ),
    ],
    guidelines="g",
)
tree = Rubric(
    [
        Criterion(name="runs", requirement="It runs"),
        Group(
            name="results",
            weight=2.0,
            requires=(Gate(criterion="runs", label="MET"),),
            criteria=(Criterion(name="fast", requirement="It is fast"),),
        ),
    ]
)
assert_type(tree.criteria, tuple[Criterion, ...])
assert_type(tree.groups, dict[str, Group])
assert_type(rubric[1].name, str)
assert_type(rubric.by_name, dict[str, Criterion])
dataset = RubricDataset(prompt="p", rubric=rubric, items=[DataItem("s", "d")])
dataset.add_item("s", "d", [CriterionVerdict.MET, "yes"], id="one", prompt="another")
train, test = dataset.split_train_test(1, seed=1)
assert_type(train, RubricDataset)

result = rubricate.grade(dataset, judge="openai/gpt-4.1-mini", run_dir=Path("run"), limit=1)
assert_type(result, Result)
assert_type(result.summary(), Summary)
assert_type(result.items[0].criteria["a"], Verdict)
assert_type(result.items[0].criteria["a"].probability, float | None)
assert_type(result.items[0].score, Score)
assert_type(result.items[0].score.value, float | None)
assert_type(rubricate.grade_one(rubric, "s", prompt="p", reference="r", judge=answer), ItemResult)
rubricate.grade(dataset, PythonModel(answer, name="mine"))
assert_type(rubricate.redteam("m", limit=1, run_dir=Path("run")), RedTeamReport)
rubricate.grade(dataset, ModelJudge(HTTPModel("m", base_url="http://localhost/v1"), reasks=1))


async def grade() -> None:
    assert_type(await rubricate.agrade(dataset, stop=asyncio.Event()), Result)
    assert_type(await rubricate.aredteam(answer, stop=asyncio.Event()), RedTeamReport)
    assert_type(await rubricate.agrade_one(rubric, "s", temperature=None), ItemResult)
    async with rubricate.agrade_stream(dataset, stop=asyncio.Event(), limit=1) as stream:
        async for item in stream:
            assert_type(item, ItemResult)
    assert_type(stream.summary(), Summary)
    async with rubricate.acompare_pair_stream(dataset, dataset, judge=answer) as comparing:
        async for pair in comparing:
            assert_type(pair.index, int)
    assert_type(comparing.summary(), PairSummary)


for item in rubricate.grade_stream(read_table("t.csv", rubric), answer, run_dir="run"):
    assert_type(item, ItemResult)


metric = RubricsScore(rubrics={"0": "no", "1": "yes"}, llm=answer)
metric.llm = HTTPModel("m", base_url="http://localhost/v1")
metric.single_turn_prompt = SingleTurnPrompt(instruction="i")
assert_type(metric.single_turn_score(SingleTurnSample(response="r")), int | float)
evaluated = evaluate([SingleTurnSample(response="r")], [metric], run_dir="run", concurrency=4)
assert_type(evaluated, EvaluationResult)
assert_type(evaluated["domain_specific_rubrics"], list[int | float])
assert_type(evaluated.means["domain_specific_rubrics"].mean, float | None)


def respond(request: JudgeRequest) -> Rule | None:
    return Rule(verdict="MET") if request.submission else None


with ScriptedEndpoint([Rule(status=500, times=1)], respond=respond) as endpoint:
    assert_type(endpoint.url, str)

benchmark = Benchmark.create(name="b")
traits = [
    karenina.RubricTrait(name="a", description="d", kind="score"),
    karenina.ManualRubricTrait(name="b", pattern=r"\d", case_sensitive=False, invert=False),
    karenina.MetricRubricTrait(name="c", metrics=["precision"], tp_instructions=["x"]),
]
benchmark.add_question(question="q", raw_answer="a", rubric=karenina.Rubric("r", traits=traits))
benchmark.add_global_rubric_trait(
    karenina.LLMRubricTrait(name="d", kind="literal", classes={"a": "x", "b": "y"})
)
benchmark.set_global_rubric(
    karenina.Rubric(
        llm_traits=[karenina.LLMRubricTrait(name="e", kind="boolean", higher_is_better=None)],
        regex_traits=[karenina.RegexTrait(name="f", pattern="x")],
        callable_traits=[
            karenina.CallableTrait.from_callable("g", lambda text: text.isupper(), kind="boolean")
        ],
    )
)
assert_type(benchmark.get_question_ids(), list[str])
model = karenina.ModelConfig(
    id="m", model_provider="openai", model_name="m", temperature=0.1, interface="langchain"
)
benchmark.generate_all_templates(model_config=model)
verification = benchmark.run_verification(
    karenina.VerificationConfig(answering_models=[model], parsing_models=[model])
)
assert_type(verification[0].rubric_scores, dict[str, int | bool])
assert_type(verification[0].rubric_labels, dict[str, str])
assert_type(verification[0].callable_rubric_results, dict[str, bool | int | float])
benchmark.run_verification(
    karenina.VerificationConfig(parsing_models=[model], replicate_count=2),
    question_ids=["q"],
)
assert_type(verification[0].metric_rubric_results, dict[str, dict[str, float]])
assert_type(verification[0].correct, bool | None)

sure = ModelJudge(
    HTTPModel("m", base_url="http://localhost/v1"), Probability(correct_prior=False, samples=3)
)
assert_type(rubricate.grade_one(rubric, "text", judge=Panel([sure, answer])), ItemResult)
rubricate.grade(dataset, "openai/gpt-4.1-mini", mode="probability", permutations=4, shuffle=1)
panel = Panel(["builtin", answer], strategy="any", weights=None, min_votes=1)
assert_type(rubricate.grade_one(rubric, "text", judge=panel), ItemResult)
assert_type(
    rubricate.grade_one(rubric, "text", judge=["builtin"], replicates=2).judge_scores,
    Mapping[str, Score],
)
talk = Transcript([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}])
passages: list[str | ContextDocument] = ["text", ContextDocument("text", title="title")]
assert_type(
    rubricate.grade_one(rubric, talk, context=passages, judge_prompt="own.jinja"), ItemResult
)
DataItem(talk, context=[ContextDocument("text")])
Criterion(name="c", requirement="x", note="y")
pairs = rubricate.compare_pair("a", "b", rubric=rubric, judge=["openai/gpt", answer], replicates=2)
assert_type(pairs, PairReport)
assert_type(pairs.overall.win_rate, float | None)
assert_type(rubricate.estimate_pair("a", "b", rubric=rubric, judge=answer), RunEstimate)
assert_type(rubricate.estimate_redteam("m", limit=1), RunEstimate)
for pair in rubricate.compare_pair_stream(dataset, dataset, judge=answer, run_dir="run"):
    assert_type(pair, PairResult)
assert_type(rubricate.compare_pair(dataset, dataset, judge=answer).pairs, int)
assert_type(LengthPenalty(max_cap=9000).of("text"), float)


def trust() -> None:
    """Statistics on plain lists, and reports on finished runs."""
    found = label_agreement(["MET", None], ["MET", "UNMET"], groups=["a", "b"])
    assert_type(found, LabelAgreement)
    assert_type(found.figures["cohen_kappa"].value, float | None)
    assert_type(score_agreement([1, 2.5, None], [1, 2, 3]).n, int)
    comparison = compare_runs(read_run("before"), read_run(Path("after")))
    assert_type(comparison.gate(margin=0.02).outcome, GateOutcome)
    assert_type(agreement_report(read_run("after")).items, int)
    assert_type(agreement_report(result).items, int)
    assert_type(compare_runs(result, result).gate(margin=0.02).outcome, GateOutcome)


def pages() -> None:
    """The report page, and labels on their way into a file."""
    assert_type(write_report("run", compare=Path("other")), ReportPage)
    file = open_label_file("answers.csv", rubric)
    assert_type(file, LabelFile)
    file.apply([NewLabel("1", "ann", "a", "MET"), NewLabel("1", "ann", "b", None)])
    LabelServer(LabelSession(file, run="run", order="uncertainty"), annotator="ann")


def tables() -> None:
    """Verdicts as tables and plots, and assertions on texts."""
    run = rubricate.read_run("run")
    assert_type(run, FinishedRun)
    assert_type(run.to_pandas(by="item"), pandas.DataFrame)
    assert_type(result.to_polars(), polars.DataFrame)
    assert_type(run.to_csv("t.csv", raw_cells=True), int)
    assert_type(run.to_parquet(Path("t.parquet"), by="item"), int)
    assert_type(result.plot.scores("scores.svg"), Picture)
    assert_type(assert_rubric("text", rubric, min_score=0.5, require=["a"]), ItemResult)
    assert_type(assert_rubric("text", "rubric.yaml", require={"a": 0.5}, judge="m"), ItemResult)


class OwnModel(Model):
    repeatable = True

    def __init__(self) -> None:
        self.name, self.endpoint = "own", "http://own"

    def fingerprint(self) -> dict[str, Any]:
        return {"model": self.name}

    async def complete(self, request: Request) -> Completion:
        raise status_error(429, b"", {"retry-after": "3"})

    def count_tokens(self, text: str) -> int:
        return len(text)

    def price(self, usage: Usage) -> float:
        return 0.0


class OwnWay(Prompting):
    version = "own"
    asks_several = True

    def request(self, item: Item, criterion: Criterion) -> Request:
        return Request(({"role": "user", "content": item.submission},), None)

    async def answer(self, item: Item, criterion: Criterion, conversation: Conversation) -> Reply:
        request = self.request(item, criterion)
        return await conversation.ask(request, self.read, self.correction)


Panel([ModelJudge(OwnModel(), OwnWay(), reasks=1), ModelJudge(OwnModel(), Probability(samples=3))])
rubricate.grade(dataset, OwnModel(), model_options=None)
rubricate.grade(dataset, "openai/o4-mini", model_options={"reasoning_effort": "high"})


async def autorubrics_program() -> None:
    config = autorubric.LLMConfig("openai/gpt-4.1-mini", thinking=autorubric.ThinkingLevel.LOW)
    grader = CriterionGrader(judges=[JudgeSpec(config, "a"), JudgeSpec(config, "b", weight=2.0)])
    own = autorubric.Rubric([autorubric.Criterion(requirement="x")], guidelines="g")
    assert_type(own, autorubric.Rubric)
    report = await own.grade(to_grade="text", grader=grader, query="prompt")
    assert_type(report, autorubric.EnsembleEvaluationReport)
    assert_type(report.report[0].final_verdict, autorubric.CriterionVerdict | None)
    data = autorubric.RubricDataset.from_file("data.json")
    assert_type(data, autorubric.RubricDataset)
    done = await autorubric.evaluate(data, grader, experiment_name="e")
    assert_type(done.get_scores(), list[float])
    assert_type(done.compute_metrics(data).criterion_accuracy, float | None)
