"""Commands about finished runs: `rubricate runs`, `show`, `report` and `export`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rubricate._terminal import NARROWEST, one_line
from rubricate.cli._commands import command
from rubricate.cli._ending import INTERVALS, READ, ExitCode, print_next, print_next_of_run
from rubricate.cli._gates import code_of_thresholds, thresholds_of
from rubricate.cli._printing import (
    JsonOutput,
    ReportOutput,
    print_json,
    print_report,
    write_report,
)
from rubricate.cli._thresholds import ThresholdOptions
from rubricate.errors import InputError
from rubricate.settings import Settings, option

RUNS_WIDTH = 116
"""The minimum width of the table of runs in a file or pipe, in columns: a line for each run."""
LARGE = 100_000_000
"""Size in bytes above which a browser takes a while to open a page."""
TABLES = (".csv", ".jsonl", ".parquet")


class Run(Settings):
    """The argument that names a run."""

    run: str = option("", "A run folder.", is_argument=True)


class Journal(Settings):
    """The option for the place of a run's prompts and replies."""

    journal: str | None = option(
        None,
        "The database that has the run's prompts and replies. [the one noted in the folder of "
        "your own run]",
    )


class Tags(Settings):
    """The option for scores by tag."""

    by: Sequence[str] = option(
        (),
        "Scores by tag, too: tags, or a field such as axis or domain; can be given several times.",
    )


class RunsSettings(ReportOutput):
    """The options of `rubricate runs`."""

    folder: str = option("runs", "A folder with run folders.", is_argument=True)


@command(RunsSettings, then="Next, to read and compare them on a page: rubricate view {folder}")
def runs(settings: RunsSettings) -> None:
    """List runs, the oldest first: dataset, judge, score with interval, agreement, cost, state."""
    from rubricate.analysis import list_runs

    least = None if sys.stdout.isatty() else RUNS_WIDTH
    print_report(list_runs(Path(settings.folder)), settings, least=least)


class ShowSettings(Run, Tags, Journal, ThresholdOptions, ReportOutput):
    """The options of `rubricate show`."""

    item: Sequence[str] = option((), "Verdicts of this item; can be given several times.")
    criterion: Sequence[str] = option((), "Verdicts on this criterion; can be given several times.")
    failed: bool = option(False, "Verdicts that failed.")
    disagreements: bool = option(
        False,
        "Verdicts that differ from the human label; without labels, those on which the judges "
        "differ.",
    )
    prompt: bool = option(False, "Also the exact prompts and replies of these verdicts.")

    @property
    def picks(self) -> bool:
        """Whether single verdicts are shown, rather than the summary."""
        return bool(self.item or self.criterion or self.failed or self.disagreements)

    def check(self) -> None:
        if self.prompt and not self.picks:
            raise InputError(
                "--prompt is for selected verdicts: select them with --item, --criterion, --failed "
                "or --disagreements"
            )
        if self.journal is not None and not self.prompt:
            raise InputError(
                "--journal is where --prompt reads what was sent: give both, or neither"
            )
        if self.by and self.picks:
            raise InputError(
                "--by is for the whole run: leave out --item, --criterion, --failed and "
                "--disagreements"
            )


@command(ShowSettings)
def show(settings: ShowSettings) -> int:
    """Show a run's summary again, or some of its verdicts."""
    from rubricate.analysis import (
        Selection,
        conversation_lines,
        read_run,
        read_summary,
        summary_by,
    )
    from rubricate.run import REPORT_NAME

    folder = Path(settings.run)
    finished = read_run(folder)
    summary = read_summary(finished)
    is_report = (folder / REPORT_NAME).exists()
    reached = None
    if settings.thresholds:
        reached = thresholds_of(settings, summary, finished)
        if settings.picks or is_report:
            what = (
                "this is a comparison or an attack"
                if is_report
                else "leave out --item, --criterion, --failed and --disagreements"
            )
            raise InputError(f"thresholds are for a whole run: {what}")
        summary = summary.model_copy(update={"thresholds": reached})
    if settings.picks:
        selection = Selection(
            finished,
            items=settings.item,
            criteria=settings.criterion,
            failed=settings.failed,
            disagreements=settings.disagreements,
            prompts=settings.prompt,
            journal=settings.journal,
        )
        print_report(selection, settings, least=NARROWEST)
        if settings.prompt and not settings.json_output:
            for line in conversation_lines(selection):
                print(line)
        print_next(READ, settings)
    elif settings.by:
        summary = summary_by(finished, summary, settings.by)
        print_report(summary, settings)
        print_next_of_run(summary, settings, folder)
    elif is_report:
        _print_kept(folder, settings)
    else:
        print_report(summary, settings)
        print_next_of_run(summary, settings, folder)
    code = ExitCode.SOME_FAILED if summary.unanswered else ExitCode.FINE
    if reached is None:
        return code
    return code_of_thresholds(code, reached, settings)


