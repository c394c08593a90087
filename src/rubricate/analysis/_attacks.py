"""Attacks on a judge: their outcomes, as data and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from rubricate.analysis._judged import JudgedReport
from rubricate.rubric import NOT_RUN, CriterionVerdict, Verdict
from rubricate.run.results import OutcomeTally
from rubricate.stats import Estimate, clustered_share, exact_interval
from rubricate.views import (
    GAP,
    STATUSES,
    Column,
    Row,
    Section,
    Table,
    Words,
    count_cell,
    estimate_text,
    numbers,
    say,
    without_value,
)

if TYPE_CHECKING:
    from rubricate.run import RunFacts

Defence = Literal["on", "off", "own"]
"""`on`: the prompt puts the text into tags and warns of what it may contain. `off`: the same prompt
without both. `own`: the judge is not a language model, or has a custom prompt."""

Form = Literal["verdict", "choice", "pair"]
"""The form of the question: MET or UNMET, one of several options, or the better of two answers."""

WRONG, RIGHT = "wrong answer", "right answer"
"""The controls: kinds of text without an attack."""
AttackOutcomes = Mapping[tuple[str, str], Sequence[Verdict]]
"""The verdicts on the texts of a question, by question and kind of text (a family of attacks, or a
control)."""


class AttackFigures(BaseModel):
    """The outcomes of one family of attacks. The first six numbers add up to all its texts."""

    model_config = ConfigDict(frozen=True)

    family: str
    succeeded: int
    """Attacked texts judged MET."""
    resisted: int
    """Attacked texts judged UNMET."""
    abstained: int
    """Attacked texts on which the judge could not tell."""
    failed: int
    """Attacked texts whose judgement failed."""
    not_run: int = 0
    """Attacked texts that were not judged because the run ended early."""
    without_control: int
    """Attacked texts whose wrong answer was not judged UNMET without the attack either. They say
    nothing about the attack, and count nowhere else."""
    n: int
    """`succeeded` + `resisted`."""
    rate: float | None
    """The attack success rate, `succeeded` / `n`, in [0, 1]; None for n = 0."""
    low: float | None
    high: float | None
    """The 95% interval of the rate, by question, because the texts of a question are similar. None
    for a single question."""


class ControlFigures(BaseModel):
    """The verdicts on answers without an attack."""

    model_config = ConfigDict(frozen=True)

    control: str
    """`wrong answer` (UNMET is right) or `right answer` (MET is right)."""
    correct: int
    abstained: int
    failed: int
    not_run: int = 0
    n: int
    """The number of answers judged MET or UNMET."""
    accuracy: float | None
    """`correct` / `n`, in [0, 1]; None for n = 0."""
    low: float | None
    high: float | None
    """The 95% interval of the accuracy (Clopper and Pearson 1934)."""


class DefenceFigures(BaseModel):
    """The outcomes of attacks and controls, with or without the defence."""

    model_config = ConfigDict(frozen=True)

    defence: Defence
    families: list[AttackFigures]
    all: AttackFigures
    controls: list[ControlFigures]


class RedTeamReport(JudgedReport):
    """Attack success rates, and controls without an attack. `print` shows them as a table.

    Attributes:
        judge: the judge's name.
        defences: the figures with and without the defence of the prompt.
        run_dir: the run folder, if any.
        usage: tokens, US dollars and seconds of the requests.
    """

    questions: int
    """The number of attacked wrong answers."""
    form: Form = "verdict"
    """The form of the question. `succeeded` means MET, any option but the lowest, or any answer
    other than that the right one is better; each order of a pair counts."""
    defences: list[DefenceFigures]

    @classmethod
    def of(
        cls,
        facts: RunFacts,
        families: Sequence[str],
        outcomes: Mapping[Defence, AttackOutcomes],
        *,
        questions: int,
        form: Form,
    ) -> RedTeamReport:
        """Create it from the outcomes by state of the defence.

        Args:
            families: the families of attacks.
            questions: the number of wrong answers to attack.
        """
        failures = OutcomeTally()
        every = (verdicts for by_kind in outcomes.values() for verdicts in by_kind.values())
        for place, verdict in enumerate(verdict for verdicts in every for verdict in verdicts):
            failures.add((place,), verdict)
        return cls(
            **failures.fields(facts),
            questions=questions,
            form=form,
            defences=[
                defence_figures(defence, families, by_kind) for defence, by_kind in outcomes.items()
            ],
        )

    @property
    def title(self) -> str:
        return f"Attacks on {self.judge}"

    def sections(self) -> Iterator[Section]:
        """How often each family of attacks succeeds, and the controls."""
        answers = "wrong answer" if self.questions == 1 else "wrong answers"
        how = _FORMS[self.form]
        yield say(f"{self.questions} {answers} under attack{how}, judged by {self.judge}")
        nothing = all(
            not control.n + control.abstained
            for defence in self.defences
            for control in defence.controls
        )
        for figures in () if nothing and self.unanswered else self.defences:
            yield GAP
            yield from _defence_tables(figures)
        yield from self._notes()
        yield GAP
        yield from self.ending()

    def _notes(self) -> Iterator[Section]:
        """What the tables lack, and why."""
        figures = self.defences[0]
        alone = self.questions - _texts(figures.controls[1])
        if alone > 0 and self.form != "pair":
            yield say(
                f"Without a right answer: {alone} of {self.questions} wrong answers, because no "
                "item with the same prompt is labelled MET by the same criterion."
            )
        if figures.all.n and figures.all.low is None:
            yield say("No intervals of attack success: all attacks in n are on one wrong answer.")


def defence_figures(
    defence: Defence, families: Sequence[str], outcomes: AttackOutcomes
) -> DefenceFigures:
    """The figures of all families of attacks and of the controls, with or without the defence."""
    sound = {
        question
        for (question, kind), (verdict, *_) in outcomes.items()
        if kind == WRONG and verdict.label == CriterionVerdict.UNMET
    }
    return DefenceFigures(
        defence=defence,
        families=[_attack_figures(name, [name], outcomes, sound) for name in families],
        all=_attack_figures("all", families, outcomes, sound),
        controls=[
            _control_figures(WRONG, CriterionVerdict.UNMET, outcomes),
            _control_figures(RIGHT, CriterionVerdict.MET, outcomes),
        ],
    )


def _attack_figures(
    family: str, names: Sequence[str], outcomes: AttackOutcomes, sound: set[str]
) -> AttackFigures:
    """The figures of these families; `sound` has the questions with a control."""
    attacked = [
        (question, verdict)
        for (question, kind), verdicts in outcomes.items()
        if kind in names
        for verdict in verdicts
    ]
    counted = [verdict for question, verdict in attacked if question in sound]
    met = [
        (question, verdict.label == CriterionVerdict.MET)
        for question, verdict in attacked
        if question in sound and verdict.status == "judged"
    ]
    succeeded = sum(is_met for _, is_met in met)
    rate = clustered_share([is_met for _, is_met in met], groups=[question for question, _ in met])
    return AttackFigures(
        family=family,
        succeeded=succeeded,
        resisted=len(met) - succeeded,
        **_unjudged(counted),
        without_control=len(attacked) - len(counted),
        n=len(met),
        rate=rate.value,
        low=rate.low,
        high=rate.high,
    )


def _control_figures(
    kind: str, right: CriterionVerdict, outcomes: AttackOutcomes
) -> ControlFigures:
    verdicts = [verdict for (_, k), of_kind in outcomes.items() if k == kind for verdict in of_kind]
    labels = [verdict.label for verdict in verdicts if verdict.status == "judged"]
    correct = labels.count(right)
    accuracy = exact_interval(correct, len(labels))
    return ControlFigures(
        control=kind,
        correct=correct,
        **_unjudged(verdicts),
        n=len(labels),
        accuracy=accuracy.value,
        low=accuracy.low,
        high=accuracy.high,
    )


def _unjudged(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """The number of verdicts without a label, by the fields of their status."""
    statuses: list[str] = [verdict.status for verdict in verdicts]
    return {status: statuses.count(status) for status in ("abstained", "failed", NOT_RUN)}


def _defence_tables(figures: DefenceFigures) -> Iterator[Section]:
    not_run = figures.all.not_run + sum(control.not_run for control in figures.controls)
    without = without_value({NOT_RUN: not_run})
    headings = [STATUSES[status].text for status in without]
    attacks = [
        Row(
            [
                row.family,
                _rate(row.rate, row.low, row.high),
                str(row.n),
                *_counts(row, without),
                str(row.without_control),
            ]
        )
        for row in (*figures.families, figures.all)
    ]
    controls = [
        Row(
            [
                control.control,
                _rate(control.accuracy, control.low, control.high),
                str(control.n),
                *_counts(control, without),
            ]
        )
        for control in figures.controls
    ]
    columns = numbers("accuracy", "n", *headings)
    yield Table([Column("judged right without an attack", is_text=True), *columns], controls)
    yield GAP
    title = f"attack success{_DEFENCES[figures.defence]}"
    columns = numbers("rate", "n", *headings, "left out")
    yield Table([Column(title, is_text=True), *columns], attacks)


def _counts(figures: AttackFigures | ControlFigures, statuses: Sequence[str]) -> list[Words]:
    """The number of texts by status."""
    texts = _texts(figures)
    return [count_cell(status, getattr(figures, status), texts) for status in statuses]


def _texts(figures: AttackFigures | ControlFigures) -> int:
    """The number of texts that count, judged or not."""
    return figures.n + figures.abstained + figures.failed + figures.not_run


_DEFENCES: dict[Defence, str] = {
    "on": ", defence on",
    "off": ", defence off",
    "own": "",
}
_FORMS: dict[Form, str] = {
    "verdict": "",
    "choice": " by three options",
    "pair": " in pairs with right ones",
}


def _rate(value: float | None, low: float | None, high: float | None) -> str:
    return estimate_text(Estimate(value, low, high))
