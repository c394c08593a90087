"""The usual way of asking: the reason, then quotes, then the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.judge.asking._prompting import CriteriaPerCall, Prompting, key_suffix
from rubricate.judge.asking._prompts import (
    PROMPT_VERSION,
    material_digest,
    question_digest,
    render,
    render_group,
    templates_digest,
)
from rubricate.judge.asking._replies import Reply
from rubricate.judge.models import Message, Request
from rubricate.rubric import Criterion, Verdict

if TYPE_CHECKING:
    from rubricate.judge.asking._examples import Examples

CONFIDENCE = "confidence"
ASKED = f'\nAdd "{CONFIDENCE}" to it: how sure you are of the verdict, a number from 0 to 1.'


@dataclass(frozen=True)
class Explained(Prompting):
    """A model gives its reason before the verdict, criterion by criterion or several at once.

    Attributes:
        examples: labelled examples to be shown, if any.
        shuffle: a seed that draws the order of the answers for each item and criterion, and that
            of the criteria of one request. Default: the rubric's own order.
        require_evidence: see `Prompting`.
        criteria_per_call: how many criteria of an item go together, in the rubric's order; `all`
            for all. One that the reply lacks is asked again without the others.
        states_confidence: whether the model is asked how sure it is; the verdict's
            `detail["confidence"]` has it. A reply without it is as good.
        fenced: whether the prompt fences the material in and warns of what it may contain. Without
            is for measuring what that is worth (`rubricate.redteam`), not for grading.
        turn: which of the orders of the answers, from 0.

    Raises:
        InputError: a number cannot be used, or two of them cannot be had together.
    """

    examples: Examples | None = None
    shuffle: int | None = None
    require_evidence: bool | None = None
    criteria_per_call: CriteriaPerCall = 1
    states_confidence: bool = False
    fenced: bool = True
    turn: int = 0

    def __post_init__(self) -> None:
        size = check_criteria_per_call(self.criteria_per_call)
        if size != 1 and (self.states_confidence or not self.fenced):
            what = "asked how sure it is" if self.states_confidence else "shown no fences"
            raise InputError(f"a model is {what} for one criterion a request, not for several")

    @property
    def mode(self) -> str:
        if self.criteria_per_call == 1:
            return "explained, one criterion a request"
        return f"explained, {self.criteria_per_call} criteria a request"

    @cached_property
    def is_usual(self) -> bool:
        """Whether what is sent is what `render` makes, and nothing more."""
        return type(self).request is Explained.request and not self.states_confidence

    @cached_property
    def reorders(self) -> bool:
        """Whether the answers may be shown in another order than the criterion's own."""
        is_own = type(self).order is not Explained.order
        return is_own or self.shuffle is not None or self.turn != 0

    def turned(self, turn: int) -> Prompting | None:
        return replace(self, turn=turn) if self.is_usual else None

    def order(self, item: Item, criterion: Criterion) -> tuple[int, ...] | None:
        if self.shuffle is None and not self.turn:
            return None
        from rubricate.judge.asking._orders import turned_order

        return turned_order(criterion, item, self.turn, self.shuffle)

    def request(self, item: Item, criterion: Criterion) -> Request:
        shown = () if self.examples is None else self.examples.for_item(item)
        order = self.order(item, criterion) if self.reorders else None
        request = render(item, criterion, shown, self.fenced, order)
        return asking_confidence(request) if self.states_confidence else request

    def item_digest(self, item: Item) -> bytes | None:
        """Nothing is rendered: the templates are in the key themselves."""
        if not self.is_usual:
            return None
        shown = () if self.examples is None else self.examples.for_item(item)
        return templates_digest(PROMPT_VERSION) + material_digest(item, shown, self.fenced)

    def criterion_digest(self, item: Item, criterion: Criterion) -> bytes:
        suffix = key_suffix(self.require_evidence, criterion)
        if not self.is_usual:
            return suffix
        order = self.order(item, criterion) if self.reorders else None
        return question_digest(criterion, order) + suffix

    def group_request(
        self, item: Item, criteria: Sequence[Criterion], numbers: Sequence[str] | None = None
    ) -> Request:
        orders = [self.order(item, criterion) for criterion in criteria]
        shown = () if self.examples is None else self.examples.for_item(item)
        return render_group(item, criteria, shown, orders, numbers)

    def group_order(self, item: Item, criteria: Sequence[Criterion]) -> list[int]:
        if self.shuffle is None:
            return list(range(len(criteria)))
        from rubricate.judge.asking._orders import criteria_order

        return criteria_order(criteria, item, self.shuffle)


def check_criteria_per_call(value: CriteriaPerCall) -> CriteriaPerCall:
    """The number of criteria a call, if it is one; `InputError` if not."""
    if value == "all" or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise InputError(f"criteria per call must be a number from 1, or 'all', found {value!r}")


def asking_confidence(request: Request) -> Request:
    """The request that also asks how sure the model is."""
    assert request.schema is not None
    *before, last = request.messages
    question = Message(role=last["role"], content=last["content"] + ASKED)
    properties = {**request.schema["properties"], CONFIDENCE: {"type": "number"}}
    schema = {**request.schema, "properties": properties, "required": list(properties)}
    return replace(request, messages=(*before, question), schema=schema)


def with_confidence(verdict: Verdict, reply: Reply) -> Verdict:
    """The verdict with how sure the model says that it is: its own statement, no probability."""
    stated = reply.data.get(CONFIDENCE)
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated <= 1:
        return verdict
    return replace(verdict, detail={**(verdict.detail or {}), CONFIDENCE: float(stated)})
