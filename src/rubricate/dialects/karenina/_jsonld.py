"""Benchmarks as schema.org JSON-LD.

A benchmark is a `DataFeed`, a question a `DataFeedItem` whose `item` is a `Question`, a trait a
`Rating`. What schema.org has no word for (settings of traits, templates, results) is in
`additionalProperty`. Whatever else a file has is kept where it is, and written back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any

from pydantic import ValidationError

from rubricate.dialects.karenina._jsonld_traits import (
    NO_CODE,
    Code,
    listed,
    properties,
    property_node,
    rating,
    required,
    trait_of,
)
from rubricate.dialects.karenina._results import VerificationResult, VerificationResults
from rubricate.dialects.karenina._template import Template
from rubricate.dialects.karenina._traits import Question, Rubric, union
from rubricate.errors import InputError, shown
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
"""Attributes of a benchmark that are plain text, and their names in a file."""
_GLOBAL = "global rubric"
_OWN = "question rubric"
"""The name of a rubric that has none in the file."""
_OF_BENCHMARK = ("global_rubric_name", "verification_stopped")
_OF_QUESTION = ("rubric_name", "answer_template", "template_failure", "verification_results")
"""Properties of ours."""


@dataclass
class BenchmarkData:
    """A benchmark as it is in a file; see `Benchmark`."""

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
    """The benchmark as JSON-LD: the document it came from, with what it is now."""
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
    """Replace the properties of these names; the others stay."""
    nodes = listed(node.get("additionalProperty", []), ())
    others = [node for node in nodes if node["name"] not in names]
    if ours or nodes:
        node["additionalProperty"] = [*others, *starmap(property_node, ours.items())]


def from_document(data: Any, code: Code = NO_CODE) -> dict[str, Any]:
    """The attributes of the benchmark that a JSON-LD document is.

    Args:
        data: the document.
        code: the functions for traits that are code, by the traits' names.

    Raises:
        InputError: with the path inside the document of what cannot be represented.
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
            raise InputError(f"the @id '{question.id}' is there twice", path=path)
        questions[question.id] = question
        try:
            union(whole, question.rubric)
        except InputError as error:
            raise error.within(path) from None
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
    data: Any, path: tuple[str | int, ...], code: Code
) -> tuple[Question, list[VerificationResult] | None]:
    feed = _node(data, "DataFeedItem", path)
    where = (*path, "item")
    item = _node(feed.get("item"), "Question", where)
    answer = _node(item.get("acceptedAnswer"), "Answer", (*where, "acceptedAnswer"))
    ours = _our_properties(item, where)
    id_ = feed.get("@id") or item.get("@id") or f"urn:karenina:question:{path[-1]}"
    if not isinstance(id_, str):
        raise InputError(f"'@id' is no text: {shown(id_)}", path=path)
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
    node: Mapping[str, Any], scope: str, name: str, path: tuple[str | int, ...], code: Code
) -> Rubric | None:
    """The rubric of a node; its traits have this scope."""
    nodes = listed(node.get("rating", []), (*path, "rating"))
    traits = [
        trait_of(entry, scope, (*path, "rating", index), code) for index, entry in enumerate(nodes)
    ]
    try:
        return Rubric(name, traits) if traits else None
    except InputError as error:
        raise error.within(path) from None


def _our_properties(node: Mapping[str, Any], path: tuple[str | int, ...]) -> dict[str, Any]:
    where = (*path, "additionalProperty")
    return properties(listed(node.get("additionalProperty", []), where), where)


def _node(data: Any, kind: str, path: tuple[str | int, ...]) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        name = "none" if data is None else type(data).__name__
        raise InputError(f"expected an object of the type {kind}, found {name}", path=path)
    if data.get("@type") != kind:
        raise InputError(f"expected @type '{kind}', found {data.get('@type')!r}", path=path)
    return dict(data)


def text_of(document: Any) -> str:
    """A document as text.

    Raises:
        InputError: a value is none that JSON has; says where it is.
    """
    _check(document, ())
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(document, indent=2) + "\n"
    return text


def _check(value: Any, path: tuple[str | int, ...]) -> None:
    if isinstance(value, Mapping | list | tuple):
        entries = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, entry in entries:
            _check(entry, (*path, key))
        return
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise InputError(f"JSON cannot hold {shown(value)}", path=path) from None
