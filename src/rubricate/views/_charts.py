"""Drawings: SVG, coloured by `page/plots.css` both in pages and as separate pictures.

The colours are named by meaning: judge, human, good (gives points), bad (costs points), failed,
undecided.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import escape

from rubricate.stats import Calibration, Estimate

WIDTH, HEIGHT = 360.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 36.0, 18.0, 12.0, 34.0
MOST_NUMBERS = 15
"""Numbers on the axis of a timeline; they touch at double."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes in a frame of fixed size.

    Attributes:
        width, height: the size of the frame.
        label: the description for people who cannot see it.
        parts: its shapes, as SVG elements.
        name: its class in a style sheet.
    """

    width: float
    height: float
    label: str
    parts: Sequence[str]
    name: str

    def __html__(self) -> str:
        shapes = "".join(self.parts)
        role = "group" if "<a " in shapes else "img"  # an image hides its links from screen readers
        return (
            f'<svg class="{self.name}" viewBox="0 0 {self.width:g} {self.height:g}" role="{role}" '
            f'aria-label="{escape(self.label)}">{shapes}</svg>'
        )

    def at(self, x: float, y: float) -> str:
        """Return the drawing as part of a larger one, without its links into a page."""
        shapes = re.sub(r"</?a\b[^>]*>", "", "".join(self.parts))
        return f'<g transform="translate({x:g} {y:g})">{shapes}</g>'


def items_address(**query: str) -> str:
    """The address of items in the page of a run, by filters of its script `grid.js`."""
    return f"#/items?{urlencode(query)}"


def _link(address: str, title: str, shape: str) -> str:
    return f'<a href="{escape(address)}" aria-label="{escape(title)}">{shape}</a>'


def _rect(
    x: float, y: float, width: float, height: float, name: str, title: str = "", opacity: float = 1
) -> str:
    tip = f"<title>{escape(title)}</title>" if title else ""
    faint = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
    return (
        f'<rect class="{name}" x="{x:.2f}" y="{y:.2f}" width="{max(width, 0):.2f}" '
        f'height="{max(height, 0):.2f}"{faint}>{tip}</rect>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> str:
    return f'<line class="{name}" x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}"/>'


def _circle(x: float, y: float, radius: float, name: str = "judge", title: str = "") -> str:
    tip = f"<title>{escape(title)}</title>" if title else ""
    return f'<circle class="{name}" cx="{x:.2f}" cy="{y:.2f}" r="{radius:.1f}">{tip}</circle>'


def _text(x: float, y: float, words: object, name: str) -> str:
    return f'<text class="{name}" x="{x:.2f}" y="{y:.2f}">{escape(words)}</text>'


def _upward(x: float, y: float, words: str, name: str = "tick") -> str:
    """Draw text along a vertical axis."""
    turned = f'transform="translate({x:g} {y:g}) rotate(-90)"'
    return f'<text class="{name}" {turned}>{escape(words)}</text>'


def _short(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"


def score_range(
    mean: Estimate, lowest: float | None, highest: float | None, human: float | None
) -> Drawing:
    """Draw the score on a line from 0 to 1: bounds, interval, mean, and a tick for the human
    labels.

    Values outside the line are drawn at its ends.
    """
    width, y = 320.0, 18.0
    mean = mean.within(0.0, 1.0)
    lowest, highest, human = (
        None if end is None else min(1.0, max(0.0, end)) for end in (lowest, highest, human)
    )
    parts = [_rect(0, y - 3, width, 6, "track")]
    if lowest is not None and highest is not None:
        parts.append(_rect(lowest * width, y - 3, (highest - lowest) * width, 6, "bounds"))
    if mean.low is not None and mean.high is not None:
        low, high = max(0.0, mean.low), min(1.0, mean.high)
        parts.append(_rect(low * width, y - 3, (high - low) * width, 6, "judge soft"))
    if human is not None:
        parts.append(_line(human * width, y - 9, human * width, y + 9, "human stroke"))
    if mean.value is not None:
        parts.append(_circle(mean.value * width, y, 6))
    parts += [
        _text(0, 42, "0", "tick start"),
        _text(width / 2, 42, "0.5", "tick"),
        _text(width, 42, "1", "tick end"),
    ]
    return Drawing(width, 46, "the score between 0 and 1", parts, "range")


def value_bar(value: Estimate, penalty: bool) -> Drawing:
    """Draw a mean value as a bar with its interval."""
    width, y = 120.0, 8.0
    parts = [_rect(0, y - 3, width, 6, "track")]
    if value.value is not None:
        parts.append(_rect(0, y - 3, value.value * width, 6, "bad" if penalty else "good"))
    if value.low is not None and value.high is not None:
        low, high = (min(1.0, max(0.0, end)) * width for end in (value.low, value.high))
        parts.append(_line(low, y, high, y, "whisker"))
        parts += [_line(end, y - 4, end, y + 4, "whisker") for end in (low, high)]
    return Drawing(width, 16, f"mean value {value}", parts, "bar")


def answers_bar(parts: Sequence[tuple[str, int, str, str]]) -> Drawing:
    """Draw the distribution of answers: (label, count, colour, address) from left to right."""
    total = sum(part[1] for part in parts) or 1
    drawn, x = [], 0.0
    for label, count, name, address in parts:
        width = 120.0 * count / total
        title = f"{label}: {count}"
        drawn.append(_link(address, title, _rect(x, 2, max(width - 1, 0.5), 12, name, title)))
        x += width
    words = ", ".join(f"{label} {count}" for label, count, *_ in parts)
    return Drawing(120, 16, words, drawn, "bar")


def histogram(
    counts: Sequence[int],
    ticks: Mapping[float, str],
    *,
    label: str,
    links: Sequence[tuple[str, str]],
    outline: Sequence[int] | None = None,
    marks: Mapping[str, float] | None = None,
    band: tuple[float, float] | None = None,
    axis: str = "",
) -> Drawing:
    """Draw vertical bars from left to right.

    Args:
        counts: the counts of bins of equal width.
        ticks: labels below the axis, by place in [0, 1].
        label: the description for people who cannot see it.
        links: the name of each bin, and the address of its items.
        outline: other counts for the same bins, drawn as hollow bars.
        marks: vertical lines by name (may be empty), at positions in [0, 1].
        band: the ends of an interval, at positions in [0, 1]. axis: the name of the horizontal
            axis.
    """
    high = max([*counts, *(outline or ()), 1])
    top = TOP + 13 * sum(bool(name) for name in marks or {})  # the marks' names are above the bars
    inner, depth = WIDTH - LEFT - RIGHT, HEIGHT - top - BOTTOM
    step = inner / len(counts)

    def y(count: float) -> float:
        return top + depth * (1 - count / high)

    parts = [_line(LEFT, top + depth, WIDTH - RIGHT, top + depth, "axis")]
    if band is not None:
        start, end = (LEFT + inner * share for share in band)
        parts.append(_rect(start, top, end - start, depth, "band"))
    for count in dict.fromkeys((high, high // 2)):
        if count:
            parts.append(_line(LEFT, y(count), WIDTH - RIGHT, y(count), "grid"))
            parts.append(_text(LEFT - 6, y(count) + 4, count, "tick end"))
    for some, name, edge in ((counts, "judge", 1), (outline or (), "human line", 0)):
        for place, count in enumerate(some):
            if count:
                x, width, tall = LEFT + place * step + edge, step - 2 * edge, top + depth - y(count)
                title = f"{links[place][0]}: {count}"
                bar = _rect(x, y(count), width, tall, name, title)
                parts.append(_link(links[place][1], title, bar) if some is counts else bar)
    for number, (name, share) in enumerate((marks or {}).items()):
        x = LEFT + inner * share
        parts.append(_line(x, top, x, top + depth, "mark"))
        if not name:
            continue
        side = "end" if share > 0.7 else "start"
        x += -4 if side == "end" else 4
        parts.append(_text(x, TOP + 9 + 13 * number, name, f"tick {side}"))
    for share, words in ticks.items():
        parts.append(_text(LEFT + inner * share, HEIGHT - BOTTOM + 16, words, "tick"))
    if axis:
        parts.append(_text(LEFT + inner / 2, HEIGHT - 3, axis, "tick"))
    return Drawing(WIDTH, HEIGHT, label, parts, "chart")


def confusion_grid(name: str, labels: Sequence[str], counts: Sequence[Sequence[int]]) -> Drawing:
    """Draw counts with people's labels in rows and the judge's in columns; darker means more."""
    cell = max(22.0, min(56.0, 260 / len(labels)))
    start, top = 84.0, 34.0
    most = max(max(row) for row in counts) or 1
    letters = 14 if cell > 50 else max(3, int(cell / 6.5))
    parts = [
        _text(start + cell * len(labels) / 2, 12, "judge", "tick judge-text"),
        _upward(12, top + cell * len(labels) / 2, "human", "tick human-text"),
    ]
    for row, label in enumerate(labels):
        middle = top + cell * (row + 0.5) + 4
        parts.append(_text(start - 6, middle, _short(label, 8), "tick end"))
        parts.append(_text(start + cell * (row + 0.5), top - 7, _short(label, letters), "tick"))
        for column, count in enumerate(counts[row]):
            x, y = start + cell * column, top + cell * row
            strength = 0.08 + 0.62 * count / most if count else 0.04
            tone = "good" if row == column else "bad"
            title = f"human {label}, judge {labels[column]}: {count}"
            shape = _rect(x + 1, y + 1, cell - 2, cell - 2, tone, title, strength)
            address = items_address(criterion=name, human=label, verdict=labels[column])
            parts.append(_link(address, title, shape) if count else shape)
            parts.append(_text(x + cell / 2, y + cell / 2 + 4, count, "count"))
    size = start + cell * len(labels) + 4
    label = f"confusion of {', '.join(labels)}"
    return Drawing(size, top + cell * len(labels) + 4, label, parts, "grid-chart")


def bars(
    rows: Mapping[str, Sequence[float]],
    names: Sequence[str],
    *,
    label: str,
    axis: str,
) -> Drawing:
    """Draw a horizontal bar for each name, made of consecutive parts.

    Args:
        rows: the parts of each bar, by its name.
        names: the classes of the parts, which define their colours.
        label: the description for people who cannot see it.
        axis: the name of the horizontal axis.
    """
    start, step = 150.0, 20.0
    inner, depth = 300.0, step * len(rows)
    high = max((sum(parts) for parts in rows.values()), default=0.0) or 1.0
    drawn = []
    for place in (0.0, 0.5, 1.0):
        x = start + inner * place
        drawn.append(_line(x, TOP, x, TOP + depth, "grid"))
        drawn.append(_text(x, TOP + depth + 16, _tick(high * place), "tick"))
    for number, (name, parts) in enumerate(rows.items()):
        x, y = start, TOP + step * number
        drawn.append(_text(start - 6, y + step / 2 + 4, _short(name, 22), "tick end"))
        for part, colour in zip(parts, names, strict=True):
            width = inner * part / high
            drawn.append(_rect(x, y + 3, width, step - 6, colour, f"{name}: {part:.4g}"))
            x += width
    drawn.append(_text(start + inner / 2, TOP + depth + 31, axis, "tick"))
    return Drawing(start + inner + 24, TOP + depth + 36, label, drawn, "chart")


def _tick(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


ENDS = ("0", "0.5", "1")
"""The labels at the start, middle and end of an axis from 0 to 1."""


def _square(
    label: str, across: str, upward: str, parts: Sequence[str], ticks: Sequence[str] = ENDS
) -> Drawing:
    """Draw a plot from 0 to 1 in both directions, with its diagonal."""
    size, (start, bottom) = SQUARE, _place(0, 0)
    top = bottom - size
    frame = [
        _rect(start, top, size, size, "frame"),
        _line(start, top + size, start + size, top, "grid"),
        _text(start + size / 2, bottom + 36, across, "tick"),
        _upward(10, top + size / 2, upward),
    ]
    for place, words in zip((0.0, 0.5, 1.0), ticks, strict=True):
        frame.append(_text(start + size * place, bottom + 22, words, "tick"))
        frame.append(_text(start - 13, bottom - size * place + 4, words, "tick end"))
    return Drawing(start + size + 14, bottom + 42, label, [*frame, *parts], "square-chart")


SQUARE = 200.0
"""The size of a plot from 0 to 1 in both directions."""


def _place(across: float, up: float) -> tuple[float, float]:
    """The coordinates in such a plot; the largest spot covers no label of an axis."""
    return 48 + SQUARE * across, 12 + SQUARE * (1 - up)


def pairs_plot(
    pairs: Mapping[tuple[float, float], int],
    label: str,
    address: str,
    ticks: Sequence[str] = ENDS,
) -> Drawing:
    """Draw pairs of (human, judge) values in [0, 1]; larger spots are more frequent.

    Args:
        pairs: the count of each pair.
        label: the description for people who cannot see it.
        address: the address of the items of a pair, with `{:g}` for both numbers.
        ticks: the labels of 0, 0.5 and 1, such as the steps of a scale.
    """
    most = max(pairs.values(), default=1)
    parts = []
    for (human, judge), count in pairs.items():
        radius = 3 + 8 * (count / most) ** 0.5 if most > 1 else 4
        title = f"human {human:.2f}, judge {judge:.2f}: {count}"
        spot = _circle(*_place(human, judge), radius, "judge spot", title)
        parts.append(_link(address.format(human, judge), title, spot))
    return _square(label, "human", "judge", parts, ticks)


def reliability_plot(calibration: Calibration) -> Drawing:
    """Plot how often people said MET by the judge's probability of it, with exact intervals."""
    most = max((group.n for group in calibration.bins), default=1) or 1
    parts = []
    for group in calibration.bins:
        if group.mean_probability is None or group.frequency.value is None:
            continue
        x, y = _place(group.mean_probability, group.frequency.value)
        if group.frequency.low is not None and group.frequency.high is not None:
            ends = (group.frequency.low, group.frequency.high)
            low, high = (_place(group.mean_probability, end)[1] for end in ends)
            parts.append(_line(x, low, x, high, "whisker"))
        was = f"was {group.frequency.value:.2f} (n {group.n})"
        title = f"held for {group.mean_probability:.2f}, {was}"
        bounds = f"{group.low}~{group.high if group.high < 1 else ''}"
        address = items_address(only="labelled", probability_met=bounds)
        spot = _circle(x, y, 3 + 4 * (group.n / most) ** 0.5, title=title)
        parts.append(_link(address, title, spot))
    label = "how often people said MET against how probable the judge held it"
    return _square(label, "probability of MET", "people say MET", parts)


