"""Train the weights of the built-in judge, and measure them by nested validation.

    python tools/train_builtin.py [--data DIR] [--output FOLDER] [--seed N]

Labels come from four sets of human judgements; how rare words are comes from other texts of the
same folder, which carry none of these labels. The same seed and data give the same bytes.

The figures are those of the outer loop: a data set, or a fold of a data set's questions, is left
out of everything, and on the rest features, penalty, slope and offset are chosen and fitted anew by
an inner loop, which leaves out one data set after the other.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from rubricate.judge.builtin import FEATURE_NAMES, Classifier, Inputs, Labelled, Option
from rubricate.judge.builtin._classifier import Look
from rubricate.judge.builtin._features import Lexicon, target
from rubricate.judge.builtin._figures import Array, figures, log_losses
from rubricate.judge.builtin._fit import goal_of, scale_numbers, sigmoids
from rubricate.judge.builtin._inputs import SoughtText, question
from rubricate.judge.builtin._text import analyse
from rubricate.stats import roc_auc

Mask = NDArray[np.bool_]

ROOT = Path(__file__).resolve().parents[1]
DATE = "2026-11-22"
SETS = {
    "physics": "MIT",
    "kqa": "MIT",
    "semeval2013": "CC BY-SA 3.0",
    "saf_en": "MIT",
}
BACKGROUND = {
    "recipes": "Apache-2.0 and CC BY 4.0",
    "summeval_op": "MIT",
    "squality": "CC BY 4.0",
    "squality_documents": "Project Gutenberg",
    "ttcw": "BSD 3-Clause",
    "mrbench": "CC BY-SA 4.0",
    "roscoe": "MIT",
}
LISTED = 2500
"""Stems whose rarity is shipped; all others count as rare."""

PASSAGE = 60
"""Content words that make one document when counting in how many documents a stem occurs."""

FOLDS = 5
"""Folds of a data set's questions. A set of one question has one fold, which is all of it."""

OTHERS = ("all_coverage", "characters")
"""Features that are measured here, to be chosen from, and not shipped unless they are chosen."""

PENALTIES = (math.inf, 100.0)
"""L2 penalties on the distance of the coefficients from their mean; infinity makes them equal."""

SIZES = (3, 4)
"""How many features: so few that they can be read, so many that none decides alone."""

NEAR = 0.005
"""Distance in mean AUC from the best within which the inner loop looks at the log loss."""

CONTRADICTED = (0.2, 20.0)
"""Prior of the share that is met where a text contradicts the criterion: share, and its rows."""


@dataclass(frozen=True)
class Row:
    """One labelled judgement, its data set and its question, which never straddles a fold."""

    labelled: Labelled
    data: str
    question: str


@dataclass(frozen=True)
class Table:
    """Judged rows as numbers. `features` is [n, candidates], standardised nowhere yet."""

    features: Array
    targets: Array
    data: NDArray[np.str_]
    folds: NDArray[np.int_]
    fixed: Array
    """P(MET) where it is no matter of features (blank, copied), else NaN."""
    contradicted: Mask

    @property
    def free(self) -> Mask:
        """Rows whose probability the features give."""
        return np.isnan(self.fixed) & ~self.contradicted


@dataclass(frozen=True)
class Choice:
    """What the inner loop chooses: columns of the features, and a penalty."""

    columns: tuple[int, ...]
    penalty: float


@dataclass(frozen=True)
class Model:
    """`intercept + coefficients . features[columns]`, and the means and scales that it was fitted
    with."""

    columns: tuple[int, ...]
    intercept: float
    coefficients: Array
    means: Array
    scales: Array
    contradicted: float

    def logits(self, features: Array) -> Array:
        """The logit of each row of features."""
        chosen = features[:, list(self.columns)]
        return np.asarray(self.intercept + chosen @ self.coefficients, dtype=np.float64)

    def probabilities(self, table: Table, rows: Mask) -> Array:
        """P(MET) of the rows."""
        found = sigmoids(self.logits(table.features[rows]))
        capped = np.where(table.contradicted[rows], np.minimum(found, self.contradicted), found)
        return np.where(np.isnan(table.fixed[rows]), capped, table.fixed[rows])


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file of one JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def rows(folder: Path) -> list[Row]:
    """All labelled judgements. Physics has one row for each annotator: a tie is one of each."""
    return [
        Row(labelled, data, record["group"])
        for data in SETS
        for record in records(folder / f"{data}.jsonl")
        for criterion in record["criteria"]
        for labelled in labels(data, record, criterion)
    ]


