"""The interface of judges, with their stages and members, through which a run asks them."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, get_args, runtime_checkable

from rubricate.dataset import Item
from rubricate.errors import InputError, shown
from rubricate.judge.models import Completion, Model, Request, Send
from rubricate.rubric import (
    UNANSWERED,
    Criterion,
    Evidence,
    Failure,
    Status,
    Usage,
    Verdict,
    confidence,
    read_kept,
)

if TYPE_CHECKING:
    from rubricate.rubric import Aggregation


class LabelFile(Protocol):
    """A file for people's labels on what the previous judges left open: `People`."""

    def note_item(self, item: Item, verdicts: Mapping[str, Verdict]) -> None:
        """Record what people have to label of an item."""

    def write(self) -> None:
        """Write the open questions."""


class Judge:
    """A judge: from an item and a criterion to a verdict.

    A custom judge derives from this class, and has at least `name`, `key` and `judge`:

        class Longest(Judge):
            name = "longest"

            def key(self, item, criterion):
                return f"longest 1 {item.submission}"

            async def judge(self, item, criterion, send):
                met = len(item.submission) > 100
                return Verdict(criterion.name, "judged", "MET" if met else "UNMET", float(met))

    It is only asked about criteria that need a judge. A single judge has one member, itself; the
    votes of a panel's members become one verdict; the stages of a cascade are asked in order.

    All other attributes have defaults, and most matter only to judges that ask a model. See the
    guide 'Custom judges'.

    Attributes:
        name: its name in results. It must not change.
        note: a line to show with its results, or None.
        model: the model that it asks; None if it asks none, or several.
        prompt_version: the version of its prompts, if it asks a model.
        mode: how it asks a model, in words, if it does.
        caches_prefixes: whether the shared part of an item's prompts is cheaper after the first
            request.
        answers_later: whether it asks a model whose answers may take hours.
        text_only: whether it sees only the texts of an item, so that it abstains on items with
            images and the like. Default: it reads the item itself.
        probability_mode: whether it gives each verdict's probability and no reason; asking again
            gives the same.
        is_trusted: whether its verdicts are created only by this package, from replies that were
            checked when read, so that a run need not check them again.
        votes_needed: the quorum: with fewer decisive votes, there is no verdict.
        aggregation: how the votes of several members are aggregated.
        weights: the weight of each member's vote, by name; None if all are equal.
        learns_weights: whether the weights are learned from the votes.
        people: the people who are asked last, if any.
    """

    name: str
    note: str | None = None
    model: Model | None = None
    prompt_version: str | None = None
    mode: str | None = None
    caches_prefixes: bool = False
    answers_later: bool = False
    text_only: bool = False
    probability_mode: bool = False
    is_trusted: bool = False
    votes_needed: int = 1
    aggregation: Aggregation | None = None
    weights: Mapping[str, float] | None = None
    learns_weights: bool = False
    people: LabelFile | None = None

    # One criterion

    def key(self, item: Item, criterion: Criterion) -> str:
        """The journal's key: a text, or a hash, of everything that could change the verdict.

        Two questions with the same key get one verdict, so include the text of the item, the
        criterion if it matters, and a version of the code.
        """
        raise NotImplementedError(f"{type(self).__name__} has no key")

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        """Judge one criterion. Ask models only through `send`.

        If there is no usable answer, return a verdict with the status `failed`; exceptions are
        bugs.
        """
        raise NotImplementedError(f"{type(self).__name__} has no judge")

    async def aclose(self) -> None:
        """Close connections. The judge can be used again afterwards."""

    # Several criteria of an item in one request

    def groups(self, criteria: Sequence[Criterion]) -> list[list[int]]:
        """Group criteria by request: lists of indexes; each criterion is in one group."""
        return [[index] for index in range(len(criteria))]

    def keys(self, item: Item, criteria: Sequence[Criterion]) -> list[str]:
        """The journal keys of a group's criteria, in order."""
        return [self.key(item, criterion) for criterion in criteria]

    async def judge_group(
        self, item: Item, criteria: Sequence[Criterion], send: Send
    ) -> list[Verdict]:
        """Judge a group, or the rest of one; return a verdict for each criterion, in order."""
        return [await self.judge(item, criterion, send) for criterion in criteria]

    def in_turn(self, turn: int) -> Judge:
        """The same judge with another order of the answers, the `turn`th from 0.

        Raises:
            InputError: the order of its answers cannot be changed.
        """
        raise no_orders(self.name)

    # Several judges

    @property
    def members(self) -> tuple[Member, ...]:
        """The members who vote on a criterion, one vote each."""
        return (Member(self, self.name),)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The judges that are asked in order."""
        return (Stage(self, None),)

    @property
    def voters(self) -> tuple[str, ...]:
        """The names of the members of all stages; empty for a single judge."""
        return ()

    def verdict(self, criterion: Criterion, votes: Sequence[Verdict | None]) -> Verdict:
        """Aggregate votes, given in the order of the members."""
        (vote,) = votes
        assert vote is not None
        return vote

    def at_stage(self, index: int, verdict: Verdict, votes: Sequence[Verdict]) -> Verdict:
        """The verdict of the stage at `index`, with all votes so far.

        Args:
            index: the index of the stage, from 0.
            verdict: the aggregated verdict of the stage.
            votes: the votes of all stages that were asked.
        """
        return verdict

    def weighted(self, weights: Mapping[str, float]) -> Judge:
        """The same judge with weights by member name; 1 for missing names."""
        return self

    def goes_on_without(self, lost: Collection[tuple[str, str]]) -> bool:
        """Whether a run makes sense without the models of these endpoints and names.

        Args:
            lost: pairs of an endpoint's address and a model's name that no longer answer.
        """
        return False

    def fingerprint(self) -> str | None:
        """A hash of all properties of the judge that could change its verdicts.

        It is the journal's key for one fixed text and criterion: while it is unchanged, so are the
        wording of the prompt, the model, its address and its sampling. None for a custom judge that
        cannot compute a key for a text alone.
        """
        item = Item(submission="A text.", prompt="A task.")
        criterion = Criterion(name="fixed", requirement="Says something.")
        try:
            return self.key(item, criterion)
        except Exception:  # the key is user code
            return None


ROUNDING = 1e-6
"""The largest difference of a judge's own arithmetic from a criterion's value: a third in seven
digits. With half, or double, the same mistakes are found, because labels are much further apart.
"""
_GIVEN = frozenset(get_args(Status)) - {"skipped"}
"""The possible statuses of a judge's verdict; skipped criteria are never judged."""
KEY = (
    "def key(self, item, criterion), a text that changes with all that could change the verdict, "
    "such as item.submission and criterion.name"
)
JUDGE = "async def judge(self, item, criterion, send), which gives a Verdict"
MODEL = "async def complete(self, request), which gives a Completion"
MODEL_KEY = "def fingerprint(self), a dict of all that could change an answer"


