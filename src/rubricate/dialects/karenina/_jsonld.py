"""Benchmarks as schema.org JSON-LD.

A benchmark is a `DataFeed`, a question is a `DataFeedItem` whose `item` is a `Question`, and a
trait is a `Rating`. What schema.org has no term for (settings of traits, templates, results) is in
`additionalProperty`. All other contents of a file are kept in place and written back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any

from pydantic import ValidationError

from rubricate.dialects.karenina._results import VerificationResult, VerificationResults
from rubricate.dialects.karenina._template import Template
from rubricate.dialects.karenina._traits import (
    METRIC_SETTINGS,
    NO_TEMPLATE_CODE,
    CallableRubricTrait,
    GradedTrait,
    ManualRubricTrait,
    MetricRubricTrait,
    Question,
    RegexRubricTrait,
    Rubric,
    RubricTrait,
    StoredTrait,
    Trait,
    union,
)
from rubricate.errors import InputError, shown, errors_within, check_type
from rubricate.rubric import Failure

CONTEXT = {
    "@version": 1.1,
    "@vocab": "https://schema.org/",
    "karenina": "urn:karenina:vocab:",
    "dataFeedElement": {"@id": "dataFeedElement", "@container": "@set"},
    "item": {"@id": "item", "@type": "@id"},
    "acceptedAnswer": {"@id": "acceptedAnswer", "@type": "@id"},
    "rating": {"@id": "contentRating", "@container": "@set"},
    "additionalProperty": {"@id": "additionalProperty", "@container": "@set"},
    "keywords": {"@id": "keywords", "@container": "@set"},
}
_TEXTS = {
    "name": "name",
    "description": "description",
    "version": "version",
    "creator": "creator",
    "id": "@id",
    "date_created": "dateCreated",
    "date_modified": "dateModified",
}
"""Attributes of a benchmark that are plain text, with their names in a file."""
_GLOBAL = "global rubric"
_OWN = "question rubric"
"""The name of a rubric that has none in its file."""
_OF_BENCHMARK = ("global_rubric_name", "verification_stopped")
_OF_QUESTION = ("rubric_name", "answer_template", "template_failure", "verification_results")
"""The properties that this module writes."""
_NO_TEMPLATE = {
    "@type": "SoftwareSourceCode",
    "name": "No answer template yet",
    "programmingLanguage": "Python",
    "text": NO_TEMPLATE_CODE,
}
Path = tuple[str | int, ...]
Code = Mapping[str, Callable[[str], Any]]
NO_CODE: Code = {}
_KINDS: dict[str, type[Trait]] = {
    "RubricTrait": RubricTrait,
    "LLMRubricTrait": RubricTrait,
    "RegexTrait": RegexRubricTrait,
    "RegexRubricTrait": RegexRubricTrait,
    "ManualTrait": ManualRubricTrait,
    "ManualRubricTrait": ManualRubricTrait,
    "MetricTrait": MetricRubricTrait,
    "MetricRubricTrait": MetricRubricTrait,
    "CallableTrait": CallableRubricTrait,
    "CallableRubricTrait": CallableRubricTrait,
}
"""The class for each ending of `additionalType`."""
_SCOPE = re.compile(r"(?<![A-Za-z])(Global|QuestionSpecific)(?=[A-Z])")
_AS_TEXT = (*METRIC_SETTINGS, "classes")
"""Settings that may be JSON text in a file."""
_WRITTEN: dict[type[Trait], tuple[str, tuple[str, ...]]] = {
    RubricTrait: ("RubricTrait", ("classes", "min_score", "max_score")),
    ManualRubricTrait: ("RegexTrait", ("pattern", "case_sensitive", "invert_result")),
    MetricRubricTrait: ("MetricRubricTrait", ("evaluation_mode",)),
    CallableRubricTrait: (  # the function itself is not written to files
        "CallableTrait",
        ("kind", "invert_result", "classes", "min_score", "max_score"),
    ),
}
"""The name in files and the written settings of each class."""


# Benchmarks and questions


@dataclass
class BenchmarkData:
    """A benchmark as in its file; see `Benchmark`."""

    name: str
    description: str = ""
    version: str = "0.1.0"
    creator: str = ""
    questions: list[Question] = field(default_factory=list)
    global_rubric: Rubric | None = None
    results: VerificationResults | None = None
    id: str = ""
    date_created: str = ""
    date_modified: str = ""
    node: dict[str, Any] = field(default_factory=dict, compare=False)


def to_document(benchmark: BenchmarkData) -> dict[str, Any]:
    """Convert the benchmark to JSON-LD: the document that it was read from, updated."""
    document: dict[str, Any] = {"@context": CONTEXT, "@type": "DataFeed", **benchmark.node}
    for name, key in _TEXTS.items():
        text = getattr(benchmark, name)
        if text != document.get(key, ""):
            document[key] = text
    _set_rubric(document, benchmark.global_rubric, "Global")
    results = benchmark.results
    by_question: dict[str, list[Any]] = {}
    for result in results or ():
        by_question.setdefault(result.question.id, []).append(result.to_dict())
    document["dataFeedElement"] = [
        _question_node(question, by_question.get(question.id) if results else None)
        for question in benchmark.questions
    ]
    ours: dict[str, Any] = {}
    if benchmark.global_rubric and benchmark.global_rubric.name != _GLOBAL:
        ours["global_rubric_name"] = benchmark.global_rubric.name
    if results and results.stopped:
        ours["verification_stopped"] = results.stopped
    _set_properties(document, ours, _OF_BENCHMARK)
    return document


def _question_node(question: Question, results: list[Any] | None) -> dict[str, Any]:
    feed = {"@type": "DataFeedItem", **question.node, "@id": question.id}
    dates = {"dateCreated": question.date_created, "dateModified": question.date_modified}
    feed |= {key: date for key, date in dates.items() if date}
    item = {"@type": "Question", **feed.get("item", {}), "text": question.question}
    answer = {"@type": "Answer", **item.get("acceptedAnswer", {}), "text": question.raw_answer}
    feed["item"], item["acceptedAnswer"] = item, answer
    if not question.node:  # created here; what comes from a file is written back unchanged
        item["hasPart"] = {**_NO_TEMPLATE, "@id": f"{question.id}-template"}
    _set_rubric(item, question.rubric, "QuestionSpecific")
    if question.keywords:
        item["keywords"] = list(question.keywords)
    ours: dict[str, Any] = {}
    if question.rubric and question.rubric.name != _OWN:
        ours["rubric_name"] = question.rubric.name
    if question.template:
        ours["answer_template"] = question.template.to_dict()
    if question.template_failure:
        cause = question.template_failure
        ours["template_failure"] = {"kind": cause.kind, "message": cause.message}
    if results is not None:
        ours["verification_results"] = results
    _set_properties(item, ours, _OF_QUESTION)
    return feed


def _set_rubric(node: dict[str, Any], rubric: Rubric | None, scope: str) -> None:
    if rubric or "rating" in node:
        node["rating"] = [rating(trait, scope) for trait in rubric or ()]


def _set_properties(node: dict[str, Any], ours: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Replace the properties with these names, and keep all others."""
    nodes = listed(node.get("additionalProperty", []), ())
    others = [node for node in nodes if node["name"] not in names]
    if ours or nodes:
        node["additionalProperty"] = [*others, *starmap(property_node, ours.items())]


