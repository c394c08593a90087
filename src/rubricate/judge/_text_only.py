"""A judge that sees only text, for an item that contains more than text."""

from __future__ import annotations

from collections.abc import Sequence

from rubricate.dataset import Item
from rubricate.judge._judge import Judge
from rubricate.judge.models import Send
from rubricate.rubric import ABSTENTION, Criterion, Verdict

UNSEEN_NOTE = "Items with images, audio, video or files were not judged: the judge sees text alone"


class TextOnly(Judge):
    """Abstains on items that a judge would see only in part; nothing is sent.

    Args:
        judge: the judge that sees only text.
    """

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._judge = judge

    def key(self, item: Item, criterion: Criterion) -> str:
        """A key that differs from that of the same text without the unseen parts."""
        return f"{self._judge.key(item, criterion)}-unseen"

    def keys(self, item: Item, criteria: Sequence[Criterion]) -> list[str]:
        return [f"{key}-unseen" for key in self._judge.keys(item, criteria)]

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        reason = f"Not judged: {item.unseen}, which the judge does not see."
        return Verdict(criterion.name, "abstained", ABSTENTION, reason=reason, judge=self.name)
