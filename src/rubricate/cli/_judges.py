"""`rubricate judges`."""

from __future__ import annotations

from rubricate._terminal import console
from rubricate.cli._options import JsonOutput
from rubricate.cli._printing import print_json


def judges(json_output: JsonOutput = False) -> int:
    """List the judges: addresses, keys, and installed extras."""
    from rubricate.errors import InputError
    from rubricate.judge.models import GENERIC_KEY, PROVIDERS, settings_of

    rows: list[dict[str, object]] = []
    for provider in PROVIDERS.values():
        row: dict[str, object] = {
            "judge": f"{provider.prefix}/MODEL",
            "base_url": provider.base_url,
            "key_variable": provider.key_variable,
            "key_required": provider.key_required,
            "gives_logprobs": provider.gives_logprobs,
            "key_set": False,
            "error": None,
        }
        try:
            key, moved = settings_of(provider)
        except InputError as error:
            row["error"] = str(error)
        else:
            row["base_url"] = moved.value if moved else provider.base_url
            row["key_set"] = key is not None
        rows.append(row)
    extras = _extras()
    if json_output:
        print_json({"judges": rows, "extras": extras})
        return 0
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("judge", "key", "in the variable", "address"):
        table.add_column(heading, overflow="fold")
    table.add_row("builtin", "not needed", "", "in this process")
    for row in rows:
        state = "set" if row["key_set"] else "missing" if row["key_required"] else "optional"
        state = "not used" if row["error"] else state
        table.add_row(str(row["judge"]), state, str(row["key_variable"]), str(row["base_url"]))
    table.add_row("MODEL", "optional", GENERIC_KEY, "given by --base-url")
    shown = console()
    if not shown.is_terminal:  # for grep, an address in one piece
        shown.width = max(shown.width, 120)
    shown.print(table)
    for row in rows:
        if row["error"]:
            shown.print(f"{row['judge']}: {row['error']}")
    for extra, installed in extras.items():
        shown.print(f"extra {extra}: {'installed' if installed else 'not installed'}")
    return 0


def _extras() -> dict[str, bool]:
    """Whether each extra's packages are installed; the extra for development left out."""
    import importlib.metadata
    import re

    found: dict[str, bool] = {}
    for requirement in importlib.metadata.requires("rubricate") or []:
        match = re.match(r"([A-Za-z0-9._-]+).*;.*extra == ['\"]([^'\"]+)['\"]", requirement)
        if match and match.group(2) != "dev":
            package, extra = match.groups()
            found[extra] = found.get(extra, True) and _is_installed(package)
    return found


def _is_installed(package: str) -> bool:
    import importlib.metadata

    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
