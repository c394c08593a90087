"""How easily a judge is talked into passing a wrong answer: attacks, beside clean controls.

    report = rubricate.redteam("openai/gpt-4.1-mini", run_dir="runs/redteam")
    print(report)

Every wrong answer of the suite (`judge/attacks/suite.yaml`) is judged as it is, and then under each
attack. An attack succeeds where it makes MET of what was judged UNMET without it.
"""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Iterator
from typing import Literal, Unpack, cast

from pydantic import BaseModel, ConfigDict

from rubricate._sync import run_sync
from rubricate.dataset import DataItem, RubricDataset
from rubricate.errors import InputError
from rubricate.grading import TIMEOUT, agrade
from rubricate.judge import (
    AttackedQuestion,
    Case,
    Judge,
    JudgeLike,
    Model,
    ModelJudge,
    Send,
    judge_or_model,
    load_attacks,
)
from rubricate.rubric import Criterion, CriterionVerdict, Rubric, Verdict
from rubricate.run import Result
from rubricate.streaming import AskingOptions, GradingOptions, check_options

__all__ = [
    "AttackFigures",
    "ControlFigures",
    "Defence",
    "DefenceFigures",
    "RedTeamOptions",
    "RedTeamReport",
    "aredteam",
    "redteam",
]

Defence = Literal["on", "off", "own"]
"""`on`: the prompt fences the text in and warns of what it may contain. `off`: the same prompt
without both. `own`: the judge is no language model, or has a prompt of its own."""

CRITERION = "right"
WRONG, RIGHT = "wrong answer", "right answer"
TOLD_TO_THE_JUDGE = ("base_url", "temperature", "timeout", "prices")


class RedTeamOptions(AskingOptions, total=False):
    """How to judge; the arguments of these names of `agrade`."""


class AttackFigures(BaseModel):
    """What came of one family of attacks. The first five numbers add up to all its texts."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    family: str
    succeeded: int
    """Attacked texts judged MET."""
    resisted: int
    """Attacked texts judged UNMET."""
    abstained: int
    """Attacked texts on which the judge could not tell."""
    failed: int
    """Attacked texts whose judgement could not be had."""
    without_control: int
    """Attacked texts whose wrong answer was not judged UNMET without the attack; they say nothing
    about the attack, and are in no other number."""
    n: int
    """`succeeded` + `resisted`."""
    rate: float | None
    """The attack success rate, `succeeded` / `n`, in [0, 1]; None for n = 0."""


class ControlFigures(BaseModel):
    """How clean answers were judged."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    control: str
    """`wrong answer` (UNMET is right) or `right answer` (MET is right)."""
    correct: int
    abstained: int
    failed: int
    n: int
    """How many were judged MET or UNMET."""
    accuracy: float | None
    """`correct` / `n`, in [0, 1]; None for n = 0."""


class DefenceFigures(BaseModel):
    """What attacks and controls came to, with the defence in one state."""

    model_config = ConfigDict(frozen=True)

    defence: Defence
    families: list[AttackFigures]
    all: AttackFigures
    controls: list[ControlFigures]


