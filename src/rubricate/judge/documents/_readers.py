"""Who reads a document's parts, and who makes a verdict of what was found in them."""

from __future__ import annotations

from functools import lru_cache

from rubricate.judge._case import Case
from rubricate.judge.asking import ConfidentJudge, ModelJudge, locate
from rubricate.judge.documents._document import Part, Seen
from rubricate.judge.documents._prompts import LABELS, render_part, render_whole
from rubricate.judge.models import Model, Request
from rubricate.rubric import Criterion, Evidence, Reading, read_label

__all__ = ["ConfidentWholeJudge", "PartReader", "WholeJudge", "question_about"]


class PartReader(ModelJudge):
    """Reads one part for a criterion: notes, quotes, and whether anything in it bears on it."""

    @property
    def identity(self) -> bytes:
        """The model and the version of the usual prompts."""
        return self._identity

    def request(self, case: Case, criterion: Criterion) -> Request:
        assert isinstance(case, Part)
        assert isinstance(criterion, PartQuestion)
        return render_part(case, case.place, criterion.asked)


class WholeJudge(ModelJudge):
    """Judges what is seen of a document: its outline, or what was found in its parts."""

    known_as = "_WholeJudge"
    """What keys have of it."""

    def __init__(
        self,
        model: Model,
        kind: str,
        shuffle: int | None,
        require_evidence: bool | None = None,
    ) -> None:
        super().__init__(model, shuffle=shuffle, require_evidence=require_evidence)
        self._kind = kind

    def request(self, case: Case, criterion: Criterion) -> Request:
        return render_whole(case, self._kind, criterion, self._order(case, criterion))

    def _located(self, quote: str, case: Case) -> Evidence:
        return locate(quote, case.whole if isinstance(case, Seen) else case.submission)


class ConfidentWholeJudge(ConfidentJudge, WholeJudge):
    """The same, and how sure it is."""

    known_as = "_ConfidentWholeJudge"


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
