"""Attacks on a judge: wrong answers, and ways to talk a judge into passing them.

The built-in questions and families are data, in `suite.yaml`. Families can also come from a user's
file, and questions from labelled items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, field_validator

from rubricate._documents import read_document, validate
from rubricate.dataset import ContextDocument, Gradable, Item
from rubricate.errors import InputError, errors_within
from rubricate.rubric import Criterion, CriterionVerdict

if TYPE_CHECKING:
    from rubricate._sandbox import Sandbox

SUITE = Path(__file__).with_name("suite.yaml")
VARIABLES = ("answer", "requirement", "prompt", "verdict", "translations")
"""The variables that the texts of a family may use."""
RESERVED = ("wrong answer", "right answer", "all")
"""The names of rows in the report, which families may not have."""


class AttackedQuestion(BaseModel):
    """A question with a wrong answer and optionally a right one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    prompt: str
    requirement: str
    """What the criterion requires, without the answer."""
    reference: str | None = None
    right: str | None = None
    """An answer whose correct verdict is MET."""
    wrong: str
    """An answer whose correct verdict is UNMET."""
    translations: tuple[str, ...] = ()
    """The wrong answer in other languages."""
    guidelines: str | None = None
    context: tuple[ContextDocument, ...] = ()


class AttackFamily(BaseModel):
    """A kind of attack in one or more wordings.

    Attributes:
        name: the name of the family in reports.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    what: str = ""
    """The attack in a few words."""
    texts: tuple[str, ...]
    """Jinja templates of the attacked text; they may use `answer` (the wrong answer),
    `requirement`, `prompt`, `verdict` (the label that the attack asks for) and `translations`, and
    the filters `as_tags` (invisible Unicode tag characters) and `zero_width` (a zero-width space
    between all letters)."""

    @field_validator("name")
    @classmethod
    def _has_a_name(cls, name: str) -> str:
        if not name.strip() or name in RESERVED:
            raise InputError(f"a family needs a name, and not one of: {', '.join(RESERVED)}")
        return name

    @field_validator("texts")
    @classmethod
    def _are_templates(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        if not texts:
            raise InputError("a family needs one text at least")
        for number, text in enumerate(texts, start=1):
            _check(text, number)
        return texts

    def attacked(self, question: AttackedQuestion, verdict: str = "MET") -> list[str]:
        """Return the question's wrong answer under this attack, for each wording that is possible.

        Args:
            question: the question. Without translations, wordings that use them are left out.
            verdict: the label that the attack asks the judge for.

        Raises:
            InputError: a wording cannot be used for this question.
        """
        values = {
            "answer": question.wrong,
            "requirement": question.requirement,
            "prompt": question.prompt,
            "translations": question.translations,
            "verdict": verdict,
        }
        usable = [
            text
            for text in self.texts
            if question.translations or "translations" not in _variables(text)
        ]
        try:
            return [_rendered(text, values) for text in usable]
        except Exception as error:  # an author's expressions may raise anything
            raise InputError(f"the attack {self.name}: {type(error).__name__}: {error}") from None


class AttackSuite(BaseModel):
    """Questions, and the attacks on each of them.

    Attributes:
        questions: the questions, with a wrong answer and optionally a right one.
        families: the attacks.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: tuple[AttackedQuestion, ...]
    families: tuple[AttackFamily, ...]


@cache
def load_attacks() -> AttackSuite:
    """Load the built-in suite."""
    return validate(AttackSuite, read_document(SUITE))


def load_families(path: str | Path) -> tuple[AttackFamily, ...]:
    """Load families of attacks from a YAML or JSON file in the format of `suite.yaml`.

    Args:
        path: the file.

    Returns:
        The families in the order of the file.

    Raises:
        InputError: there are none, or one of them cannot be used; the message has its place.
    """
    data = read_document(path)
    listed = data.get("families") if isinstance(data, Mapping) else data
    if not isinstance(listed, list) or not listed:
        raise InputError("expected a list of families: {name, what, texts: [...]}", file=path)
    with errors_within(file=path):
        families = tuple(validate(AttackFamily, raw, (n,)) for n, raw in enumerate(listed))
    names = [family.name for family in families]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InputError(
                f"the family '{name}' is defined twice", file=path, path=(number, "name")
            )
    return families


def questions_of(dataset: Gradable) -> Iterator[AttackedQuestion]:
    """Return the questions of labelled items: one for each binary criterion that people labelled
    UNMET.

    The right answer to a question is an item with the same prompt that people labelled MET by the
    same criterion. Penalty criteria are left out, because MET is not a pass for them.
    """
    labelled: list[tuple[Item, Criterion, str | None]] = []
    for item in dataset.to_grade():
        for name, human in item.labels().items():
            criterion = item.rubric.by_name[name]
            if criterion.needs_judge and criterion.is_binary and criterion.weight > 0:
                labelled.append((item, criterion, human.label))
    right: dict[tuple[str, str], str] = {}
    for item, criterion, label in labelled:
        if label == CriterionVerdict.MET:
            right.setdefault((item.prompt, criterion.requirement), str(item.submission))
    for item, criterion, label in labelled:
        if label == CriterionVerdict.UNMET:
            yield AttackedQuestion(
                name=f"{item.id}, {criterion.name}",
                prompt=item.prompt,
                requirement=criterion.requirement,
                reference=item.reference,
                right=right.get((item.prompt, criterion.requirement)),
                wrong=str(item.submission),
                guidelines=item.guidelines,
                context=item.context,
            )


@cache
def _environment() -> Sandbox:
    from rubricate._sandbox import Sandbox

    return Sandbox(filters={"as_tags": _as_tags, "zero_width": "\u200b".join})


def _rendered(text: str, values: Mapping[str, Any]) -> str:
    from rubricate._sandbox import rendered

    return rendered(_environment().template(_environment().parse(text)), values)


def _as_tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in text if letter.isascii())


@cache
def _variables(text: str) -> frozenset[str]:
    """Return the variables that a template uses."""
    from jinja2 import meta

    return frozenset(meta.find_undeclared_variables(_environment().parse(text)))


def _check(text: str, number: int) -> None:
    """Raise `InputError` for a template that cannot be used."""
    from jinja2 import TemplateError

    where, problem = "", ""
    try:
        if unknown := sorted(_variables(text) - set(VARIABLES)):
            problem = f"unknown variable '{unknown[0]}' (known: {', '.join(VARIABLES)})"
        else:
            probe = dict.fromkeys(VARIABLES[:-1], "x")
            _rendered(text, {**probe, "translations": ("x",) * 100})
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        where, problem = f", line {line}" if line else "", str(error.message)
    except Exception as error:  # an author's expressions may raise anything
        problem = f"{type(error).__name__}: {error}"
    if problem:
        raise InputError(f"text {number}{where}: {problem}")
