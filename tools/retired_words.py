"""Count words and names that this project no longer uses, per package; each count may only fall.

    python tools/retired_words.py            the counts, and where each is above its ceiling
    python tools/retired_words.py --list stats    each occurrence in a package

The words are home-made terms and turns with an ordinary equivalent (`told`: set; `goes on`:
resumes; `so many`: N). The names are those that name nothing (`one`, `found`, `given`): a variable
is named for what it holds.
"""

from __future__ import annotations

import argparse
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rubricate"
WORDS = re.compile(
    r"\b(told|hears|says something to|(front )?doors?|wings?|stands?|is had|could not be had"
    r"|asks nobody|what is known|so many|of its own|of one's own|taken up|goes on|is meant"
    r"|gives leave|begun|whoever|untold|laid|under way)\b",
    re.IGNORECASE,
)
NAMES = {"one", "found", "given", "asked", "told", "said", "had", "left", "taken"} | {
    f"_{verb}"
    for verb in ("make", "made", "led", "take", "tell", "left", "late", "unknown", "opened")
}
CEILINGS = {
    "analysis": 0,
    "cli": 0,
    "dataset": 0,
    "dialects": 2,
    "docs": 0,
    "judge": 6,
    "labelling": 0,
    "redteaming": 0,
    "report": 0,
    "rubric": 0,
    "run": 6,
    "stats": 0,
    "testing": 0,
    "top-level modules": 0,
    "views": 0,
}
"""The maximum number of occurrences in each package. Lower them when you rename something."""


def occurrences(path: Path) -> Iterator[tuple[int, str]]:
    """Find the lines of a file with a retired word or name, and the word; once per occurrence."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        for number, line in enumerate(text.splitlines(), start=1):
            yield from ((number, match[0]) for match in WORDS.finditer(line))
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string in NAMES:
            yield token.start[0], token.string
        elif token.type in (tokenize.STRING, tokenize.COMMENT):
            yield from ((token.start[0], match[0]) for match in WORDS.finditer(token.string))


def files() -> Iterator[tuple[str, Path]]:
    """Return the files to check, with the package of each."""
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        yield parts[0] if len(parts) > 1 else "top-level modules", path
    for path in sorted((ROOT / "docs").rglob("*.md")):
        yield "docs", path


def counts() -> Counter[str]:
    """Count retired words and names by package."""
    total: Counter[str] = Counter()
    for package, path in files():
        total[package] += sum(1 for _ in occurrences(path))
    return total


def main() -> None:
    """Print the counts, or the occurrences in one package."""
    parser = argparse.ArgumentParser(description="Count words that are no longer used.")
    parser.add_argument("--list", metavar="PACKAGE", help="print each occurrence in a package")
    options = parser.parse_args()
    if options.list:
        for package, path in files():
            if package == options.list:
                for number, word in occurrences(path):
                    print(f"{path.relative_to(ROOT)}:{number}: {word}")
        return
    for package, count in sorted(counts().items()):
        ceiling = CEILINGS.get(package, 0)
        print(f'    "{package}": {count},{"  # above" if count > ceiling else ""}')


if __name__ == "__main__":
    main()
