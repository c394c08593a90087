"""The scoring that a rubric or a dataset declares: what an item scores, and what all of them do."""

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
"""What an abstention or a not-applicable answer does to the score.

`skip`: leaves numerator and denominator. `zero`: counts 0 and stays in the denominator.
`partial`: a given fraction of a positive weight, 0 for a negative one. `fail`: the worst outcome
by the weight's sign.
"""
Skipped = Literal["zero", "skip"]
"""What a criterion that was not asked does to the score, because its gate does not hold.

`zero`: counts 0 and stays in the denominator. `skip`: leaves numerator and denominator.
"""
Alone = Literal["avoided", "none"]


class ItemScoring(NamedTuple):
    """How an item is scored, as its rubric declares it.

    Attributes:
        raw: whether the score is not clamped to [0, 1]; penalty criteria alone then make a score
            only if the rubric has no others.
        avoids: whether penalty criteria alone make a score: the share of their weight that does
            not apply.
        skipped: what a criterion counts whose gate does not hold.
    """

    raw: bool = False
    avoids: bool = True
    skipped: Skipped = "zero"


CLAMPED = ItemScoring()
"""As it is where nothing is declared."""


def check_cannot_assess(strategy: str, partial: float) -> CannotAssess:
    """The strategy by its name in any case, or an `InputError` that suggests the right one."""
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
        InputError: a word is not known (with the one that is near), or two do not go together.
    """

    items: Literal["clamped", "raw"] = "clamped"
    """What an item scores: `sum(w v) / sum(w+)`, with w+ the positive weights, clamped to [0, 1],
    or as it is. A raw score has no penalty criteria alone in it: where none of the criteria that
    give points was judged, there is none."""
    penalties_only: Alone | None = None
    """What an item scores that has penalty criteria only, or its part under a tag: `avoided`, which
    is `1 + sum(w v) / sum(|w|)`, or `none`. Default: `avoided` where items are clamped, `none`
    where they are raw."""
    skipped: Skipped = "zero"
    """What a criterion counts whose gate does not hold: `zero`, or `skip` to leave it out."""
    aggregate: str = "mean"
    """What all items score together; see `AGGREGATES`."""
    by: tuple[str, ...] = Field(default=(), strict=False)
    """What scores are also broken down by: `tags`, or fields such as `axis` and `domain`."""
    pooled: tuple[str, ...] = Field(default=(), strict=False)
    """Fields of criteria's tags for which the plain mean of all verdicts' values is reported; each
    verdict counts once, whatever its weight and item."""
    groups: tuple[str, ...] = Field(default=(), strict=False)
    """Of an aggregate in groups, the fields of an item that they are made by, the outermost first:
    `[domain, task]` is the mean over domains of the mean over tasks of the items' mean."""
    pairs: str | None = None
    """The field of an item that says which items belong together, such as the task that they
    answer: intervals are by it, and an aggregate in pairs sets them against their reference."""
    reference: str | None = None
    """Of an aggregate in pairs, the tag (`field:value`) of the item that is their reference."""
    cannot_assess: CannotAssess | None = None
    """What an abstention or an N/A answer scores. Default: the run's option, else `skip`."""
    partial: float | None = Field(default=None, ge=0, le=1)
    """The fraction of a positive weight that `partial` gives. Default: 0.5, or as the run says."""

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
        """The aggregate that is named."""
        return aggregate_named(self.aggregate)

    @property
    def of_items(self) -> ItemScoring:
        """What the scorer needs to know of it."""
        alone = self.penalties_only or ("avoided" if self.items == "clamped" else "none")
        return ItemScoring(self.items == "raw", alone == "avoided", self.skipped)

    def to_dict(self) -> dict[str, Any]:
        """The declaration as it is written to a file: what was given."""
        return self.model_dump(mode="json", exclude_unset=True)


IN_PAIRS = (
    "items of one value of the field 'pairs' belong together, and the one with the tag "
    "'reference' (field:value) is what the others are set against"
)


def agreed(
    first: DeclaredScoring | None, second: DeclaredScoring | None, where: str
) -> DeclaredScoring | None:
    """The scoring that two places declare.

    Raises:
        InputError: they declare different ones.
    """
    if first is None or second is None or first == second:
        return first if second is None else second
    keys = [key for key in type(first).model_fields if getattr(first, key) != getattr(second, key)]
    raise InputError(f"the scoring is declared in two ways ({', '.join(keys)}): {where}")
