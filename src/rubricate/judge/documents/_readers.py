"""The ways of asking about a document's parts, and for a verdict on the findings in them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache

from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.judge.asking import (
    Explained,
    Probability,
    Prompting,
    asking_confidence,
    locate,
    turned_order,
)
from rubricate.judge.documents._document import Part, Seen
from rubricate.judge.documents._prompts import (
    LABELS,
    render_part,
    render_whole,
    render_whole_choice,
)
from rubricate.judge.models import Request
from rubricate.rubric import Criterion, Evidence, Reading, read_label


class PartPrompting(Prompting):
    """Asks a model to read one part for a criterion: notes, quotes, and whether it is relevant."""

    def request(self, item: Item, criterion: Criterion) -> Request:
        assert isinstance(item, Part)
        assert isinstance(criterion, PartQuestion)
        return render_part(item, item.place, criterion.about)


@dataclass(frozen=True)
class WholePrompting(Prompting):
    """Asks a model to judge a view of a document: its outline, or the findings in its parts.

    Attributes:
        kind: `outline` or `findings`.
        shuffle, require_evidence, states_confidence, turn: as for `Explained`.
    """

    kind: str
    shuffle: int | None = None
    require_evidence: bool | None = None
    states_confidence: bool = False
    turn: int = 0

    @property
    def settings(self) -> tuple[object, ...]:
        """Its settings as part of keys."""
        name = "_ConfidentWholeJudge" if self.states_confidence else "_WholeJudge"
        return name, self.shuffle, self.turn

    @property
    def outline(self) -> WholePrompting:
        """The same for an outline, which has nothing to quote."""
        return replace(self, kind="outline", require_evidence=False)

    def requests(self, criterion: Criterion) -> int:
        """The number of requests for a verdict."""
        return 1

    def order(self, item: Item, criterion: Criterion) -> tuple[int, ...] | None:
        return turned_order(criterion, item, self.turn, self.shuffle)

    def request(self, item: Item, criterion: Criterion) -> Request:
        request = render_whole(item, self.kind, criterion, self.order(item, criterion))
        return asking_confidence(request) if self.states_confidence else request

    def located(self, quote: str, item: Item) -> Evidence:
        return locate(quote, item.whole if isinstance(item, Seen) else item.submission)


@dataclass(frozen=True)
class WholeProbability(Probability):
    """Asks a model for the probability of each verdict on a view of a document.

    Attributes:
        kind: `outline` or `findings`.
    """

    kind: str = "findings"

    @property
    def settings(self) -> tuple[object, ...]:
        """Its settings as part of keys."""
        how = f"probability {self.permutations} {self.correct_prior} {self.samples}"
        return how, self.shuffle, 0

    @property
    def outline(self) -> WholeProbability:
        """The same for an outline."""
        return replace(self, kind="outline")

    def requests(self, criterion: Criterion) -> int:
        """The number of requests for a verdict, without the content-free question."""
        return self.permutations if self.fits(criterion) else 1

    @property
    def otherwise(self) -> Prompting:
        return WholePrompting(self.kind, self.shuffle)

    def rendered(
        self, item: Item, criterion: Criterion, order: tuple[int, ...], *, free: bool = False
    ) -> Request:
        return render_whole_choice(item, self.kind, criterion, order, free)


def on_the_whole(prompting: Prompting) -> WholePrompting | WholeProbability:
    """The way to ask for a verdict on findings that corresponds to the way for short texts.

    Raises:
        InputError: there is none.
    """
    is_own = type(prompting).request is not Explained.request
    if isinstance(prompting, Explained) and prompting.fenced and not is_own:
        return WholePrompting(
            "findings",
            prompting.shuffle,
            prompting.require_evidence,
            prompting.states_confidence,
            prompting.turn,
        )
    if type(prompting) is Probability:
        options = {option.name: getattr(prompting, option.name) for option in fields(Probability)}
        return WholeProbability(**options | {"examples": None})
    raise InputError(
        "long submissions are read in parts with the usual prompts, in explained or probability "
        f"mode: {type(prompting).__name__} has another prompt; leave out chunk tokens"
    )


class PartQuestion(Criterion):
    """The question to the reader of a part: the criterion, with other answers."""

    about: Criterion

    def read(self, answer: object) -> Reading:
        return Reading(read_label(answer, LABELS))

    def value(self, label: str) -> float | None:
        return None


@lru_cache(maxsize=1024)
def question_about(criterion: Criterion) -> PartQuestion:
    """The question about a part for a criterion."""
    return PartQuestion(
        name=criterion.name or "part", requirement=criterion.requirement or "part", about=criterion
    )
