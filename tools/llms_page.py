"""Write docs/llms.txt for language models: the pages of the site with their first sentence.

python tools/llms_page.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "llms.txt"
HEAD = """# rubricate

> Grade texts against rubrics with judges, and measure how far the grades can be trusted.

Run `rubricate grade DATA --rubric RUBRIC --judge NAME`, or call
`rubricate.grade(data, judge=..., rubric=...)`. A verdict without a usable answer is `failed`,
and never 0.
"""


def page() -> str:
    """Return the text of the file."""
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    parts = [HEAD]
    for section in nav:
        for name, pages in section.items():
            parts.append("\n".join([f"## {name}", "", *map(_line, _files(pages)), ""]))
    return "\n".join(parts)


def _files(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    else:
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _files(inner)


def _line(name: str) -> str:
    text = (ROOT / "docs" / name).read_text("utf-8")
    if name == "changelog.md":
        text = "# Changelog\n\nWhat each version has."
    title, _, rest = text.partition("\n")
    paragraphs = (part for part in rest.split("\n\n") if part.strip()[:1].isalpha())
    paragraph = next(paragraphs, "")
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
    sentence = re.split(r"(?<=[.?:])\s", words)[0]
    address = "./" if name == "index.md" else f"{name.removesuffix('.md')}/"
    return f"- [{title.removeprefix('# ')}]({address}): {sentence}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
