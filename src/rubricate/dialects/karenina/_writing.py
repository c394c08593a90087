"""Texts that models write for a benchmark: answers to its questions, and templates for them.

Both use the engine like verdicts do, so that limits, retries and the journal apply. The question is
the item, the kind of text is the criterion, and the text is the answer of the verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar, get_args

import orjson

from rubricate.dataset import Item
from rubricate.dialects.karenina._template import Comparison, Template
from rubricate.errors import InputError, UnreadableReply
from rubricate.judge import (
    Completion,
    Message,
    ModelJudge,
    Prompting,
    Reply,
    Request,
    answer_of,
    closing_object,
    without_leading_reasoning,
)
from rubricate.rubric import Criterion, Reading, closed_object


class WrittenAnswer(Criterion):
    """An answer to a question."""

    requirement: str = "Answer the question"

    def read(self, answer: object) -> Reading:
        if isinstance(answer, str) and answer.strip():
            return Reading("answered", answer=answer.strip())
        raise UnreadableReply("the answer is empty")

    def value(self, label: str) -> float | None:
        return 1.0


class WrittenTemplate(Criterion):
    """An answer template for a question with its reference answer."""

    requirement: str = "Write the answer template"

    def read(self, answer: object) -> Reading:
        if not isinstance(answer, Mapping) or "fields" not in answer:
            raise UnreadableReply("the reply is no JSON object with 'fields'")
        try:
            template = Template(fields=answer["fields"])
        except InputError as error:
            raise UnreadableReply(f"the template cannot be used: {error}") from None
        return Reading("template", answer=template.to_dict())

    def value(self, label: str) -> float | None:
        return 1.0


class ParsingJudge(ModelJudge):
    """A model that judges answers; further replicates are judged anew."""

    def key(self, item: Item, criterion: Criterion) -> str:
        key, number = super().key(item, criterion), replicate_of(item)
        return key if number == 1 else f"{key}-replicate-{number}"


REPLICATE = "replicate"
"""The key of an item's metadata for the number of the replicate, from 2."""


def replicate_of(item: Item) -> int:
    """Return the number of the replicate of an item, from 1."""
    return int(item.data.metadata.get(REPLICATE, 1))


class AnswerPrompt(Prompting):
    """The prompt for answering a question; it does not say how the answer will be judged."""

    version = mode = None
    usual: ClassVar[str] = "Answer the question."
    """The default system message."""
    schema: ClassVar[dict[str, Any] | None] = None
    """The JSON Schema of its reply; None for free text."""
    again: ClassVar[str] = "Answer the question again."
    """The request for another reply; it follows the description of the problem."""

    def __init__(self, system: str | None = None) -> None:
        self.system = self.usual if system is None else system

    def question_text(self, item: Item) -> str:
        """Return the text of the question for an item."""
        return item.submission

    def request(self, item: Item, criterion: Criterion) -> Request:
        texts = (self.system, self.question_text(item))
        system, user = (text.encode("utf-8", "replace").decode() for text in texts)
        messages = (Message(role="system", content=system), Message(role="user", content=user))
        return Request(messages, self.schema)

    def read(self, completion: Completion, request: Request) -> Reply:
        """Return the reply without the model's thoughts before it."""
        return Reply(without_leading_reasoning(completion.text), None, (), {})

    def correction(self, wrong: str) -> str:
        return f"That cannot be used: {wrong}. {self.again}"

    def request_key(self, fingerprint: Mapping[str, Any], item: Item, criterion: Criterion) -> str:
        request = self.request(item, criterion)
        content: list[Any] = [fingerprint, list(request.messages), request.schema]
        if (number := replicate_of(item)) > 1:
            content.append(number)
        text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(text, digest_size=16).hexdigest()


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_FIELDS = {
    "name": _TEXT,
    "description": _TEXT,
    "comparison": {**_TEXT, "enum": list(get_args(Comparison))},
    "expected": {"anyOf": [_TEXT, {"type": "number"}, {"type": "boolean"}, _TEXTS]},
    "also_accepted": _TEXTS,
    "tolerance": {"type": "number"},
}
"""The schema of each part of a field."""


class TemplatePrompt(AnswerPrompt):
    """The prompt for an answer template, given a question and its reference answer."""

    usual: ClassVar[str] = (
        "You write answer templates. A template says what to extract from somebody's answer to a "
        "question and what is right, so that a program can compare. It is one JSON object: "
        '{"fields": [{"name": "...", "description": "...", "comparison": "...", "expected": ..., '
        '"also_accepted": ["..."], "tolerance": 0}, ...]}.\n\n'
        "Take as few fields as decide whether an answer is right; often one is enough. name is a "
        "short identifier. description says what to extract, without giving the right value away. "
        "comparison is one of: exact (text, character for character), normalized (text, letter "
        "case, spaces and hyphens aside), number, boolean, set (a list of texts in any order). "
        "expected is the right value, taken from the right answer: text, a number, true or false, "
        "or a list of texts. also_accepted has other names of the same thing, for text only, else "
        "it is empty. tolerance is how far a number may be off, 0 for anything but a number."
    )
    again: ClassVar[str] = "Write it again, as one JSON object and nothing else."
    schema: ClassVar[dict[str, Any] | None] = closed_object(
        {"fields": {"type": "array", "items": closed_object(_FIELDS)}}
    )

    def question_text(self, item: Item) -> str:
        return f"Question:\n{item.prompt}\n\nRight answer:\n{item.submission}"

    def read(self, completion: Completion, request: Request) -> Reply:
        """Parse the reply as a JSON object."""

        def closing(
            text: str, material: str, schema: Mapping[str, Any] | None
        ) -> Mapping[str, Any]:
            return closing_object(text, ("fields",), material, schema)

        return Reply(answer_of(completion, request, closing), None, (), {})
