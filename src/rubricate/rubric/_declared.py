"""Declared scoring: how a rubric or a dataset computes the score of an item and of all items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from pydantic import Field, field_validator, model_validator

from rubricate._documents import PythonDocument
from rubricate._spelling import unknown_word
from rubricate.errors import InputError
from rubricate.rubric._aggregates import Aggregate, aggregate_named
from rubricate.rubric._tags import split_tag

CannotAssess = Literal["skip", "zero", "partial", "fail"]
"""How an abstention or a not-applicable answer counts in the score.

`skip`: not at all. `zero`: 0 in the numerator, full weight in the denominator. `partial`: a
fraction of a positive weight, 0 for a negative one. `fail`: the worst outcome for the sign of the
weight.
"""
Skipped = Literal["zero", "skip"]
"""How a criterion counts in the score if it was skipped because its gate does not hold.

`zero`: 0 in the numerator, full weight in the denominator. `skip`: not at all.
"""
Alone = Literal["avoided", "none"]


class ItemScoring(NamedTuple):
    """How an item is scored, as its rubric declares it.

    Attributes:
        raw: whether the score is not clamped to [0, 1]; penalty criteria alone then give a score
            only if the rubric has no others.
        avoids: whether penalty criteria alone give a score: the share of their weight that was
            avoided.
        skipped: how a criterion counts if its gate does not hold.
    """

    raw: bool = False
    avoids: bool = True
    skipped: Skipped = "zero"


CLAMPED = ItemScoring()
"""The scoring if nothing is declared."""


def check_cannot_assess(strategy: str, partial: float) -> CannotAssess:
    """The strategy with this name in any letter case. Raises `InputError` with a suggestion."""
    known = get_args(CannotAssess)
    for name in known:
        if strategy.casefold() == name:
            if not 0.0 <= partial <= 1.0:
                raise InputError(f"partial must be between 0 and 1, found {partial}")
            return name  # type: ignore[no-any-return]
    raise InputError(unknown_word("cannot_assess", strategy, known))


class DeclaredScoring(PythonDocument):
    """How a rubric, or a dataset, is scored: its `scoring` in a file.

        scoring: {items: raw, aggregate: clipped_mean, by: tags}      # HealthBench

    Raises:
        InputError: a word is unknown (the error suggests one), or two cannot be combined.
    """

    items: Literal["clamped", "raw"] = "clamped"
    """The score of an item: `sum(w v) / sum(w+)` with the positive weights w+, either clamped to
    [0, 1] or raw. There is no raw score if none of the criteria that give points was judged."""
    penalties_only: Alone | None = None
    """The score of an item, or of its part with a tag, that has only penalty criteria: `avoided`,
    which is `1 + sum(w v) / sum(|w|)`, or `none`. Default: `avoided` for clamped scores, `none` for
    raw ones."""
    skipped: Skipped = "zero"
    """How a criterion counts if its gate does not hold: `zero`, or `skip` to leave it out."""
    aggregate: str = "mean"
    """The aggregate over all items; see `AGGREGATES`."""
    by: tuple[str, ...] = Field(default=(), strict=False)
    """By what to break scores down: `tags`, or fields such as `axis` and `domain`."""
    pooled: tuple[str, ...] = Field(default=(), strict=False)
    """Fields of criteria's tags for which to report the plain mean of all verdict values. Each
    verdict counts once, whatever its weight and item."""
    groups: tuple[str, ...] = Field(default=(), strict=False)
    """For an aggregate in groups: the fields of items that define the groups, outermost first.
    `[domain, task]` is the mean over domains of the mean over tasks of the items' mean."""
    pairs: str | None = None
    """The field that says which items belong together, such as their task. Intervals are computed
    over these groups, and an aggregate in pairs compares items with their reference."""
    reference: str | None = None
    """For an aggregate in pairs: the tag (`field:value`) of the reference items."""
    cannot_assess: CannotAssess | None = None
    """How an abstention or an N/A answer counts. Default: the option of the run, else `skip`."""
    partial: float | None = Field(default=None, ge=0, le=1)
    """The fraction of a positive weight for `partial`. Default: the option of the run, else 0.5."""

    @model_validator(mode="before")
    @classmethod
    def _keys_are_known(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        for key in data.keys() - cls.model_fields:
            raise InputError(unknown_word("key", key, cls.model_fields))
        lists = ("by", "pooled", "groups")
        return {
            key: (value,) if key in lists and isinstance(value, str) else value
            for key, value in data.items()
        }

    @field_validator("by", "pooled", "groups")
    @classmethod
    def _fields_are_named(cls, fields: tuple[str, ...]) -> tuple[str, ...]:
        if not all(field.strip() for field in fields):
            raise InputError("must not be empty")
        return tuple(dict.fromkeys(fields))

    @field_validator("cannot_assess", mode="before")
    @classmethod
    def _strategy_is_known(cls, strategy: object) -> object:
        return check_cannot_assess(strategy, 0.5) if isinstance(strategy, str) else strategy

    @model_validator(mode="after")
    def _goes_together(self) -> DeclaredScoring:
        formula = self.formula
        for key in ("pairs", "reference"):
            if formula.in_pairs and getattr(self, key) is None:
                raise InputError(f"the aggregate {formula.name} needs '{key}'; {IN_PAIRS}")
        if self.reference is not None and not formula.in_pairs:
            raise InputError(f"'reference' is for an aggregate in pairs, not {formula.name}")
        if self.pairs is not None and formula.in_groups:
            raise InputError(f"'pairs' is not for {formula.name}, whose intervals are by 'groups'")
        if formula.in_groups and not self.groups:
            raise InputError(f"the aggregate {formula.name} needs 'groups', such as [domain, task]")
        if self.groups and not formula.in_groups:
            raise InputError(f"'groups' is for an aggregate in groups, not {formula.name}")
        if both := [field for field in self.pooled if field in self.by]:
            raise InputError(f"'{both[0]}' is in 'by' and in 'pooled'; keep one of them")
        if formula.in_pairs and self.items == "raw":
            raise InputError(f"the aggregate {formula.name} is for items: clamped, not raw")
        if self.reference is not None and not split_tag(self.reference)[0]:
            raise InputError(f"'reference' is a tag such as role:reference; {IN_PAIRS}")
        return self

    @property
    def formula(self) -> Aggregate:
        """The aggregate with that name."""
        return aggregate_named(self.aggregate)

    @property
    def of_items(self) -> ItemScoring:
        """The part that concerns single items."""
        alone = self.penalties_only or ("avoided" if self.items == "clamped" else "none")
        return ItemScoring(self.items == "raw", alone == "avoided", self.skipped)

    def to_dict(self) -> dict[str, Any]:
        """The declaration as written to a file: only the fields that were set."""
        return self.model_dump(mode="json", exclude_unset=True)


IN_PAIRS = (
    "items of one value of the field 'pairs' belong together, and the one with the tag "
    "'reference' (field:value) is what the others are set against"
)


def agreed(
    first: DeclaredScoring | None, second: DeclaredScoring | None, where: str
) -> DeclaredScoring | None:
    """The scoring declared in two places.

    Raises:
        InputError: they differ.
    """
    if first is None or second is None or first == second:
        return first if second is None else second
    keys = [key for key in type(first).model_fields if getattr(first, key) != getattr(second, key)]
    raise InputError(f"the scoring is declared in two ways ({', '.join(keys)}): {where}")
