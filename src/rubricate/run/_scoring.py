"""Checks before a run what its options and its dataset declare about scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rubricate._spelling import no_tag
from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.rubric import (
    TAGS,
    DeclaredScoring,
    ScoringRules,
    split_tag,
    values_of,
)
from rubricate.run.results import short_metadata, short_tags

SHOWN = 3


def checked_rules(
    rules: ScoringRules, items: Iterable[Item], by: str | Sequence[str]
) -> ScoringRules:
    """The scoring rules of a run, after checking them against all items.

    Args:
        rules: the rules from the options and the dataset.
        items: the items; iterated over several times.
        by: fields by which scores are also broken down.

    Raises:
        InputError: no criterion or item has a field to group by; an item lacks the field to pair or
            group by; or a pair does not have exactly one reference.
    """
    declared = rules.declared or DeclaredScoring()
    more = (by,) if isinstance(by, str) else tuple(by)
    if more:
        declared = declared.model_copy(update={"by": tuple(dict.fromkeys((*declared.by, *more)))})
    _check_fields(items, declared)
    for field in filter(None, (*declared.groups, declared.pairs)):
        _check_values(items, field)
    if declared.formula.in_pairs:
        _check_pairs(items, declared)
    return replace(rules, declared=declared)


def _check_fields(items: Iterable[Item], declared: DeclaredScoring) -> None:
    fields_asked = (*declared.by, *declared.pooled)
    missing = set(fields_asked)
    known: dict[str, None] = {}
    for item in items:
        if not missing:
            return
        tags = [tag for criterion in item.rubric for tag in criterion.tags]
        tags += short_tags(item.data)
        fields = {split_tag(tag)[0] for tag in tags} - {""} | ({TAGS} if tags else set())
        fields |= short_metadata(item.data).keys()
        known |= dict.fromkeys(sorted(fields))
        missing -= fields
    for field in fields_asked:
        if field in missing:
            raise InputError(no_tag(field, known))


def _check_values(items: Iterable[Item], field: str) -> None:
    for item in items:
        values = values_of(field, short_tags(item.data), short_metadata(item.data))
        if len(values) != 1:
            how = "several" if values else "no"
            raise InputError(f"the item {item.id} has {how} '{field}', which scores are grouped by")


def _check_pairs(items: Iterable[Item], declared: DeclaredScoring) -> None:
    field, (name, value) = declared.pairs or "", split_tag(declared.reference or "")
    references: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for item in items:
        tags, metadata = short_tags(item.data), short_metadata(item.data)
        (pair,) = values_of(field, tags, metadata)
        references[pair] += value in values_of(name, tags, metadata)
        pairs[pair] += 1
    if wrong := [pair for pair in pairs if references[pair] != 1 or pairs[pair] < 2]:
        raise InputError(
            f"the aggregate {declared.aggregate} needs one item with {declared.reference} and "
            f"another for each {field}; not so: {', '.join(wrong[:SHOWN])}"
        )
