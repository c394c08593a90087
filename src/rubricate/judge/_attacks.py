"""Attacks on a judge: wrong answers, and ways to talk a judge into passing them.

The questions and families are data, in `attacks/suite.yaml`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from rubricate._documents import read_document, validate

__all__ = ["AttackFamily", "AttackSuite", "AttackedQuestion", "load_attacks"]

SUITE = Path(__file__).with_name("attacks") / "suite.yaml"


class AttackedQuestion(BaseModel):
    """A question with a wrong and a right answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    prompt: str
    requirement: str
    """What the criterion asks for; it does not tell the answer."""
    reference: str
    right: str
    """An answer whose right verdict is MET."""
    wrong: str
    """An answer whose right verdict is UNMET."""
    translations: tuple[str, ...]
    """The wrong answer in other languages."""


class AttackFamily(BaseModel):
    """One way to attack, in one or more wordings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    what: str
    """The attack in a few words."""
    texts: tuple[str, ...]
    """Jinja templates of the attacked text."""

    def attacked(self, question: AttackedQuestion) -> list[str]:
        """The question's wrong answer under this attack, once for each wording."""
        import jinja2

        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
        return [
            environment.from_string(text).render(
                answer=question.wrong,
                requirement=question.requirement,
                translations=question.translations,
            )
            for text in self.texts
        ]


class AttackSuite(BaseModel):
    """Questions, and the attacks that are tried on each of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: tuple[AttackedQuestion, ...]
    families: tuple[AttackFamily, ...]


@cache
def load_attacks() -> AttackSuite:
    """The suite that ships with the package."""
    return validate(AttackSuite, read_document(SUITE))
