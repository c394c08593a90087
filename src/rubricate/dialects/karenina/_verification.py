"""Verification: models answer and models judge, both on the engine.

Each answering model makes one run over the questions, and each parsing model one run over all
answers, each with its own journal. A failure in one run does not affect the others.
"""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from rubricate._files import user_path
from rubricate._spelling import did_you_mean
from rubricate.analysis import Result
from rubricate.dataset import DataItem, RubricDataset
from rubricate.dialects._options import DialectOptions, graded
from rubricate.dialects.karenina._models import ModelConfig, VerificationConfig
from rubricate.dialects.karenina._results import VerificationResult, VerificationResults
from rubricate.dialects.karenina._template import CORRECTNESS, Correctness
from rubricate.dialects.karenina._traits import Question, Trait
from rubricate.dialects.karenina._writing import (
    REPLICATE,
    AnswerPrompt,
    ParsingJudge,
    TemplatePrompt,
    WrittenAnswer,
    WrittenTemplate,
)
from rubricate.errors import InputError, RunStopped, check_type
from rubricate.judge import Judge, ModelJudge
from rubricate.rubric import Failure, Rubric, Verdict, score
from rubricate.run import ItemResult

_CODE = Failure(
    "template_is_code",
    "the file's template is Python code, which is not run; generate_all_templates writes one that "
    "is data",
)


@dataclass(frozen=True)
class Answered:
    """An answer to a question, with the traits to judge it by.

    The text is the `answer` of `verdict`, which is `failed` with the cause if there is none.
    `replicate` numbers the model's answers to the question from 1.
    """

    question: Question
    traits: Sequence[Trait]
    model: str
    verdict: Verdict
    replicate: int = 1


class TemplatesCall(DialectOptions, kw_only=False):
    """Arguments of `Benchmark.generate_all_templates`."""

    model_config: ModelConfig

    def check(self) -> None:
        check_type(self.model_config, ModelConfig, "a ModelConfig")


class VerificationCall(DialectOptions, kw_only=False):
    """Arguments of `Benchmark.run_verification` and `TaskEval.evaluate`."""

    config: VerificationConfig
    question_ids: Sequence[str] | None = None

    def check(self) -> None:
        check_type(self.config, VerificationConfig, "a VerificationConfig")

    def running(self) -> DialectOptions:
        """The options of the runs, by default with the configuration's number of workers."""
        workers = 1 if not self.config.async_enabled else self.config.async_max_workers
        return self.unless_set(concurrency=workers)


def check_config(
    questions: Sequence[tuple[Question, Sequence[Trait]]], config: VerificationConfig
) -> None:
    """Raise `InputError` if questions, their traits and a configuration do not fit together."""
    known = {trait.name for _, traits in questions for trait in traits}
    for name in config.rubric_trait_names or ():
        if name not in known:
            raise InputError(
                f"rubric_trait_names: there is no trait '{name}'{did_you_mean(name, known)}"
            )
    for question, traits in questions:
        for trait in _chosen(traits, config):
            trait.criterion_for(question.raw_answer)
    for model in config.parsing_models:
        model.model()  # this also checks for missing keys


def _chosen(traits: Sequence[Trait], config: VerificationConfig) -> list[Trait]:
    """Return the traits that a configuration selects."""
    if config.evaluation_mode == "template_only":
        return []
    names = config.rubric_trait_names
    return [trait for trait in traits if names is None or trait.name in names]


async def templates(
    questions: Sequence[Question], config: ModelConfig, options: DialectOptions
) -> list[Verdict]:
    """Let a model write a template for each question, as the `answer` of a verdict.

    Raises:
        RunStopped: the model cannot be reached.
    """
    rubric = Rubric([WrittenTemplate(name="template")])
    items = [_item_to_write(rubric, question, question.raw_answer) for question in questions]
    writer = ModelJudge(config.model(), TemplatePrompt(), name=config.id)
    (result,) = await _graded(items, [writer], "templates", options)
    if result.stopped is not None:
        raise RunStopped(result.stopped, result=result)
    return [item.criteria["template"] for item in result.items]


