"""Write docs/commands.md: every command, argument, option and exit code, from its declaration.

python tools/commands_page.py
"""

from __future__ import annotations

from pathlib import Path

import typer

from rubricate.cli._commands import COMMANDS, built_command
from rubricate.cli._ending import ExitCode
from rubricate.cli._grade_settings import GradeSettings
from rubricate.options import GradingOptions
from rubricate.settings import options_of

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
HEAD = """# Commands

Which command do you need?

| to | run |
|---|---|
| start from your own table, or from an example | `rubricate init --from FILE`, `rubricate init` |
| grade | `rubricate grade DATA --rubric RUBRIC --judge NAME` |
| read a run: its figures, one item, what failed | `rubricate show RUN`, `--item ID`, `--failed` |
| read answers beside verdicts | `rubricate view RUN`; as a file to send `rubricate report RUN` |
| compare two runs | `rubricate compare BEFORE AFTER` |
| label by hand | `rubricate label DATA --rubric RUBRIC` |
| know how far to trust the judge | `rubricate trust agree RUN` and the other `trust` commands |
| get the verdicts as a table | `rubricate export RUN -o verdicts.csv` |
| find a judge, or try it | `rubricate judges`, `rubricate judges --check --judge NAME` |

`rubricate COMMAND --help` shows the text of this page. Options that `rubricate grade` has too are
described in [options.md](options.md); here they are only named. The [exit
codes](#exit-codes) are those of all commands. Results go to standard output; notes, warnings and
errors go to standard error. The pages show both in the order of a terminal. In a pipe, only the
results go to the next command, and a notebook may show the others before or after them.
"""
SHARED = {
    name.replace("_", "-") for name in (*options_of(GradingOptions), *options_of(GradeSettings))
}
EVERYWHERE = {"help", "help-all", "verbose"}


def page() -> str:
    """Return the text of the page."""
    groups = {name.partition(" ")[0] for name in COMMANDS if " " in name}
    names = [name for name in COMMANDS if name not in groups]
    codes = [f"| {code.value} | {code.meaning} |" for code in ExitCode]
    table = ["## Exit codes", "", "| exit code | meaning |", "|---|---|", *codes, ""]
    return "\n".join([HEAD, *(line for name in names for line in _part(name)), *table])


def _part(name: str) -> list[str]:
    one = built_command(name)
    context = typer.Context(one, info_name=f"rubricate {name}")
    usage = " ".join(one.collect_usage_pieces(context))
    lines = [f"## {name}", "", _text(one.help), "", f"`rubricate {name} {usage}`", ""]
    rows, shared = [], []
    for parameter, (written, text) in one.described(context):
        flag = max(parameter.opts, key=len)
        key = flag.removeprefix("--")
        if key in EVERYWHERE:
            continue
        if key in SHARED and parameter.param_type_name == "option":
            shared.append(f"`{flag}`")
        else:
            rows.append(f"| `{written}` | {_text(text)} |")
    if rows:
        lines += ["| argument or option | what it is |", "|---|---|", *rows, ""]
    if shared:
        lines += [f"Also, as described in [options.md](options.md): {', '.join(shared)}.", ""]
    return lines


def _text(text: str | None) -> str:
    said = " ".join((text or "").split())
    for special, written in (("|", "\\|"), ("<", "&lt;"), ("[", "\\[")):
        said = said.replace(special, written)
    return said


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
