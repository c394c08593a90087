"""How commands print what they found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rubricate._terminal import console


def print_report(
    report: Any, json_output: bool, output: Path | None = None, *, least: int | None = None
) -> None:
    """Print a report for people, `least` columns wide or more (see `console`), or as JSON.

    It is written to the output file before, in the form that this ends in (`Output`).
    """
    if output is not None:
        write_report(report, output)
    if json_output:
        print_json(report.to_dict())
    else:
        console(least=least).print(report)


def write_report(report: Any, output: Path) -> None:
    """Write a report as Markdown, as a page, or its figures as JSON."""
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
        data: the data; an object that is not empty, where lines are given.
        lines: a further key of the object, and the file whose JSON lines are the list that it has.
            One line is held at a time.
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
