"""The options of scoring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from rubricate.errors import InputError
from rubricate.settings import Settings, option

if TYPE_CHECKING:
    from rubricate.rubric._declared import DeclaredScoring
    from rubricate.rubric._penalty import LengthPenalty
    from rubricate.rubric._scoring import ScoringRules

_T = TypeVar("_T")


class Scoring(Settings, group="Scores"):
    """How verdicts count in scores: abstentions, and a length penalty.

    Raises:
        InputError: a strategy or penalty is unknown, or a number is out of bounds.
    """

    cannot_assess: Literal["skip", "zero", "partial", "fail"] | None = option(
        None,
        "What an abstention or an N/A answer scores: skip, zero, partial, fail.",
        input_type=str | None,
        has_other_words=True,
        default_text="as the rubric says, else skip",
    )
    partial: float | None = option(
        None,
        "The fraction of a positive weight that partial gives, from 0 to 1.",
        default_text="as the rubric says, else 0.5",
        ge=0,
        le=1,
    )
    length_penalty: LengthPenalty | Mapping[str, Any] | None = option(
        None,
        "The penalty for length: free_budget=6000,max_cap=8000,penalty_at_cap=0.5; also "
        "exponent and penalty_type.",
        more="A `LengthPenalty`, or its fields as a dict.",
        input_type=str | dict[str, Any] | None,
    )

    def check(self) -> None:
        self.under(None)

    def under(self, declared: DeclaredScoring | None) -> ScoringRules:
        """The scoring rules from these options and the declared scoring.

        Raises:
            InputError: the two contradict each other.
        """
        from rubricate.rubric._scoring import ScoringRules

        strategy, partial = self.cannot_assess, self.partial
        if strategy is not None:
            from rubricate.rubric._declared import check_cannot_assess

            strategy = check_cannot_assess(strategy, 0.5)
        if declared is not None:
            strategy = _one_of("cannot_assess", declared.cannot_assess, strategy)
            partial = _one_of("partial", declared.partial, partial)
        penalty = None if self.length_penalty is None else self._penalty
        if declared is not None and declared.items == "raw" and penalty is not None:
            raise InputError(
                "the rubric declares raw scores, and a length penalty is of scores in [0, 1]: "
                "leave one out"
            )
        partial = 0.5 if partial is None else partial
        return ScoringRules(strategy or "skip", partial, penalty, declared)

    @property
    def _penalty(self) -> LengthPenalty:
        from rubricate.rubric._penalty import LengthPenalty

        penalty = self.length_penalty
        if isinstance(penalty, LengthPenalty):
            return penalty
        if not isinstance(penalty, Mapping):
            raise InputError(
                f"length_penalty must be a LengthPenalty or a mapping, found {penalty}"
            )
        return LengthPenalty.from_dict(penalty)


def _one_of(name: str, declared: _T | None, chosen: _T | None) -> _T | None:
    if declared is not None and chosen is not None and declared != chosen:
        raise InputError(
            f"the rubric declares {name} {declared}, and the option sets {chosen}: leave one out"
        )
    return declared if chosen is None else chosen
