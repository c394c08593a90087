"""How commands print what they found."""

from __future__ import annotations

from typing import Any

__all__ = ["print_json", "print_report"]


def print_report(report: Any, json_output: bool) -> None:
    """Print a report for people, or as JSON."""
    if json_output:
        print_json(report.to_dict())
    else:
        from rich.console import Console

        Console().print(report)


def print_json(data: Any) -> None:
    """Print data as JSON."""
    import json

    print(json.dumps(data, indent=2, ensure_ascii=False))
