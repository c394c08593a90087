"""Prompts that users write: a Jinja template below a header that declares its variables.

    ---
    variables: [prompt, submission, criterion, options]
    ---
    An examiner asked: {{ prompt }}
    {{ submission }}
    Does it hold? {{ criterion }}
    {{ options }}

A template from somebody else runs no code, loads nothing, and ends (`rubricate/_sandbox.py`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubricate._documents import parse_yaml, read_text
from rubricate._spelling import unknown_word
from rubricate.dataset import ContextDocument, Item
from rubricate.errors import InputError
from rubricate.judge.asking._disguises import NOTE
from rubricate.judge.asking._examples import Examples
from rubricate.judge.asking._prompting import Prompting
from rubricate.judge.asking._prompts import (
    Example,
    ExampleLabel,
    answer_form,
    asked_parts,
    examples_text,
    material_tag,
    neutral_item,
    prefix,
    request_schema,
    sendable,
)
from rubricate.judge.asking._replies import Reply
from rubricate.judge.models import Completion, Message, Request
from rubricate.rubric import Answer, Criterion

if TYPE_CHECKING:
    from jinja2 import Template

    from rubricate._sandbox import Sandbox

VARIABLES = (
    "submission",
    "criterion",
    "options",
    "answer_form",
    "prompt",
    "context",
    "reference",
    "guidelines",
    "examples",
    "tag",
)
"""What a template can be given; the first two it must use."""
MANDATORY = VARIABLES[:2]
KEYS = ("variables", "system")
_HEADER = re.compile(r"\A---[ \t]*\n(?P<header>.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)


class PromptTemplate:
    """A prompt with declared variables.

    The header, YAML between two lines of `---`, has `variables`, a list of all that the template
    uses, and may have `system`, a template for the system message; without it that is the usual
    one, which has guidelines and examples in it. What `answer_form` says is put behind a prompt
    that does not use it: the reply must be of that form.

    Args:
        text: header and template.
        name: what results call it.
        file: where it is from, for errors.

    Attributes:
        name: its name.
        variables: what it uses.
        version: its name, and a hash of its text.

    Raises:
        InputError: a variable is unknown, not declared, or declared and not used, `submission` or
            `criterion` is missing, or the template cannot be rendered; with the line.
    """

    def __init__(self, text: str, *, name: str = "prompt", file: str | Path | None = None) -> None:
        self.name = name
        self._file = file
        text = text.replace("\r\n", "\n")
        self.version = f"{name} {hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"
        match = _HEADER.match(text)
        if match is None:
            raise self._wrong(
                "a prompt begins with a header: a line '---', then 'variables: [submission, "
                "criterion, ...]', then a line '---'",
                1,
            )
        self._header = match["header"]
        settings = self._read_header()
        self.variables: tuple[str, ...] = tuple(settings["variables"])
        above = text[: match.end()].count("\n")  # lines, so that errors have the file's own
        self._user = _Part(text[match.end() :], above)
        self._system = None
        if "system" in settings:
            self._system = _Part(settings["system"], self._line_of("system") - 1)
        self._check()

    @classmethod
    def from_file(cls, path: str | Path) -> PromptTemplate:
        """The prompt that a file holds.

        Args:
            path: the file.

        Raises:
            InputError: it cannot be read, or as for the class; with the file (`MissingFileError`
                where there is none).
        """
        return cls(read_text(path), name=Path(path).name, file=path)

    def render(
        self, item: Item, criterion: Criterion, examples: tuple[Example, ...] = ()
    ) -> tuple[str, str]:
        """The system message and the user's.

        Raises:
            InputError: the template does not work for this item.
        """
        seen = neutral_item(item)
        values = _values(seen, criterion, examples)
        used = {name: values[name]() for name in self.variables}
        user = self._rendered(self._user, used)
        if "answer_form" not in self.variables:
            user = f"{user}\n\n{values['answer_form']()}"
        if seen is not item:
            user = NOTE + user
        if self._system is None:
            return prefix(item, examples=examples)[0], sendable(user)
        return sendable(self._rendered(self._system, used)), sendable(user)

    @property
    def shows_examples(self) -> bool:
        """Whether labelled examples reach the judge."""
        return self._system is None or "examples" in self.variables

    def _rendered(self, part: _Part, values: Mapping[str, Any]) -> str:
        from rubricate._sandbox import rendered

        try:
            return rendered(part.template, values).strip("\n")
        except Exception as error:  # whatever the author's expressions may raise
            raise self._wrong(f"{type(error).__name__}: {error}", _line_of(error)) from None

    def _read_header(self) -> dict[str, Any]:
        """The header's keys and values, checked."""
        settings = parse_yaml(f"\n{self._header}", file=self._file)
        if not isinstance(settings, Mapping) or "variables" not in settings:
            raise self._wrong("the header has no 'variables: [submission, criterion, ...]'", 2)
        for key in settings:
            if key not in KEYS:
                raise self._wrong(unknown_word("key", key, KEYS), self._line_of(key))
        variables, system = settings["variables"], settings.get("system", "-")
        if not isinstance(variables, list) or not all(isinstance(name, str) for name in variables):
            raise self._wrong("variables must be a list of names", self._line_of("variables"))
        if not isinstance(system, str) or not system.strip():
            raise self._wrong("system must be text", self._line_of("system"))
        return dict(settings)

    def _check(self) -> None:
        for name in self.variables:
            if name not in VARIABLES:
                raise self._wrong(unknown_word("variable", name, VARIABLES), self._line_of(name))
        used = self._used()
        for name, line in used.items():
            if name not in VARIABLES:
                raise self._wrong(unknown_word("variable", name, VARIABLES), line)
            if name not in self.variables:
                raise self._wrong(f"'{name}' is used, but not declared among the variables", line)
        for name in MANDATORY:
            if name not in self.variables:
                raise self._wrong(f"a prompt must use '{name}'", self._line_of("variables"))
        for name in self.variables:
            if name not in used:
                raise self._wrong(f"'{name}' is declared, but not used", self._line_of(name))
        for item in _PROBES:
            self.render(item, _CRITERION, _EXAMPLES if item.prompt else ())

    def _used(self) -> dict[str, int]:
        """What both templates use, each with the first line that does."""
        used: dict[str, int] = {}
        for part in filter(None, (self._system, self._user)):
            try:
                part.compile()
            except _syntax_error() as error:
                raise self._wrong(f"{error.message}", error.lineno) from None
            except (RecursionError, SyntaxError):  # of Python, which has its own limits
                raise self._wrong("the template is nested too deeply", None) from None
            used |= part.used
        return used

    def _line_of(self, word: object) -> int:
        """The line of the file in which a word of the header is."""
        lines = self._header.split("\n")
        pattern = re.compile(rf"\b{re.escape(str(word))}\b")
        return next((n for n, line in enumerate(lines, 2) if pattern.search(line)), 2)

    def _wrong(self, message: str, line: int | None) -> InputError:
        return InputError(message, file=self._file or self.name, line=line)


