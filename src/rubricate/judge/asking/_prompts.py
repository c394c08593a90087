"""Prompts from versioned template files.

The order is instructions, task, context documents and reference, submission, criterion. Everything
up to the criterion is identical, byte for byte, for all criteria of an item, so that the prompt
cache of an endpoint serves a whole rubric. Untrusted text is between tags with a code that its
author cannot know: a hash of the text itself that does not occur in it. Text that could pass for a
control token or a tag, and invisible characters, are replaced (`neutral`). (The prompt without both
exists for one purpose: measuring what they are worth.)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubricate.dataset import ContextDocument, Item
from rubricate.judge.models import Message, Request
from rubricate.rubric import Criterion, Question, closed_object

if TYPE_CHECKING:
    from jinja2 import Template

PROMPT_VERSION = "grading-2"
"""The folder of templates in use. Changed wording means a new folder, and new journal keys."""
CODE_BYTES = 8
"""The length of a tag's code in bytes; each is two hexadecimal digits. The code is a hash of all
texts, which no author of a text knows, so a guess is right once in 2^64 times. At half, once in
2^32; at double, each tag takes about ten more tokens."""
_MAYBE_TURN = re.compile(
    r"\n(?:Human|Assistant|\#\#\# (?:Instruction|Response|User|Assistant|Human|System)):"
)


@dataclass(frozen=True, slots=True)
class ExampleLabel:
    """The label of one example by one criterion."""

    requirement: str
    label: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled text, with its labels in the rubric's order."""

    prompt: str
    submission: str
    labels: tuple[ExampleLabel, ...]


@lru_cache(maxsize=256)
def prefix(
    item: Item,
    several: bool = False,
    examples: tuple[Example, ...] = (),
    fenced: bool = True,
    choosing: bool = False,
) -> tuple[str, str]:
    """The system message, and the beginning of the user message: the same for all criteria of an
    item.

    `choosing` is for verdicts of one token, without a reason.
    """
    system = _system_part(item.guidelines, several, examples, fenced, choosing)
    return sendable(system), sendable(_material_part(item, fenced))


def neutral(text: str) -> str:
    """Return the text as a judge sees it, with the same length; the text itself if all is visible.

    A model's server may take `<|im_start|>` in a text for the beginning of a message, a reader does
    not see zero-width or tag characters, and a tag with other brackets or letters can look like the
    closing tag around the text. Each such character is replaced by another one, so that every
    offset into the shown text is an offset into the text.

    Replaced are control tokens of chat templates, tags that could pass for those around the
    material, and invisible characters: but not the joiners, direction marks and emoji variants, nor
    the ones that Arabic, Hebrew, Indic and other scripts are written with.
    """
    plain = text.isascii() and not ("<" in text or "[" in text or "]" in text or "&" in text)
    if plain and not (text.startswith("###") or _MAYBE_TURN.search(text)):
        return text
    from rubricate.judge.asking._disguises import undisguised  # few texts need its tables

    return undisguised(text)


def neutral_item(item: Item) -> Item:
    """Return the item with its material as a judge sees it; the item itself if nothing changes."""
    changed = _changed(item.submission, item.prompt, item.reference, item.context)
    return replace(item, **changed) if changed else item


@lru_cache(maxsize=64)
def _changed(
    submission: str, prompt: str, reference: str | None, context: tuple[ContextDocument, ...]
) -> dict[str, Any]:
    """The changed parts of an item, by name."""
    texts = {"submission": submission, "prompt": prompt, "reference": reference or ""}
    changed: dict[str, Any] = {}
    for name, text in texts.items():
        if (shown := neutral(text)) != text:
            changed[name] = shown
    documents = list[ContextDocument]()
    for document in context:
        title = document.title and neutral(document.title)
        documents.append(replace(document, text=neutral(document.text), title=title))
    if (shown_context := tuple(documents)) != context:
        changed["context"] = shown_context
    return changed


def sendable(text: str) -> str:
    """Replace each half of a surrogate pair, which UTF-8 cannot encode, with '?'."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def request_of(
    system: str, material: str, text: str, schema: dict[str, Any] | None = None, **further: Any
) -> Request:
    """Return a request whose user message is the material of an item followed by a question.

    `further` are other attributes of the `Request`.
    """
    messages = (
        Message(role="system", content=system),
        Message(role="user", content=material + text),
    )
    return Request(messages, schema, shared=material, **further)


def request_schema(verdict_schema: dict[str, object], *, quotes: bool = True) -> dict[str, object]:
    """The JSON Schema of a reply: the reason, and optionally quotes, before the verdict."""
    evidence = {"evidence": {"type": "array", "items": {"type": "string"}}} if quotes else {}
    properties = {"reason": {"type": "string"}, **evidence, "verdict": verdict_schema}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@cache
def template(name: str, folder: str = PROMPT_VERSION) -> Template:
    """Return a template by its name, without the suffix, and its folder."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rubricate.judge.asking", "prompts"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=False,
        autoescape=False,
    )
    return environment.get_template(f"{folder}/{name}.jinja")


@lru_cache(maxsize=64)
def _system_part(
    guidelines: str | None,
    several: bool,
    examples: tuple[Example, ...],
    fenced: bool,
    choosing: bool,
) -> str:
    return template("system").render(
        guidelines=guidelines,
        several=several,
        examples=examples,
        tag=_examples_tag(examples),
        fenced=fenced,
        choosing=choosing,
    )


