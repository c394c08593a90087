"""Draw the diagrams in `docs/images`, with colours for light and dark pages.

python tools/diagrams.py
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "docs" / "images"

WIDE, HIGH = 212, 44
"""The size of a box in pixels."""
ACROSS, DOWN = 240, 74
"""The distance from one box to the next."""
OUT = 18
"""How far a line sticks out that returns to the same side."""
STYLE = """
text { font: 13px Helvetica Neue, Helvetica, Arial, Segoe UI, Roboto, DejaVu Sans, sans-serif; }
.box { fill: #44557f; } .question { fill: #7a4f0a; } .store { fill: #1d6b4c; }
.inside { fill: #fff; text-anchor: middle; } .label { fill: #767676; }
.line { fill: none; stroke: #767676; stroke-width: 1.5; }
.head { fill: #767676; }
"""


@dataclass(frozen=True)
class Box:
    """A box at a column and a row; `kind` is box, question or store."""

    column: int
    row: int
    text: str
    kind: str = "box"

    def side(self, name: str) -> tuple[float, float]:
        """Return the middle of a side: top, bottom, left or right."""
        x, y = self.column * ACROSS + WIDE / 2, self.row * DOWN + HIGH / 2
        half = {"top": (0, -HIGH), "bottom": (0, HIGH), "left": (-WIDE, 0), "right": (WIDE, 0)}
        return x + half[name][0] / 2, y + half[name][1] / 2


@dataclass(frozen=True)
class Arrow:
    """An arrow from a side of a box to a side of another, in straight lines with one corner."""

    start: str
    end: str
    label: str = ""
    both: bool = False

    def points(self, boxes: dict[str, Box]) -> list[tuple[float, float]]:
        """Return the corners of its line: straight, around a corner, or back to the same side."""
        (one, leaves), (other, arrives) = (name.split(".") for name in (self.start, self.end))
        a, b = boxes[one].side(leaves), boxes[other].side(arrives)
        if leaves == arrives == "right":
            x = max(a[0], b[0]) + OUT
            return [a, (x, a[1]), (x, b[1]), b]
        if a[0] == b[0] or a[1] == b[1]:
            return [a, b]
        return [a, (b[0], a[1]) if leaves in ("left", "right") else (a[0], b[1]), b]


Diagram = tuple[str, dict[str, Box], list[Arrow]]

DIAGRAMS: dict[str, Diagram] = {
    "judging": (
        "From an item and a criterion to a verdict and a score",
        {
            "item": Box(1, 0, "item and criterion"),
            "known": Box(1, 1, "answer in the journal\nor the cache?", "question"),
            "prompt": Box(1, 2, "prompt"),
            "send": Box(1, 3, "send: limits, retries, budget"),
            "read": Box(1, 4, "can the reply be read?", "question"),
            "verdict": Box(0, 5, "verdict"),
            "failed": Box(2, 5, "failed, with the cause"),
            "journal": Box(1, 6, "journal", "store"),
            "score": Box(1, 7, "score of the item,\nwith bounds"),
        },
        [
            Arrow("item.bottom", "known.top"),
            Arrow("known.left", "verdict.top", "yes"),
            Arrow("known.bottom", "prompt.top", "no"),
            Arrow("prompt.bottom", "send.top"),
            Arrow("send.bottom", "read.top"),
            Arrow("read.left", "verdict.top", "yes"),
            Arrow("read.right", "prompt.right", "no, twice at most"),
            Arrow("read.bottom", "failed.left", "no"),
            Arrow("verdict.bottom", "journal.left"),
            Arrow("failed.bottom", "journal.right"),
            Arrow("journal.bottom", "score.top"),
        ],
    ),
    "run-folder": (
        "How the files of a run are made",
        {
            "data": Box(0, 0, "dataset and rubric"),
            "items": Box(1, 0, "items.jsonl, rubric.yaml", "store"),
            "key": Box(0, 1, "key: a hash of all that\ncould change the answer"),
            "journal": Box(0, 2, "journal.sqlite: answers,\nsent and received", "store"),
            "cache": Box(1, 2, "cache.sqlite: answers\nthat runs share", "store"),
            "results": Box(0, 3, "results.jsonl: verdicts", "store"),
            "summary": Box(0, 4, "summary.json: figures", "store"),
        },
        [
            Arrow("data.right", "items.left"),
            Arrow("data.bottom", "key.top"),
            Arrow("key.bottom", "journal.top"),
            Arrow("journal.right", "cache.left", both=True),
            Arrow("journal.bottom", "results.top"),
            Arrow("results.bottom", "summary.top"),
        ],
    ),
}


def picture(diagram: Diagram) -> str:
    """Return a diagram as SVG."""
    title, boxes, arrows = diagram
    wide = max(box.column for box in boxes.values()) * ACROSS + WIDE
    high = max(box.row for box in boxes.values()) * DOWN + HIGH
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 -4 {wide + 8} {high + 8}"'
        f' width="{wide + 8}" height="{high + 8}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"'
        ' markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
        '<path class="head" d="M0 0 8 4 0 8z"/></marker>',
    ]
    for arrow in arrows:
        points = arrow.points(boxes)
        line = " ".join(f"{x:g},{y:g}" for x, y in points)
        ends = ' marker-start="url(#head)"' if arrow.both else ""
        parts.append(f'<polyline class="line" points="{line}" marker-end="url(#head)"{ends}/>')
        (x, y), (next_x, _) = points[:2]
        if arrow.label and next_x < x:
            parts.append(_text(x - 6, y - 6, arrow.label, "label", "end"))
        elif arrow.label:
            out, down = (OUT, -6) if next_x > x else (0, 16)
            parts.append(_text(x + out + 6, y + down, arrow.label, "label"))
    for box in boxes.values():
        x, y = box.column * ACROSS, box.row * DOWN
        round_ = HIGH / 2 if box.kind == "question" else 6
        parts.append(
            f'<rect class="{box.kind}" x="{x}" y="{y}" width="{WIDE}" height="{HIGH}"'
            f' rx="{round_:g}"/>'
        )
        lines = box.text.split("\n")
        for number, line in enumerate(lines):
            middle = y + HIGH / 2 + 4.5 + (number - (len(lines) - 1) / 2) * 16
            parts.append(_text(x + WIDE / 2, middle, line, "inside"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(x: float, y: float, text: str, kind: str, anchor: str = "") -> str:
    end = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}"{end}>{escape(text)}</text>'


if __name__ == "__main__":
    for name, diagram in DIAGRAMS.items():
        (IMAGES / f"{name}.svg").write_text(picture(diagram), "utf-8")
    print(f"Wrote {', '.join(DIAGRAMS)} in docs/images.")