def _print_kept(folder: Path, settings: ReportOutput) -> None:
    """Print the stored report of `compare-pair` or `redteam`."""
    from rubricate.analysis import kept_report
    from rubricate.comparing import PAIRS_NAME

    report = kept_report(folder)
    if settings.output is not None:
        write_report(report, Path(settings.output))
    if settings.json_output:
        pairs = folder / PAIRS_NAME
        print_json(report.model_dump(mode="json"), ("results", pairs) if pairs.exists() else None)
    else:
        print(report)


LABEL = "Next, to check the judge against your own labels: rubricate label DATA --run {run}"


class ReportSettings(Run, Journal, JsonOutput):
    """The options of `rubricate report`."""

    output: str | None = option(
        None, "The file. [report.html in the folder]", shell="--output -o", group="Output"
    )
    compare: str | None = option(
        None, "Another run folder: show what changed from RUN to this one."
    )

    def check(self) -> None:
        if self.output is not None and Path(self.output).suffix.lower() not in (".html", ".htm"):
            raise InputError("the file's name must end in .html", file=self.output)


@command(ReportSettings)
def report(settings: ReportSettings) -> None:
    """Write a run as one HTML page: figures, plots, every verdict."""
    from dataclasses import asdict

    from rubricate.report import write_report as write_page

    output, compare = settings.output, settings.compare
    page = write_page(
        Path(settings.run),
        None if output is None else Path(output),
        compare=None if compare is None else Path(compare),
        journal=settings.journal,
    )
    if settings.json_output:
        figures = {name: value for name, value in asdict(page).items() if value is not None}
        print_json({**figures, "path": str(page.path)})
    else:
        size = f"{page.size / 1e6:.1f} MB" if page.size >= 1e6 else f"{page.size / 1e3:.0f} kB"
        print(f"{page.path}: {page.items} items, {size}")
    if not page.has_texts:
        sys.stderr.write(
            "The run folder does not have the texts that were judged: the same grade command "
            "writes them, and sends nothing again.\n"
        )
    if page.missing is not None:
        sys.stderr.write(f"The page has no prompts and replies: {one_line(page.missing)}\n")
    if page.size > LARGE:
        sys.stderr.write("A page of this size takes a browser some time to open.\n")
    print_next(INTERVALS if page.has_labels else LABEL, settings)


class ExportSettings(Run, JsonOutput):
    """The options of `rubricate export`."""

    output: str = option(
        "",
        "The file: .csv, .jsonl or .parquet.",
        shell="--output -o",
        required=True,
        group="Output",
    )
    by: str = option("verdict", "What a row is: verdict, or item with columns for each criterion.")
    no_texts: bool = option(False, "Leave out the columns of prompt, submission and reference.")
    raw_cells: bool = option(
        False,
        "Write the text of a .csv unchanged, even if a spreadsheet would run it as a formula.",
    )

    def check(self) -> None:
        suffix = Path(self.output).suffix.lower()
        if suffix not in TABLES:
            names = ", ".join(TABLES)
            raise InputError(f"the file's name must end in one of {names}", file=self.output)
        if self.raw_cells and suffix != ".csv":
            raise InputError(f"--raw-cells is for .csv; {suffix} has no others", file=self.output)


@command(ExportSettings)
def export(settings: ExportSettings) -> None:
    """Write a run's verdicts as a table for other programs."""
    from rubricate.analysis import VerdictTable, read_run

    output, run = Path(settings.output), read_run(settings.run)
    table = VerdictTable(run, settings.by, texts=not settings.no_texts)
    if output.suffix.lower() == ".csv":
        rows = table.to_csv(output, raw_cells=settings.raw_cells)
    elif output.suffix.lower() == ".jsonl":
        rows = table.to_jsonl(output)
    else:
        rows = table.to_parquet(output)
    if settings.json_output:
        print_json({"file": str(output), "rows": rows, "columns": list(table.columns)})
    else:
        print(f"{output}: {rows} rows, {len(table.columns)} columns")
    if run.labels is not None:
        sys.stderr.write(f"{one_line(run.labels.text)}\n")