def labels(data: str, record: dict[str, Any], criterion: dict[str, Any]) -> Iterator[Labelled]:
    """A criterion's labels. Of options, the best counts against the others."""
    group = f"{data}:{record['group']}"
    if criterion["kind"] == "binary":
        inputs = Inputs(record["submission"], criterion["requirement"], record["prompt"])
        for verdict in criterion["human"]:
            yield Labelled(inputs, "MET" if verdict else "UNMET", group)
    elif data == "kqa":
        inputs = Inputs(record["submission"], criterion["requirement"], record["prompt"])
        met = criterion["majority"] == "Entailment"
        yield Labelled(inputs, "MET" if met else "UNMET", group)
    elif criterion["kind"] == "multi_choice":
        options = tuple(Option(option["label"], option["value"]) for option in criterion["options"])
        reference = re.sub(r"^Reference answer(\(s\))?:\s*", "", record["context"])
        inputs = Inputs(
            record["submission"], criterion["requirement"], record["prompt"], reference, options
        )
        yield Labelled(inputs, criterion["human"][0], group)


def rarity(folder: Path) -> Lexicon:
    """Inverse document frequency of the commonest stems, over texts without the labels used."""
    documents: collections.Counter[str] = collections.Counter()
    total = 0
    for text in background(folder):
        passage: set[str] = set()
        words = 0
        for sentence in analyse(text).sentences:
            passage.update(sentence.stems)
            words += len(sentence.stems)
            if words >= PASSAGE:
                documents.update(passage)
                total += 1
                passage, words = set(), 0
        if words:
            documents.update(passage)
            total += 1
    common = sorted(
        (root for root in documents if not root[0].isdigit()),
        key=lambda root: (-documents[root], root),
    )
    listed = {
        root: round(math.log((total + 1) / (documents[root] + 1)), 1) for root in common[:LISTED]
    }
    return Lexicon(listed, round(max(listed.values()) + 1.0, 1))


def background(folder: Path) -> Iterator[str]:
    """Prompts, contexts, documents and submissions of the other sets, each text once."""
    seen: set[str] = set()
    for name in BACKGROUND:
        for record in records(folder / f"{name}.jsonl"):
            for field in ("submission", "prompt", "context", "text", "document"):
                text = record.get(field)
                if isinstance(text, str) and text not in seen:
                    seen.add(text)
                    yield text


def unfitted(lexicon: Lexicon) -> Classifier:
    """A classifier that measures and has no weights yet."""
    size = len(FEATURE_NAMES)
    return Classifier(
        intercept=0.0,
        coefficients=(0.0,) * size,
        means=(0.0,) * size,
        scales=(1.0,) * size,
        spread=0.7,
        contradiction=(0.2, 0.2),
        contradicted=CONTRADICTED[0],
        lexicon=lexicon,
        effects={},
        training={},
    )


def measure(every: Sequence[Row], judge: Classifier, seed: int) -> tuple[Table, dict[str, int]]:
    """The rows that are judged, as numbers, and how many of each data set are abstained on."""
    fold = question_folds(every, seed)
    abstained: collections.Counter[str] = collections.Counter()
    kept: list[tuple[Row, Look, SoughtText]] = []
    for row in every:
        inputs = row.labelled.inputs
        asked = question(inputs.requirement, inputs.reference, inputs.options, inputs.ordinal)
        look = Look(abstention=asked.abstention)
        if not asked.abstention:
            look = judge.look(inputs, asked)
        if look.abstention:
            abstained[row.data] += 1
        else:
            kept.append((row, look, asked))
    nothing = [0.0] * (len(FEATURE_NAMES) + len(OTHERS))
    return (
        Table(
            features=np.array(
                [
                    [*look.match.values, *others(row.labelled.inputs, look, asked, judge.lexicon)]
                    if look.match
                    else nothing
                    for row, look, asked in kept
                ]
            ),
            targets=np.array([goal_of(row.labelled) for row, _, _ in kept], dtype=np.float64),
            data=np.array([row.data for row, _, _ in kept]),
            folds=np.array([fold[row.data, row.question] for row, _, _ in kept]),
            fixed=np.array([math.nan if look.match else look.fixed for _, look, _ in kept]),
            contradicted=np.array([bool(look.match and look.match.against) for _, look, _ in kept]),
        ),
        dict(abstained),
    )


