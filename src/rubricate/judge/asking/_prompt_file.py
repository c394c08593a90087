"""Prompts that users write: a Jinja template below a header that declares its variables.

    ---
    variables: [prompt, submission, criterion, options]
    ---
    An examiner asked: {{ prompt }}
    {{ submission }}
    Does it hold? {{ criterion }}
    {{ options }}

A third-party template runs no code, loads nothing, and terminates (`rubricate/_sandbox.py`).
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
"""The variables that a template may use; the first two are required."""
MANDATORY = VARIABLES[:2]
KEYS = ("variables", "system")
_HEADER = re.compile(r"\A---[ \t]*\n(?P<header>.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)


class PromptTemplate:
    """A prompt with declared variables.

    The header is YAML between two lines of `---`. It has `variables`, a list of all that the
    template uses, and may have `system`, a template for the system message; the default system
    message contains guidelines and examples. `answer_form` is appended to a prompt that does not
    use it, because the reply must have that form.

    Args:
        text: header and template.
        name: its name in results.
        file: its file, for errors.

    Attributes:
        name: its name.
        variables: the variables that it uses.
        version: its name, and a hash of its text.

    Raises:
        InputError: a variable is unknown, undeclared or unused, `submission` or `criterion` is
            missing, or the template cannot be rendered; with the line.
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
        above = text[: match.end()].count("\n")  # keep line numbers, so that errors have the file's
        self._user = _Part(text[match.end() :], above)
        self._system = None
        if "system" in settings:
            self._system = _Part(settings["system"], self._line_of("system") - 1)
        self._check()

    @classmethod
    def from_file(cls, path: str | Path) -> PromptTemplate:
        """Read a prompt from a file.

        Args:
            path: the file.

        Raises:
            InputError: the file cannot be read (`MissingFileError` if it does not exist), or as for
                the class; with the file.
        """
        return cls(read_text(path), name=Path(path).name, file=path)

    def render(
        self, item: Item, criterion: Criterion, examples: tuple[Example, ...] = ()
    ) -> tuple[str, str]:
        """Return the system message and the user message.

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
        except Exception as error:  # anything that the author's expressions raise
            raise self._wrong(f"{type(error).__name__}: {error}", _line_of(error)) from None

    def _read_header(self) -> dict[str, Any]:
        """Return the checked keys and values of the header."""
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
        """The variables that both templates use, with the first line of each."""
        used: dict[str, int] = {}
        for part in filter(None, (self._system, self._user)):
            try:
                part.compile()
            except _syntax_error() as error:
                raise self._wrong(f"{error.message}", error.lineno) from None
            except (RecursionError, SyntaxError):  # Python's own limits
                raise self._wrong("the template is nested too deeply", None) from None
            used |= part.used
        return used

    def _line_of(self, word: object) -> int:
        """The line of the file that has a word of the header."""
        lines = self._header.split("\n")
        pattern = re.compile(rf"\b{re.escape(str(word))}\b")
        return next((n for n, line in enumerate(lines, 2) if pattern.search(line)), 2)

    def _wrong(self, message: str, line: int | None) -> InputError:
        return InputError(message, file=self._file or self.name, line=line)


class _Part:
    """A template of a file, and the variables that it uses, with their first lines."""

    template: Template

    def __init__(self, text: str, above: int) -> None:
        self._text = "\n" * above + text
        self.used: dict[str, int] = {}

    def compile(self) -> None:
        """Compile the template. Raises Jinja's syntax errors, with line numbers of the file."""
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
    """The line of the template that raised an error, from Jinja's traceback."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


class _Fenced(str):
    """A text between tags with a code; `text` is the text alone."""

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
    """The allowed answers; as text, one per line."""

    def __str__(self) -> str:
        return "\n".join(
            f"- {answer.label}: {answer.meaning}" if answer.meaning else f"- {answer.label}"
            for answer in self
        )


class _Asked(str):
    """The question of a criterion with its note and items; `requirement` and `note` are parts."""

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
    """Labelled examples; as text, in the form of the usual prompt."""

    def __str__(self) -> str:
        return examples_text(tuple(self)) if self else ""


def _values(
    item: Item, criterion: Criterion, examples: tuple[Example, ...]
) -> dict[str, Callable[[], Any]]:
    """A function for the value of each variable."""
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
    """Asks a model with a custom prompt.

    Attributes:
        template: the prompt.
        examples: labelled examples to show, if any.
        require_evidence: see `Prompting`.

    Raises:
        InputError: there are examples, but the prompt does not show them.
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
        """Read a reply. The submission may be in either message."""
        content = "\n".join(message["content"] for message in request.messages[:2])
        shown = replace(request, messages=(Message(role="user", content=content),))
        return super().read(completion, shown)

    def request(self, item: Item, criterion: Criterion) -> Request:
        shown = () if self.examples is None else self.examples.for_item(item)
        system, user = self.template.render(item, criterion, shown)
        messages = (Message(role="system", content=system), Message(role="user", content=user))
        return Request(messages, request_schema(criterion.question.verdict_schema))
