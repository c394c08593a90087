"""Printing of reports, and its options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubricate._terminal import console
from rubricate.errors import InputError
from rubricate.settings import Settings, option

if TYPE_CHECKING:
    from rubricate.views import OnTerminal

FORMS = (".md", ".html", ".json")


class JsonOutput(Settings):
    """The option to print JSON."""

    json_output: bool = option(False, "Print as JSON.", group="Output", shell="--json")


class ReportOutput(JsonOutput):
    """The option to write the report into a file.

    Raises:
        InputError: the suffix of the file is unknown.
    """

    output: str | None = option(
        None,
        "Also write it to this file: .md, .html or .json.",
        group="Output",
        shell="--output -o",
    )

    def check(self) -> None:
        if self.output is not None and Path(self.output).suffix.lower() not in FORMS:
            raise InputError(
                f"the file's name must end in one of {', '.join(FORMS)}", file=self.output
            )


class Groups(Settings):
    """The option that says which items belong together."""

    groups: str | None = option(
        None,
        "Metadata that says which items belong together: intervals are computed by it; none for "
        "each item by itself. [by prompt, if prompts repeat]",
    )


def print_report(
    report: Any,
    settings: ReportOutput,
    *,
    least: int | None = None,
    shown: OnTerminal | None = None,
) -> None:
    """Write a report to the output file, if any, then print it for people or as JSON.

    For people, it is at least `least` columns wide (see `console`). `shown` replaces the report in
    that case.
    """
    if settings.output is not None:
        write_report(report, Path(settings.output))
    if settings.json_output:
        print_json(report.to_dict())
    else:
        console(least=least).print(shown or report)


def write_report(report: Any, output: Path) -> None:
    """Write a report as Markdown, as an HTML page, or its figures as JSON."""
    import json

    from rubricate._files import write_text

    form = output.suffix.lower()
    if form == ".md":
        text = report.to_markdown()
    elif form == ".html":
        text = report.to_html()
    else:
        text = json.dumps(report.to_dict(), indent=2, ensure_ascii=False) + "\n"
    write_text(output, text)


def print_json(data: Any, lines: tuple[str, Path] | None = None) -> None:
    """Print data as JSON.

    Args:
        data: the data; with `lines`, an object that is not empty.
        lines: a further key of the object, and a JSON Lines file whose lines form its list. One
            line is in memory at a time.
    """
    import json

    text = json.dumps(data, indent=2, ensure_ascii=False)
    if lines is None:
        print(text)
        return
    name, path = lines
    print(text.removesuffix("\n}"), end=f',\n  "{name}": [')
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file):
            print("," * bool(number), line.rstrip("\n"), sep="\n    ", end="")
    print("\n  ]\n}")
