"""Prompts from versioned template files.

The order is instructions, task, context documents and reference, submission, criterion. Everything
up to the criterion is the same, byte for byte, for all criteria of an item, so that an endpoint's
prompt cache serves a whole rubric. Untrusted text is between tags with a code that its author
cannot know: the code is a hash of the text itself, and never is in it. What could pass for a
control token or a tag, and what nobody sees, is shown in another form (`neutral`). (Without both
the prompt is there for one purpose: to measure what they are worth.)
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
"""The folder of templates in use. A changed wording is a new folder, and a new journal key."""
CODE_BYTES = 8
"""The length of a tag's code; twice as many hexadecimal digits. It is a hash of all texts, which no
author knows, so that a guess is right once in 2^64 times. At half, once in 2^32; at double, each
tag takes some ten tokens more."""
_MAYBE_TURN = re.compile(
    r"\n(?:Human|Assistant|\#\#\# (?:Instruction|Response|User|Assistant|Human|System)):"
)


@dataclass(frozen=True, slots=True)
class ExampleLabel:
    """What people say of one example by one criterion."""

    requirement: str
    label: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A text that people have labelled, with its labels in the rubric's order."""

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
    """The system's message, and how the user's begins: the same for all criteria of an item.

    `choosing` is for verdicts of one token, without a reason.
    """
    system = _system_part(item.guidelines, several, examples, fenced, choosing)
    return sendable(system), sendable(_material_part(item, fenced))


def neutral(text: str) -> str:
    """The text as a judge is shown it, of the same length; the text itself where all is visible.

    A model's server may take `<|im_start|>` in a text for the beginning of a message, a reader does
    not see zero-width or tag characters, and a tag of other brackets or letters can look like the
    end of the fence around the text. Each such character is shown as another one, letter for
    letter, so that every offset into what is shown is one into the text.

    Shown in another form are control tokens of chat templates, tags that could pass for those
    around the material, and characters that nobody sees: but not the joiners, marks of direction
    and variants of emoji, Arabic, Hebrew, Indic and other scripts that are written with them.
    """
    plain = text.isascii() and not ("<" in text or "[" in text or "]" in text or "&" in text)
    if plain and not (text.startswith("###") or _MAYBE_TURN.search(text)):
        return text
    from rubricate.judge.asking._disguises import undisguised  # few texts need its tables

    return undisguised(text)


def neutral_item(item: Item) -> Item:
    """The item with its material as a judge is shown it; the item itself if that is the same."""
    changed = _changed(item.submission, item.prompt, item.reference, item.context)
    return replace(item, **changed) if changed else item


@lru_cache(maxsize=64)
def _changed(
    submission: str, prompt: str, reference: str | None, context: tuple[ContextDocument, ...]
) -> dict[str, Any]:
    """What of an item is shown in another form, by its name."""
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
    """The text with '?' for each half of a surrogate pair, which UTF-8 cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def request_of(
    system: str, material: str, text: str, schema: dict[str, Any] | None = None, **further: Any
) -> Request:
    """A request whose user's message is an item's material and then a question.

    `further` are other attributes of the `Request`.
    """
    messages = (
        Message(role="system", content=system),
        Message(role="user", content=material + text),
    )
    return Request(messages, schema, shared=material, **further)


def request_schema(verdict_schema: dict[str, object], *, quotes: bool = True) -> dict[str, object]:
    """The JSON Schema of a reply: the reason, and quotes if wanted, before the verdict."""
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
    """A template of a folder, by its name without the suffix."""
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
    """Labelled examples as the system's message has them."""
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
    """The code of the tags around an item's material."""
    return code_for(texts_of(item))


def texts_of(item: Item, fenced: bool = True) -> list[str]:
    """All of an item's material as a judge is shown it, with the note if that is another form."""
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
    """A code that is in none of the texts, and that no author can know before all are written."""
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
    """How the user's message ends, and the schema of the reply: the same for all items."""
    question = _question(criterion, order)
    text = template("criterion").render(question=question, note=criterion.note)
    return sendable(text), request_schema(question.verdict_schema)


@cache
def templates_digest(folder: str) -> bytes:
    """A hash of all templates of a folder, for keys: changing one changes the keys."""
    files = sorted((Path(__file__).parent / "prompts" / folder).glob("*.jinja"))
    return _digest(repr([(file.name, file.read_bytes()) for file in files]))


def material_digest(item: Item, examples: tuple[Example, ...], fenced: bool) -> bytes:
    """A hash of what `prefix` is made of, for keys."""
    texts = [*texts_of(item, fenced), item.guidelines or ""]
    lengths = [*map(len, texts)]
    absent = (item.reference is None, item.guidelines is None)
    return _digest("".join((repr((fenced, examples, absent, lengths)), *texts)))


@lru_cache(maxsize=4096)
def question_digest(criterion: Criterion, order: tuple[int, ...] | None = None) -> bytes:
    """A hash of what `suffix` is made of, for keys."""
    question = _question(criterion, order)
    return _digest(repr((question, criterion.note, request_schema(question.verdict_schema))))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def asked_parts(criterion: Criterion) -> list[str]:
    """What a criterion asks, part by part: the requirement, its note and its items."""
    question = criterion.question
    parts = [question.requirement]
    if criterion.note:
        parts.append(f"Note on this criterion:\n{criterion.note}")
    if question.material:
        parts.append(question.material)
    return parts


def answer_form(criterion: Criterion) -> str:
    """What the reply about a criterion is to look like, in words."""
    return template("answer").render(question=criterion.question)


@cache
def _group_template() -> Template:
    """The template of a group, in which the criteria have the numbers that they are given.

    Its file counts them from 1. The file is part of all journal keys, so that it can only be
    changed together with `PROMPT_VERSION`; until then this is done here.
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
        (question, pair.note) for question, pair in zip(questions, criteria, strict=True)
    ]
    text = _group_template().render(asked=questions_asked, numbers=numbers)
    entries = {
        number: request_schema(question.verdict_schema)
        for number, question in zip(numbers, questions, strict=True)
    }
    return sendable(text), closed_object(entries)
