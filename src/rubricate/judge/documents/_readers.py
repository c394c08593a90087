"""Who reads a document's parts, and who makes a verdict of what was found in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from rubricate.dataset import Item
from rubricate.judge.asking import Prompting, asking_confidence, locate, turned_order
from rubricate.judge.documents._document import Part, Seen
from rubricate.judge.documents._prompts import LABELS, render_part, render_whole
from rubricate.judge.models import Request
from rubricate.rubric import Criterion, Evidence, Reading, read_label

__all__ = ["PartPrompting", "WholePrompting", "question_about"]


class PartPrompting(Prompting):
    """A model reads one part for a criterion: notes, quotes, and whether anything bears on it."""

    def request(self, item: Item, criterion: Criterion) -> Request:
        assert isinstance(item, Part)
        assert isinstance(criterion, PartQuestion)
        return render_part(item, item.place, criterion.asked)


@dataclass(frozen=True)
class WholePrompting(Prompting):
    """A model judges what is seen of a document: its outline, or what was found in its parts.

    Attributes:
        kind: what is seen: `outline` or `findings`.
        shuffle, require_evidence, states_confidence, turn: as for `Explained`.
    """

    kind: str
    shuffle: int | None = None
    require_evidence: bool | None = None
    states_confidence: bool = False
    turn: int = 0

    @property
    def known_as(self) -> str:
        """What keys have of it."""
        return "_ConfidentWholeJudge" if self.states_confidence else "_WholeJudge"

    def order(self, item: Item, criterion: Criterion) -> tuple[int, ...] | None:
        return turned_order(criterion, item, self.turn, self.shuffle)

    def request(self, item: Item, criterion: Criterion) -> Request:
        request = render_whole(item, self.kind, criterion, self.order(item, criterion))
        return asking_confidence(request) if self.states_confidence else request

    def located(self, quote: str, item: Item) -> Evidence:
        return locate(quote, item.whole if isinstance(item, Seen) else item.submission)


class PartQuestion(Criterion):
    """What a reader of a part is asked: the criterion, with answers of its own."""

    asked: Criterion

    def read(self, answer: object) -> Reading:
        return Reading("judged", read_label(answer, LABELS))

    def value(self, label: str) -> float | None:
        return None


@lru_cache(maxsize=1024)
def question_about(criterion: Criterion) -> PartQuestion:
    """What a part is asked for a criterion."""
    return PartQuestion(
        name=criterion.name or "part", requirement=criterion.requirement or "part", asked=criterion
    )
