"""What few labels say, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from rubricate.views import estimate_text, percent, plain_table

if TYPE_CHECKING:
    from rubricate.analysis._few_labels import FewLabelsReport

__all__ = ["few_labels_view"]


def few_labels_view(report: FewLabelsReport) -> RenderableType:
    """People's mean score and values, told four ways; then the items to label next."""
    table = plain_table(
        f"What people's means would be: {report.judge} on {report.items} items, "
        f"{report.labelled} of them labelled"
    )
    table.add_column("", overflow="fold")
    table.add_column("n", justify="right")
    for heading in ("judge", "labels", "PPI++", "Rogan-Gladen"):
        table.add_column(heading, justify="right", min_width=11)
    table.add_column("worth", justify="right")
    reasons: dict[str, list[str]] = {}
    means = [("score", report.score), *((one.name, one.mean) for one in report.criteria)]
    for place, (name, found) in enumerate(means):
        shown = (found.naive, found.labelled_only, found.prediction_powered, found.rogan_gladen)
        effective = found.effective_labels
        table.add_row(
            Text(name),
            str(found.labelled),
            *(estimate_text(one).replace(", ", ",") for one in shown),
            "–" if effective is None else f"{effective:.0f}",
            style="" if place else "bold",
        )
        for kind, one in zip(("PPI++", "Rogan-Gladen"), shown[2:], strict=True):
            if one.value is None and one.undefined is not None:
                reasons.setdefault(f"no {kind}: {one.undefined}", []).append(name)
    parts: list[RenderableType] = [table]
    parts += [Text(f"{', '.join(names)}: {reason}") for reason, names in reasons.items()]
    if report.next_random is not None:
        how = "a random sample" if report.next_random else "the least sure first"
        named = ", ".join(report.next_items) or "none is left"
        parts.append(Text(f"To label next ({how}): {named}"))
    if report.next_random is False:
        parts.append(Text("These show where the judge errs; labels of them bend the means above."))
    by = "items" if report.groups is None else f"groups by {report.groups}"
    note = (
        f"Intervals: {percent(report.confidence)}, by {by}. All but the judge's own mean, which is "
        "of all items, need labels of a random sample (n of them); items that the judge did not "
        "decide are left out. Worth: how many labels alone would be as sure as PPI++."
    )
    return Group(*parts, Text(note, style="dim"))