def examples_text(examples: tuple[Example, ...]) -> str:
    """Labelled examples in the form of the system message."""
    return template("examples").render(examples=examples, tag=_examples_tag(examples))


def _examples_tag(examples: tuple[Example, ...]) -> str:
    return code_for([text for e in examples for text in (e.prompt, e.submission)])


def _material_part(item: Item, fenced: bool) -> str:
    seen = neutral_item(item) if fenced else item
    text = template("material" if fenced else "unfenced").render(
        tag=material_tag(item),
        prompt=seen.prompt,
        context=seen.context,
        reference=seen.reference,
        submission=seen.submission,
    )
    return text if seen is item else _note() + text


def material_tag(item: Item) -> str:
    """The code of the tags around the material of an item."""
    return code_for(texts_of(item))


def texts_of(item: Item, fenced: bool = True) -> list[str]:
    """All material of an item as a judge sees it, with the note if anything was replaced."""
    seen = neutral_item(item) if fenced else item
    texts = [seen.prompt]
    for document in seen.context:
        texts += (document.title or "", document.text)
    texts += (seen.reference or "", seen.submission)
    return texts if seen is item else [*texts, _note()]


def _note() -> str:
    from rubricate.judge.asking._disguises import NOTE  # few texts need it

    return NOTE


def code_for(texts: Iterable[str]) -> str:
    """Return a code that occurs in none of the texts, and that nobody can know before all are
    written."""
    text = "\0".join(texts)
    content = text.encode("utf-8", "surrogatepass")
    attempt = 0
    while True:
        salt = attempt.to_bytes(8, "big")
        code = hashlib.blake2b(content, digest_size=CODE_BYTES, salt=salt).hexdigest()
        if code not in text:
            return code
        attempt += 1


def _question(criterion: Criterion, order: tuple[int, ...] | None) -> Question:
    question = criterion.question
    return question if order is None else question.in_order(order)


@lru_cache(maxsize=4096)
def suffix(
    criterion: Criterion, order: tuple[int, ...] | None = None
) -> tuple[str, dict[str, object]]:
    """The end of the user message, and the schema of the reply: the same for all items."""
    question = _question(criterion, order)
    text = template("criterion").render(question=question, note=criterion.note)
    return sendable(text), request_schema(question.verdict_schema)


@cache
def templates_digest(folder: str) -> bytes:
    """A hash of all templates of a folder, for keys: changing a template changes the keys."""
    files = sorted((Path(__file__).parent / "prompts" / folder).glob("*.jinja"))
    return _digest(repr([(file.name, file.read_bytes()) for file in files]))


def material_digest(item: Item, examples: tuple[Example, ...], fenced: bool) -> bytes:
    """A hash of the sources of `prefix`, for keys."""
    texts = [*texts_of(item, fenced), item.guidelines or ""]
    lengths = [*map(len, texts)]
    absent = (item.reference is None, item.guidelines is None)
    return _digest("".join((repr((fenced, examples, absent, lengths)), *texts)))


@lru_cache(maxsize=4096)
def question_digest(criterion: Criterion, order: tuple[int, ...] | None = None) -> bytes:
    """A hash of the sources of `suffix`, for keys."""
    question = _question(criterion, order)
    return _digest(repr((question, criterion.note, request_schema(question.verdict_schema))))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def asked_parts(criterion: Criterion) -> list[str]:
    """The parts of a criterion's question: the requirement, its note and its items."""
    question = criterion.question
    parts = [question.requirement]
    if criterion.note:
        parts.append(f"Note on this criterion:\n{criterion.note}")
    if question.material:
        parts.append(question.material)
    return parts


def answer_form(criterion: Criterion) -> str:
    """The required form of the reply about a criterion, in words."""
    return template("answer").render(question=criterion.question)


@cache
def _group_template() -> Template:
    """The template of a group, with the numbers that the criteria have.

    The file numbers them from 1. It is part of all journal keys, so that it can only change
    together with `PROMPT_VERSION`; until then this function adapts it.
    """
    environment = template("group").environment
    source = environment.loader.get_source(environment, f"{PROMPT_VERSION}/group.jinja")[0]  # type: ignore[union-attr]
    return environment.from_string(source.replace("{{ loop.index }}", "{{ numbers[loop.index0] }}"))


@lru_cache(maxsize=1024)
def group_suffix(
    criteria: tuple[Criterion, ...],
    orders: tuple[tuple[int, ...] | None, ...],
    numbers: tuple[str, ...],
) -> tuple[str, dict[str, object]]:
    """`suffix` of several criteria at once, each by its number.

    `orders` are those of each criterion's answers; None for its own.
    """
    questions = [_question(*pair) for pair in zip(criteria, orders, strict=True)]
    questions_asked = [
        (question, criterion.note) for question, criterion in zip(questions, criteria, strict=True)
    ]
    text = _group_template().render(asked=questions_asked, numbers=numbers)
    entries = {
        number: request_schema(question.verdict_schema)
        for number, question in zip(numbers, questions, strict=True)
    }
    return sendable(text), closed_object(entries)
