"""How a run makes scores: what its options and its dataset say, before it starts."""

from __future__ import annotations

from collections import Counter

from rubricate._spelling import did_you_mean
from rubricate.errors import InputError
from rubricate.rubric import (
    TAGS,
    DeclaredScoring,
    ScoringRules,
    split_tag,
    values_of,
)
from rubricate.run._options import RunOptions
from rubricate.run._plan import Plan, author_of
from rubricate.run.items import JudgedItem
from rubricate.run.results import ItemResult, short_metadata, short_tags

SHOWN = 3


def scoring_rules(plan: Plan, options: RunOptions) -> ScoringRules:
    """The rules of a run.

    Raises:
        InputError: the options of the run and what the dataset declares contradict each other; no
            criterion or item has a field by which scores are to be grouped; an item has
            nothing to be paired or grouped by; or a pair has no reference, or two.
    """
    rules = options.under(plan.scoring)
    more = (options.by,) if isinstance(options.by, str) else tuple(options.by)
    declared = plan.scoring
    if more:
        declared = declared or DeclaredScoring()
        by = tuple(dict.fromkeys((*declared.by, *more)))
        declared = declared.model_copy(update={"by": by})
        rules = ScoringRules(rules.cannot_assess, rules.partial, rules.penalty, declared)
    if declared is not None:
        _check_fields(plan, declared)
        for field in filter(None, (*declared.groups, declared.pairs)):
            _check_values(plan, field)
        if declared.formula.in_pairs:
            _check_pairs(plan, declared)
    return rules


def result_of(item: JudgedItem, rules: ScoringRules, author_key: str | None) -> ItemResult:
    """The result of an item whose verdicts are there.

    Args:
        item: the item.
        rules: how it is scored.
        author_key: where its metadata says which model wrote it; None for the usual keys.
    """
    return ItemResult.scored(
        item.item,
        item.verdicts,
        rules,
        index=item.index,
        author=author_of(item.item, author_key),
        keys=item.keys,
    )


def _check_fields(plan: Plan, declared: DeclaredScoring) -> None:
    fields_asked = (*declared.by, *declared.pooled)
    missing = set(fields_asked)
    known: dict[str, None] = {}
    for item in plan:
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
            hint = did_you_mean(field, known) or f"; there is {', '.join(known) or 'none at all'}"
            raise InputError(
                f"scores by '{field}': no criterion has a tag of that field, and no item a tag or "
                f"metadata{hint}"
            )


def _check_values(plan: Plan, field: str) -> None:
    for item in plan:
        values = values_of(field, short_tags(item.data), short_metadata(item.data))
        if len(values) != 1:
            how = "several" if values else "no"
            raise InputError(f"the item {item.id} has {how} '{field}', which scores are grouped by")


def _check_pairs(plan: Plan, declared: DeclaredScoring) -> None:
    field, (name, value) = declared.pairs or "", split_tag(declared.reference or "")
    references: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for item in plan:
        tags, metadata = short_tags(item.data), short_metadata(item.data)
        (pair,) = values_of(field, tags, metadata)
        references[pair] += value in values_of(name, tags, metadata)
        pairs[pair] += 1
    if wrong := [pair for pair in pairs if references[pair] != 1 or pairs[pair] < 2]:
        raise InputError(
            f"the aggregate {declared.aggregate} needs one item with {declared.reference} and "
            f"another for each {field}; not so: {', '.join(wrong[:SHOWN])}"
        )