def check_own(judge: Judge | Model) -> None:
    """Raise `InputError` for a custom judge or model that lacks a required attribute."""
    name = type(judge).__name__
    if not isinstance(getattr(judge, "name", None), str) or not judge.name:
        raise InputError(f'{name} has no name: write name = "..." in the class')
    if isinstance(judge, Model):
        model = type(judge)
        _check_method(judge, "complete", 1, MODEL, lacks=model.complete is Model.complete)
        lacks_key = model.fingerprint is Model.fingerprint
        _check_method(judge, "fingerprint", 0, MODEL_KEY, lacks=lacks_key)
        return
    kind = type(judge)
    if kind.members is not Judge.members or kind.stages is not Judge.stages:
        return  # its judges were checked
    lacks_key = kind.key is Judge.key and kind.keys is Judge.keys
    _check_method(judge, "key", 2, KEY, lacks=lacks_key)
    if inspect.iscoroutinefunction(judge.key):
        raise InputError(f"{name}.key must not be async: write {KEY}")
    lacks_judge = kind.judge is Judge.judge and kind.judge_group is Judge.judge_group
    _check_method(judge, "judge", 3, JUDGE, lacks=lacks_judge)


def _check_method(
    judge: Judge | Model, method: str, arguments: int, what: str, *, lacks: bool
) -> None:
    kind = type(judge).__name__
    if lacks:
        raise InputError(f"{kind} lacks a method: write {what}")
    try:
        inspect.signature(getattr(judge, method)).bind(*[None] * arguments)
    except TypeError:
        raise InputError(f"{kind}.{method} takes other arguments: write {what}") from None


