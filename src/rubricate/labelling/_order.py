"""Which items people should label next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from rubricate.dataset import Item
from rubricate.rubric import ABSTENTION, Verdict, confidence
from rubricate.stats import next_to_label

Order = Literal["random", "uncertainty"]


def open_questions(rows: Sequence[Verdict]) -> dict[str, float | None]:
    """How much the judge leaves open, in [0, 1], by criterion; None where nothing tells.

    A verdict that failed or abstained leaves all open; else it is `1 - confidence`.

    Args:
        rows: an item's verdicts.
    """
    found: dict[str, float | None] = {}
    for row in rows:
        sure = confidence(row)
        if row.status in ("failed", "abstained"):
            found[row.criterion] = 1.0
        else:
            found[row.criterion] = None if sure is None else 1.0 - sure
    return found


def label_order(
    entries: Sequence[Item],
    order: Order,
    *,
    judged: Mapping[str, Mapping[str, float | None]],
    labels: Mapping[str, Mapping[str, str | None]],
    seed: int = 0,
) -> list[str]:
    """The ids of all items, in the order in which to label them.

    `random`: a random order, the same each time, but for those whose ground truth is all there,
    which come last. `uncertainty`: those first on whose criteria people differ from each other, or
    the judge from people, or the judge is least sure; the mean over an item's criteria counts, and
    a criterion that somebody has decided on counts nothing.

    Args:
        entries: the items.
        judged: `open_questions` by item.
        labels: the judge's labels, by item and criterion.
        seed: of the random order, and of that among equals.
    """
    uncertainty: list[float] | None = None
    if order == "uncertainty":
        uncertainty = [
            _uncertainty(entry, judged.get(entry.id, {}), labels.get(entry.id, {}))
            for entry in entries
        ]
    settled = [order == "random" and _is_settled(entry) for entry in entries]
    indices: list[int] = []
    for left_out in (settled, [not one for one in settled]):
        plan = next_to_label(left_out, len(entries), uncertainty=uncertainty, seed=seed)
        indices += plan.items
    return [entries[index].id for index in indices]


def _is_settled(entry: Item) -> bool:
    return all(label is not None for label in entry.data.ground_truth or [None])


def _uncertainty(
    entry: Item, judged: Mapping[str, float | None], labels: Mapping[str, str | None]
) -> float:
    people = entry.labels()
    return sum(
        _of_criterion(entry, name, judged.get(name), labels.get(name), people.get(name) is not None)
        for name in entry.rubric.names
    ) / len(entry.rubric)


def _of_criterion(
    entry: Item, name: str, left_open: float | None, judge: str | None, labelled: bool
) -> float:
    if name in entry.data.adjudications:
        return 0.0
    given = {str(said[name]) for said in entry.data.annotations.values() if said.get(name)}
    if len(given) > 1:
        return 1.0
    if labelled:
        decided = entry.labels()[name].label
        differs = judge is not None and ABSTENTION not in (judge, decided) and judge != decided
        return 1.0 if differs else 0.0
    return 0.5 if left_open is None else left_open
