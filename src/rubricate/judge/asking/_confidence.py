"""Asking a language model how sure it is, beside the verdict: its own statement, no probability."""

from __future__ import annotations

from dataclasses import replace

from rubricate.judge._case import Case
from rubricate.judge.asking._model_judge import ModelJudge
from rubricate.judge.asking._replies import Reply
from rubricate.judge.models import Message, Request
from rubricate.rubric import Criterion, Reading, Usage, Verdict

__all__ = ["ConfidentJudge"]

CONFIDENCE = "confidence"
ASKED = f'\nAdd "{CONFIDENCE}" to it: how sure you are of the verdict, a number from 0 to 1.'


class ConfidentJudge(ModelJudge):
    """A language model that is asked criterion by criterion, and how sure it is.

    The verdict's `detail["confidence"]` has it; a reply without one is as good.
    """

    def request(self, case: Case, criterion: Criterion) -> Request:
        request = super().request(case, criterion)
        assert request.schema is not None
        *before, last = request.messages
        asked = Message(role=last["role"], content=last["content"] + ASKED)
        properties = {**request.schema["properties"], CONFIDENCE: {"type": "number"}}
        schema = {**request.schema, "properties": properties, "required": list(properties)}
        return replace(request, messages=(*before, asked), schema=schema)

    def _verdict(
        self, case: Case, criterion: Criterion, reply: Reply, reading: Reading, spent: Usage
    ) -> Verdict:
        verdict = super()._verdict(case, criterion, reply, reading, spent)
        stated = _stated(reply.data.get(CONFIDENCE))
        if stated is None:
            return verdict
        return replace(verdict, detail={**(verdict.detail or {}), CONFIDENCE: stated})


def _stated(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        return None
    return float(given)
