"""Fitting the built-in judge to your own labels.

Few labels can teach little, so little is fitted: one slope and one offset for the shipped logit,
and an offset for each labelled criterion (or reference), all shrunk towards the shipped judge.
Every figure is out of fold, with that of the shipped judge on the same rows beside it, and the
shipped judge stays unless the fitted one is shown to be better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rubricate.errors import InputError
from rubricate.judge.builtin._classifier import (
    Classifier,
    is_contradiction,
    level_probabilities,
    target_key,
)
from rubricate.judge.builtin._inputs import Labelled, SoughtText, option_text, question
from rubricate.stats import Estimate, calibration, clustered_mean, label_agreement, roc_auc

Array = NDArray[np.float64]

FOLDS = 5
LEAST_ROWS = 10

LEAST_GROUPS = 10
"""The minimum number of groups (items) for trusting the interval of a gain; below it, the shipped
judge stays."""

PENALTIES = (1.0, 6.0, 1.0)
"""Inverse variances of the priors of the offset (0), the slope (1) and a target's effect (0).

Chosen once, for 20 to 100 labels of the data sets of tools/train_builtin.py.
"""


@dataclass(frozen=True)
class FitReport:
    """The results of a fit. Each figure is out of fold; None if undefined.

    Attributes:
        n: the number of judged examples: one per row, or one per option if the options' texts tell
            them apart.
        abstained: the number of rows on which the judge abstains, excluded from everything else.
        positive: share of positive examples (MET, or the best option, or the option chosen).
        folds: the number of folds; 0 if all rows are of one group, so that nothing is out of fold.
        auc, accuracy, kappa, ece, log_loss: figures of the judge that is kept.
        shipped_log_loss: log loss of the shipped judge on the same examples.
        gain: how much lower the log loss of the fitted judge is, with its interval by groups.
        kept: `fitted` if the interval of the gain is above 0 and based on ten groups or more, else
            `shipped`.
    """

    n: int
    abstained: int
    positive: float
    folds: int
    auc: float | None
    accuracy: float | None
    kappa: float | None
    ece: float | None
    log_loss: float | None
    shipped_log_loss: float | None
    gain: Estimate
    kept: str


@dataclass(frozen=True)
class Examples:
    """Rows as numbers, each of shape [n]."""

    shipped: Array
    """P(MET) by the shipped judge."""
    logits: Array
    """Its logits."""
    free: NDArray[np.bool_]
    """Whether the fit may change the probability: the text is not blank, copied or contradicted."""
    targets: Array
    """1 for positive examples, else 0."""
    keys: tuple[str, ...]
    """The key of the criterion, reference or option that was compared."""
    groups: tuple[str, ...]
    abstained: int


def refit(rows: Sequence[Labelled], *, seed: int = 0) -> tuple[Classifier, FitReport]:
    """Fit the shipped classifier to your own labels.

    Returns the shipped classifier itself unless the fitted one is shown to be better out of fold.

    Args:
        rows: texts with their labels: "MET" and "UNMET", or options' labels.
        seed: draws the folds of the report.

    Returns:
        The classifier, and a report whose figures are out of fold.

    Raises:
        InputError: the judge can use fewer than ten rows, or all of one class.
    """
    base = Classifier.load()
    examples = examine(rows, base)
    free = examples.free
    if free.sum() < LEAST_ROWS:
        raise InputError(
            f"fitting needs at least {LEAST_ROWS} labelled judgements that the built-in judge can "
            f"see, got {int(free.sum())}: label more, or use the shipped weights"
        )
    if examples.targets[free].min() == examples.targets[free].max():
        raise InputError(
            "every label is of one class: add judgements with the other label, "
            "or use the shipped weights"
        )
    fitted = _fitted(base, examples, rows, free)
    report = out_of_fold(examples, seed)
    chosen = fitted if report.kept == "fitted" else base
    training = {
        "data": "labels given to refit",
        "seed": seed,
        "from": base.identity,
        "out_of_fold": asdict(report),
    }
    return replace(chosen, training=training), report


def examine(rows: Sequence[Labelled], base: Classifier) -> Examples:
    """Convert rows to numbers.

    Rows on which the judge abstains, or labelled with an N/A option, are only counted.
    """
    examples: list[tuple[float, float, bool, float, str, str]] = []
    abstained = 0
    for row in rows:
        inputs, goal = row.inputs, goal_of(row)
        sought = question(inputs.requirement, inputs.reference, inputs.options, inputs.ordinal)
        pairs: list[tuple[SoughtText, float]] = []
        if goal is not None and not sought.abstention:
            pairs = [(sought, 1.0 - goal if sought.absence else goal)]
        if sought.options:
            pairs = [
                (SoughtText(option_text(option), "option"), float(option.label == row.label))
                for option in sought.options
            ]
        looks = [(base.look(inputs, aim), aim, target) for aim, target in pairs]
        if not looks or any(look.abstention for look, _, _ in looks):
            abstained += 1
            continue
        for look, aim, target in looks:
            match = look.match
            shipped = base.probability(match, aim) if match else look.fixed
            logit = base.logit(match) if match else 0.0
            is_free = match is not None and not match.against
            examples.append((shipped, logit, is_free, target, target_key(aim.text), row.group))
    columns: list[tuple[Any, ...]] = list(zip(*examples, strict=True)) or [()] * 6
    return Examples(
        np.array(columns[0], dtype=np.float64),
        np.array(columns[1], dtype=np.float64),
        np.array(columns[2], dtype=np.bool_),
        np.array(columns[3], dtype=np.float64),
        columns[4],
        columns[5],
        abstained,
    )


def _fitted(
    base: Classifier, examples: Examples, rows: Sequence[Labelled], use: NDArray[np.bool_]
) -> Classifier:
    """The classifier with the offset, slope and effects fitted to the rows."""
    offset, slope, effects = solve(examples, use)
    model = replace(
        base,
        intercept=_rounded(slope * base.intercept + offset),
        coefficients=tuple(_rounded(slope * value) for value in base.coefficients),
        effects={key: _rounded(effect) for key, effect in sorted(effects.items())},
    )
    spread, contradiction = scale_numbers(rows, model)
    return replace(model, spread=spread, contradiction=contradiction)


def solve(examples: Examples, use: NDArray[np.bool_]) -> tuple[float, float, dict[str, float]]:
    """Offset, slope and effects: the maximum of the penalised likelihood, by Newton's method."""
    names = sorted({key for key, used in zip(examples.keys, use, strict=True) if used})
    place = {name: number for number, name in enumerate(names)}
    rows = np.flatnonzero(use)
    design = np.zeros((len(rows), 2 + len(names)))
    design[:, 0], design[:, 1] = 1.0, examples.logits[rows]
    for at, row in enumerate(rows):
        design[at, 2 + place[examples.keys[row]]] = 1.0
    centre = np.zeros(2 + len(names))
    centre[1] = 1.0
    penalty = np.full(2 + len(names), PENALTIES[2])
    penalty[:2] = PENALTIES[:2]
    solved = newton(design, examples.targets[rows], centre, penalty)
    effects = dict(zip(names, map(float, solved[2:]), strict=True))
    return float(solved[0]), max(0.05, float(solved[1])), effects