class _Part:
    """A template of a file, and what it uses with the first line that does."""

    template: Template

    def __init__(self, text: str, above: int) -> None:
        self._text = "\n" * above + text
        self.used: dict[str, int] = {}

    def compile(self) -> None:
        """Read the template; raises Jinja's syntax errors, with the file's lines."""
        from jinja2 import meta, nodes

        environment = _environment()
        tree = environment.parse(self._text)
        free = meta.find_undeclared_variables(tree) - environment.globals.keys()
        for node in tree.find_all(nodes.Name):
            if node.name in free:
                self.used.setdefault(node.name, node.lineno)
        self.template = environment.template(tree)


@cache
def _environment() -> Sandbox:
    from rubricate._sandbox import Sandbox

    return Sandbox(["range"])


def _syntax_error() -> type[Any]:
    from jinja2 import TemplateSyntaxError

    return TemplateSyntaxError


def _line_of(error: BaseException) -> int | None:
    """The template's line that an error comes from; Jinja puts it into the traceback."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


class _Fenced(str):
    """A text between tags with a code; `text` is what is between them."""

    text: str

    def __new__(cls, kind: str, tag: str, text: str | None, head: str = "") -> _Fenced:
        shown = "" if text is None else f"<{kind}-{tag}>\n{head}{text}\n</{kind}-{tag}>"
        fenced = super().__new__(cls, shown)
        fenced.text = text or ""
        return fenced


@dataclass(frozen=True, slots=True)
class _Document:
    """A context document; as text, with its title between tags with a code."""

    text: str
    title: str
    tag: str

    def __str__(self) -> str:
        return _Fenced("context", self.tag, self.text, f"Title: {self.title}\n" * bool(self.title))


class _Documents(tuple[_Document, ...]):
    """Context documents; as text, one after the other."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))


