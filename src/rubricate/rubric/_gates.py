"""The gates of a rubric: which criteria depend on which, and the consequences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from rubricate._spelling import did_you_mean
from rubricate.errors import InputError
from rubricate.rubric._criterion import Criterion, Gate
from rubricate.rubric._declared import DeclaredScoring
from rubricate.rubric._group import Group, Node, paths, placed
from rubricate.rubric._question import ABSTENTION
from rubricate.rubric._scoring import Score, ScoringRules, score
from rubricate.rubric._verdict import GATE, NOT_RUN, UNANSWERED, Failure, Status, Verdict

SHOWN = 3
"""Names to show at each end of a long circle."""
_WORST: tuple[Status, ...] = ("skipped", "failed", "not_run", "abstained")
"""The outcome of a criterion if its gates have different ones: the first of these."""
_EXACT = 1e-9
"""Tolerance for rounding when comparing a group's score with `at_least`."""


class Gates:
    """The requirements between the criteria of a rubric.

    Args:
        tree: the criteria and groups of the rubric, with unique names.

    Attributes:
        waves: for each criterion, how many others must be settled one after the other before it.

    Raises:
        InputError: a gate refers to something unknown or to an impossible answer, or gates form a
            circle.
    """

    def __init__(self, tree: Sequence[Node]) -> None:
        self._nodes = {node.name: node for _, node in placed(tree)}
        self._gates = {name: gates for name, gates in _inherited(tree, ()) if gates}
        for name, node in self._nodes.items():
            for gate in node.requires:
                self._check(name, gate)
        waves = self._all_waves()
        self.waves = {
            name: waves[name] for name, node in self._nodes.items() if not isinstance(node, Group)
        }
        self._needed_by: dict[str, list[str]] = defaultdict(list)
        for name, gates in self._gates.items():
            for required in {gate.criterion: None for gate in gates}:
                self._needed_by[required].append(name)
        self._above: dict[str, list[str]] = {}
        """For each criterion, itself and the groups that contain it."""
        self._sizes: Counter[str] = Counter()
        for name, groups in paths(tree):
            if name in self.waves:
                self._above[name] = [node for node in (name, *groups) if node in self._needed_by]
                self._sizes.update(self._above[name])

    def _check(self, name: str, gate: Gate) -> None:
        """Raise `InputError` for a gate that can never hold, or that is ambiguous."""
        wanted, node = gate.criterion, self._nodes.get(gate.criterion)
        if node is None:
            hint = did_you_mean(wanted, self._nodes) or f"; there are: {', '.join(self._nodes)}"
            raise InputError(f"'{name}' requires '{wanted}', and nothing has that name{hint}")
        if isinstance(node, Group):
            if gate.at_least is None:
                raise InputError(
                    f"'{name}' requires the group '{wanted}': say at_least which score"
                )
            return
        requirement = f"'{name}' requires '{wanted}'"
        highest = node.value_range[1]
        if gate.label is not None:
            if gate.label == ABSTENTION:
                raise InputError(f"{requirement} to be {ABSTENTION}, which settles nothing")
            try:
                node.label_of(gate.label)
            except InputError as error:
                raise InputError(f"{requirement}, which {error.message}") from None
        elif gate.at_least is None and node.weight < 0:
            raise InputError(
                f"{requirement}, a fault: say which label, such as "
                f"{{criterion: {wanted}, label: {node.labels[1] if node.labels else 'UNMET'}}}"
            )
        elif gate.at_least is not None and gate.at_least > highest:
            raise InputError(
                f"{requirement} to be at least {gate.at_least:g}; no answer to it is worth "
                f"more than {highest:g}"
            )

    def _all_waves(self) -> dict[str, int]:
        """The wave of each criterion; for a group, the last wave of its criteria."""
        needs: dict[str, list[str]] = {}
        for name, node in self._nodes.items():
            if isinstance(node, Group):
                needs[name] = [inner.name for inner in node.criteria]
            else:
                needs[name] = [gate.criterion for gate in self._gates.get(name, ())]
        try:
            ordered = [*TopologicalSorter(needs).static_order()]
        except CycleError as error:
            *circle, _ = reversed(error.args[1])  # each requires the next one
            start = circle.index(next(name for name in needs if name in circle))
            circle = [*circle[start:], *circle[: start + 1]]
            if len(circle) > 2 * SHOWN:
                more = f"... ({len(circle) - 2 * SHOWN:,} more) ..."
                circle = [*circle[:SHOWN], more, *circle[-SHOWN:]]
            raise InputError(f"gates go in a circle: {' -> '.join(circle)}") from None
        waves: dict[str, int] = {}
        for name in ordered:
            step = 0 if isinstance(self._nodes[name], Group) else 1
            waves[name] = max((waves[required] for required in needs[name]), default=-step) + step
        return waves

    def __len__(self) -> int:
        """The number of criteria with requirements."""
        return len(self._gates)

    def waiting(self) -> Waiting:
        """The waiting criteria of a new item, with nothing settled yet."""
        required = {
            name: len({gate.criterion for gate in gates}) for name, gates in self._gates.items()
        }
        return Waiting(dict(self._sizes), required, self._above, self._needed_by)

    def criterion(self, name: str) -> Criterion:
        """The criterion with a name."""
        node = self._nodes[name]
        assert not isinstance(node, Group)
        return node

    def of(self, name: str) -> tuple[Gate, ...]:
        """The gates of a criterion, including those of the groups that contain it."""
        return self._gates.get(name, ())

    def awaited(self, name: str) -> Iterator[str]:
        """The criteria that must be settled before the gates of a criterion are known."""
        for gate in self.of(name):
            node = self._nodes[gate.criterion]
            if isinstance(node, Group):
                yield from (leaf.name for leaf in _leaves(node))
            else:
                yield node.name

    def outcome(
        self, name: str, verdicts: Mapping[str, Verdict], declared: DeclaredScoring | None = None
    ) -> Verdict | None:
        """The verdict on a criterion that is not asked because of its gates; None if all hold.

        `skipped` if a gate does not hold; else `failed` or `not_run` if a required criterion did
        or was; else `abstained`.

        Args:
            name: the name of the criterion.
            verdicts: the verdicts by name on all criteria in `awaited`.
            declared: the declared scoring, for required groups.
        """
        outcomes: dict[Status, Verdict] = {}
        for gate in self.of(name):
            node = self._nodes[gate.criterion]
            if isinstance(node, Group):
                of_group = [verdicts[leaf.name] for leaf in _leaves(node)]
                whole = score(node.criteria, of_group, ScoringRules(declared=declared))
                verdict = _unmet_by_group(name, gate, whole, of_group)
            else:
                verdict = _unmet(name, gate, node, verdicts[node.name])
            if verdict is not None:
                outcomes.setdefault(verdict.status, verdict)
        return next((outcomes[status] for status in _WORST if status in outcomes), None)

    def applied(
        self, verdicts: Mapping[str, Verdict], declared: DeclaredScoring | None = None
    ) -> dict[str, Verdict]:
        """Labels, with `skipped` for every criterion whose gates do not hold by them."""
        settled = dict(verdicts)
        for name in sorted(self._gates, key=self.waves.__getitem__):
            if all(required in settled for required in self.awaited(name)):
                outcome = self.outcome(name, settled, declared)
                if outcome is not None and outcome.status == "skipped":
                    settled[name] = outcome
        return settled