def checked_key(judge: Judge, key: object) -> str:
    """Return a judge's key, hashed if a journal could not store it.

    Raises:
        InputError: it is not a valid key.
    """
    if not isinstance(key, str):
        raise InputError(f"{type(judge).__name__}.key gave {shown(key)}: write {KEY}")
    if any("\ud800" <= letter <= "\udfff" for letter in key):  # half a surrogate pair
        return hash_of(key)
    return key


def check_awaitable(judge: Judge, result: object) -> None:
    """Raise `InputError` if a judge's method is not async."""
    if not hasattr(result, "__await__"):
        raise InputError(f"{type(judge).__name__}.judge is not async: write {JUDGE}")


def check_group(judge: Judge, verdicts: object, count: int) -> None:
    """Raise `InputError` if a judge does not return a list of `count` verdicts."""
    if not isinstance(verdicts, list | tuple) or len(verdicts) != count:
        many = len(verdicts) if isinstance(verdicts, list | tuple) else shown(verdicts)
        raise InputError(f"{type(judge).__name__}.judge_group gave {many} for {count} criteria")


def checked_verdict(judge: Judge, verdict: object, criterion: Criterion, took: Usage) -> Verdict:
    """Return a judge's verdict on a criterion, as the journal will return it.

    A label without a value gets the criterion's value. An impossible usage has an unknown cost.

    Args:
        judge: the judge.
        verdict: its verdict.
        criterion: the criterion.
        took: the usage of the requests that it sent.

    Raises:
        InputError: it is not a verdict, is about another criterion, or has a value that is not its
            label's.
    """
    trusted = judge.is_trusted and type(criterion) is Criterion
    if trusted and type(verdict) is Verdict and verdict.usage is took:
        return verdict
    who = type(judge).__name__
    if not isinstance(verdict, Verdict):
        raise InputError(f"{who}.judge gave {shown(verdict)}: write {JUDGE}")
    if verdict.status not in _GIVEN:
        known = ", ".join(sorted(_GIVEN))
        raise InputError(f"{who}.judge gave the status {shown(verdict.status)} (known: {known})")
    _check_fields(who, verdict)
    if not verdict.usage.is_possible:
        verdict = replace(verdict, usage=replace(took, cost=None))
    if verdict.criterion != criterion.name:
        raise InputError(
            f"{who}.judge gave a verdict on {shown(verdict.criterion)} for the criterion "
            f"{shown(criterion.name)}"
        )
    if verdict.status in UNANSWERED and verdict.error is None:
        return replace(verdict, error=Failure("failed", "the judge gives no reason"))
    if verdict.status != "judged":
        return verdict
    value = None
    if verdict.answer is not None:
        reading = read_kept(criterion, verdict.answer)
        label, value = reading.label, reading.value
        if label != verdict.label:
            raise InputError(
                f"{who}.judge gave the label {verdict.label}, and the answer says {label}"
            )
    if value is None:
        value = criterion.value(verdict.label or "")
    if verdict.value is None:
        return replace(verdict, value=value)
    if value is None or abs(verdict.value - value) > ROUNDING:
        raise InputError(
            f"{who}.judge gave {verdict.label} with the value {verdict.value:g}; by the criterion "
            f"it is {'none' if value is None else f'{value:g}'}: leave the value out"
        )
    return verdict


def _check_fields(who: str, verdict: Verdict) -> None:
    """Raise an error if the fields of a verdict have wrong types."""
    for field, number in (("value", verdict.value), ("probability", verdict.probability)):
        if number is not None and not (isinstance(number, int | float) and 0 <= number <= 1):
            shown_number = number if isinstance(number, float) else shown(number)
            raise InputError(f"{who}.judge gave the {field} {shown_number}: it must be from 0 to 1")
    fields: list[tuple[str, object, Any]] = [
        *(
            ("label", verdict.label, str),
            ("reason", verdict.reason, str),
            ("judge", verdict.judge, str),
        ),
        *(("error", verdict.error, Failure), ("usage", verdict.usage, Usage)),
        *(("detail", verdict.detail, Mapping), ("order", verdict.order, Mapping)),
        *(("evidence", passage, Evidence) for passage in verdict.evidence),
        *(("votes", vote, Verdict) for vote in verdict.votes),
    ]
    if verdict.error is not None:
        fields += [("error", verdict.error.kind, str), ("error", verdict.error.message, str)]
    for field, part, kind in fields:
        if part is not None and not isinstance(part, kind):
            raise InputError(
                f"{who}.judge gave the {field} {shown(part)}: it must be a {kind.__name__}"
            )
    Usage.total((verdict.usage,))  # raises if it cannot be added up