async def answers(
    questions: Sequence[tuple[Question, Sequence[Trait]]],
    config: VerificationConfig,
    options: DialectOptions,
) -> tuple[list[Answered], dict[str, str]]:
    """Let each model answer all questions; the answers are by question, then by model.

    Returns:
        The answers, and the models that stopped early with the reason.

    Raises:
        InputError: there is no answering model, or an answer written by hand is missing.
        RunStopped: no model answered anything.
    """
    models = config.answering_models
    if not models:
        raise InputError("answering_models: at least one model is needed to answer, found none")
    questions_asked = [question for question, _ in questions]
    by_hand = {
        model.id: _manual_answers(model, questions_asked)
        for model in models
        if model.interface == "manual"
    }
    writers = [
        ModelJudge(model.model(), AnswerPrompt(model.system_prompt), name=model.id)
        for model in models
        if model.id not in by_hand
    ]
    times = range(1, config.replicate_count + 1)
    rubric = Rubric([WrittenAnswer(name="answer")])
    items = [
        _item_to_write(rubric, question, question.question, number)
        for number in times
        for question in questions_asked
    ]
    runs = await _graded(items, writers, "answers", options) if writers else []
    if runs and not by_hand and all(run.stopped and run.failed == len(items) for run in runs):
        raise RunStopped(str(runs[0].stopped), result=runs[0])
    written = {writer.name: run for writer, run in zip(writers, runs, strict=True)}
    answered = []
    for position, (question, traits) in enumerate(questions):
        for model in models:
            for number in times:
                if model.id in by_hand:
                    verdict = by_hand[model.id][position]
                else:
                    run = written[model.id]
                    item = run.items[(number - 1) * len(questions_asked) + position]
                    verdict = _explained(item, "answer", run)
                answered.append(Answered(question, traits, model.id, verdict, number))
    return answered, _stopped("answering", writers, runs)


def _manual_answers(model: ModelConfig, questions: Sequence[Question]) -> list[Verdict]:
    """Return the answers written by hand, in the order of the questions."""
    traces = [model.manual_traces.of(question.question) for question in questions]
    missing = [
        question.question
        for question, trace in zip(questions, traces, strict=True)
        if trace is None
    ]
    if missing:
        raise InputError(
            f"manual_traces: {len(missing)} of {len(questions)} questions have no answer, first: "
            f"'{textwrap.shorten(missing[0], 60, placeholder='...')}'"
        )
    return [Verdict("answer", "judged", "answered", 1.0, answer=trace) for trace in traces]


async def judgements(
    answered: Sequence[Answered],
    config: VerificationConfig,
    options: DialectOptions,
) -> VerificationResults:
    """Let each parsing model judge all answers: correctness first, then the traits."""
    by_template = config.evaluation_mode != "rubric_only"
    answered = [replace(answer, traits=_chosen(answer.traits, config)) for answer in answered]
    rubrics = _rubrics(answered, by_template)
    items: dict[int, DataItem] = {}
    for position, (answer, rubric) in enumerate(zip(answered, rubrics, strict=True)):
        if answer.verdict.status == "judged" and rubric is not None:
            again = "" if answer.replicate == 1 else f" #{answer.replicate}"
            items[position] = DataItem(
                str(answer.verdict.answer),
                f"{answer.model}: {answer.question.question}",
                rubric=rubric,
                id=f"{answer.question.id} {answer.model}{again}",
                prompt=answer.question.question,
                metadata=_numbered(answer.replicate),
            )
    judges = [ParsingJudge(model.model(), name=model.id) for model in config.parsing_models]
    runs = await _graded(list(items.values()), judges, "judgements", options) if items else []
    at = {position: index for index, position in enumerate(items)}
    results = []
    for position, answer in enumerate(answered):
        for index, judge in enumerate(judges):
            verdicts: dict[str, Verdict] = {}
            if position in at:
                run = runs[index]
                item = run.items[at[position]]
                verdicts = {name: _explained(item, name, run) for name in item.criteria}
            elif answer.verdict.error is not None:
                verdicts = _failed_without_answer(rubrics[position], answer.verdict.error)
            correctness = verdicts.pop(CORRECTNESS, None) or _missing_template(answer, by_template)
            result = _result(answer, judge.name, verdicts, rubrics[position])
            results.append(replace(result, correctness=correctness))
    return VerificationResults(tuple(results), _stopped("parsing", judges, runs))