@dataclass(slots=True)
class Waiting:
    """The criteria of one item that wait for others to be settled.

    Attributes:
        open: for each required criterion or group, how many of its criteria are not settled.
        required: for each waiting criterion, how many requirements are not settled.
        above: for each criterion, the required ones that it belongs to.
        needed_by: for each required one, the criteria that wait for it.
    """

    open: dict[str, int]
    required: dict[str, int]
    above: Mapping[str, Sequence[str]]
    needed_by: Mapping[str, Sequence[str]]

    def settle(self, name: str) -> list[str]:
        """Mark a criterion as settled. Returns the criteria whose gates are now all known."""
        known: list[str] = []
        for node in self.above[name]:
            self.open[node] -= 1
            if self.open[node]:
                continue
            for waiting in self.needed_by[node]:
                self.required[waiting] -= 1
                if not self.required[waiting]:
                    known.append(waiting)
        return known


def _unmet(name: str, gate: Gate, required: Criterion, verdict: Verdict) -> Verdict | None:
    """The verdict that a gate on a criterion imposes; None if it holds."""
    if verdict.status in UNANSWERED or verdict.status == "abstained":
        return _undecided(name, gate.criterion, [verdict])
    if verdict.status == "skipped":
        return _skipped(name, gate.criterion, "which was not asked")
    if gate.label is not None:
        holds = verdict.label == required.label_of(gate.label)
    else:
        least = required.value_range[1] if gate.at_least is None else gate.at_least
        holds = verdict.value is not None and verdict.value >= least - _EXACT
    answer = verdict.label if verdict.label is not None else verdict.value
    return None if holds else _skipped(name, gate.criterion, f"which is {answer}")


def _unmet_by_group(
    name: str, gate: Gate, group: Score, verdicts: Sequence[Verdict]
) -> Verdict | None:
    """The same for a gate on a group, decided once the bounds of its score leave no doubt."""
    assert gate.at_least is not None
    if group.lowest is None or group.highest is None:
        return _skipped(name, gate.criterion, "which has no score")
    if group.value is not None and group.lowest >= gate.at_least - _EXACT:
        return None
    if group.highest < gate.at_least - _EXACT:
        scores = f"which scores {group.highest:.3g}, less than {gate.at_least:g}"
        return _skipped(name, gate.criterion, scores)
    return _undecided(name, gate.criterion, verdicts)


def _skipped(name: str, gate: str, why: str) -> Verdict:
    return Verdict(
        criterion=name, status="skipped", reason=f"not asked: it requires '{gate}', {why}"
    )


def _undecided(name: str, gate: str, verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict if a required criterion has no answer or abstained."""
    for verdict in verdicts:
        if verdict.status in UNANSWERED:
            error = verdict.error
            cause: str = verdict.status
            if error is not None:  # keep the original cause of a failure across several gates
                cause = error.message if error.kind == GATE else f"{error.kind}: {error.message}"
            message = f"not asked: it requires '{gate}': {cause}"
            failure = Failure(NOT_RUN if verdict.status == "not_run" else GATE, message)
            return Verdict(criterion=name, status=failure.status, error=failure)
    reason = f"not asked: it requires '{gate}', of which the judge could not tell"
    return Verdict(criterion=name, status="abstained", label=ABSTENTION, reason=reason)


def _inherited(
    nodes: Sequence[Node], above: tuple[Gate, ...]
) -> Iterator[tuple[str, tuple[Gate, ...]]]:
    """Each criterion with all of its gates, starting with those of its groups."""
    for node in nodes:
        gates = (*above, *node.requires) if node.requires else above
        if isinstance(node, Group):
            yield from _inherited(node.criteria, gates)
        else:
            yield node.name, gates


def _leaves(group: Group) -> Iterator[Criterion]:
    for _, node in placed(group.criteria):
        if not isinstance(node, Group):
            yield node
