"""Benchmarks as schema.org JSON-LD.

A benchmark is a `DataFeed`, a question a `DataFeedItem` whose `item` is a `Question`, a trait a
`Rating`. What schema.org has no word for (settings of traits, templates, results) stands in
`additionalProperty`. What a file has beyond that is kept where it stands, and written back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
from rubricate.dialects.karenina._question import Question
from rubricate.dialects.karenina._results import VerificationResult, VerificationResults
from rubricate.dialects.karenina._template import Template
from rubricate.dialects.karenina._traits import Rubric, union
from rubricate.errors import InputError, shown
from rubricate.rubric import Failure

if TYPE_CHECKING:
    from rubricate.dialects.karenina._benchmark import Benchmark

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
"""What a rubric is called whose name the file does not say."""


def to_document(benchmark: Benchmark) -> dict[str, Any]:
    """The benchmark as JSON-LD."""
    texts = {key: getattr(benchmark, name) for name, key in _TEXTS.items()}
    document: dict[str, Any] = {"@context": CONTEXT, "@type": "DataFeed"}
    document |= {key: text for key, text in texts.items() if text}
    document |= _rubric_nodes(benchmark.global_rubric, "Global")
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
    rest = dict(benchmark.extra)
    document |= _property_nodes(ours, rest.pop("additionalProperty", []))
    return {**document, **rest}


def _question_node(question: Question, results: list[Any] | None) -> dict[str, Any]:
    extra = question.extra
    item: dict[str, Any] = {
        "@type": "Question",
        "text": question.question,
        "acceptedAnswer": {
            "@type": "Answer",
            "text": question.raw_answer,
            **extra.get("answer", {}),
        },
        **_rubric_nodes(question.rubric, "QuestionSpecific"),
    }
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
    rest = dict(extra.get("item", {}))
    item |= _property_nodes(ours, rest.pop("additionalProperty", []))
    if question.keywords:
        item["keywords"] = list(question.keywords)
    dates = {"dateCreated": question.date_created, "dateModified": question.date_modified}
    return {
        "@type": "DataFeedItem",
        "@id": question.id,
        **{key: date for key, date in dates.items() if date},
        "item": {**item, **rest},
        **extra.get("feed", {}),
    }


def _rubric_nodes(rubric: Rubric | None, scope: str) -> dict[str, Any]:
    return {"rating": [rating(trait, scope) for trait in rubric]} if rubric else {}


def _property_nodes(ours: Mapping[str, Any], others: list[Any]) -> dict[str, Any]:
    nodes = [*others, *(property_node(name, value) for name, value in ours.items())]
    return {"additionalProperty": nodes} if nodes else {}


def from_document(data: Any, code: Code = NO_CODE) -> dict[str, Any]:
    """The attributes of the benchmark that a JSON-LD document is.

    Args:
        data: the document.
        code: the functions for traits that are code, by the traits' names.

    Raises:
        InputError: with the path inside the document of what cannot be represented.
    """
    rest = _node(data, "DataFeed", ())
    found: dict[str, Any] = {"name": required(rest, "name", ())}
    for name, key in _TEXTS.items():
        if isinstance(rest.get(key), str):
            found[name] = rest.pop(key)
    ours, others = _split(rest, ("global_rubric_name", "verification_stopped"), ())
    rubric_name = ours.get("global_rubric_name", _GLOBAL)
    found["global_rubric"] = whole = _rubric(rest, ("Global", rubric_name), (), code)
    questions: list[Question] = []
    ids: set[str] = set()
    results: list[VerificationResult] | None = None
    for index, node in enumerate(listed(rest.pop("dataFeedElement", []), ("dataFeedElement",))):
        path = ("dataFeedElement", index)
        question, of_question = _question(node, path, code)
        if question.id in ids:
            raise InputError(f"the @id '{question.id}' stands twice", path=path)
        ids.add(question.id)
        questions.append(question)
        try:
            union(whole, question.rubric)
        except InputError as error:
            raise error.within(path) from None
        if of_question is not None:
            results = [*(results or []), *of_question]
    if results is not None:
        stopped = ours.get("verification_stopped", {})
        found["results"] = VerificationResults(tuple(results), stopped)
    usual = {"@type": "DataFeed", "@context": CONTEXT}
    extra = {key: value for key, value in rest.items() if usual.get(key) != value}
    if others:
        extra["additionalProperty"] = others
    return {"version": "", **found, "questions": questions, "extra": extra}


def _question(
    data: Any, path: tuple[str | int, ...], code: Code
) -> tuple[Question, list[VerificationResult] | None]:
    feed = _node(data, "DataFeedItem", path)
    where = (*path, "item")
    item = _node(feed.pop("item", None), "Question", where)
    answer = _node(item.pop("acceptedAnswer", None), "Answer", (*where, "acceptedAnswer"))
    names = ("rubric_name", "answer_template", "template_failure", "verification_results")
    ours, others = _split(item, names, where)
    rubric = _rubric(item, ("QuestionSpecific", ours.get("rubric_name", _OWN)), where, code)
    id_ = feed.pop("@id", None) or item.get("@id") or f"urn:karenina:question:{path[-1]}"
    if not isinstance(id_, str):
        raise InputError(f"'@id' is no text: {shown(id_)}", path=path)
    question = Question(
        required(item, "text", where),
        required(answer, "text", (*where, "acceptedAnswer")),
        rubric,
        id=id_,
        date_created=feed.pop("dateCreated", ""),
        date_modified=feed.pop("dateModified", ""),
    )
    try:
        if "answer_template" in ours:
            question.template = Template(**ours["answer_template"])
        if "template_failure" in ours:
            question.template_failure = Failure(**ours["template_failure"])
    except (TypeError, InputError) as error:
        raise InputError(f"the answer template cannot be read: {error}", path=where) from None
    keywords = item.get("keywords")
    if isinstance(keywords, list) and all(isinstance(word, str) for word in keywords):
        question.keywords = tuple(item.pop("keywords"))
    if others:
        item["additionalProperty"] = others
    parts = {"feed": feed, "item": item, "answer": answer}
    for name, part in parts.items():
        part.pop("@type")
        if part:
            question.extra[name] = part
    try:
        results = (
            [VerificationResult.from_dict(question, one) for one in ours["verification_results"]]
            if "verification_results" in ours
            else None
        )
    except (ValidationError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"verification_results cannot be read: {reason}", path=where) from None
    return question, results


def _rubric(
    node: dict[str, Any], named: tuple[str, str], path: tuple[str | int, ...], code: Code
) -> Rubric | None:
    """The rubric of a node; `named` are its traits' scope and its name."""
    scope, name = named
    nodes = listed(node.pop("rating", []), (*path, "rating"))
    traits = [
        trait_of(entry, scope, (*path, "rating", index), code) for index, entry in enumerate(nodes)
    ]
    if not traits:
        return None
    try:
        return Rubric(name, traits)
    except InputError as error:
        raise error.within(path) from None


def _split(
    node: dict[str, Any], names: tuple[str, ...], path: tuple[str | int, ...]
) -> tuple[dict[str, Any], list[Any]]:
    """Take the properties of these names out of a node: their values, and the other properties."""
    nodes = listed(node.pop("additionalProperty", []), (*path, "additionalProperty"))
    found = properties(nodes, (*path, "additionalProperty"))
    others = [entry for entry in nodes if entry["name"] not in names]
    return {name: value for name, value in found.items() if name in names}, others


def _node(data: Any, kind: str, path: tuple[str | int, ...]) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        found = "none" if data is None else type(data).__name__
        raise InputError(f"expected an object of the type {kind}, found {found}", path=path)
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
    if isinstance(value, Mapping):
        for key, entry in value.items():
            if not isinstance(key, str):
                raise InputError(f"JSON has no keys like {key!r}, only text", path=path)
            _check(entry, (*path, key))
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            _check(entry, (*path, index))
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"JSON has no number {value}", path=path)
    elif not isinstance(value, str | int | float | bool | None):
        raise InputError(f"JSON cannot hold a {type(value).__name__}: {value!r}", path=path)
