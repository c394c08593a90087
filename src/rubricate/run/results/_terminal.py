"""The summary on a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubricate._terminal import console
from rubricate.run.results._advice import advice
from rubricate.run.results._documents import DocumentWork
from rubricate.views import (
    NONE,
    dollars,
    figure,
    percent,
    plain_table,
    stratified_text,
    weight_text,
)

if TYPE_CHECKING:
    from rubricate.run.results._summary import (
        AgreementFigures,
        CertificateFigures,
        CriterionFigures,
        JudgeFigures,
        Summary,
        UsageFigures,
    )

__all__ = ["as_text", "summary_view"]

AGREEMENT = ("accuracy", "kappa", "n")
"""The columns that there are where people labelled."""
STRATIFIED = ("accuracy", "stratified kappa", "n")
"""Those of figures over several criteria."""


def as_text(summary: Summary, width: int = 100) -> str:
    """The view without colours, `width` characters wide."""
    view = console(
        file=io.StringIO(),
        width=width,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,  # else it is shown in the notebook, and nothing is written here
    )
    view.print(summary_view(summary))
    text = view.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def summary_view(summary: Summary) -> RenderableType:
    """The table of criteria, with the run's figures below."""
    parts = _tables(summary)
    parts.append(_figures(summary))
    for voter in summary.judges:
        if voter.first_error is not None and not _is_told(voter.first_error, summary):
            share = f"{voter.votes['failed']} of {sum(voter.votes.values())} votes failed"
            line = f"judge {voter.name}: {share}; the first: {voter.first_error}"
            parts.append(Text(line, style="red"))
    parts += [Text(line, style="yellow") for line in _quotes(summary)]
    if summary.first_abstention is not None:
        count = summary.verdicts["abstained"]
        parts.append(Text(f"Abstained {count} times; first, on {summary.first_abstention}"))
    if summary.warnings:
        kinds = ", ".join(f"{kind} {count}" for kind, count in summary.warnings.items())
        parts.append(Text(f"Items with a warning: {kinds}", style="yellow"))
        parts.append(Text(f"First warning: {summary.first_warning}", style="yellow"))
    if summary.stopped is not None:
        parts.append(Text(f"Stopped early: {summary.stopped}", style="bold red"))
    if summary.first_error is not None:
        causes = ", ".join(f"{kind} {count}" for kind, count in summary.errors.items())
        parts.append(Text(f"Failed verdicts by cause: {causes}", style="red"))
        if not _is_told(summary.first_error, summary):
            parts.append(Text(f"First failure: {summary.first_error}", style="red"))
        parts += [Text(line, style="yellow") for line in advice(summary.errors)]
    if summary.certificate is not None:
        parts.append(_certificate(summary.certificate))
    if summary.note is not None:
        parts.append(Text(summary.note, style="dim"))
    return Group(*parts)


def _tables(summary: Summary) -> list[RenderableType]:
    """The tables of criteria, judges and stages; where nothing was judged they had only dashes."""
    if summary.nothing_judged:
        told = f"Nothing was judged: all {summary.verdicts['failed']} verdicts failed."
        return [Text(_heading(summary), style="bold"), Text(told, style="bold red"), Text()]
    parts: list[RenderableType] = [_criteria_table(summary), Text()]
    if summary.judges:
        parts += [_judges_table(summary), Text()]
    if summary.stages:
        parts += [_stages_table(summary), Text()]
    return parts


def _is_told(error: str, summary: Summary) -> bool:
    """Whether an error is the one that ended the run, which is told as such."""
    return summary.stopped is not None and error.endswith(summary.stopped)


def _quotes(summary: Summary) -> Iterator[str]:
    """What is to be said of the judges' quotes."""
    for judge in summary.invented_quotes:
        share = f"{judge.invented} of {judge.quotes} quotes are not in the submission"
        yield f"judge {judge.judge}: {share}: trust its reasons less"
    if summary.asked_again_for_evidence or summary.abstained_for_evidence:
        yield (
            "asked again because what is quoted is not in the submission: "
            f"{summary.asked_again_for_evidence}; abstained for want of evidence: "
            f"{summary.abstained_for_evidence}"
        )