def timeline(scores: Sequence[tuple[str, str, Estimate]]) -> Drawing:
    """Draw scores in [0, 1] from left to right with their intervals: (name, address, score)."""
    inner, depth = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    step = inner / len(scores)

    def y(value: float) -> float:
        return TOP + depth * (1 - min(1.0, max(0.0, value)))

    parts = []
    for value in (0.0, 0.5, 1.0):
        parts.append(_line(LEFT, y(value), WIDTH - RIGHT, y(value), "grid"))
        parts.append(_text(LEFT - 6, y(value) + 4, f"{value:g}", "tick end"))
    before = None
    every = -(-len(scores) // MOST_NUMBERS)
    for place, (name, address, score) in enumerate(scores):
        if score.value is None:
            continue
        x = LEFT + step * (place + 0.5)
        if place % every == 0:
            parts.append(_text(x, HEIGHT - BOTTOM + 16, place + 1, "tick"))
        if before is not None:
            parts.append(_line(*before, x, y(score.value), "axis"))
        before = x, y(score.value)
        if score.low is not None and score.high is not None:
            parts.append(_line(x, y(score.low), x, y(score.high), "whisker"))
        title = f"{name}: {score}"
        parts.append(_link(address, title, _circle(x, y(score.value), 4, title=title)))
    return Drawing(WIDTH, HEIGHT, "scores of the runs, the oldest first", parts, "chart")
