"""Fitting the built-in judge: logistic regression with an L2 penalty, then Platt calibration.

The same code fits the shipped weights (tools/train_builtin.py) and a user's own labels (`refit`).
Every figure in a report is out of fold: a group's rows are judged by a classifier, and calibrated
by numbers, fitted without that group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rubricate.judge.builtin._classifier import (
    BLANK_PROBABILITY,
    Classifier,
    is_contradiction,
    level_probabilities,
)
from rubricate.judge.builtin._features import FEATURE_NAMES, Lexicon
from rubricate.judge.builtin._figures import Array, figures
from rubricate.judge.builtin._inputs import Labelled, is_blank, option_text, question

STRENGTH = 10.0
"""L2 penalty on a coefficient of a standardised feature, in units of one row."""

REFIT_STRENGTH = 5.0
"""The same for the distance from the shipped coefficients, in a refit."""

INTERCEPT_STRENGTH = 1.0
"""The same for the intercept of a refit: base rates differ more between sets than features do."""

HAND_SET = {"denial": -6.0, "opposites": -1.0, "numbers_missing": -0.5}
"""Coefficients that are set, not fitted, when there is no prior.

In the data that the weights come from, correct answers deny more than others do ("no friction, so
..."), which is no rule to learn. A refit moves them like the others.
"""

HELD = 1e6
"""The penalty that keeps a coefficient where it is."""

FOLDS = 5
LEAST_ROWS = 10


@dataclass(frozen=True)
class FitReport:
    """Out-of-fold figures. Each is None where it is undefined (one group, or one class only)."""

    n: int
    """Examples judged: one a row, or one an option where options' texts tell them apart."""
    abstained: int
    """Rows that the judge abstains on, left out of everything else."""
    positive: float
    """Share of the examples that hold (MET, or the best option, or the option chosen)."""
    folds: int
    auc: float | None
    accuracy: float | None
    kappa: float | None
    ece: float | None
    log_loss: float | None


@dataclass(frozen=True)
class Examples:
    """Rows as numbers: features [n, features], the rest [n]; targets are 0 or 1."""

    features: Array
    targets: Array
    weights: Array
    groups: tuple[str, ...]
    blank: NDArray[np.bool_]
    abstained: int

    def take(self, chosen: NDArray[np.bool_]) -> Examples:
        """The examples that are chosen by a mask."""
        groups = tuple(group for group, keep in zip(self.groups, chosen, strict=True) if keep)
        return Examples(
            self.features[chosen],
            self.targets[chosen],
            self.weights[chosen],
            groups,
            self.blank[chosen],
            0,
        )


@dataclass(frozen=True)
class Model:
    """A fitted logistic model over raw features, calibration folded in."""

    intercept: float
    coefficients: Array
    means: Array
    scales: Array

    def probabilities(self, examples: Examples) -> Array:
        """P(MET) of each example; blank submissions get the judge's fixed probability."""
        raw = _sigmoid(self.intercept + examples.features @ self.coefficients)
        return np.where(examples.blank, BLANK_PROBABILITY, raw)


def refit(rows: Sequence[Labelled], *, seed: int = 0) -> tuple[Classifier, FitReport]:
    """Fit the shipped classifier to your own labels.

    Coefficients are shrunk towards the shipped ones, so that few labels change little.

    Args:
        rows: texts with their labels: "MET" and "UNMET", or options' labels.
        seed: draws the folds of the report.

    Raises:
        ValueError: the rows are too few, or all of one class.
    """
    return fit(rows, seed, prior=Classifier.load())


def fit(
    rows: Sequence[Labelled],
    seed: int,
    *,
    prior: Classifier | None = None,
    lexicon: Lexicon | None = None,
    weights: Sequence[float] | None = None,
    training: Mapping[str, Any] | None = None,
) -> tuple[Classifier, FitReport]:
    """Fit a classifier and measure it out of fold.

    Give a `prior` to shrink towards, or a `lexicon` to start from nothing. `weights` are row
    weights (default 1). `training` is what the classifier says about its data. ValueError where the
    rows are too few or all of one class.
    """
    if prior is None and lexicon is None:
        raise ValueError("give a prior classifier or a lexicon to fit with")
    base = prior or _blank_classifier(lexicon or Lexicon({}, 1.0))
    examples = examine(rows, base, weights)
    usable = examples.take(~examples.blank)
    if len(usable.targets) < LEAST_ROWS:
        raise ValueError(
            f"fitting needs at least {LEAST_ROWS} labelled judgements that the built-in judge can "
            f"see, got {len(usable.targets)}: label more, or use the shipped weights"
        )
    if usable.targets.min() == usable.targets.max():
        raise ValueError(
            "every label is of one class: add judgements with the other label, "
            "or use the shipped weights"
        )
    model = solve(examples, seed, prior)
    spread, contradiction = _scale_numbers(rows, base, model)
    classifier = replace(
        base,
        intercept=_rounded(model.intercept),
        coefficients=tuple(_rounded(value) for value in model.coefficients),
        means=tuple(_rounded(value) for value in model.means),
        scales=tuple(_rounded(value) for value in model.scales),
        spread=_rounded(spread),
        contradiction=(_rounded(contradiction[0]), _rounded(contradiction[1])),
    )
    report = _out_of_fold(examples, seed, prior)
    if training is None:
        training = {
            "data": "labels given to refit",
            "seed": seed,
            "shrunk_towards": base.identity,
            "out_of_fold": asdict(report),
        }
    return replace(classifier, training=dict(training)), report


def examine(
    rows: Sequence[Labelled], base: Classifier, weights: Sequence[float] | None = None
) -> Examples:
    """Turn rows into numbers.

    Rows that the judge abstains on, or labelled with an N/A option, are counted only.
    """
    features: list[tuple[float, ...]] = []
    targets: list[float] = []
    kept: list[float] = []
    groups: list[str] = []
    blank: list[bool] = []
    abstained = 0
    nothing = (0.0,) * len(FEATURE_NAMES)
    for index, row in enumerate(rows):
        inputs = row.inputs
        asked = question(inputs.requirement, inputs.reference, inputs.options, inputs.ordinal)
        goal = _goal(row)
        if asked.abstention or goal is None:
            abstained += 1
            continue
        empty = is_blank(inputs.submission)
        if asked.options:
            pairs = [
                (option_text(option), float(option.label == row.label)) for option in asked.options
            ]
        else:
            pairs = [(asked.text, 1.0 - goal if asked.absence else goal)]
        for text, goal in pairs:
            features.append(
                nothing if empty else base.match(inputs, text, asked.source == "criterion").values
            )
            targets.append(goal)
            kept.append(1.0 if weights is None else weights[index])
            groups.append(row.group)
            blank.append(empty)
    return Examples(
        np.array(features, dtype=np.float64).reshape(-1, len(FEATURE_NAMES)),
        np.array(targets, dtype=np.float64),
        np.array(kept, dtype=np.float64),
        tuple(groups),
        np.array(blank, dtype=np.bool_),
        abstained,
    )


def solve(examples: Examples, seed: int, prior: Classifier | None) -> Model:
    """Fit on the examples that are not blank, and calibrate on their out-of-fold logits."""
    usable = examples.take(~examples.blank)
    model = _regress(usable, prior)
    logits = np.full(len(usable.targets), np.nan)
    for held_out in folds(usable.groups, seed):
        rest = usable.take(~held_out)
        if len(set(rest.targets)) == 2:
            part = _regress(rest, prior)
            logits[held_out] = part.intercept + usable.features[held_out] @ part.coefficients
    seen = ~np.isnan(logits)
    if seen.sum() < LEAST_ROWS:
        return model
    slope, offset = _platt(logits[seen], usable.targets[seen], usable.weights[seen])
    return replace(
        model, intercept=slope * model.intercept + offset, coefficients=slope * model.coefficients
    )


def folds(groups: Sequence[str], seed: int, count: int = FOLDS) -> list[NDArray[np.bool_]]:
    """Masks of held-out rows: groups dealt at random to `count` folds, or one to each group."""
    names = sorted(set(groups))
    if len(names) < 2:
        return []
    order = np.random.default_rng(seed).permutation(len(names))
    fold_of = {names[name]: place % min(count, len(names)) for place, name in enumerate(order)}
    dealt = np.array([fold_of[group] for group in groups])
    return [dealt == fold for fold in range(min(count, len(names)))]


def _out_of_fold(examples: Examples, seed: int, prior: Classifier | None) -> FitReport:
    masks = folds(examples.groups, seed)
    probabilities = np.full(len(examples.targets), np.nan)
    for held_out in masks:
        rest = examples.take(~held_out)
        if len(set(rest.targets[~rest.blank])) == 2:
            probabilities[held_out] = solve(rest, seed, prior).probabilities(
                examples.take(held_out)
            )
    seen = ~np.isnan(probabilities)
    measured: dict[str, float | None] = dict.fromkeys(
        ("auc", "accuracy", "kappa", "ece", "log_loss")
    )
    if seen.any():
        measured = figures(probabilities[seen], examples.targets[seen])
    return FitReport(
        n=len(examples.targets),
        abstained=examples.abstained,
        positive=float(examples.targets.mean()),
        folds=len(masks),
        **measured,
    )


def _regress(examples: Examples, prior: Classifier | None) -> Model:
    """Newton's method (iteratively reweighted least squares) on standardised features."""
    features, targets = examples.features, examples.targets
    weights = examples.weights * (len(targets) / examples.weights.sum())
    if prior is None:
        means, deviations = features.mean(axis=0), features.std(axis=0)
        scales = np.where(deviations < 1e-9, 1.0, deviations)
        start = np.zeros(features.shape[1] + 1)
        penalty = np.full(features.shape[1] + 1, STRENGTH)
        penalty[0] = 1e-6
        for name, value in HAND_SET.items():
            column = FEATURE_NAMES.index(name)
            start[1 + column] = value * scales[column]
            penalty[1 + column] = HELD
    else:
        means, scales = np.array(prior.means), np.array(prior.scales)
        shipped = np.array(prior.coefficients)
        start = np.concatenate([[prior.intercept + shipped @ means], shipped * scales])
        penalty = np.full(features.shape[1] + 1, REFIT_STRENGTH)
        penalty[0] = INTERCEPT_STRENGTH
    design = np.column_stack([np.ones(len(targets)), (features - means) / scales])
    fitted = _newton(design, targets, weights, start, penalty)
    coefficients = fitted[1:] / scales
    return Model(float(fitted[0] - coefficients @ means), coefficients, means, scales)


def _platt(logits: Array, targets: Array, weights: Array) -> tuple[float, float]:
    """Slope and offset of Platt (1999) scaling, lightly shrunk towards 1 and 0."""
    design = np.column_stack([np.ones(len(logits)), logits])
    weights = weights * (len(targets) / weights.sum())
    offset, slope = _newton(design, targets, weights, np.array([0.0, 1.0]), np.array([5.0, 5.0]))
    return max(float(slope), 0.05), float(offset)


def _newton(design: Array, targets: Array, weights: Array, centre: Array, penalty: Array) -> Array:
    """Minimise the weighted log loss plus `penalty / 2 * (coefficients - centre) ** 2`."""
    fitted = centre.copy()
    for _ in range(50):
        chance = _sigmoid(design @ fitted)
        slope = design.T @ (weights * (targets - chance)) - penalty * (fitted - centre)
        curvature = (
            design * (weights * np.maximum(chance * (1 - chance), 1e-6))[:, None]
        ).T @ design
        step = np.linalg.solve(curvature + np.diag(penalty), slope)
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        fitted = fitted + step
        if np.abs(step).max() < 1e-9:
            break
    return fitted


def _scale_numbers(
    rows: Sequence[Labelled], base: Classifier, model: Model
) -> tuple[float, tuple[float, float]]:
    """Fit `spread` by likelihood on a grid, and count contradictions.

    What the rows say too little about stays as it is.
    """
    middle: list[tuple[float, list[float], int]] = []
    counts = np.array([[4.0, 1.0], [4.0, 1.0]])
    contradictions = 0
    for row in rows:
        inputs = row.inputs
        asked = question(inputs.requirement, inputs.reference, inputs.options, inputs.ordinal)
        goal = _goal(row)
        if (
            not inputs.options
            or asked.abstention
            or asked.options
            or goal is None
            or is_blank(inputs.submission)
        ):
            continue
        live = {option.label: option for option in inputs.options if not option.na}
        levels = sorted({option.value or 0.0 for option in live.values()})
        match = base.match(inputs, asked.text, asked.source == "criterion")
        if len(levels) > 2:
            logit = model.intercept + float(np.dot(model.coefficients, match.values))
            middle.append((logit, levels, levels.index(live[row.label].value or 0.0)))
        if goal == 0.0 and any(is_contradiction(option) for option in live.values()):
            contradictions += 1
            counts[int(match.contradicts), int(is_contradiction(live[row.label]))] += 1
    spread = base.spread
    reached = [(level > 0) + (level == len(levels) - 1) for _, levels, level in middle]
    if middle and min(map(reached.count, range(3))) >= LEAST_ROWS:
        grid = [step / 20 for step in range(2, 101)]
        spread = max(grid, key=lambda value: _likelihood(middle, value))
    if contradictions < LEAST_ROWS:
        return spread, base.contradiction
    shares = counts[:, 1] / counts.sum(axis=1)
    return spread, (float(shares[0]), float(shares[1]))


def _likelihood(rows: Sequence[tuple[float, list[float], int]], spread: float) -> float:
    chances = [level_probabilities(logit, levels, spread)[level] for logit, levels, level in rows]
    return float(np.log(np.maximum(chances, 1e-9)).sum())


def _goal(row: Labelled) -> float | None:
    """1 for MET or the best option, 0 for the others, None for an N/A option.

    ValueError for a label that is none.
    """
    options = row.inputs.options
    if not options:
        if row.label not in ("MET", "UNMET"):
            raise ValueError(f"label {row.label!r} of a binary criterion: give MET or UNMET")
        return float(row.label == "MET")
    for option in options:
        if option.label == row.label:
            best = max(other.value or 0.0 for other in options if not other.na)
            return None if option.na else float((option.value or 0.0) == best)
    labels = ", ".join(option.label for option in options)
    raise ValueError(f"label {row.label!r} is no option: give one of {labels}")


def _blank_classifier(lexicon: Lexicon) -> Classifier:
    size = len(FEATURE_NAMES)
    return Classifier(
        0.0, (0.0,) * size, (0.0,) * size, (1.0,) * size, 0.7, (0.2, 0.2), lexicon, {}
    )


def _rounded(value: float) -> float:
    return round(float(value), 5)


def _sigmoid(logits: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -40.0, 40.0))), dtype=np.float64)