def _certificate(figures: CertificateFigures) -> Text:
    if figures.holds:
        return Text(f"Certificate {figures.file}: judge, prompt and rubric are as certified")
    what = "; ".join(figures.differences)
    return Text(f"Certificate {figures.file} does not hold: {what}", style="bold red")


def _heading(summary: Summary) -> str:
    name, criteria = summary.dataset or "dataset", len(summary.criteria)
    return f"{name}: {summary.items} items x {criteria} criteria, judged by {summary.judge}"


def _criteria_table(summary: Summary) -> Table:
    table = plain_table(_heading(summary))
    table.add_column("criterion", overflow="fold")
    table.add_column("weight", justify="right")
    answers = any(not figures.binary for figures in summary.criteria)
    if answers:
        table.add_column("answers", overflow="fold")
    else:
        table.add_column("met", justify="right", style="green")
        table.add_column("unmet", justify="right")
    votes = ("agree",) if summary.judges else ()
    agreement = AGREEMENT if summary.agreement is not None else ()
    for heading in ("abstained", "failed", "value", *votes, *agreement):
        table.add_column(heading, justify="right")
    for figures in summary.criteria:
        row = _criterion_row(figures, answers, bool(votes))
        if agreement:
            row += _agreement_cells(figures.agreement)
        table.add_row(*row)
    if len(summary.criteria) > 1:
        table.add_section()
        table.add_row(*_total_row(summary, answers), style="bold")
    return table


def _judges_table(summary: Summary) -> Table:
    table = plain_table()
    table.add_column("judge", overflow="fold")
    weighted = any(figures.weight is not None for figures in summary.judges)
    labelled = any(figures.agreement is not None for figures in summary.judges)
    voted = ("weight",) if weighted else ()
    agreement = _headings(summary) if labelled else ()
    for heading in (*voted, "votes", "abstained", "failed", "as verdict", "score alone"):
        table.add_column(heading, justify="right", overflow="fold")
    for heading in agreement:
        table.add_column(heading, justify="right", overflow="fold", max_width=10)
    for figures in summary.judges:
        votes = figures.votes
        table.add_row(
            Text(figures.name),
            *([figure(figures.weight)] if weighted else []),
            str(votes["judged"] + votes["not_applicable"]),
            str(votes["abstained"]),
            _failed(votes["failed"]),
            figure(figures.with_verdict),
            _alone(figures, summary.score.scored),
            *(_agreement_cells(figures.agreement) if labelled else []),
        )
    return table


def _stages_table(summary: Summary) -> Table:
    table = plain_table()
    table.add_column("stage", overflow="fold")
    labelled = any(figures.agreement is not None for figures in summary.stages)
    for heading in (
        "threshold",
        "asked",
        "decided",
        "cost",
        *(_headings(summary) if labelled else ()),
    ):
        table.add_column(heading, justify="right", max_width=10)
    for place, figures in enumerate(summary.stages, start=1):
        table.add_row(
            Text(f"{place} {figures.name}"),
            figure(figures.threshold),
            str(figures.asked),
            str(figures.decided),
            dollars(figures.cost),
            *(_agreement_cells(figures.agreement) if labelled else []),
        )
    return table


def _criterion_row(figures: CriterionFigures, answers: bool, votes: bool) -> list[str | Text]:
    row: list[str | Text] = [Text(figures.name), weight_text(figures.weight, figures.weight_range)]
    if answers:
        shown = [
            f"{label} {count}"
            for label, count in figures.labels.items()
            if label != "CANNOT_ASSESS"
        ]
        row.append(Text("; ".join(shown) or NONE))
    else:
        row += [str(figures.labels.get("MET", 0)), str(figures.labels.get("UNMET", 0))]
    row += [str(figures.abstained), _failed(figures.failed), figure(figures.value)]
    if votes:
        row.append(figure(figures.judges_agree))
    return row


def _total_row(summary: Summary, answers: bool) -> list[str | Text]:
    met = sum(figures.labels.get("MET", 0) for figures in summary.criteria)
    unmet = sum(figures.labels.get("UNMET", 0) for figures in summary.criteria)
    row: list[str | Text] = ["all, stratified" if _is_stratified(summary) else "all", ""]
    row += [""] if answers else [str(met), str(unmet)]
    counts = summary.verdicts
    row += [str(counts["abstained"]), _failed(counts["failed"]), ""]
    if summary.judges:
        row.append("")
    return row if summary.agreement is None else row + _agreement_cells(summary.agreement)