def from_document(data: Any, code: Code = NO_CODE) -> dict[str, Any]:
    """Read the attributes of a benchmark from a JSON-LD document.

    Args:
        data: the document.
        code: the functions for traits that are code, by the name of the trait.

    Raises:
        InputError: something cannot be represented; the message has its path inside the document.
    """
    node = _node(data, "DataFeed", ())
    required(node, "name", ())
    texts = {name: node[key] for name, key in _TEXTS.items() if isinstance(node.get(key), str)}
    ours = _our_properties(node, ())
    whole = _rubric(node, "Global", ours.get("global_rubric_name", _GLOBAL), (), code)
    questions: dict[str, Question] = {}
    results: list[VerificationResult] | None = None
    for index, entry in enumerate(listed(node.get("dataFeedElement", []), ("dataFeedElement",))):
        path = ("dataFeedElement", index)
        question, of_question = _question(entry, path, code)
        if question.id in questions:
            raise InputError(f"the @id '{question.id}' is defined twice", path=path)
        questions[question.id] = question
        with errors_within(*path):
            union(whole, question.rubric)
        if of_question is not None:
            results = [*(results or []), *of_question]
    stopped = ours.get("verification_stopped", {})
    return {
        "version": "",
        **texts,
        "global_rubric": whole,
        "questions": list(questions.values()),
        "results": None if results is None else VerificationResults(tuple(results), stopped),
        "node": node,
    }


