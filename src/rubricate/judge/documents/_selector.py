"""Which parts of a long document to ask about a criterion: BM25, with a safeguard for recall.

BM25 as in S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond"
(2009), over word stems. The safeguard: a part is skipped only if that can be made up for. All parts
are read for faults, for properties that must hold throughout a document, if there are few parts,
and if no part has a word of the criterion. Otherwise the best scoring parts are read, and for every
word of the criterion that the document has at all, a part that has it. If none of them bears on the
criterion, all others are read too: nothing is reported missing on the basis of unread parts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from rubricate.rubric import Criterion

FEW = 6
"""Up to this number, all parts are read."""
SHARE = 1 / 3
"""Of more parts, the share that is read for its score, at least `FEW`."""
SATURATION, LENGTH = 1.2, 0.75
"""BM25's k1 and b, the usual values."""
_WORD = re.compile(r"[^\W_]+")
_THROUGHOUT = re.compile(
    r"\b(?:all|always|avoids?|consisten\w*|contradict\w*|each|entire\w*|every\w*|never|no|overall|"
    r"throughout|without)\b",
    re.IGNORECASE,
)


def is_about_all_parts(criterion: Criterion) -> bool:
    """Whether one part can change the answer whatever is in the others: a fault, or something that
    must hold throughout."""
    return criterion.weight < 0 or bool(_THROUGHOUT.search(criterion.requirement))


def selected(relevance: Relevance, criterion: Criterion) -> list[int]:
    """The indexes of the parts to read first for a criterion, in order."""
    count = len(relevance)
    everything = list(range(count))
    if count <= FEW or is_about_all_parts(criterion):
        return everything
    wanted = terms(criterion.requirement)
    scores = relevance.scores(wanted)
    if not any(scores):
        return everything
    ranked = sorted(everything, key=lambda index: (-scores[index], index))
    chosen = set(ranked[: max(FEW, math.ceil(count * SHARE))])
    for term in dict.fromkeys(wanted):
        holders = relevance.holders(term)
        if holders and not chosen & holders:
            chosen.add(next(index for index in ranked if index in holders))
    return sorted(chosen)


def terms(text: str) -> list[str]:
    """The stems of a text's words, without stop words."""
    from rubricate.judge.builtin import STOP_WORDS, stem  # loads the built-in judge, too

    words = (word.casefold() for word in _WORD.findall(text))
    return [stem(word) for word in words if word not in STOP_WORDS]


class Relevance:
    """How well texts match words.

    Args:
        texts: the texts, read once and not stored.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._counts = [Counter(terms(text)) for text in texts]
        self._lengths = [counts.total() for counts in self._counts]
        self._mean = sum(self._lengths) / max(1, len(self._lengths)) or 1.0

    def __len__(self) -> int:
        return len(self._counts)

    def holders(self, term: str) -> set[int]:
        """The indexes of the texts that contain a term."""
        return {index for index, counts in enumerate(self._counts) if term in counts}

    def scores(self, wanted: Sequence[str]) -> list[float]:
        """Each text's BM25 score for some terms; 0 if it has none of them."""
        scores = [0.0] * len(self)
        for term in dict.fromkeys(wanted):
            holders = self.holders(term)
            rarity = math.log1p((len(self) - len(holders) + 0.5) / (len(holders) + 0.5))
            for index in holders:
                often = self._counts[index][term]
                long = 1 - LENGTH + LENGTH * self._lengths[index] / self._mean
                scores[index] += rarity * often * (SATURATION + 1) / (often + SATURATION * long)
        return scores