def _agreement_cells(figures: AgreementFigures | None) -> list[str | Text]:
    if figures is None:
        return [NONE, NONE, NONE]
    return [figure(figures.accuracy), figure(figures.kappa), str(figures.n)]


def _is_stratified(summary: Summary) -> bool:
    return summary.stratified is not None


def _headings(summary: Summary) -> tuple[str, ...]:
    return STRATIFIED if _is_stratified(summary) else AGREEMENT


def _alone(judge: JudgeFigures, scored: int) -> str:
    """A judge's own mean score; of how many items, where these are not those of the score above."""
    text = figure(judge.score)
    return text if judge.score is None or judge.scored == scored else f"{text} (n {judge.scored})"


def _figures(summary: Summary) -> Table:
    usage = summary.usage
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    if not summary.nothing_judged:
        for name, text in _score_rows(summary):
            table.add_row(name, text)
    if summary.calibration is not None:
        done = summary.calibration
        table.add_row(
            "calibration",
            Text(f"{done.map}: {done.applied} probabilities, {done.changed} labels changed"),
        )
    if summary.strategies and not summary.nothing_judged:
        ways = ", ".join(f"{name} {value}" for name, value in summary.strategies.items())
        tied = sum(figures.tied for figures in summary.criteria)
        table.add_row("votes", Text(f"{tied} tied; {ways}"))
    tokens = f"{usage.input_tokens} in, {usage.output_tokens} out"
    if usage.cached_tokens:
        tokens += f", {usage.cached_tokens} of those in cached"
    if summary.mode is not None:
        table.add_row("asked", Text(summary.mode))
    table.add_row("calls", _calls(usage))
    if summary.documents is not None:
        table.add_row("long documents", str(DocumentWork(**summary.documents.model_dump())))
    table.add_row("tokens", tokens)
    table.add_row("seconds", f"{usage.seconds:.1f}")
    table.add_row("cost", _cost(usage.cost))
    if usage.saved_input_tokens or usage.saved_output_tokens:
        table.add_row(
            "not asked again",
            f"{usage.saved_input_tokens} tokens in, {usage.saved_output_tokens} out, "
            f"cost {_cost(usage.saved_cost)}",
        )
    if usage.damaged:
        table.add_row("damaged records", f"{usage.damaged}, asked again")
    if summary.run_dir is not None:
        table.add_row("run folder", Text(summary.run_dir))
    return table


def _score_rows(summary: Summary) -> Iterator[tuple[str, str]]:
    """The score, that of people, and how far they agree."""
    score = summary.score
    line = f"{figure(score.mean)}   n {score.scored}"
    line += f"   bounds {figure(score.lowest)} to {figure(score.highest)}"
    line += f"   coverage {percent(score.coverage)}"
    if score.scored < summary.items:
        line += f"   ({score.scored} of {summary.items} items have a score)"
    yield "score", line
    if score.human_mean is not None:
        yield (
            "by human labels",
            f"{figure(score.human_mean)}   n {score.labelled}   "
            f"the judge on the same items {figure(score.judge_mean)}",
        )
    over = summary.stratified
    if over is not None:
        yield "stratified kappa", stratified_text(over.criteria, over.left_out)
    if score.penalty is not None:
        yield "length penalty", f"{figure(score.penalty)} on average, in the score"


def _calls(usage: UsageFigures) -> str:
    calls = f"{usage.calls}"
    more = {"journal": usage.resumed, "cache": usage.cached}
    if any(more.values()):
        shown = [f"{count} more from the {source}" for source, count in more.items() if count]
        calls += f" ({', '.join(shown)})"
    if usage.requests not in (0, usage.calls):
        calls += f", {usage.requests} request{'' if usage.requests == 1 else 's'}"
    return calls


def _failed(count: int) -> Text:
    return Text(str(count), style="bold red" if count else "")


def _cost(cost: float | None) -> str:
    return f"{dollars(cost)} (no price for this model)" if cost is None else dollars(cost)
