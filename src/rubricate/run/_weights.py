"""Weights of a panel's judges that are learnt from all their votes, once these are there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from rubricate.judge import Judge
from rubricate.rubric import Verdict
from rubricate.run.items import NOT_RUN, JudgedItem


class Held:
    """The items of a panel that learns its weights, held until all votes are there.

    Attributes:
        panel: the panel; with its weights, once they are learnt.
    """

    def __init__(self, panel: Judge) -> None:
        self.panel = panel
        self._items: deque[JudgedItem] = deque()

    def add(self, item: JudgedItem) -> None:
        """Hold an item whose votes are all there."""
        self._items.append(item)

    def weighted_items(self, unfinished: Iterable[JudgedItem]) -> Iterator[JudgedItem]:
        """All items, and the unfinished ones at the run's end, with verdicts by the weights learnt.

        Can be asked again for what it has not given yet.
        """
        self._items.extend(unfinished)
        if self.panel.weights is None:
            self.panel = _recounted(self.panel, self._items)
        while self._items:
            yield self._items.popleft()


def _recounted(panel: Judge, items: Iterable[JudgedItem]) -> Judge:
    """The panel with weights learnt from the votes on items, whose verdicts are counted anew."""
    from rubricate.stats import reliability_weights

    verdicts = [
        (item, criterion, item.verdicts[criterion.name])
        for item in items
        for criterion in item.item.rubric
    ]
    voted = [
        (item, criterion, verdict.votes)
        for item, criterion, verdict in verdicts
        if verdict.votes and verdict.error != NOT_RUN
    ]
    questions: dict[tuple[str, ...], dict[str, list[str | None]]] = {}
    for _, criterion, votes in voted:
        if criterion.labels:  # numbers have none to be confused with each other
            columns = questions.setdefault(criterion.labels, {m.name: [] for m in panel.members})
            for column, vote in zip(columns.values(), _each(panel, votes), strict=True):
                column.append(_label(vote))
    weighted = panel.weighted(reliability_weights(list(questions.values())))
    for item, criterion, votes in voted:
        item.verdicts[criterion.name] = weighted.verdict(criterion, _each(panel, votes))
    return weighted


def _each(panel: Judge, votes: Sequence[Verdict]) -> list[Verdict | None]:
    """Each member's vote, None for one without."""
    by_name = {vote.judge: vote for vote in votes}
    return [by_name.get(member.name) for member in panel.members]


def _label(vote: Verdict | None) -> str | None:
    if vote is None or vote.status not in ("judged", "not_applicable"):
        return None
    return vote.label
