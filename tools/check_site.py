"""Check that the built site is self-contained and documents all public names like help().

It also checks that all columns of tables have a heading.

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
ELSEWHERE = re.compile(
    r'<(?:script|img)[^>]* src="https?:|<link[^>]* rel="stylesheet"[^>]*"https?:'
)
"""Resources that a page loads from another host."""
MADE = re.compile(r'id="[\w.]+\.__(?:slots|doc|annotations|match_args)__"')
"""Members that Python creates."""
NAMELESS = re.compile(r"<th[^>]*>\s*</th>")
"""A column without a heading, for which screen readers have nothing to read."""


def faults() -> list[str]:
    """Return the faults of the site, one per line."""
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
    for page in sorted((ROOT / "site").rglob("*.html")):
        text = page.read_text("utf-8")
        if there := ELSEWHERE.search(text) or MADE.search(text) or NAMELESS.search(text):
            found.append(f"{page.relative_to(ROOT)} has {there[0]}")
    return found


def _parameters(name: str) -> list[str]:
    """Return the parameters that help() shows for a function."""
    module, _, own = name.rpartition(".")
    one = getattr(import_module(module), own)
    return list(inspect.signature(one).parameters) if inspect.isfunction(one) else []


if __name__ == "__main__":
    print(*(found := faults()), sep="\n")
    sys.exit(bool(found))