class RedTeamReport(BaseModel):
    """Attack success rates beside clean controls. `print` shows it as a table."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    judge: str
    note: str | None
    """What the judge says of itself, if anything."""
    questions: int
    """How many wrong answers were attacked."""
    defences: list[DefenceFigures]
    calls: int
    """Judgements made for this report."""
    known: int
    """Judgements read from journal and cache instead."""
    failed: int
    """Judgements that could not be had."""
    cost: float | None
    """US dollars; None where the price is not known."""

    def __str__(self) -> str:
        return "\n".join(_lines(self))


async def aredteam(
    judge: JudgeLike = None,
    *,
    limit: int | None = None,
    stop: asyncio.Event | None = None,
    **options: Unpack[RedTeamOptions],
) -> RedTeamReport:
    """Attack a judge with the suite that ships with the package.

    A language model (given by name, as a model or as a callable) is attacked twice, with the
    prompt's defence and without. A judge of another kind is attacked as it is.

    Args:
        judge: who is attacked, as for `agrade`.
        limit: use only so many of the suite's questions, from the first.
        stop: set this to end early and cleanly.
        options: those of `agrade` that concern how texts are judged. Into the same `run_dir`,
            nothing that has been judged is asked again.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged.
    """
    check_options(options, RedTeamOptions)
    questions = load_attacks().questions
    if limit is not None and limit < 1:
        raise InputError(f"the limit must be at least 1, found {limit}")
    questions = questions[:limit]
    chosen = judge_or_model(
        judge,
        base_url=options.get("base_url"),
        temperature=options.get("temperature", 0.0),
        timeout=options.get("timeout", TIMEOUT),
        prices=options.get("prices"),
    )
    attacked: Judge = _TwoPrompts(chosen) if isinstance(chosen, Model) else chosen
    defences: list[Defence] = ["on", "off"] if isinstance(chosen, Model) else ["own"]
    running = {key: value for key, value in options.items() if key not in TOLD_TO_THE_JUDGE}
    dataset = _dataset(questions, defences)
    try:
        result = await agrade(dataset, attacked, stop=stop, **cast(GradingOptions, running))
    finally:
        if not isinstance(judge, Judge | Model):
            await chosen.aclose()
    return _report(dataset, result, defences)


def redteam(
    judge: JudgeLike = None, *, limit: int | None = None, **options: Unpack[RedTeamOptions]
) -> RedTeamReport:
    """`aredteam` for plain code. Works in a script and inside a running loop (a notebook)."""

    async def whole() -> RedTeamReport:
        try:
            return await aredteam(judge, limit=limit, **options)
        finally:
            if isinstance(judge, Judge | Model):  # connections belong to the loop that now ends
                await judge.aclose()

    return run_sync(whole)


class _TwoPrompts:
    """A model, asked with the defence or without, as an item's metadata says."""

    note: str | None = None

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._model = model
        self._judges = {"on": ModelJudge(model), "off": ModelJudge(model, fenced=False)}

    def _for(self, case: Case) -> ModelJudge:
        assert case.item is not None
        return self._judges[case.item.metadata["defence"]]

    def key(self, case: Case, criterion: Criterion) -> str:
        return self._for(case).key(case, criterion)

    async def judge(self, case: Case, criterion: Criterion, send: Send) -> Verdict:
        return await self._for(case).judge(case, criterion, send)

    async def aclose(self) -> None:
        await self._model.aclose()


def _dataset(questions: tuple[AttackedQuestion, ...], defences: list[Defence]) -> RubricDataset:
    """All texts, labelled with what is right; the metadata say what each one is."""
    items = [
        DataItem(
            text,
            description=f"{question.name}: {kind}",
            ground_truth=[CriterionVerdict.MET if kind == RIGHT else CriterionVerdict.UNMET],
            rubric=Rubric([Criterion(name=CRITERION, requirement=question.requirement)]),
            reference_submission=question.reference,
            prompt=question.prompt,
            id=f"{question.name}/{kind} {number}/defence {defence}",
            metadata={"question": question.name, "kind": kind, "defence": defence},
        )
        for defence in defences
        for question in questions
        for kind, number, text in _texts(question)
    ]
    return RubricDataset("", None, items, name="redteam")


def _texts(question: AttackedQuestion) -> Iterator[tuple[str, int, str]]:
    """The controls and the attacked texts of a question, each with its kind and number."""
    yield WRONG, 1, question.wrong
    yield RIGHT, 1, question.right
    for family in load_attacks().families:
        for number, text in enumerate(family.attacked(question), start=1):
            yield family.name, number, text


Outcomes = dict[tuple[str, str], list[Verdict]]
"""The verdicts on a question's texts of a kind, by question and kind."""


def _report(dataset: RubricDataset, result: Result, defences: list[Defence]) -> RedTeamReport:
    by_defence: dict[str, Outcomes] = {defence: {} for defence in defences}
    for item in result:
        told = dataset.items[item.index].metadata
        outcomes = by_defence[told["defence"]]
        outcomes.setdefault((told["question"], told["kind"]), []).append(item.criteria[CRITERION])
    return RedTeamReport(
        judge=result.judge,
        note=result.note,
        questions=len({question for question, _ in by_defence[defences[0]]}),
        defences=[_figures(defence, by_defence[defence]) for defence in defences],
        calls=result.calls,
        known=result.resumed + result.cached,
        failed=result.failed,
        cost=result.usage.cost,
    )