def others(inputs: Inputs, look: Look, asked: SoughtText, lexicon: Lexicon) -> tuple[float, float]:
    """`OTHERS` of a match: coverage with the words of the prompt, and of letter triples."""
    aim = target(asked.text, inputs.prompt, lexicon, asked.is_criterion)
    counts = analyse(look.counted).counts
    held = sum(weight for root, weight in aim.weights.items() if root in counts)
    wanted, given = triples(aim.new), triples(counts)
    share = len(wanted & given) / len(wanted) if wanted else 0.0
    return held / (sum(aim.weights.values()) or 1.0), share


def triples(words: Sequence[str] | Any) -> set[str]:
    """Three letters in a row of the words, with a space at either end."""
    return {f" {word} "[at : at + 3] for word in words for at in range(len(word))}


def question_folds(every: Sequence[Row], seed: int) -> dict[tuple[str, str], int]:
    """The fold of each data set's questions."""
    random = np.random.default_rng(seed)
    found: dict[tuple[str, str], int] = {}
    for data in SETS:
        names = sorted({row.question for row in every if row.data == data})
        for place, number in enumerate(random.permutation(len(names))):
            found[data, names[number]] = place % FOLDS
    return found


def evenly(data: NDArray[np.str_]) -> Array:
    """Weights with one sum for every data set, together 1."""
    names, place, sizes = np.unique(data, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / sizes[place] / len(names), dtype=np.float64)


def fit(table: Table, use: Mask, choice: Choice) -> Model:
    """Logistic regression with coefficients that are not negative and shrunk to their mean."""
    use = use & table.free
    features = table.features[use][:, list(choice.columns)]
    targets, weights = table.targets[use], evenly(table.data[use])
    means = weights @ features
    scales = np.sqrt(weights @ (features - means) ** 2) + 1e-9
    standard = (features - means) / scales
    total = float(len(targets))
    equal = math.isinf(choice.penalty)
    if equal:
        standard = standard.mean(axis=1, keepdims=True)

    def loss(values: Array) -> tuple[float, Array]:
        logits = values[0] + standard @ values[1:]
        apart = values[1:] - values[1:].mean()
        penalty = 0.0 if equal else choice.penalty
        missed = weights * total * (sigmoids(logits) - targets)
        value = (weights * total * (np.logaddexp(0.0, logits) - targets * logits)).sum()
        slope = np.concatenate([[missed.sum()], standard.T @ missed + penalty * apart])
        return float(value + penalty / 2 * (apart**2).sum()), slope

    size = standard.shape[1]
    bounds = [(None, None)] + [(0.0, None)] * size
    found = minimize(loss, np.zeros(size + 1), jac=True, method="L-BFGS-B", bounds=bounds).x
    count = len(choice.columns)
    own = np.repeat(found[1] / count, count) if equal else found[1:]
    coefficients = own / scales
    share, rows_of_prior = CONTRADICTED
    against = table.contradicted & np.isnan(table.fixed)
    met = float(table.targets[against].sum()) + share * rows_of_prior
    return Model(
        columns=choice.columns,
        intercept=float(found[0] - coefficients @ means),
        coefficients=coefficients,
        means=means,
        scales=scales,
        contradicted=min(0.4, met / (float(against.sum()) + rows_of_prior)),
    )


