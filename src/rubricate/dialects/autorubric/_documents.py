"""Conversion of AutoRubric's rubric documents to the core's, and back.

The core rejects what may be a mistake, but in AutoRubric's files some of it has a meaning, which is
converted: a missing weight is 10, an N/A option needs no value, and an option called CANNOT_ASSESS
is the abstention that every criterion of the core allows.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rubricate._terminal import one_line
from rubricate.errors import InputError, shown
from rubricate.rubric import ABSTENTION, STRATEGIES, Criterion

DEFAULT_WEIGHT = 10.0
ABSTENTION_OPTION = "cannot_assess_option"
"""The key of a criterion for an option called CANNOT_ASSESS, so that it can be written back."""
LISTS = ("rubric", "sections", "criteria")
"""The keys that may hold the criteria of a rubric, in the order of AutoRubric's lookup."""
TITLES = ("name", "title", "id")
"""The keys that may hold the name of a section."""
_Placed = tuple[tuple[str | int, ...], Any]


def criteria_of(data: Any) -> tuple[list[_Placed], dict[str, Any]]:
    """Return the criteria of a rubric, each with its place in the document, and the remaining keys.

    Accepts a list of criteria and sections, or an object with such a list under `criteria`,
    `sections` or `rubric`. Sections are flattened: their criteria get the section's name, title or
    id as a tag.

    Raises:
        InputError: the document has another form, criteria under two of the keys, or guidelines in
            two places.
    """
    if isinstance(data, Mapping) and isinstance(inner := data.get("rubric"), Mapping):
        if "rubric" in inner:
            raise InputError("'rubric' inside 'rubric': remove one of them")
        placed, inside = criteria_of(inner)
        beside = _beside(data, "rubric")
        if inside.get("guidelines") and beside.get("guidelines"):
            raise InputError(
                "'guidelines' are both inside and outside of 'rubric'; keep one of them"
            )
        return [(("rubric", *path), raw) for path, raw in placed], {**inside, **beside}
    if isinstance(data, Mapping):
        key = next((key for key in LISTS if data.get(key) is not None), None)
        if key is None:
            keys = ", ".join(map(str, data)) or "none"
            raise InputError(f"a rubric has a list under {', '.join(LISTS)}; found keys: {keys}")
        return [((key, *path), raw) for path, raw in _flat(data[key])], _beside(data, key)
    return list(_flat(data)), {}


def _beside(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the remaining keys, without blank guidelines."""
    if other := next((other for other in LISTS if other != key and data.get(other)), None):
        raise InputError(f"there are both '{key}' and '{other}'; keep one of them")
    beside = {name: value for name, value in data.items() if name not in LISTS}
    guidelines = beside.get("guidelines")
    if guidelines is None or (isinstance(guidelines, str) and not guidelines.strip()):
        beside.pop("guidelines", None)
    return beside


def _flat(data: Any) -> Iterator[_Placed]:
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise InputError(f"expected a list of criteria, found {shown(data)}")
    for index, raw in enumerate(data):
        is_section = isinstance(raw, Mapping) and "requirement" not in raw
        key = next((key for key in LISTS if is_section and key in raw), None)
        if key is None:
            yield (index,), raw
            continue
        tag = next((str(raw[name]) for name in TITLES if raw.get(name)), None)
        if unused := [str(name) for name in raw if name not in (key, *TITLES, "description")]:
            _warn(f"a section's '{unused[0]}' is not used")
        for path, criterion in _flat(raw[key]):
            yield (index, key, *path), _tagged(criterion, tag)


def _tagged(criterion: Any, tag: str | None) -> Any:
    if tag is None or not isinstance(criterion, Mapping):
        return criterion
    return {**criterion, "tags": [tag, *(criterion.get("tags") or ())]}


def criterion_document(data: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the fields of a criterion to the core's."""
    fields = {"weight": DEFAULT_WEIGHT, **data}
    if fields.get("name") == "":
        del fields["name"]
    if fields.get("options") is None and fields.get("kind") in (None, "binary"):
        fields.pop("scale_type", None)
    known = STRATEGIES["nominal" if fields.get("scale_type") == "nominal" else "ordinal"]
    aggregation = fields.get("aggregation")
    if aggregation is not None and (fields.get("options") is None or aggregation not in known):
        del fields["aggregation"]
        name = fields.get("name") or fields.get("requirement")
        _warn(
            f"'{name}': the aggregation {shown(aggregation)} does not apply to its votes; "
            f"the grader's is used (criteria with options allow {', '.join(known)})"
        )
    if isinstance(fields.get("options"), Sequence):
        options = [option_document(option) for option in fields["options"]]
        fields["options"] = [option for option in options if not _is_abstention(option)]
        for option in filter(_is_abstention, options):
            fields[ABSTENTION_OPTION] = option if isinstance(option, Mapping) else option.to_dict()
            if not fields[ABSTENTION_OPTION].get("na"):
                _warn(
                    f"the option {ABSTENTION} is an abstention, which every criterion allows: "
                    "its value is ignored, and cannot_assess_config sets its score"
                )
    return fields


def option_document(data: Any) -> Any:
    """Convert the fields of an option to the core's. Options that do not apply have no value."""
    if not isinstance(data, Mapping) or not data.get("na"):
        return data
    value = data.get("value")
    usable = isinstance(value, int | float) and 0 <= value <= 1
    return data if usable else {**data, "value": 0.0}


def _is_abstention(option: Any) -> bool:
    label = option.get("label") if isinstance(option, Mapping) else getattr(option, "label", None)
    return isinstance(label, str) and label.strip().casefold() == ABSTENTION.casefold()


def unique_names(criteria: Sequence[Criterion]) -> list[Criterion]:
    """Make the names of criteria unique: repeated names get a suffix `_2`, `_3`, ..."""
    names = [criterion.at(index).name for index, criterion in enumerate(criteria)]
    used, times = set(names), Counter[str]()
    apart: list[Criterion] = []
    for index, (criterion, name) in enumerate(zip(criteria, names, strict=True)):
        times[name] += 1
        if times[name] == 1:
            apart.append(criterion)
            continue
        while (other := f"{name}_{times[name]}") in used:
            times[name] += 1
        _warn(f"the name '{name}' is defined twice: criterion {index + 1} is '{other}' here")
        used.add(other)
        apart.append(criterion.model_copy(update={"name": other}))
    return apart


def _warn(line: str) -> None:
    """Warn that something differs from the file."""
    warnings.warn(one_line(line), stacklevel=3)


def to_autorubric(document: Any) -> Any:
    """Convert a rubric document of the core to AutoRubric's format."""
    if isinstance(document, Mapping):
        return {**document, "criteria": to_autorubric(document["criteria"])}
    if not isinstance(document, list):
        return document
    return [_criterion_to_autorubric(criterion) for criterion in document]


def _criterion_to_autorubric(criterion: dict[str, Any]) -> dict[str, Any]:
    kept = criterion.get(ABSTENTION_OPTION)
    rest = {key: value for key, value in criterion.items() if key != ABSTENTION_OPTION}
    return rest if kept is None else {**rest, "options": [*rest["options"], kept]}
