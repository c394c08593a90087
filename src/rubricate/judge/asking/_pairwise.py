"""Which of two submissions is better by a criterion: the question as a criterion, and its judge.

A pair is an item: its submission is shown first, and its metadata hold the other one. The code that
makes the item decides which one is first; both orders of a pair are two items.
"""

from __future__ import annotations

from dataclasses import replace

from rubricate.dataset import Item
from rubricate.judge.asking._disguises import NOTE
from rubricate.judge.asking._prompting import Prompting
from rubricate.judge.asking._prompts import (
    asked_parts,
    code_for,
    neutral,
    neutral_item,
    request_of,
    request_schema,
    sendable,
    template,
    texts_of,
)
from rubricate.judge.asking._replies import Reply
from rubricate.judge.models import Completion, Request
from rubricate.rubric import Criterion, CriterionOption

PAIR_PROMPT = "pairwise-1"
"""The folder of templates in use. Changed wording means a new folder, and new journal keys."""
FIRST, SECOND, EQUAL = "FIRST", "SECOND", "EQUAL"
BETTER = "better"
"""The metadata key for the submission that people call better."""
TASK = "pair"
"""The metadata key for the id of the task; a task has pairs of all its answers."""
OTHER = "second"
"""The metadata key for the submission that is shown second."""


GIVEN, REVERSE = "first first", "second first"
"""The orders in which a pair is shown: the suffixes of the ids of its two items."""


def pair_id(item: str) -> str:
    """The id of a pair, from the id of its item that shows the first submission first."""
    return item.removesuffix(f"/{GIVEN}")


def pair_criterion(criterion: Criterion, name: str) -> Criterion:
    """The criterion that asks a judge which of two submissions is better by `criterion`.

    For a fault (a negative weight) the question is which one shows it more; that one is the worse.
    An answer counts 1 if the first is better, 0 if the second is, and 0.5 if neither is.
    """
    question = criterion.question
    parts = asked_parts(criterion)
    if criterion.measurement not in ("binary", "numeric"):
        levels = [
            f"- {answer.label}: {answer.meaning}" if answer.meaning else f"- {answer.label}"
            for answer in question.answers
            if answer.label in criterion.labels
        ]
        parts.append("A single submission would be given one of:\n" + "\n".join(levels))
    fault = criterion.weight < 0
    does = "shows the fault that the criterion describes more" if fault else "does better by it"
    options = [(FIRST, float(not fault)), (SECOND, float(fault)), (EQUAL, 0.5)]
    meanings = (f"the first submission {does}", f"the second submission {does}", "neither does")
    return Criterion(
        name=name,
        weight=abs(criterion.weight),
        requirement="\n\n".join(parts),
        scale_type="nominal",
        options=tuple(
            CriterionOption(label=label, value=value, description=meaning)
            for (label, value), meaning in zip(options, meanings, strict=True)
        ),
    )


class Pair(Prompting):
    """Asks a model which of an item's two submissions is better."""

    form = '{"reason": "...", "verdict": ...}'
    version = PAIR_PROMPT

    def request(self, item: Item, criterion: Criterion) -> Request:
        seen, second = neutral_item(item), neutral(item.data.metadata[OTHER])
        note = "" if seen is item and second == item.data.metadata[OTHER] else NOTE
        system = template("system", PAIR_PROMPT).render(guidelines=item.guidelines)
        material = template("material", PAIR_PROMPT).render(
            tag=code_for((*texts_of(item), second)),
            prompt=seen.prompt,
            context=seen.context,
            reference=seen.reference,
            first=seen.submission,
            second=second,
        )
        question = criterion.question
        text = template("criterion", PAIR_PROMPT).render(question=question)
        schema = request_schema(question.verdict_schema, quotes=False)
        return request_of(sendable(system), sendable(note + material), sendable(text), schema)

    def read(self, completion: Completion, request: Request) -> Reply:
        """Reason and verdict; unrequested quotes are dropped."""
        return replace(super().read(completion, request), quotes=())