def left_out_logits(table: Table, use: Mask, choice: Choice) -> Array:
    """Logits of the rows in use, each by a model that has not seen its data set; else NaN."""
    found = np.full(len(table.targets), np.nan)
    for name in sorted(set(table.data[use])):
        held = use & (table.data == name)
        model = fit(table, use & ~held, choice)
        found[held] = model.logits(table.features[held])
    return found


def inner_area(table: Table, use: Mask, choice: Choice) -> float:
    """Mean AUC of the data sets in use, each by a model that has not seen it."""
    areas = []
    for name in sorted(set(table.data[use])):
        held = use & (table.data == name)
        rest = use & ~held
        if math.isinf(choice.penalty):  # slope and offset change no rank
            columns = table.features[:, list(choice.columns)]
            weights = evenly(table.data[rest])
            means = weights @ columns[rest]
            scales = np.sqrt(weights @ (columns[rest] - means) ** 2) + 1e-9
            logits = ((columns[held] - means) / scales).mean(axis=1)
        else:
            logits = fit(table, rest, choice).logits(table.features[held])
        found = roc_auc(logits.tolist(), (table.targets[held] >= 0.5).tolist()).value
        assert found is not None, f"{name}: all of one label"
        areas.append(found)
    return float(np.mean(areas))


def inner_loss(table: Table, use: Mask, choice: Choice) -> float:
    """Mean log loss on data sets that were left out, each data set with one weight."""
    logits = left_out_logits(table, use, choice)[use]
    losses = log_losses(sigmoids(logits), table.targets[use])
    return round(float(evenly(table.data[use]) @ losses), 6)


def calibrate(table: Table, use: Mask, choice: Choice) -> Model:
    """A model with slope and offset from data sets that were left out of its fit.

    So the slope is that which holds on a data set that was not seen (Platt 1999).
    """
    model = fit(table, use, choice)
    logits = left_out_logits(table, use & table.free, choice)
    seen = ~np.isnan(logits)
    weights, targets = evenly(table.data[seen]), table.targets[seen]

    def loss(values: Array) -> float:
        scaled = values[0] + values[1] * logits[seen]
        return float((weights * (np.logaddexp(0.0, scaled) - targets * scaled)).sum())

    offset, slope = minimize(loss, np.array([0.0, 1.0]), method="BFGS").x
    slope = max(0.05, float(slope))
    return replace(
        model,
        intercept=slope * model.intercept + float(offset),
        coefficients=slope * model.coefficients,
    )


def choose(table: Table, use: Mask) -> Choice:
    """The inner loop: of the choices near the best AUC on data sets left out, that with the least
    log loss there."""
    size = table.features.shape[1]
    choices = [
        Choice(columns, penalty)
        for penalty in PENALTIES
        for count in SIZES
        for columns in itertools.combinations(range(size), count)
    ]
    scores = [inner_area(table, use & table.free, choice) for choice in choices]
    near = [
        choice for choice, score in zip(choices, scores, strict=True) if score >= max(scores) - NEAR
    ]
    return min(near, key=lambda choice: inner_loss(table, use & table.free, choice))


def outer(table: Table, splits: Sequence[tuple[str, Mask]], say: Callable[[str], None]) -> Array:
    """P(MET) of every row, by a judge that was chosen, fitted and calibrated without its split."""
    found = np.full(len(table.targets), np.nan)
    for name, held in splits:
        choice = choose(table, ~held)
        say(f"  without {name:<15} {words(choice)}")
        found[held] = calibrate(table, ~held, choice).probabilities(table, held)
    return found


def words(choice: Choice) -> str:
    """A choice in words."""
    names = (*FEATURE_NAMES, *OTHERS)
    own = ", ".join(names[column] for column in choice.columns)
    return f"{own}; {'equal weights' if math.isinf(choice.penalty) else choice.penalty}"