def _question(
    data: Any, path: Path, code: Code
) -> tuple[Question, list[VerificationResult] | None]:
    feed = _node(data, "DataFeedItem", path)
    where = (*path, "item")
    item = _node(feed.get("item"), "Question", where)
    answer = _node(item.get("acceptedAnswer"), "Answer", (*where, "acceptedAnswer"))
    ours = _our_properties(item, where)
    id_ = feed.get("@id") or item.get("@id") or f"urn:karenina:question:{path[-1]}"
    if not isinstance(id_, str):
        raise InputError(f"'@id' is not text: {shown(id_)}", path=path)
    words: Any = item.get("keywords")
    is_list = isinstance(words, list) and all(isinstance(word, str) for word in words)
    question = Question(
        required(item, "text", where),
        required(answer, "text", (*where, "acceptedAnswer")),
        _rubric(item, "QuestionSpecific", ours.get("rubric_name", _OWN), where, code),
        id=id_,
        keywords=tuple(words) if is_list else (),
        date_created=feed.get("dateCreated", ""),
        date_modified=feed.get("dateModified", ""),
        node=feed,
    )
    try:
        if "answer_template" in ours:
            question.template = Template(**ours["answer_template"])
        if "template_failure" in ours:
            question.template_failure = Failure(**ours["template_failure"])
    except (TypeError, InputError) as error:
        raise InputError(f"the answer template cannot be read: {error}", path=where) from None
    stored = ours.get("verification_results")
    try:
        results = stored and [VerificationResult.from_dict(question, row) for row in stored]
    except (ValidationError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"verification_results cannot be read: {reason}", path=where) from None
    return question, results


def _rubric(
    node: Mapping[str, Any], scope: str, name: str, path: Path, code: Code
) -> Rubric | None:
    """Read the rubric of a node, whose traits have this scope."""
    nodes = listed(node.get("rating", []), (*path, "rating"))
    traits = [
        trait_of(entry, scope, (*path, "rating", index), code) for index, entry in enumerate(nodes)
    ]
    with errors_within(*path):
        return Rubric(name, traits) if traits else None


def _our_properties(node: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the values of a node's `PropertyValue` nodes by name."""
    where = (*path, "additionalProperty")
    values: dict[str, Any] = {}
    for index, entry in enumerate(listed(node.get("additionalProperty", []), where)):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            raise InputError("expected a PropertyValue with a name", path=(*where, index))
        if entry["name"] in values:
            raise InputError(
                f"the property '{entry['name']}' is defined twice", path=(*where, index)
            )
        values[entry["name"]] = entry.get("value")
    return values


def _node(data: Any, kind: str, path: Path) -> dict[str, Any]:
    check_type(data, Mapping, f"an object of the type {kind}", path)
    if data.get("@type") != kind:
        raise InputError(f"expected @type '{kind}', found {data.get('@type')!r}", path=path)
    return dict(data)


def text_of(document: Any) -> str:
    """Convert a document to text.

    Raises:
        InputError: JSON has no such value; the message says where it is.
    """
    _check(document, ())
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(document, indent=2) + "\n"
    return text


def _check(value: Any, path: Path) -> None:
    if isinstance(value, Mapping | list | tuple):
        entries = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, entry in entries:
            _check(entry, (*path, key))
        return
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise InputError(f"JSON cannot hold {shown(value)}", path=path) from None


# Traits


def rating(trait: Trait, scope: str) -> dict[str, Any]:
    """Convert a trait to a `Rating` node; `scope` is `Global` or `QuestionSpecific`.

    The node that it was read from is written back unchanged if it still describes the same trait.
    Otherwise the trait's settings replace those of the node.
    """
    node = dict(trait.node or {})
    if isinstance(trait, StoredTrait) or (node and _of_node(node, _function(trait)) == trait):
        if isinstance(kind := node.get("additionalType"), str):
            node["additionalType"] = _SCOPE.sub(scope, kind, count=1)
        return node
    kind, settings = _settings(trait)
    low, high = trait.bounds if isinstance(trait, GradedTrait) else (0, 1)
    names = {*type(trait).model_fields, "invert_result", *settings}
    others = [
        entry
        for entry in listed(node.get("additionalProperty", []), ())
        if entry["name"] not in names
    ]
    return {
        **node,
        "@type": "Rating",
        "name": trait.name,
        **({} if trait.description is None else {"description": trait.description}),
        "bestRating": high,
        "worstRating": low,
        "additionalType": f"karenina:{scope}{kind}",
        "additionalProperty": [
            *(property_node(name, value) for name, value in settings.items()),
            *others,
        ],
    }


def _settings(trait: Trait) -> tuple[str, dict[str, Any]]:
    """Return the name of a trait's kind in files, and its settings."""
    forms = [form for known, form in _WRITTEN.items() if isinstance(trait, known)]
    if not forms:
        raise InputError(
            f"the trait '{trait.name}' is a {type(trait).__name__}, which no file can hold"
        )
    [(kind, names)] = forms
    values = {name: getattr(trait, name) for name in names}
    settings = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value not in (None, ())
    }
    if trait.higher_is_better is not None or not isinstance(trait, MetricRubricTrait):
        settings["higher_is_better"] = trait.higher_is_better
    if isinstance(trait, RubricTrait):
        settings |= {"include_ground_truth": True} if trait.include_ground_truth else {}
        if trait.kind == "literal":
            kind, settings["kind"] = "LLMRubricTrait", "literal"
        elif trait.kind == "score" and trait.bounds == (0, 1):
            settings["kind"] = "score"  # without it, such bounds mean yes or no
    if "classes" in settings:
        settings["classes"] = dict(settings["classes"])
    settings |= {"weight": trait.weight} if trait.weight != 1.0 else {}
    extra = (trait.model_extra or {}).items()
    return kind, settings | {
        name: list(value) if isinstance(value, tuple) else value for name, value in extra
    }