def _numbered(replicate: int) -> dict[str, Any]:
    return {} if replicate == 1 else {REPLICATE: replicate}


def _rubrics(answered: Sequence[Answered], by_template: bool) -> list[Rubric | None]:
    """Return the rubric of each answer, one object for equal ones; None for nothing to judge."""
    rubrics: dict[tuple[object, ...], Rubric | None] = {}
    for answer in answered:
        key = _rubric_key(answer)
        if key not in rubrics:
            template = answer.question.template if by_template else None
            right = answer.question.raw_answer
            criteria = [trait.criterion_for(right) for trait in answer.traits]
            if template is not None:
                correctness = Correctness(name=CORRECTNESS, weight=0.0, template=template)
                criteria.insert(0, correctness)
            rubrics[key] = Rubric(criteria) if criteria else None
    return [rubrics[_rubric_key(answer)] for answer in answered]


def _rubric_key(answer: Answered) -> tuple[object, ...]:
    shown = any(getattr(trait, "include_ground_truth", False) for trait in answer.traits)
    right = answer.question.raw_answer if shown else None
    return (right, id(answer.question.template), *map(id, answer.traits))


def _result(
    answer: Answered, judge: str, verdicts: dict[str, Verdict], rubric: Rubric | None
) -> VerificationResult:
    traits = [criterion for criterion in rubric or () if criterion.name != CORRECTNESS]
    return VerificationResult(
        question=answer.question,
        answering_model=answer.model,
        parsing_model=judge,
        answered=answer.verdict,
        correctness=None,
        verdicts=verdicts,
        kinds={trait.name: trait.outcome for trait in answer.traits},
        score=score(traits, [verdicts[trait.name] for trait in traits]),
        replicate=answer.replicate,
        classes={trait.name: trait.class_names for trait in answer.traits if trait.class_names},
    )


def _missing_template(answer: Answered, by_template: bool) -> Verdict | None:
    """Return a failed verdict on correctness if a required template is missing."""
    question = answer.question
    if not by_template or question.template is not None:
        return None
    cause = question.template_failure or (_CODE if question.template_code else None)
    return Verdict(CORRECTNESS, "failed", error=cause) if cause else None


def _failed_without_answer(rubric: Rubric | None, cause: Failure) -> dict[str, Verdict]:
    failure = Failure("no_answer", f"there is no answer to judge: {cause.kind}: {cause.message}")
    names = rubric.names if rubric else ()
    return {name: Verdict(name, "failed", error=failure) for name in names}


def _explained(item: ItemResult, name: str, run: Result) -> Verdict:
    """Return a verdict. If the run ended before it was judged, add why the run ended."""
    verdict = item.criteria[name]
    if run.stopped is None or verdict.error is None or verdict.status != "not_run":
        return verdict
    failure = Failure("not_run", f"{verdict.error.message}: {run.stopped}")
    return replace(verdict, error=failure)


def _stopped(what: str, judges: Sequence[Judge], runs: Sequence[Result]) -> dict[str, str]:
    pairs = zip(judges, runs, strict=False)
    return {f"{what} {judge.name}": run.stopped for judge, run in pairs if run.stopped}


def _item_to_write(rubric: Rubric, question: Question, text: str, number: int = 1) -> DataItem:
    return DataItem(
        text,
        rubric=rubric,
        id=question.id if number == 1 else f"{question.id} #{number}",
        prompt=question.question,
        metadata=_numbered(number),
    )


async def _graded(
    items: list[DataItem], judges: Sequence[Judge], stage: str, options: DialectOptions
) -> list[Result]:
    """Run all judges concurrently, and return the result of each; the first error ends all runs.

    The runs share `concurrency`, with at least one request each.
    """
    share = max(1, options.concurrency // len(judges))

    async def run(judge: Judge) -> Result:
        name = f"{stage}-{quote(judge.name, safe=' ')}"
        folder = None if options.run_dir is None else user_path(options.run_dir) / name
        run_options = options.changed(run_dir=folder, concurrency=share)
        try:
            return await graded(RubricDataset("", items=items), judge, run_options)
        except RunStopped as stopped:  # a model failed, but the verdicts so far are a result, too
            result: Result = stopped.result
            return result
        finally:
            await judge.aclose()

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run(judge)) for judge in judges]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]
