"""Write docs/options.md: every option and exit code, from its declaration.

python tools/options_page.py
"""

from __future__ import annotations

from pathlib import Path

from rubricate.cli._ending import ExitCode
from rubricate.cli._grade_settings import GradeSettings
from rubricate.options import GradingOptions
from rubricate.settings import GROUPS, Option, options_of

PAGE = Path(__file__).parents[1] / "docs" / "options.md"
HEAD = """# Options

Every option of `rubricate.grade` and of `rubricate grade`, as it is declared. A name is the same in
Python (`max_cost=2.5`), in the shell (`--max-cost 2.5`) and in a settings file (`max_cost: 2.5`,
`rubricate grade --config run.yaml`). Options in *italics* are the shell's and the file's alone;
`on_progress` is Python's. `compare_pair`, `redteam`, `RewardFunction`, `grade_one` and their
commands take those of these options that apply to them. Setting an option that the current judge
does not support is an error.
"""


def page() -> str:
    """The page's text."""
    options = {**options_of(GradingOptions), **options_of(GradeSettings)}
    parts = [HEAD]
    for group in GROUPS:
        rows = [_row(name, option) for name, option in options.items() if option.group == group]
        if rows:
            table = ["| option | default | what it does | applies to |", "|---|---|---|---|"]
            parts.append("\n".join([f"## {group}", "", *table, *rows, ""]))
    codes = [f"| {code.value} | {code.meaning} |" for code in ExitCode]
    table = ["| exit code | meaning |", "|---|---|", *codes]
    parts.append("\n".join(["## Exit codes", "", *table, ""]))
    return "\n".join(parts)


def _row(name: str, option: Option) -> str:
    key = option.key(name)
    shown = f"`{key}`" if name in options_of(GradingOptions) else f"*`{key}`*"
    unit = "" if option.unit is None or option.default is None else f" {option.unit}"
    default = "" if option.shown_default is None else f"{option.shown_default}{unit}"
    text = f"{option.help} {option.more}".strip().replace("|", "\\|")
    return f"| {shown} | {default} | {text} | {option.applies_to} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
