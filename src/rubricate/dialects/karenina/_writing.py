"""What models write for a benchmark: answers to its questions, and templates for them.

Both go through the engine as judgements do, so that they are limited, retried and journalled: the
question is the case, what is to be written is the criterion, and the text is the verdict's answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from rubricate.dialects.karenina._template import Template
from rubricate.errors import InputError, ModelError, UnreadableReply
from rubricate.judge import (
    Case,
    Completion,
    Judge,
    Message,
    Model,
    Request,
    Send,
    answer_of,
    closing_object,
    without_leading_reasoning,
)
from rubricate.rubric import Criterion, Failure, Reading, Usage, Verdict

__all__ = ["AnswerWriting", "TemplateWriting", "Writer", "Writing"]

REASKS = 2
"""How often an unusable reply is asked again, with what was wrong with it."""


class Writing(Criterion):
    """Something that a model is asked to write."""

    system: ClassVar[str]
    """What the model is told first."""
    schema_of_reply: ClassVar[dict[str, Any] | None]
    """The JSON Schema of its reply; None for free text."""
    again: ClassVar[str]
    """What it is told behind what was wrong with its reply."""

    def asked(self, case: Case) -> str:
        """What the model is asked about a case."""
        raise NotImplementedError

    def request(self, case: Case) -> Request:
        """The messages and the schema."""
        texts = (self.system, self.asked(case))
        system, user = (text.encode("utf-8", "replace").decode() for text in texts)
        messages = (Message(role="system", content=system), Message(role="user", content=user))
        return Request(messages, self.schema_of_reply)

    def contents(self, completion: Completion, request: Request) -> Any:
        """What a reply has, for `read` to check.

        Raises:
            UnreadableReply: the reply is broken.
        """
        raise NotImplementedError

    def value(self, label: str) -> float | None:
        return 1.0


class AnswerWriting(Writing):
    """An answer to a question, with nothing said of how it will be judged."""

    requirement: str = "Answer the question"
    system: ClassVar[str] = "Answer the question."
    schema_of_reply: ClassVar[dict[str, Any] | None] = None
    again: ClassVar[str] = "Answer the question again."

    def asked(self, case: Case) -> str:
        return case.submission

    def contents(self, completion: Completion, request: Request) -> Any:
        """The reply without what the model thought before it."""
        return without_leading_reasoning(completion.text)

    def read(self, answer: object) -> Reading:
        if isinstance(answer, str) and answer.strip():
            return Reading("judged", "answered", answer=answer.strip())
        raise UnreadableReply("the answer is empty")


class TemplateWriting(Writing):
    """An answer template for a question and its right answer."""

    requirement: str = "Write the answer template"
    system: ClassVar[str] = (
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
    schema_of_reply: ClassVar[dict[str, Any] | None] = {
        "type": "object",
        "properties": {
            "fields": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "description": {"type": "string"},
                        "comparison": {
                            "type": "string",
                            "enum": ["exact", "normalized", "number", "boolean", "set"],
                        },
                        "expected": {
                            "anyOf": [
                                {"type": "string"},
                                {"type": "number"},
                                {"type": "boolean"},
                                {"type": "array", "items": {"type": "string"}},
                            ]
                        },
                        "also_accepted": {"type": "array", "items": {"type": "string"}},
                        "tolerance": {"type": "number"},
                    },
                    "required": [
                        "name",
                        "description",
                        "comparison",
                        "expected",
                        "also_accepted",
                        "tolerance",
                    ],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["fields"],
        "additionalProperties": False,
    }

    def asked(self, case: Case) -> str:
        return f"Question:\n{case.prompt}\n\nRight answer:\n{case.submission}"

    def contents(self, completion: Completion, request: Request) -> Any:
        """The JSON object that the reply is."""
        return answer_of(
            completion,
            request,
            lambda text, whole, material: closing_object(text, ("fields",), whole),
        )

    def read(self, answer: object) -> Reading:
        if not isinstance(answer, Mapping) or "fields" not in answer:
            raise UnreadableReply("the reply is no JSON object with 'fields'")
        try:
            template = Template(fields=answer["fields"])
        except InputError as error:
            raise UnreadableReply(f"the template cannot be used: {error}") from None
        return Reading("judged", "template", answer=template.to_dict())


class Writer(Judge):
    """A judge in the engine's eyes: it asks a model to write what the criterion says.

    Args:
        model: the model that writes.
        name: what results call it.
    """

    def __init__(self, model: Model, name: str) -> None:
        self.name = name
        self.model: Model = model

    def key(self, case: Case, criterion: Criterion) -> str:
        assert isinstance(criterion, Writing)
        request = criterion.request(case)
        content = [self.model.fingerprint(), list(request.messages), request.schema]
        text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    async def judge(self, case: Case, criterion: Criterion, send: Send) -> Verdict:
        assert isinstance(criterion, Writing)
        first = request = criterion.request(case)
        name, spent, wrong = criterion.name, Usage(), ""
        for _ in range(1 + REASKS):
            try:
                completion = await send(self.model, request)
            except ModelError as error:
                spent += Usage(requests=error.requests)
                failure = Failure(error.kind, str(error))
                return Verdict(name, "failed", usage=spent, error=failure, judge=self.name)
            spent += completion.usage
            try:
                reading = criterion.read(criterion.contents(completion, request))
            except UnreadableReply as error:
                wrong = str(error)
                request = _asked_again(first, completion.text, f"{wrong}. {criterion.again}")
                continue
            value = criterion.value(reading.label)
            return Verdict(
                name,
                reading.status,
                reading.label,
                value,
                usage=spent,
                judge=self.name,
                answer=reading.answer,
            )
        failure = Failure("unreadable_reply", wrong)
        return Verdict(name, "failed", usage=spent, error=failure, judge=self.name)

    async def aclose(self) -> None:
        await self.model.aclose()


def _asked_again(request: Request, reply: str, wrong: str) -> Request:
    said = (
        Message(role="assistant", content=reply or "(empty)"),
        Message(role="user", content=f"That cannot be used: {wrong}"),
    )
    return Request((*request.messages, *said), request.schema)