@dataclass(frozen=True, slots=True)
class Member:
    """A voting judge, as one of its replicates.

    Attributes:
        judge: the judge.
        name: its name among the members.
        replicate: its number, from 1; each number has separate answers.
    """

    judge: Judge
    name: str
    replicate: int = 1

    @property
    def suffix(self) -> str:
        """The suffix of the keys of its answers."""
        return "" if self.replicate == 1 else f"-r{self.replicate}"


@dataclass(frozen=True, slots=True)
class Stage:
    """One of the judges that are asked in order.

    Attributes:
        judge: the judge.
        threshold: the least confidence for keeping its verdict; None for the last stage, whose
            verdict is always kept.
    """

    judge: Judge
    threshold: float | None

    @property
    def name(self) -> str:
        """The name of its judge."""
        return self.judge.name

    @property
    def members(self) -> tuple[Member, ...]:
        """The voting members."""
        return self.judge.members

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its members."""
        return tuple(member.name for member in self.judge.members)

    def goes_on_without(self, lost: Collection[tuple[str, str]]) -> bool:
        """Whether it can decide without the models of these endpoints and names."""
        models = (member.judge.model for member in self.judge.members)
        remaining = sum(
            model is None or (model.endpoint, model.name) not in lost for model in models
        )
        return remaining >= max(1, self.judge.votes_needed)

    def stands(self, verdict: Verdict) -> bool:
        """Whether the verdict is kept, so that the next stage is not asked."""
        if self.threshold is None:
            return True
        sure = confidence(verdict)
        return sure is not None and sure >= self.threshold


def no_orders(name: str) -> InputError:
    """The error for a judge whose order of answers cannot be changed."""
    return InputError(
        f"permutations are for a language model; {name} is none, averages them, or has a prompt of "
        "its own"
    )


def hash_of(content: object) -> str:
    """A hash of the parts of a judge."""
    return hashlib.blake2b(repr(content).encode(), digest_size=16).hexdigest()


# Answers to parts of a judgement, which the run stores separately


@runtime_checkable
class PartKeeper(Protocol):
    """A `send` that also stores the answers to parts of a judgement."""

    async def __call__(self, model: Model, request: Request) -> Completion:
        """Send a request."""
        ...

    async def part(
        self, key: str, criterion: Criterion, ask: Callable[[], Awaitable[Verdict]]
    ) -> Verdict:
        """Return the answer stored under a key, else call `ask` and store its answer.

        Args:
            key: a hash of everything that could change the answer.
            criterion: the criterion, for reading a stored answer.
            ask: gets the answer.
        """
        ...


async def part_answer(
    send: Send, key: str, criterion: Criterion, ask: Callable[[], Awaitable[Verdict]]
) -> Verdict:
    """Call `PartKeeper.part` if `send` is a keeper; else ask."""
    return await (send.part(key, criterion, ask) if isinstance(send, PartKeeper) else ask())


def keyed(send: Send, suffix: str) -> Send:
    """The same `send` with a suffix to the keys of stored answers."""
    return _Keyed(send, suffix) if suffix and isinstance(send, PartKeeper) else send


class _Keyed:
    def __init__(self, send: PartKeeper, suffix: str) -> None:
        self._send = send
        self._suffix = suffix

    async def __call__(self, model: Model, request: Request) -> Completion:
        return await self._send(model, request)

    async def part(
        self, key: str, criterion: Criterion, ask: Callable[[], Awaitable[Verdict]]
    ) -> Verdict:
        return await self._send.part(key + self._suffix, criterion, ask)
