"""Say how far the grades can be trusted: agreement, calibration, variance."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from rubricate._files import write_text
from rubricate._spelling import did_you_mean
from rubricate._terminal import console
from rubricate.analysis import PlannedFigure, PlanOptions
from rubricate.cli._commands import command
from rubricate.cli._ending import print_next
from rubricate.cli._printing import (
    Groups,
    JsonOutput,
    ReportOutput,
    print_report,
)
from rubricate.errors import InputError, errors_within
from rubricate.settings import Settings, option, part

if TYPE_CHECKING:
    from rubricate.analysis import FinishedRun


PLAN_INTERVAL = 2.0
"""Seconds between lines on a terminal that say what a plan simulates; shorter plans print none."""


class LabelledRun(Settings):
    """The argument that names a labelled run."""

    run: str = option("", "A run folder with human labels.", is_argument=True)


def labelled_run(folder: str) -> FinishedRun:
    """Read a run to compare with labels; warns if its judge may have been fitted to them."""
    from rubricate.analysis import read_run
    from rubricate.cli._gates import warn_of_refit

    warn_of_refit(run := read_run(folder))
    return run


class Undecided(Settings):
    """The option for pairs in which one side did not decide."""

    undecided: Literal["exclude", "label", "wrong"] = option(
        "exclude", "How undecided pairs count: exclude, label (an abstention is a label) or wrong."
    )


class AgreeSettings(LabelledRun, Undecided, Groups, ReportOutput):
    """The options of `rubricate trust agree`."""

    costs: str | None = option(
        None,
        "The costs of a false MET and a false UNMET, such as 5,1: finds the threshold of the "
        "probability of MET that costs least.",
    )
    coverage: float | None = option(
        None,
        "Make sets of labels that contain the human label this often, such as 0.9.",
        gt=0,
        lt=1,
    )
    resamples: int = option(2000, "Bootstrap draws for each interval.", ge=1)
    confidence: float = option(0.95, "Confidence level of the intervals.", gt=0, lt=1)
    seed: int = option(0, "Random seed of the draws.", ge=0)
    simultaneous: bool = option(
        False, "Widen the intervals of the criteria, so that all of them hold together."
    )
    every_criterion: bool = option(False, "A row for each criterion, even one with a single pair.")


@command(
    AgreeSettings,
    then="Next, to read where they differ: rubricate show {run} --disagreements",
)
def agree(settings: AgreeSettings) -> None:
    """Show how far judge and people agree, with intervals."""
    from rubricate.analysis import DecisionRules, agreement_report
    from rubricate.stats import Bootstrap
    from rubricate.views import OnTerminal

    bootstrap = Bootstrap(settings.resamples, settings.confidence, settings.seed)
    rules = DecisionRules.read(settings.costs, settings.coverage)
    report = agreement_report(
        labelled_run(settings.run),
        undecided=settings.undecided,
        groups=settings.groups,
        rules=rules,
        bootstrap=bootstrap,
        simultaneous=settings.simultaneous,
    )
    every = settings.every_criterion
    print_report(report, settings, shown=OnTerminal(lambda: report.sections(every=every)))


class CalibrateSettings(Groups, JsonOutput):
    """The options of `rubricate trust calibrate`."""

    run: str = option("", "A judge's run with probabilities and human labels.", is_argument=True)
    output: str = option("calibration.json", "Where to write the map.", shell="--output -o")
    method: Literal["isotonic", "platt"] | None = option(
        None,
        "isotonic or platt.",
        default_text="isotonic from 300 labels on",
        input_type=str | None,
    )
    seed: int = option(0, "Random seed of the ten folds.", ge=0)
    force: bool = option(False, "Write the map even if it is not shown to be better.")


@command(
    CalibrateSettings,
    then="Next, to grade with it: rubricate grade DATA --calibration {output}",
)
def calibrate(settings: CalibrateSettings) -> None:
    """Fit a map from probabilities to how often they were right.

    A map that is not shown to be better than none is not written without --force.
    """
    from rubricate.analysis import fit_calibration

    output = Path(settings.output)
    fitted = fit_calibration(
        labelled_run(settings.run),
        name=output.stem,
        method=settings.method,
        groups=settings.groups,
        seed=settings.seed,
    )
    if fitted.not_shown is not None and not settings.force:
        raise InputError(
            f"the map is not written, because it is not shown to be better than none: "
            f"{fitted.not_shown}; label more items, or write it with --force",
            file=settings.run,
        )
    text = json.dumps(fitted.model_dump(mode="json"), indent=2)
    write_text(output, text + "\n")
    if settings.json_output:
        print(text)
        return
    first, *others = (paragraph.text for paragraph in fitted.sections())
    print("\n".join([f"{output}: {first}", *others]))


class CascadeSettings(Groups, ReportOutput):
    """The options of `rubricate trust cascade`."""

    run: str = option("", "The first judge's run, with human labels.", is_argument=True)
    then: str | None = option(
        None, "A run of the same items by the judge that is asked next.", is_argument=True
    )
    promise: float = option(
        0.9, "The agreement that verdicts above the threshold must have.", gt=0, lt=1
    )
    risk: float = option(
        0.05, "The accepted probability that the promise does not hold.", gt=0, lt=1
    )
    threshold: Sequence[float] = option((), "Show this threshold too; can be given several times.")


@command(CascadeSettings)
def cascade(settings: CascadeSettings) -> None:
    """Choose, on labels, when a better judge is asked. Sends nothing."""
    from rubricate.analysis import cascade_report, read_run

    report = cascade_report(
        labelled_run(settings.run),
        None if settings.then is None else read_run(settings.then),
        promise=settings.promise,
        risk=settings.risk,
        groups=settings.groups,
        thresholds=settings.threshold,
    )
    print_report(report, settings)


class PlanSettings(PlanOptions, ReportOutput):
    """The options of `rubricate trust plan`."""

    figure: str = option(
        "", f"The figure to plan for: {', '.join(get_args(PlannedFigure))}.", is_argument=True
    )
    run: str | None = option(
        None, "A finished run to plan from, with labels if the figure needs them.", is_argument=True
    )
    other: str | None = option(
        None, "comparison: the second run of the same items.", is_argument=True
    )


@command(PlanSettings)
def plan(settings: PlanSettings) -> None:
    """Say how many items and labels a figure takes, and what they cost. Sends nothing."""
    from rubricate.analysis import plan_report, read_run

    figure: Any = settings.figure  # plan_report checks it
    progress, shown = console(stderr=True), time.monotonic()

    def show(items: int) -> None:
        nonlocal shown
        if progress.is_terminal and time.monotonic() - shown >= PLAN_INTERVAL:
            shown = time.monotonic()
            progress.print(f"simulating data sets of {items} items")

    report = plan_report(
        figure,
        None if settings.run is None else read_run(settings.run),
        None if settings.other is None else read_run(settings.other),
        on_simulation=show,
        **vars(part(PlanOptions, settings)),
    )
    print_report(report, settings)


class PpiSettings(Groups, ReportOutput):
    """The options of `rubricate trust ppi`."""

    run: str = option("", "A run folder; some of its items may have labels.", is_argument=True)
    next_items: int = option(
        0, "Name N items to label next, a random sample.", shell="--next", ge=0
    )
    certificate: str | None = option(
        None,
        "A certificate of this judge: its error rates correct the means of a run without labels.",
    )
    confidence: float = option(0.95, "Confidence level of the intervals.", gt=0, lt=1)
    seed: int = option(0, "Random seed of the sample.", ge=0)


@command(PpiSettings)
def ppi(settings: PpiSettings) -> None:
    """Show the means that people would give, from a few labels. Name more to label."""
    from rubricate.analysis import PPIReport, carried_report, ppi_report, read_certificate, read_run

    if settings.certificate is None:
        report: Any = ppi_report(
            labelled_run(settings.run),
            next_items=settings.next_items,
            groups=settings.groups,
            confidence=settings.confidence,
            seed=settings.seed,
        )
    else:
        report = carried_report(read_run(settings.run), read_certificate(settings.certificate))
    print_report(report, settings)
    if not isinstance(report, PPIReport) or report.labelled < report.items:
        advice = "Next, to label some of them: rubricate label DATA --run {run}"
        if chosen := getattr(report, "next_items", None):
            advice = "Next, to label the first: rubricate label DATA --run {run} --item {item}"
            print_next(advice, settings, item=chosen[0])
        else:
            print_next(advice, settings)


class VarianceSettings(Groups, ReportOutput):
    """The options of `rubricate trust variance`."""

    runs: Sequence[str] = option(
        (), "Runs with replicates or several judges, or runs of other prompts.", is_argument=True
    )


@command(VarianceSettings)
def variance(settings: VarianceSettings) -> None:
    """Show whether scores vary by item, judge, prompt or chance. List unstable criteria."""
    from rubricate.analysis import read_run, variance_report

    runs = [read_run(run) for run in settings.runs]
    print_report(variance_report(runs, groups=settings.groups), settings)


class CertifySettings(LabelledRun, Undecided, Groups, JsonOutput):
    """The options of `rubricate trust certify`."""

    output: str = option("certificate.json", "Where to write the certificate.", shell="--output -o")


@command(
    CertifySettings,
    then="Next, to grade with it: rubricate grade DATA --certificate {output}",
)
def certify(settings: CertifySettings) -> None:
    """Write a certificate: how far judge, prompt and rubric agree with people."""
    from rubricate.analysis import certify as certified

    certificate = certified(
        labelled_run(settings.run), undecided=settings.undecided, groups=settings.groups
    )
    text = json.dumps(certificate.model_dump(mode="json"), indent=2)
    write_text(Path(settings.output), text + "\n")
    if settings.json_output:
        print(text)
    else:
        console().print(certificate)
        print(f"{settings.output}: {certificate.judge} on {certificate.items} items")


class ReplaySettings(ReportOutput):
    """The options of `rubricate trust replay`."""

    data: str = option(
        "", "A dataset whose items' metadata has verdicts under votes.", is_argument=True
    )
    judge: Sequence[str] = option((), "Only these judges; can be given several times. [all]")


@command(ReplaySettings)
def replay(settings: ReplaySettings) -> None:
    """Show how recorded judges and panels agree. Sends nothing."""
    from rubricate.analysis import ReplayReport
    from rubricate.dataset import RubricDataset
    from rubricate.grading import grade
    from rubricate.judge import Panel, recorded_judges, unknown_votes

    dataset = RubricDataset.from_file(settings.data)
    with errors_within(file=settings.data):
        known = {judge.name: judge for judge in recorded_judges(dataset)}
        for name in settings.judge:
            if name not in known:
                hint = did_you_mean(name, known)
                raise InputError(
                    f"no verdicts of '{name}' are recorded (those of: {', '.join(known)}){hint}"
                )
        judges = [known[name] for name in dict.fromkeys(settings.judge)] or [*known.values()]
        majority = grade(dataset, Panel(judges)).summary()
        weighted = grade(dataset, Panel(judges, weights="reliability")).summary()
    unknown = tuple(unknown_votes(dataset, judges))
    print_report(ReplayReport(majority, weighted, unknown), settings)