def _function(trait: Trait) -> Callable[[str], Any] | None:
    return trait.func if isinstance(trait, CallableRubricTrait) else None


def trait_of(data: Any, scope: str, path: Path, code: Code = NO_CODE) -> Trait:
    """Convert a `Rating` node to a trait; a `StoredTrait` if it cannot be judged here.

    Args:
        data: the node.
        scope: `Global` or `QuestionSpecific`.
        path: where it is, for errors.
        code: the functions for traits that are code, by the name of the trait.

    Raises:
        InputError: it is not a trait, or has another scope.
    """
    if not isinstance(data, Mapping) or data.get("@type") != "Rating":
        raise InputError("expected an object of the type Rating", path=path)
    node = dict(data)
    name = required(node, "name", path)
    other = _SCOPE.search(str(node.get("additionalType")))
    if other and other[1] != scope:
        where = "the benchmark" if other[1] == "Global" else "a question"
        raise InputError(f"additionalType: a trait of {where} does not belong here", path=path)
    _properties_of(node, path)
    try:
        return _of_node(node, code.get(name)).model_copy(update={"node": node})
    except InputError as error:
        problem = str(InputError(error.message, path=error.path[1:]))  # without the trait's name
        common = {key: node[key] for key in ("name", "description") if node.get(key)}
        return StoredTrait(**common, node=node, problem=problem)


def _properties_of(node: Mapping[str, Any], path: Path) -> dict[str, Any]:
    settings = _our_properties(node, path)
    for name in settings:
        if name in ("name", "description", "node"):
            raise InputError(f"additionalProperty: '{name}' is not a setting of traits", path=path)
    return settings


def _of_node(node: Mapping[str, Any], function: Callable[[str], Any] | None) -> Trait:
    """Convert a node to the trait that it describes.

    Raises:
        InputError: it cannot be judged here.
    """
    written = node.get("additionalType")
    kind = _SCOPE.sub("", str(written).rpartition(":")[2], count=1)
    known = _KINDS.get(kind)
    if known is None:
        raise InputError(f"its kind {written!r} is unknown")
    fields = {
        name: _parsed(value) if name in _AS_TEXT else value
        for name, value in _properties_of(node, ()).items()
    }
    fields |= {key: node[key] for key in ("name", "description") if node.get(key) is not None}
    if known is CallableRubricTrait:
        if function is None:
            raise InputError("it is Python code, which is not run from a file: pass it with code=")
        return known(**fields, func=function)
    if known is RubricTrait:
        bounds = _bound(node, "worstRating", 1), _bound(node, "bestRating", 5)
        usual = "literal" if fields.get("classes") else "binary" if bounds == (0, 1) else "score"
        fields.setdefault("kind", usual)
        if fields["kind"] == "score" and bounds != (1, 5):
            fields = {"min_score": bounds[0], "max_score": bounds[1], **fields}
    return known(**fields)


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _bound(node: Mapping[str, Any], key: str, default: int) -> int:
    value = node.get(key, default)
    whole = value.is_integer() if isinstance(value, float) else isinstance(value, int)
    if isinstance(value, bool) or not whole:
        raise InputError(f"{key}: expected a whole number, found {value!r}")
    return int(value)


def property_node(name: str, value: Any) -> dict[str, Any]:
    """Create a `PropertyValue` node."""
    return {"@type": "PropertyValue", "name": name, "value": value}


def listed(data: Any, path: Path) -> list[Any]:
    """Return a list; a single object counts as a list of one, as in JSON-LD."""
    if isinstance(data, Mapping):
        return [data]
    check_type(data, list, "a list", path)
    return list(data)


def required(node: Mapping[str, Any], key: str, path: Path) -> str:
    """Return the text of a key."""
    text = node.get(key)
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"'{key}' is missing or not text", path=path)
    return text
