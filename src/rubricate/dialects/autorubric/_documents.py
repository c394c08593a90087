"""What AutoRubric writes and takes in a rubric, as the core has it.

The core refuses what may be a slip; these files are another system's, where each of it has a
meaning. What has one only there is put in the core's words: a weight that is not given is 10, an
option N/A needs no value, one called CANNOT_ASSESS is the answer that every criterion has here.
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
"""Where a criterion keeps an option called CANNOT_ASSESS, to be written back."""
LISTS = ("rubric", "sections", "criteria")
"""The keys that may have a rubric's criteria, in the order in which AutoRubric looks."""
TITLES = ("name", "title", "id")
"""What a section may be called by."""
_Placed = tuple[tuple[str | int, ...], Any]


def criteria_of(data: Any) -> tuple[list[_Placed], dict[str, Any]]:
    """A rubric's criteria, each with its place in the document, and the other keys beside them.

    Takes a list of criteria and sections, or an object with one under `criteria`, `sections` or
    `rubric`. Sections are flat: a section's criteria are tagged with its name, title or id.

    Raises:
        InputError: it has another form, criteria under two of the keys, or two texts of guidelines.
    """
    if isinstance(data, Mapping) and isinstance(inner := data.get("rubric"), Mapping):
        if "rubric" in inner:
            raise InputError("'rubric' inside 'rubric': leave one of them out")
        placed, inside = criteria_of(inner)
        beside = _beside(data, "rubric")
        if inside.get("guidelines") and beside.get("guidelines"):
            raise InputError("'guidelines' are inside 'rubric' and beside it; keep one of them")
        return [(("rubric", *path), raw) for path, raw in placed], {**inside, **beside}
    if isinstance(data, Mapping):
        key = next((key for key in LISTS if data.get(key) is not None), None)
        if key is None:
            keys = ", ".join(map(str, data)) or "none"
            raise InputError(f"a rubric has a list under {', '.join(LISTS)}; found keys: {keys}")
        return [((key, *path), raw) for path, raw in _flat(data[key])], _beside(data, key)
    return list(_flat(data)), {}


def _beside(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The other keys beside the criteria; blank guidelines are left out."""
    if other := next((other for other in LISTS if other != key and data.get(other)), None):
        raise InputError(f"'{key}' and '{other}' are side by side; keep one of them")
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
    """A criterion's fields as the core takes them."""
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
            f"'{name}': the aggregation {shown(aggregation)} is not for its votes, which are "
            f"counted as the grader says (with options: {', '.join(known)})"
        )
    if isinstance(fields.get("options"), Sequence):
        options = [option_document(option) for option in fields["options"]]
        fields["options"] = [option for option in options if not _is_abstention(option)]
        for option in filter(_is_abstention, options):
            fields[ABSTENTION_OPTION] = option if isinstance(option, Mapping) else option.to_dict()
            if not fields[ABSTENTION_OPTION].get("na"):
                _warn(
                    f"the option {ABSTENTION} is the answer that every criterion has: its value "
                    "is not used, what it scores is said with cannot_assess_config"
                )
    return fields


def option_document(data: Any) -> Any:
    """An option's fields as the core takes them: the value of one that does not apply is none."""
    if not isinstance(data, Mapping) or not data.get("na"):
        return data
    value = data.get("value")
    usable = isinstance(value, int | float) and 0 <= value <= 1
    return data if usable else {**data, "value": 0.0}


def _is_abstention(option: Any) -> bool:
    label = option.get("label") if isinstance(option, Mapping) else getattr(option, "label", None)
    return isinstance(label, str) and label.strip().casefold() == ABSTENTION.casefold()


def unique_names(criteria: Sequence[Criterion]) -> list[Criterion]:
    """The criteria with unique names: a repeated name gets the suffix `_2`, `_3`, ..."""
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
    """Warn of what is not as in the file."""
    warnings.warn(one_line(line), stacklevel=3)


def to_autorubric(document: Any) -> Any:
    """A rubric as the core writes it, as AutoRubric reads it."""
    if isinstance(document, Mapping):
        return {**document, "criteria": to_autorubric(document["criteria"])}
    if not isinstance(document, list):
        return document
    return [_criterion_to_autorubric(criterion) for criterion in document]


def _criterion_to_autorubric(criterion: dict[str, Any]) -> dict[str, Any]:
    kept = criterion.get(ABSTENTION_OPTION)
    rest = {key: value for key, value in criterion.items() if key != ABSTENTION_OPTION}
    return rest if kept is None else {**rest, "options": [*rest["options"], kept]}
