"""Write docs/options.md: all options, from their declarations.

python tools/options_page.py
"""

from __future__ import annotations

import re
from pathlib import Path

from rubricate.cli._grade_settings import GradeSettings
from rubricate.options import GradingOptions
from rubricate.settings import GROUPS, Option, options_of

PAGE = Path(__file__).parents[1] / "docs" / "options.md"
HEAD = """# Options

Which option does what? This page has every option of `rubricate.grade` and of `rubricate grade`.
Most runs need few of them: `rubric` and `map` for your data, `--judge`, `run_dir`, and at first
`limit` and `--dry-run`; then `concurrency` and `max_cost`.

An option has the same name in Python (`max_cost=2.5`), in the shell (`--max-cost 2.5`) and in a
settings file (`max_cost: 2.5`, `rubricate grade --config run.yaml`). Options that are shown with
dashes are the shell's and the file's alone; `on_progress` is Python's. Data and judge are the two
arguments of `rubricate.grade`, and DATA that of the command. `compare_pair`, `redteam`,
`RewardFunction`, `grade_one` and their commands take those of these options that apply to them.

Where no default is shown, the option is off. Setting an option that the current judge does not
support is an error.
"""
GUIDE = re.compile(r"the guide '([^']+)'")
TITLES = {
    page.read_text("utf-8").partition("\n")[0].removeprefix("# "): page.name
    for page in PAGE.parent.glob("*.md")
}


def page() -> str:
    """Return the text of the page."""
    options = {**options_of(GradingOptions), **options_of(GradeSettings)}
    parts = [HEAD]
    for group in GROUPS:
        rows = [_row(name, option) for name, option in options.items() if option.group == group]
        if rows:
            table = ["| option | default | what it does | applies to |", "|---|---|---|---|"]
            parts.append("\n".join([f"## {group}", "", *table, *rows, ""]))
    return "\n".join(parts)


def _row(name: str, option: Option) -> str:
    key = option.key(name)
    is_shared = name in options_of(GradingOptions) or name == "data"  # an argument
    shown = key if is_shared else f"--{key.replace('_', '-')}"
    unit = "" if option.unit is None or option.default in (None, 1) else f" {option.unit}"
    default = "" if option.shown_default is None else f"{option.shown_default}{unit}"
    text = f"{option.help} {option.more}".strip().replace("|", "\\|")
    text = GUIDE.sub(_link, text)
    return f"| `{shown}` | {default} | {text} | {option.applies_to} |"


def _link(match: re.Match[str]) -> str:
    """Convert the title of a guide in a help text, or its beginning, to a link."""
    page = next(page for title, page in TITLES.items() if title.startswith(match[1]))
    return f"the guide [{match[1]}]({page})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