def _figures(defence: Defence, outcomes: Outcomes) -> DefenceFigures:
    names = [family.name for family in load_attacks().families]
    sound = {
        question
        for (question, kind), (verdict, *_) in outcomes.items()
        if kind == WRONG and verdict.label == CriterionVerdict.UNMET
    }
    return DefenceFigures(
        defence=defence,
        families=[_attack_figures(name, [name], outcomes, sound) for name in names],
        all=_attack_figures("all", names, outcomes, sound),
        controls=[
            _control_figures(WRONG, CriterionVerdict.UNMET, outcomes),
            _control_figures(RIGHT, CriterionVerdict.MET, outcomes),
        ],
    )


def _attack_figures(
    family: str, names: list[str], outcomes: Outcomes, sound: set[str]
) -> AttackFigures:
    """Figures of the families with these names; `sound` has the questions with a control."""
    attacked = [
        (question in sound, verdict)
        for (question, kind), verdicts in outcomes.items()
        if kind in names
        for verdict in verdicts
    ]
    counted = [verdict for with_control, verdict in attacked if with_control]
    labels = [verdict.label for verdict in counted if verdict.status == "judged"]
    succeeded = labels.count(CriterionVerdict.MET)
    return AttackFigures(
        family=family,
        succeeded=succeeded,
        resisted=len(labels) - succeeded,
        abstained=_with_status("abstained", counted),
        failed=_with_status("failed", counted),
        without_control=len(attacked) - len(counted),
        n=len(labels),
        rate=succeeded / len(labels) if labels else None,
    )


def _control_figures(kind: str, right: CriterionVerdict, outcomes: Outcomes) -> ControlFigures:
    verdicts = [verdict for (_, k), found in outcomes.items() if k == kind for verdict in found]
    labels = [verdict.label for verdict in verdicts if verdict.status == "judged"]
    correct = labels.count(right)
    return ControlFigures(
        control=kind,
        correct=correct,
        abstained=_with_status("abstained", verdicts),
        failed=_with_status("failed", verdicts),
        n=len(labels),
        accuracy=correct / len(labels) if labels else None,
    )


def _with_status(status: str, verdicts: list[Verdict]) -> int:
    return sum(verdict.status == status for verdict in verdicts)


def _lines(report: RedTeamReport) -> Iterator[str]:
    """The report as a plain table, 80 characters wide."""
    yield f"{report.questions} wrong answers under attack, judged by {report.judge}"
    for figures in report.defences:
        yield ""
        yield _row("attack success" + _DEFENCES[figures.defence], *_ATTACK_COLUMNS)
        yield "─" * 80
        for row in (*figures.families, figures.all):
            cells = map(str, (row.n, row.abstained, row.failed, row.without_control))
            yield _row(row.family, _number(row.rate), *cells)
        yield ""
        yield _row("clean controls judged right", "accuracy", *_ATTACK_COLUMNS[1:4])
        yield "─" * 80
        for control in figures.controls:
            cells = map(str, (control.n, control.abstained, control.failed))
            yield _row(control.control, _number(control.accuracy), *cells)
    yield ""
    known = f" ({report.known} more not asked again)" if report.known else ""
    cost = "unknown" if report.cost is None else f"${report.cost:.4f}"
    yield f"calls {report.calls}{known}   failed {report.failed}   cost {cost}"
    if report.note is not None:
        yield from textwrap.wrap(report.note, 80)


_DEFENCES: dict[Defence, str] = {
    "on": ", defence on",
    "off": ", defence off",
    "own": "",
}
_ATTACK_COLUMNS = ("rate", "n", "abstained", "failed", "no control")


def _row(name: str, *cells: str) -> str:
    widths = (8, 5, 11, 8, 12)
    row = f"{name:<36}" + "".join(
        f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=False)
    )
    return row.rstrip()


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
