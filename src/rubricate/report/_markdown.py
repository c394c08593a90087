"""A comparison of two runs as Markdown, for a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricate.report._comparison import RunComparison
    from rubricate.stats import Estimate, PairedComparison

__all__ = [
    "OTHER_HEADINGS",
    "comparison_markdown",
    "coverage_text",
    "estimate_text",
    "other_texts",
    "p_text",
]

OTHER_HEADINGS = ("bootstrap interval", "Wilcoxon", "exact McNemar", "detectable")
"""What `other_texts` tells."""


def estimate_text(estimate: Estimate, *, sign: bool = False) -> str:
    """A figure with its interval, to two decimal places."""
    plus = "+" if sign else ""
    if estimate.value is None:
        return "–"
    text = f"{estimate.value:{plus}.2f}"
    if estimate.low is not None and estimate.high is not None:
        text += f" [{estimate.low:{plus}.2f}, {estimate.high:{plus}.2f}]"
    return text


def p_text(p_value: float | None) -> str:
    """A p-value to three decimal places."""
    if p_value is None:
        return "–"
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def other_texts(found: PairedComparison) -> tuple[str, str, str, str]:
    """A difference by other ways: see `OTHER_HEADINGS`."""
    other = found.bootstrapped
    ends = "–"
    if other.low is not None and other.high is not None:
        ends = f"{other.low:+.2f} to {other.high:+.2f}"
    return (
        ends,
        p_text(found.wilcoxon.p_value),
        "–" if found.mcnemar is None else p_text(found.mcnemar.p_value),
        "–" if not found.smallest_detectable else f"{found.smallest_detectable:.3f}",
    )


def coverage_text(found: RunComparison) -> str:
    """How much of run A is compared, and what of it is not."""
    causes = ", ".join(f"{count} {cause}" for cause, count in found.not_compared.items())
    return f"Compared: {found.coverage:.0%} of the verdicts of A; of the others {causes}."


def comparison_markdown(found: RunComparison) -> str:
    """The report: the score, every criterion, and every flip with both reasons."""
    score = found.score
    lines = [
        "# Comparison of two runs",
        "",
        f"A: `{found.a}`, judged by {found.judge_a}  ",
        f"B: `{found.b}`, judged by {found.judge_b}",
        "",
        f"{found.items} items in both ({found.only_a} only in A, {found.only_b} only in B); "
        f"{score.n} scored in both.",
        "",
        f"| | A | B | B minus A | p | {' | '.join(OTHER_HEADINGS)} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        f"| **score** | {_mean(score.mean_a)} | {_mean(score.mean_b)} "
        f"| {estimate_text(score.difference, sign=True)} | {p_text(score.permutation.p_value)} "
        f"| {' | '.join(other_texts(score))} |",
    ]
    for one in found.criteria:
        values = one.values
        fault = " (fault)" if one.weight < 0 else ""
        lines.append(
            f"| {_cell(one.name)}{fault} | {_mean(values.mean_a)} | {_mean(values.mean_b)} "
            f"| {estimate_text(values.difference, sign=True)} | {p_text(one.p_value)} "
            f"| {' | '.join(other_texts(values))} |"
        )
    by = _cell(found.groups or "item")
    lines += [
        "",
        f"Intervals: 95 %, t, by {by}. p: permutation test by {by}; criteria corrected by Holm. "
        "Wilcoxon's and McNemar's p are not corrected, and take items as independent. Detectable: "
        "the smallest difference found with a power of 0.8.",
    ]
    if found.not_compared:
        lines.append(coverage_text(found))
    if score.margin is not None and score.not_worse is not None:
        shown = "is shown" if score.not_worse else "is not shown"
        lines.append(f"That B is no more than {score.margin:g} worse {shown}.")
    lines += ["", f"## {len(found.flips)} verdicts differ", ""]
    if found.flips:
        lines += ["| item | criterion | A | B | human |", "|---|---|---|---|---|"]
    for flip in found.flips:
        a, b = (
            _cell(f"{answer}: {reason}" if reason else answer)
            for answer, reason in ((flip.a, flip.reason_a), (flip.b, flip.reason_b))
        )
        lines.append(
            f"| {_cell(flip.item)} | {_cell(flip.criterion)} | {a} | {b} "
            f"| {_cell(flip.human_label or '–')} |"
        )
    return "\n".join(lines).rstrip() + "\n"


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _cell(text: str) -> str:
    """Text that cannot leave its cell of the table, nor bring markup of its own."""
    safe = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    for mark in "\\|`*_[]":
        safe = safe.replace(mark, f"\\{mark}")
    return safe
