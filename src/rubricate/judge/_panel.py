"""Several judges whose votes become one verdict.

Every vote is a separate answer, requested and stored under its own judge's key. So a panel reuses
its judges' stored answers, another judge costs only that judge's answers, and another way of
counting costs nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace

from rubricate._spelling import unknown_word
from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.judge._choose import JudgeLike, named_judge
from rubricate.judge._judge import Judge, Member, Stage, hash_of
from rubricate.judge._options import Weights
from rubricate.judge.asking import check_permutations
from rubricate.rubric import Aggregation, Criterion, Verdict, aggregate, check_weights

MOST_REPLICATES = 1000
"""The maximum number of answers of one judge to one question, because all are in memory at once."""


class Panel(Judge):
    """Several judges, or one asked several times, whose votes on a criterion become one verdict.

    Criteria that need no judge are computed once, without a vote. A criterion's own `aggregation`
    takes precedence over the panel's strategy. For example:

        Panel(["openai/gpt-6-luna", "anthropic/claude-haiku-4-5", "builtin"], min_votes=2)

    Args:
        judges: judges, models, callables or names, each once.
        strategy: for binary criteria: `majority`, `weighted`, `unanimous` or `any`.
        ordinal: for ordered options and scales: `mean`, `median`, `weighted_mean`, `mode`, `min` or
            `max`.
        nominal: for unordered options: `mode`, `weighted_mode` or `unanimous`.
        numeric: for metric criteria: `mean`, `median` or `weighted_mean`. Defaults: `majority`,
            `mean`, `mode` and `mean`; with weights, their weighted forms.
        min_votes: the quorum: with fewer decisive votes, a verdict is `failed`.
        weights: the weight of each judge's vote (see `Weights`). With `reliability`, there are no
            results before all votes are complete.
        replicates: how often each judge is asked; every answer is a vote.
        permutations: the number of orders of the answers in which each judge is asked; each is a
            vote.

    Attributes:
        name: the names of the judges.
        members: the judges as the run asks them, one for each vote on a criterion.
        voters: the names of the members.
        votes_needed: the quorum: with fewer decisive votes, a verdict is `failed`.
        aggregation: how votes are aggregated.
        weights: the weight of each member's vote, by name; None if all are equal.
        learns_weights: whether the weights are learned from the votes.

    Raises:
        InputError: there is no judge, or a duplicate one, an unknown strategy, a quorum above the
            number of votes, or weights that do not match the judges or that no strategy uses.
    """

    def __init__(
        self,
        judges: Iterable[JudgeLike],
        *,
        strategy: str | None = None,
        ordinal: str | None = None,
        nominal: str | None = None,
        numeric: str | None = None,
        min_votes: int = 1,
        weights: Weights | None = None,
        replicates: int = 1,
        permutations: int | None = None,
    ) -> None:
        permutations = check_permutations(1 if permutations is None else permutations)
        if isinstance(judges, str):
            raise InputError(f"a panel is a list of judges, found one alone: write ['{judges}']")
        chosen = [named_judge(judge) for judge in judges]
        if not chosen:
            raise InputError("a panel needs at least one judge, found none")
        if replicates < 1:
            raise InputError(f"the replicates must be at least 1, found {replicates}")
        if replicates > MOST_REPLICATES:
            raise InputError(
                f"the replicates must be at most {MOST_REPLICATES:,}, found {replicates:,}"
            )
        for member in chosen:
            if member.voters:
                raise InputError(
                    f"{member.name} is several judges: list those that vote, each by itself"
                )
        if replicates > 1 and any(judge.probability_mode for judge in chosen):
            raise InputError(
                "replicates are for explained mode: asked again, a model has the same probabilities"
            )
        names = _names(chosen)
        by_default = _WEIGHTED if weights is not None else _UNWEIGHTED
        self.aggregation: Aggregation = Aggregation(
            binary=strategy or by_default.binary,
            ordinal=ordinal or by_default.ordinal,
            nominal=nominal or by_default.nominal,
            numeric=numeric or by_default.numeric,
            min_votes=min_votes,
        )
        if weights is not None and not self.aggregation.is_weighted:
            raise InputError("weights are given, but no strategy is weighted")
        if weights is None and self.aggregation.is_weighted:
            raise InputError("a weighted strategy needs weights: a number a judge, or reliability")
        each_votes = replicates * permutations
        votes = len(chosen) * each_votes
        if min_votes > votes:
            raise InputError(f"min_votes is {min_votes}, but there are only {votes} votes")
        self.name = " + ".join(names) + (f" x {replicates}" if replicates > 1 else "")
        self.name += f" in {permutations} orders" if permutations > 1 else ""
        self.votes_needed = min_votes
        self.prompt_version = ", ".join(_each(member.prompt_version for member in chosen)) or None
        self.mode = modes_of(chosen)
        self.caches_prefixes = any(judge.caches_prefixes for judge in chosen)
        self.answers_later = any(judge.answers_later for judge in chosen)
        self._members = tuple(
            Member(turned, name if number == 1 else f"{name} #{number}", number)
            for judge, own_name in zip(chosen, names, strict=True)
            for turned, name in _turns(judge, own_name, permutations)
            for number in range(1, replicates + 1)
        )
        self.learns_weights = weights == "reliability"
        if weights is not None and not isinstance(weights, str):
            each = _weight_each(weights, names)
            spread = [weight for weight in each for _ in range(each_votes)]
            self.weights = {m.name: w for m, w in zip(self._members, spread, strict=True)}
        elif weights is not None and not self.learns_weights:
            raise InputError(f"unknown weights '{weights}': numbers, or 'reliability'")

    @property
    def note(self) -> str | None:  # type: ignore[override]
        """The notes of the judges."""
        return " ".join(_each(member.judge.note for member in self._members)) or None

    @property
    def members(self) -> tuple[Member, ...]:
        return self._members

    @property
    def voters(self) -> tuple[str, ...]:
        return tuple(member.name for member in self._members)

    def verdict(self, criterion: Criterion, votes: Sequence[Verdict | None]) -> Verdict:
        """Aggregate votes, given in the order of the members; all equal without weights.

        The vote of a member is None if it would be asked in the same words as another: one answer
        is one vote.
        """
        named = [
            vote if vote.judge == member.name else replace(vote, judge=member.name)
            for vote, member in zip(votes, self._members, strict=True)
            if vote is not None
        ]
        weights = [self.weights[vote.judge or ""] for vote in named] if self.weights else None
        verdict = aggregate(
            criterion, named, self.aggregation.of(criterion), weights, judge=self.name
        )
        lacks = verdict.error is not None and verdict.error.kind == "quorum" and None in votes
        if verdict.error is not None and lacks:
            why = (
                "; its answers have no order that could be another: ask again with replicates, or "
                "lower min_votes"
            )
            verdict = replace(
                verdict, error=replace(verdict.error, message=verdict.error.message + why)
            )
        return verdict

    def goes_on_without(self, lost: Collection[tuple[str, str]]) -> bool:
        """Whether there is a quorum without the models of these endpoints and names."""
        return Stage(self, None).goes_on_without(lost)

    def fingerprint(self) -> str | None:
        """A hash of its members, and of how their votes are aggregated."""
        prints = [member.judge.fingerprint() for member in self._members]
        if None in prints:
            return None
        members = [
            f"{fingerprint}{m.suffix}" for fingerprint, m in zip(prints, self._members, strict=True)
        ]
        return hash_of((members, self.aggregation, self.weights, self.learns_weights))

    def weighted(self, weights: Mapping[str, float]) -> Panel:
        """The same panel with weights by member name; 1 for missing names."""
        other = copy(self)
        other.weights = {m.name: weights.get(m.name, 1.0) for m in self._members}
        return other

    def again(self, times: int, *, after: int = 0) -> Panel:
        """The panel of further answers: each member is asked `times` more times.

        Further answers are stored as further replicates, so that a panel with that many finds them;
        with `after`, their numbers are higher by this.

        Raises:
            InputError: a member answers with probabilities, or weights are learned from the votes.
        """
        if self.learns_weights or any(m.judge.probability_mode for m in self._members):
            raise InputError(
                f"{self.name} cannot be asked again: replicates are for explained mode, and for "
                "weights that are numbers"
            )
        last = max(member.replicate for member in self._members)
        other = copy(self)
        other.name = f"{self.name}, {times} more times"
        other._members = tuple(
            Member(
                member.judge,
                f"{member.name}, again {number}",
                member.replicate + after + last * number,
            )
            for number in range(1, times + 1)
            for member in self._members
        )
        if self.weights is not None:
            repeated = [self.weights[member.name] for member in self._members] * times
            other.weights = {m.name: w for m, w in zip(other._members, repeated, strict=True)}
        return other

    async def aclose(self) -> None:
        """Close connections. The panel can be used again afterwards."""
        for member in self._members:
            await member.judge.aclose()


def as_panel(judge: Judge) -> Panel:
    """A judge as a panel, whose members can be asked again.

    Raises:
        InputError: it is a cascade, whose stages would have to be asked again one by one.
    """
    if len(judge.stages) > 1:
        raise InputError(f"{judge.name} is a cascade, which cannot be asked again about verdicts")
    return judge if isinstance(judge, Panel) else Panel([judge])


_UNWEIGHTED = Aggregation()
_WEIGHTED = Aggregation("weighted", "weighted_mean", "weighted_mode", "weighted_mean")


def modes_of(judges: Iterable[Judge]) -> str | None:
    """How the language models among these judges are asked, in words; None if there are none."""
    return " and ".join(_each(judge.mode for judge in judges)) or None


def _each(texts: Iterable[str | None]) -> list[str]:
    """The texts that are not None, without duplicates."""
    return list(dict.fromkeys(filter(None, texts)))


def _turns(judge: Judge, name: str, permutations: int) -> list[tuple[Judge, str]]:
    """A judge in each of its orders of the answers, with its names in the panel."""
    if permutations == 1:
        return [(judge, name)]
    return [
        (judge.in_turn(turn), f"{name}, order {turn + 1}" if turn else name)
        for turn in range(permutations)
    ]


def _names(judges: Sequence[Judge]) -> list[str]:
    """The judges' names, with a number after a name that several judges have."""
    names: list[str] = []
    for index, judge in enumerate(judges):
        same = [other for other in judges[:index] if other.name == judge.name]
        if any(_answers_alike(judge, other) for other in same):
            raise InputError(
                f"the judge {judge.name} is listed twice: to ask it several times, give replicates"
            )
        names.append(f"{judge.name} ({len(same) + 1})" if same else judge.name)
    return names


def _answers_alike(judge: Judge, other: Judge) -> bool:
    """Whether two judges would share their stored answers."""
    probe = Item("probe"), Criterion(requirement="probe")
    return judge is other or judge.key(*probe) == other.key(*probe)


def _weight_each(
    weights: Sequence[float] | Mapping[str, float], names: Sequence[str]
) -> list[float]:
    if not isinstance(weights, Mapping):
        return check_weights(weights, len(names))
    for name in weights:
        if name not in names:
            raise InputError(f"weights: {unknown_word('judge', name, names)}")
    if missing := [name for name in names if name not in weights]:
        raise InputError(f"weights: none for {', '.join(missing)}")
    return check_weights([weights[name] for name in names], len(names))