def predicted(examples: Examples, solved: tuple[float, float, dict[str, float]]) -> Array:
    """P(MET) of each example after a fit; unchanged if the fit may not change it."""
    offset, slope, effects = solved
    own = np.array([effects.get(key, 0.0) for key in examples.keys])
    fitted = sigmoids(offset + slope * examples.logits + own)
    return np.where(examples.free, fitted, examples.shipped)


def out_of_fold(examples: Examples, seed: int) -> FitReport:
    """The results of a fit to the examples, and whether it is kept."""
    fitted = np.full(len(examples.targets), np.nan)
    masks = folds(examples.groups, seed)
    for held_out in masks:
        use = ~held_out & examples.free
        if len(set(examples.targets[use])) == 2:
            fitted[held_out] = predicted(examples, solve(examples, use))[held_out]
    seen = ~np.isnan(fitted)
    measured: dict[str, float | None] = dict.fromkeys(
        ("auc", "accuracy", "kappa", "ece", "log_loss")
    )
    shipped, kept = None, "shipped"
    gain = Estimate(None, undefined="nothing is out of fold")
    if seen.any():
        targets = examples.targets[seen]
        before = log_losses(examples.shipped[seen], targets)
        names = [group for group, use in zip(examples.groups, seen, strict=True) if use]
        gain = clustered_mean(
            [*map(float, before - log_losses(fitted[seen], targets))], groups=names
        ).mean
        shipped = float(before.mean())
        enough = len(set(names)) >= LEAST_GROUPS
        better = enough and gain.low is not None and gain.low > 0.0
        kept = "fitted" if better else "shipped"
        measured = figures((fitted if kept == "fitted" else examples.shipped)[seen], targets)
    return FitReport(
        n=len(examples.targets),
        abstained=examples.abstained,
        positive=float(examples.targets.mean()),
        folds=len(masks),
        **measured,
        shipped_log_loss=shipped,
        gain=gain,
        kept=kept,
    )


def folds(groups: Sequence[str], seed: int, count: int = FOLDS) -> list[NDArray[np.bool_]]:
    """Masks of held-out rows: groups dealt at random to `count` folds, or one per group."""
    names = sorted(set(groups))
    if len(names) < 2:
        return []
    order = np.random.default_rng(seed).permutation(len(names))
    fold_of = {names[name]: place % min(count, len(names)) for place, name in enumerate(order)}
    dealt = np.array([fold_of[group] for group in groups])
    return [dealt == fold for fold in range(min(count, len(names)))]


