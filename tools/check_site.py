"""Check that the built site shows every public name with the signature that help() shows.

zensical build --strict --clean && python tools/check_site.py
"""

from __future__ import annotations

import html
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENTRY = re.compile(r"^::: (\S+)$", re.MULTILINE)


def faults() -> list[str]:
    """What the site lacks, a line each."""
    found = []
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        built = (ROOT / "site" / "api" / page.stem / "index.html").read_text("utf-8")
        for name in ENTRY.findall(page.read_text("utf-8")):
            _, heading, rest = built.partition(f'id="{name}"')
            if not heading:
                found.append(f"{name} is not on the page {page.stem}")
                continue
            signature = rest.partition('class="doc-signature')[2].partition("</pre>")[0]
            shown = html.unescape(re.sub(r"<[^>]+>", "", signature))
            missing = [one for one in _parameters(name) if not re.search(rf"\b{one}\b", shown)]
            if missing:
                found.append(f"{name}: the page's signature lacks {', '.join(missing)}")
    return found


def _parameters(name: str) -> list[str]:
    """The parameters that help() shows for a function."""
    module, _, own = name.rpartition(".")
    one = getattr(import_module(module), own)
    return list(inspect.signature(one).parameters) if inspect.isfunction(one) else []


if __name__ == "__main__":
    print(*(found := faults()), sep="\n")
    sys.exit(bool(found))
