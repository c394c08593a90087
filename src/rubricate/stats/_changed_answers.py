"""Has a judge changed? Its answers to the same questions, earlier and now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from scipy import stats

from rubricate.errors import InputError
from rubricate.stats._inputs import same_length
from rubricate.stats._numbers import Floats


def changed_answers_test(
    before: Sequence[Mapping[str, int]], after: Sequence[Mapping[str, int]]
) -> tuple[int, float]:
    """Test whether later answers are unusual for their question more often than by chance.

    Of a judge that has not changed, all answers to a question are exchangeable, however noisy it
    is: which of them are the later ones is a random draw without replacement (the exact test of
    Fisher 1935, one table a question, put together). An answer is unusual if it is not the
    question's most frequent one, early and late taken together.

    Args:
        before: how often each answer was given earlier, one mapping a question.
        after: the same for the later answers, in the same order.

    Returns:
        How many later answers are unusual, and the probability of at least as many by chance, 0
        to 1; 1 without answers.

    Raises:
        InputError: different lengths, or a number of answers below 0.

    Example:
        >>> unusual, p = changed_answers_test([{"MET": 9}] * 3, [{"UNMET": 1}] * 3)
        >>> unusual, round(p, 3)
        (3, 0.001)
    """
    same_length(before=before, after=after)
    unusual, chances = 0, np.ones(1)
    for early, late in zip(before, after, strict=True):
        together = Counter(dict(early))
        together.update(dict(late))
        if any(count < 0 for counts in (early, late) for count in counts.values()):
            raise InputError("answers are counted: each number must be 0 or more")
        total, drawn = together.total(), sum(late.values())
        if not total:
            continue
        usual = max(sorted(together), key=together.__getitem__)
        unusual += drawn - late.get(usual, 0)
        chances = np.convolve(chances, _chances(total, total - together[usual], drawn))
    return unusual, float(min(1.0, chances[unusual:].sum()))


@lru_cache(maxsize=4096)
def _chances(total: int, unusual: int, drawn: int) -> Floats:
    """The probabilities of 0 to `drawn` unusual answers among those that are drawn."""
    return np.asarray(stats.hypergeom.pmf(np.arange(drawn + 1), total, unusual, drawn))