class _Options(tuple[Answer, ...]):
    """The answers that are allowed; as text, a line for each."""

    def __str__(self) -> str:
        return "\n".join(
            f"- {answer.label}: {answer.meaning}" if answer.meaning else f"- {answer.label}"
            for answer in self
        )


class _Asked(str):
    """What a criterion asks, with its note and its items; `requirement` and `note` are parts."""

    requirement: str
    note: str

    @classmethod
    def of(cls, criterion: Criterion) -> _Asked:
        parts = asked_parts(criterion)
        text = cls("\n\n".join(parts))
        text.requirement = parts[0]
        text.note = criterion.note or ""
        return text


class _Shown(tuple[Example, ...]):
    """Labelled examples; as text, the way the usual prompt has them."""

    def __str__(self) -> str:
        return examples_text(tuple(self)) if self else ""


def _values(
    item: Item, criterion: Criterion, examples: tuple[Example, ...]
) -> dict[str, Callable[[], Any]]:
    """What gives each variable's value."""
    tag = material_tag(item)
    return {
        "submission": lambda: _Fenced("submission", tag, item.submission),
        "criterion": lambda: _Asked.of(criterion),
        "options": lambda: _Options(criterion.question.answers),
        "answer_form": lambda: answer_form(criterion),
        "prompt": lambda: _Fenced("task", tag, item.prompt or None),
        "context": lambda: _Documents(
            _Document(document.text, document.title or "", tag) for document in item.context
        ),
        "reference": lambda: _Fenced("reference", tag, item.reference),
        "guidelines": lambda: item.guidelines or "",
        "examples": lambda: _Shown(examples),
        "tag": lambda: tag,
    }


_CRITERION = Criterion(name="probe", requirement="Says something.", note="Anything counts.")
_EXAMPLES = (Example("p", "s", (ExampleLabel("Says something.", "MET", "It does."),)),)
_PROBES = (
    Item("A text."),
    Item("A text.", "A task.", "Another.", "Be fair.", (ContextDocument("One.", "Two"),)),
)


@dataclass(frozen=True)
class Templated(Prompting):
    """A model is asked with a prompt of the user's own.

    Attributes:
        template: the prompt.
        examples: labelled examples to be shown, if any.
        require_evidence: see `Prompting`.

    Raises:
        InputError: there are examples, and the prompt does not show them.
    """

    template: PromptTemplate
    examples: Examples | None = None
    require_evidence: bool | None = None

    def __post_init__(self) -> None:
        if self.examples is not None and not self.template.shows_examples:
            raise InputError(
                f"examples are given, but the prompt {self.template.name} does not use 'examples'"
            )

    @property
    def version(self) -> str:
        return self.template.version

    def read(self, completion: Completion, request: Request) -> Reply:
        """The reply in parts; the submission may be in either message."""
        content = "\n".join(message["content"] for message in request.messages[:2])
        shown = replace(request, messages=(Message(role="user", content=content),))
        return super().read(completion, shown)

    def request(self, item: Item, criterion: Criterion) -> Request:
        shown = () if self.examples is None else self.examples.for_item(item)
        system, user = self.template.render(item, criterion, shown)
        messages = (Message(role="system", content=system), Message(role="user", content=user))
        return Request(messages, request_schema(criterion.question.verdict_schema))