def tabulate(
    table: Table, probabilities: Array, abstained: dict[str, int]
) -> dict[str, dict[str, float]]:
    """Figures of each data set, and their mean."""
    found: dict[str, dict[str, float]] = {}
    for name in SETS:
        own = table.data == name
        chance, truth = probabilities[own], table.targets[own]
        entry = {key: value for key, value in figures(chance, truth).items() if value is not None}
        assert abs(entry["auc"] - roc_auc_score(truth, chance)) < 1e-9
        assert abs(entry["kappa"] - cohen_kappa_score(truth, chance >= 0.5)) < 1e-9
        found[name] = {"labels": int(own.sum()), "abstained": abstained.get(name, 0), **entry}
    found["mean"] = {key: float(np.mean([found[name][key] for name in SETS])) for key in entry}
    found["mean"]["labels"] = sum(found[name]["labels"] for name in SETS)
    found["mean"]["abstained"] = sum(found[name]["abstained"] for name in SETS)
    return {
        name: {key: round(value, 3) for key, value in own.items()} for name, own in found.items()
    }


def show(title: str, table: dict[str, dict[str, float]]) -> None:
    """Print a table of figures."""
    print(f"\n{title}")
    columns = ("auc", "kappa", "accuracy", "ece", "log_loss")
    heads = "".join(f"{column:>10}" for column in columns)
    print(f"  {'data':<13}{'labels':>7}{'abstained':>11}{heads}")
    for name, entry in table.items():
        cells = "".join(f"{entry[column]:>10.3f}" for column in columns)
        print(f"  {name:<13}{entry['labels']:>7.0f}{entry['abstained']:>11.0f}{cells}")


def main() -> None:
    """Train, measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/human-labelled")
    parser.add_argument("--output", type=Path, default=ROOT / "src/rubricate/judge/builtin")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    every = rows(arguments.data)
    judge = unfitted(rarity(arguments.data))
    table, abstained = measure(every, judge, arguments.seed)
    sets = [(name, table.data == name) for name in SETS]
    questions = [
        (f"{name} {number + 1}", (table.data == name) & (table.folds == number))
        for name in SETS
        for number in sorted(set(table.folds[table.data == name]))
    ]
    print("chosen by the inner loop")
    measured = {
        "data_sets_left_out": tabulate(table, outer(table, sets, print), abstained),
        "questions_left_out": tabulate(table, outer(table, questions, print), abstained),
    }
    all_rows = np.ones(len(table.targets), dtype=bool)
    choice = choose(table, all_rows)
    print(f"  with all             {words(choice)}")
    show("data sets left out", measured["data_sets_left_out"])
    show("questions left out", measured["questions_left_out"])
    if choice.columns != tuple(range(len(FEATURE_NAMES))):
        raise SystemExit("the choice is of other features than _features.py measures: change those")
    model = calibrate(table, all_rows, choice)
    counted = collections.Counter(map(str, table.data))
    training = {
        "data": {
            name: {"licence": licence, "labels_fitted": counted[name]}
            for name, licence in SETS.items()
        },
        "rarity_from": BACKGROUND,
        "date": DATE,
        "seed": arguments.seed,
        "penalty": "equal weights" if math.isinf(choice.penalty) else choice.penalty,
        "targets": "physics: each annotator's label; kqa: Entailment by majority against the rest; "
        "semeval2013: correct against the rest; "
        "saf_en: Correct against partially correct and incorrect",
    }
    fitted = replace(
        judge,
        intercept=round(model.intercept, 5),
        coefficients=tuple(round(float(value), 5) for value in model.coefficients),
        means=tuple(round(float(value), 5) for value in model.means),
        scales=tuple(round(float(value), 5) for value in model.scales),
        contradicted=round(model.contradicted, 3),
        training=training,
    )
    spread, contradiction = scale_numbers([row.labelled for row in every], fitted)
    fitted = replace(fitted, spread=spread, contradiction=contradiction)
    (arguments.output / "weights.json").write_text(fitted.to_json(), encoding="utf-8")
    (arguments.output / "figures.json").write_text(
        json.dumps(measured, indent=1) + "\n", encoding="utf-8"
    )
    print("\ncoefficients, in logits for one standard deviation of the feature")
    for name, value, scale in zip(FEATURE_NAMES, fitted.coefficients, fitted.scales, strict=True):
        print(f"  {name:<20}{value * scale:>7.2f}")
    print(f"\nweights.json: {len(fitted.to_json().encode())} bytes, {fitted.identity}")


if __name__ == "__main__":
    main()