def newton(design: Array, targets: Array, centre: Array, penalty: Array) -> Array:
    """Minimise the log loss plus `penalty / 2 * (coefficients - centre) ** 2`."""
    fitted = centre.copy()
    for _ in range(50):
        chance = sigmoids(design @ fitted)
        slope = design.T @ (targets - chance) - penalty * (fitted - centre)
        curvature = (design * np.maximum(chance * (1 - chance), 1e-6)[:, None]).T @ design
        step = np.linalg.solve(curvature + np.diag(penalty), slope)
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        fitted = fitted + step
        if np.abs(step).max() < 1e-9:
            break
    return fitted


def scale_numbers(rows: Sequence[Labelled], base: Classifier) -> tuple[float, tuple[float, float]]:
    """Fit `spread` by likelihood on a grid, and count contradictions.

    Numbers on which the rows have too little data stay unchanged.
    """
    middle: list[tuple[float, list[float], int]] = []
    counts = np.array([[4.0, 1.0], [4.0, 1.0]])
    contradictions = 0
    for row, logit, contradicts in _scaled(rows, base):
        live = {option.label: option for option in row.inputs.options if not option.na}
        levels = sorted({option.value or 0.0 for option in live.values()})
        if len(levels) > 2:
            middle.append((logit, levels, levels.index(live[row.label].value or 0.0)))
        if goal_of(row) == 0.0 and any(is_contradiction(option) for option in live.values()):
            contradictions += 1
            counts[int(contradicts), int(is_contradiction(live[row.label]))] += 1
    spread = base.spread
    reached = [(level > 0) + (level == len(levels) - 1) for _, levels, level in middle]
    if middle and min(map(reached.count, range(3))) >= LEAST_ROWS:
        grid = [step / 20 for step in range(2, 101)]
        spread = max(grid, key=lambda value: _likelihood(middle, value))
    if contradictions < LEAST_ROWS:
        return spread, base.contradiction
    shares = counts[:, 1] / counts.sum(axis=1)
    return spread, (_rounded(shares[0]), _rounded(shares[1]))


def _scaled(rows: Sequence[Labelled], base: Classifier) -> Iterator[tuple[Labelled, float, bool]]:
    """Yield rows judged on an ordered scale, with the logit and whether the submission
    contradicts."""
    for row in rows:
        inputs = row.inputs
        sought = question(inputs.requirement, inputs.reference, inputs.options, inputs.ordinal)
        if (
            inputs.options
            and not sought.abstention
            and not sought.options
            and goal_of(row) is not None
        ):
            match = base.look(inputs, sought).match
            if match is not None:
                logit = base.logit(match) + base.effects.get(target_key(sought.text), 0.0)
                yield row, logit, bool(match.against)


def _likelihood(rows: Sequence[tuple[float, list[float], int]], spread: float) -> float:
    """Log likelihood of the lowest, middle and highest levels, each with the same weight."""
    losses: list[list[float]] = [[], [], []]
    for logit, levels, level in rows:
        chance = level_probabilities(logit, levels, spread)[level]
        losses[(level > 0) + (level == len(levels) - 1)].append(math.log(max(chance, 1e-9)))
    return sum(sum(own) / len(own) for own in losses)


def goal_of(row: Labelled) -> float | None:
    """1 for MET or the best option, 0 for the others, None for an N/A option.

    Raises `InputError` for an invalid label.
    """
    options = row.inputs.options
    if not options:
        if row.label not in ("MET", "UNMET"):
            raise InputError(f"label {row.label!r} of a binary criterion: give MET or UNMET")
        return float(row.label == "MET")
    for option in options:
        if option.label == row.label:
            best = max(other.value or 0.0 for other in options if not other.na)
            return None if option.na else float((option.value or 0.0) == best)
    labels = ", ".join(option.label for option in options)
    raise InputError(f"label {row.label!r} is no option: give one of {labels}")


def _rounded(value: float) -> float:
    return round(float(value), 5)


def sigmoids(logits: Array) -> Array:
    """1 / (1 + exp(-logit)) of each."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -40.0, 40.0))), dtype=np.float64)


def figures(probabilities: Array, targets: Array) -> dict[str, float | None]:
    """AUC, accuracy, Cohen's kappa, expected calibration error, log loss; None if undefined.

    Both arrays have shape [n]; targets are 0 or 1.
    """
    chances: list[float] = probabilities.tolist()
    truth: list[bool] = (targets >= 0.5).tolist()
    both = len(set(truth)) == 2
    agreement = label_agreement(
        [str(probability >= 0.5) for probability in chances],
        [str(label) for label in truth],
        bootstrap=None,
    )
    calibrated = calibration(chances, truth, bootstrap=None)
    return {
        "auc": roc_auc(chances, truth).value,
        "accuracy": agreement.figures["accuracy"].value,
        "kappa": agreement.figures["cohen_kappa"].value if both else None,
        "ece": calibrated.expected_calibration_error.value,
        "log_loss": float(log_losses(probabilities, targets).mean()),
    }


def log_losses(probabilities: Array, targets: Array) -> Array:
    """The log loss of each probability, in nats."""
    clipped = np.clip(probabilities, 1e-6, 1 - 1e-6)
    loss = -(targets * np.log(clipped) + (1 - targets) * np.log(1 - clipped))
    return np.asarray(loss, dtype=np.float64)
