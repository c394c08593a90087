"""Train the weights of the built-in judge, and evaluate them by nested validation.

    python tools/train_builtin.py [--data DIR] [--output FOLDER] [--seed N] [--pages]

Labels come from four sets of human judgements. Word frequencies come from other texts in the same
folder, which have none of these labels. The same seed and data give the same bytes.

The figures are those of the outer loop, which leaves out a data set, or a fold of a data set's
questions. On the rest, an inner loop chooses and fits features, penalty, slope and offset anew: it
leaves out one data set after the other, and takes the choice with the lowest log loss there.
"""

from __future__ import annotations

import argparse
import bisect
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
from scipy.stats import foldnorm
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from rubricate.judge.builtin import FEATURE_NAMES, Classifier, Inputs, Labelled, Option
from rubricate.judge.builtin._classifier import Look
from rubricate.judge.builtin._features import Lexicon, Target, target
from rubricate.judge.builtin._fit import (
    Array,
    Examples,
    examine,
    figures,
    goal_of,
    log_losses,
    newton,
    out_of_fold,
    predicted,
    scale_numbers,
    sigmoids,
    solve,
)
from rubricate.judge.builtin._inputs import SoughtText, question
from rubricate.judge.builtin._text import Text, analyse
from rubricate.stats import calibration

Mask = NDArray[np.bool_]

ROOT = Path(__file__).resolve().parents[1]
DATE = "2026-11-24"
TASKS = {
    "answers against a reference": ("semeval2013", "saf_en"),
    "statements that an answer should make": ("physics", "kqa"),
}
"""The kinds of tasks in the data sets."""
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
"""The number of stems that are shipped with their rarity; all others count as rare."""

PASSAGE = 60
"""The number of content words in a document, for counting the documents with a stem."""

FOLDS = 5
"""The number of folds of a data set's questions. A set with one question has only one fold."""

OTHERS = ("common_order", "all_coverage", "characters")
"""Candidate features that are only shipped if they are chosen."""

PENALTIES = (math.inf, 100.0)
"""L2 penalties on the distance of the coefficients from their mean; infinity makes them equal."""

SIZES = (3, 4)
"""The allowed numbers of features: few enough to read, and enough that none decides alone."""

LEFT_OUT = ("data_sets_left_out", "questions_left_out")
"""The figures that are shipped with the package."""

OWN_LABELS, DRAWS, ENDS = (20, 50, 100), 100, (0.025, 0.975)
"""The simulation of users' labels: their numbers, draws, and the interval's quantiles."""

BEST = {"its offset": (True, False), "its slope": (False, True), "both": (True, True)}
"""The parts of a calibration to fit to a data set's own labels, to explain its error."""

CONTRADICTED = (0.2, 20.0)
"""The prior of the share that is met if a text contradicts the criterion: the share, and its weight
in rows."""


@dataclass(frozen=True)
class Row:
    """A labelled judgement with its data set and question, which is never split over folds."""

    labelled: Labelled
    data: str
    question: str


@dataclass(frozen=True)
class Table:
    """Judged rows as numbers. `features` is [n, candidates], not yet standardised."""

    features: Array
    targets: Array
    data: NDArray[np.str_]
    folds: NDArray[np.int_]
    fixed: Array
    """P(MET) if it does not depend on features (blank or copied texts), else NaN."""
    contradicted: Mask

    @property
    def free(self) -> Mask:
        """The rows whose probability depends on the features."""
        return np.isnan(self.fixed) & ~self.contradicted


@dataclass(frozen=True)
class Choice:
    """The choice of the inner loop: columns of the features, and a penalty."""

    columns: tuple[int, ...]
    penalty: float


@dataclass(frozen=True)
class Model:
    """`intercept + coefficients . features[columns]`, with the means and scales of its fit."""

    columns: tuple[int, ...]
    intercept: float
    coefficients: Array
    means: Array
    scales: Array
    contradicted: float

    def logits(self, features: Array) -> Array:
        """Return the logit of each row of features."""
        chosen = features[:, list(self.columns)]
        return np.asarray(self.intercept + chosen @ self.coefficients, dtype=np.float64)

    def probabilities(self, table: Table, rows: Mask) -> Array:
        """Return P(MET) of the rows."""
        found = sigmoids(self.logits(table.features[rows]))
        capped = np.where(table.contradicted[rows], np.minimum(found, self.contradicted), found)
        return np.where(np.isnan(table.fixed[rows]), capped, table.fixed[rows])


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Read the records of a file with one JSON object per line."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def rows(folder: Path) -> list[Row]:
    """Return all labelled judgements; in physics, one row per annotator, also for ties."""
    return [
        Row(labelled, data, record["group"])
        for data in SETS
        for record in records(folder / f"{data}.jsonl")
        for criterion in record["criteria"]
        for labelled in labels(data, record, criterion)
    ]


def labels(data: str, record: dict[str, Any], criterion: dict[str, Any]) -> Iterator[Labelled]:
    """Return a criterion's labels. For options, the best one counts against the others."""
    group = str(record["id"])
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
    """Compute the inverse document frequency of the most common stems, over texts without the
    labels used."""
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
    """Return prompts, contexts, documents and submissions of the other sets, each text once."""
    seen: set[str] = set()
    for name in BACKGROUND:
        for record in records(folder / f"{name}.jsonl"):
            for field in ("submission", "prompt", "context", "text", "document"):
                text = record.get(field)
                if isinstance(text, str) and text not in seen:
                    seen.add(text)
                    yield text


def unfitted(lexicon: Lexicon) -> Classifier:
    """Create a classifier that measures features but has no weights yet."""
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
    """Return the judged rows as numbers, and the number of abstentions in each data set."""
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


def others(
    inputs: Inputs, look: Look, asked: SoughtText, lexicon: Lexicon
) -> tuple[float, float, float]:
    """Return `OTHERS` of a match: the longest common subsequence with the target, coverage with the
    words of the prompt, and coverage of letter triples."""
    aim = target(asked.text, inputs.prompt, lexicon, asked.is_criterion)
    text = analyse(look.counted)
    held = sum(weight for root, weight in aim.weights.items() if root in text.counts)
    wanted, given = triples(aim.new), triples(text.counts)
    share = len(wanted & given) / len(wanted) if wanted else 0.0
    return common_order(text, aim), held / (sum(aim.weights.values()) or 1.0), share


def common_order(submission: Text, aim: Target) -> float:
    """Return the longest common subsequence / words of the target (Hunt and Szymanski 1977)."""
    own = (root for clause in aim.clauses for root in clause.sentence.stems)
    order = [root for root in own if root in aim.weights]
    where: dict[str, list[int]] = {}
    given = (root for sentence in submission.sentences for root in sentence.stems)
    for at, root in enumerate(given):
        where.setdefault(root, []).append(at)
    ends: list[int] = []
    for root in order:
        for place in reversed(where.get(root, ())):
            slot = bisect.bisect_left(ends, place)
            ends[slot : slot + 1] = [place]
    return len(ends) / len(order) if order else 0.0


def triples(words: Sequence[str] | Any) -> set[str]:
    """Return all three consecutive letters of the words, with a space at either end."""
    return {f" {word} "[at : at + 3] for word in words for at in range(len(word))}


def question_folds(every: Sequence[Row], seed: int) -> dict[tuple[str, str], int]:
    """Return the fold of each data set's questions."""
    random = np.random.default_rng(seed)
    found: dict[tuple[str, str], int] = {}
    for data in SETS:
        names = sorted({row.question for row in every if row.data == data})
        for place, number in enumerate(random.permutation(len(names))):
            found[data, names[number]] = place % FOLDS
    return found


def evenly(data: NDArray[np.str_]) -> Array:
    """Return weights with the same sum for every data set, together 1."""
    names, place, sizes = np.unique(data, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / sizes[place] / len(names), dtype=np.float64)


def fit(table: Table, use: Mask, choice: Choice) -> Model:
    """Fit a logistic regression with non-negative coefficients, shrunk to their mean."""
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
    """Return logits of rows in use by models that have not seen their data set; else NaN."""
    found = np.full(len(table.targets), np.nan)
    for name in sorted(set(table.data[use])):
        held = use & (table.data == name)
        model = fit(table, use & ~held, choice)
        found[held] = model.logits(table.features[held])
    return found


def inner_loss(table: Table, use: Mask, choice: Choice) -> float:
    """Return the mean log loss on data sets that were left out, each with the same weight."""
    logits = left_out_logits(table, use, choice)[use]
    losses = log_losses(sigmoids(logits), table.targets[use])
    return round(float(evenly(table.data[use]) @ losses), 6)


def calibrate(table: Table, use: Mask, choice: Choice) -> Model:
    """Fit a model with slope and offset from data sets that were left out of its fit.

    The slope is thus the one for unseen data sets (Platt 1999).
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
    """Run the inner loop: return the choice with the lowest log loss on data sets left out.

    It uses the log loss, because that depends on the error of probabilities as well as on the order
    (Brier 1950 and Good 1952 on proper scores).
    """
    choices = [
        Choice(columns, penalty)
        for penalty in PENALTIES
        for count in SIZES
        for columns in itertools.combinations(range(table.features.shape[1]), count)
    ]
    return min(choices, key=lambda choice: inner_loss(table, use & table.free, choice))


def outer(table: Table, splits: Sequence[tuple[str, Mask]], say: Callable[[str], None]) -> Array:
    """Return P(MET) of each row by a judge that was chosen and fitted without its split."""
    found = np.full(len(table.targets), np.nan)
    for name, held in splits:
        choice = choose(table, ~held)
        say(f"  without {name:<15} {words(choice)}")
        found[held] = calibrate(table, ~held, choice).probabilities(table, held)
    return found


def words(choice: Choice) -> str:
    """Describe a choice."""
    names = (*FEATURE_NAMES, *OTHERS)
    own = ", ".join(names[column] for column in choice.columns)
    return f"{own}; {'equal weights' if math.isinf(choice.penalty) else choice.penalty}"


def debiased(probabilities: Array, targets: Array) -> float:
    """Return the calibration error of ten equally wide bins without its bias.

    Noise in a bin counts as distance, so that with few labels, the error is high even if every
    probability is right. The bias is that of resampling each bin's share of MET from a normal
    distribution (Kumar, Liang and Ma 2019), by the mean of the folded normal.
    """
    found = calibration(probabilities.tolist(), (targets >= 0.5).tolist(), bootstrap=None)
    total = 0.0
    for own in found.bins:
        if own.mean_probability is not None and own.frequency.value is not None:
            gap = own.mean_probability - own.frequency.value
            share = (own.frequency.value * own.n + 0.5) / (own.n + 1)
            spread = math.sqrt(share * (1 - share) / own.n)
            total += own.n * (2 * abs(gap) - float(foldnorm.mean(abs(gap) / spread, scale=spread)))
    return max(0.0, total / found.n)


def causes(probabilities: Array, table: Table, name: str) -> dict[str, float]:
    """Return the calibration error of a data set that was left out, and what would remain with the
    offset, the slope, or both optimal for its own labels, which are unknown in practice."""
    own = table.data == name
    chance, truth, free = probabilities[own], table.targets[own], table.free[own]
    found = {"debiased": debiased(chance, truth)}
    logits = np.log(chance[free] / (1 - chance[free]))
    design = np.column_stack([np.ones(len(logits)), logits])
    for word, loose in BEST.items():
        penalty = np.where(loose, 1e-6, 1e9)
        mended = chance.copy()
        mended[free] = sigmoids(design @ newton(design, truth[free], np.array([0.0, 1.0]), penalty))
        found[word] = figures(mended, truth)["ece"] or 0.0
    return {key: round(value, 3) for key, value in found.items()}


def with_numbers(judge: Classifier, model: Model) -> Classifier:
    """Return the classifier with a model's numbers for its features."""
    return replace(
        judge,
        intercept=round(model.intercept, 5),
        coefficients=tuple(round(float(value), 5) for value in model.coefficients),
        means=tuple(round(float(value), 5) for value in model.means),
        scales=tuple(round(float(value), 5) for value in model.scales),
        contradicted=round(model.contradicted, 3),
    )


def only(examples: Examples, rows: Mask) -> Examples:
    """Return the examples selected by a mask."""
    return Examples(
        examples.shipped[rows],
        examples.logits[rows],
        examples.free[rows],
        examples.targets[rows],
        tuple(itertools.compress(examples.keys, rows)),
        tuple(itertools.compress(examples.groups, rows)),
        examples.abstained,
    )


def own_labels(
    every: Sequence[Row], table: Table, judge: Classifier, choice: Choice, seed: int
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return the effect of `refit` with a few labels of a data set that the judge has not seen.

    Labels are drawn at random, the other rows are graded. For each data set and number of labels:
    how often the fitted judge is kept, and the mean, 2.5th and 97.5th percentile over the draws of
    each figure's change; the shipped judge stays unless the fitted one is shown to be better.
    """
    random = np.random.default_rng(seed)
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name in SETS:
        model = calibrate(table, table.data != name, choice)
        base = with_numbers(judge, model)
        rows_of = [row.labelled for row in every if row.data == name]
        all_of = examine(rows_of, base)
        found[name] = {}
        for count in OWN_LABELS:
            if 2 * count > len(all_of.targets):
                continue
            changes: dict[str, list[float]] = collections.defaultdict(list)
            for draw in range(DRAWS):
                chosen = np.zeros(len(all_of.targets), dtype=bool)
                chosen[random.permutation(len(chosen))[:count]] = True
                report = out_of_fold(only(all_of, chosen), draw)
                after = all_of.shipped
                if report.kept == "fitted":
                    after = predicted(all_of, solve(all_of, chosen & all_of.free))
                changes["kept"].append(float(report.kept == "fitted"))
                truth = all_of.targets[~chosen]
                new, old = (figures(one[~chosen], truth) for one in (after, all_of.shipped))
                for key in ("auc", "kappa", "ece"):
                    changes[key].append((new[key] or 0.0) - (old[key] or 0.0))
            found[name][str(count)] = {
                key: [round(float(value), 3) for value in (np.mean(of), *np.quantile(of, ENDS))]
                for key, of in changes.items()
            }
    return found


def tabulate(
    table: Table, probabilities: Array, abstained: dict[str, int]
) -> dict[str, dict[str, float]]:
    """Return the figures of each data set, and their mean."""
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


def tables(measured: dict[str, Any]) -> dict[tuple[str, str], list[list[str]]]:
    """Return the tables of the documentation by page and name; the first rows are the headings."""
    found: dict[tuple[str, str], list[list[str]]] = {}
    for key in LEFT_OUT:
        rows = [["task", "data", "labels", "AUC", "kappa", "calibration error"]]
        for task, names in TASKS.items():
            for name in names:
                own = measured[key][name]
                figures = [f"{own[figure]:.3f}" for figure in ("auc", "kappa", "ece")]
                rows.append([task, name, f"{own['labels']:,}", *figures])
        found["builtin-figures.md", key.split("_left_out")[0].replace("_", " ")] = rows
    rows = [["data", "calibration error", "less its bias", *(f"with {word}" for word in BEST)]]
    for name, own in measured["calibration_error"].items():
        ece = measured["data_sets_left_out"][name]["ece"]
        rows.append([name, f"{ece:.3f}", *(f"{value:.3f}" for value in own.values())])
    columns = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    rows.append(["mean", *(f"{value:.3f}" for value in columns.mean(axis=0))])
    found["builtin-figures.md", "calibration error"] = rows
    rows = [["data", "labels", "refit kept", "AUC", "kappa", "calibration error"]]
    for name, by_count in measured["own_labels"].items():
        for count, own in by_count.items():
            changes = [
                "{:+.3f} [{:+.3f}, {:+.3f}]".format(*own[key]) for key in ("auc", "kappa", "ece")
            ]
            rows.append([name, count, f"{own['kept'][0]:.0%}", *changes])
    found["builtin-figures.md", "own labels"] = rows
    return found


def write_tables(found: dict[tuple[str, str], list[list[str]]]) -> None:
    """Write the tables between their marks in docs/, and print them."""
    for (page, name), rows in found.items():
        ruler = ["---", *["---:"] * (len(rows[0]) - 1)]
        lines = "\n".join(
            "|" + "|".join(row) + "|" if row is ruler else f"| {' | '.join(row)} |"
            for row in (rows[0], ruler, *rows[1:])
        )
        print(f"\n{name}\n{lines}")
        path = ROOT / "docs" / page
        begin = f"<!-- the table of tools/train_builtin.py: {name} -->\n"
        end = "<!-- end of the"
        before, mark, rest = path.read_text(encoding="utf-8").partition(begin)
        if not mark:
            raise SystemExit(f"{page} has no place for the table {name!r}")
        text = f"{before}{mark}{lines}\n{end}{rest.partition(end)[2]}"
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Train, measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/human-labelled")
    parser.add_argument("--output", type=Path, default=ROOT / "src/rubricate/judge/builtin")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pages", action="store_true", help="write the tables of docs/ anew")
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
    left_out = outer(table, sets, print)
    measured: dict[str, Any] = {
        "data_sets_left_out": tabulate(table, left_out, abstained),
        "questions_left_out": tabulate(table, outer(table, questions, print), abstained),
        "calibration_error": {name: causes(left_out, table, name) for name in SETS},
    }
    all_rows = np.ones(len(table.targets), dtype=bool)
    choice = choose(table, all_rows)
    print(f"  with all             {words(choice)}")
    if choice.columns != tuple(range(len(FEATURE_NAMES))):
        raise SystemExit("the choice is of other features than _features.py measures: change those")
    model = calibrate(table, all_rows, choice)
    measured["own_labels"] = own_labels(every, table, judge, choice, arguments.seed)
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
    fitted = replace(with_numbers(judge, model), training=training)
    spread, contradiction = scale_numbers([row.labelled for row in every], fitted)
    fitted = replace(fitted, spread=spread, contradiction=contradiction)
    (arguments.output / "weights.json").write_text(fitted.to_json(), encoding="utf-8")
    (arguments.output / "figures.json").write_text(
        json.dumps({key: measured[key] for key in LEFT_OUT}, indent=1) + "\n", encoding="utf-8"
    )
    if arguments.pages:
        write_tables(tables(measured))
    print("\ncoefficients, in logits for one standard deviation of the feature")
    for name, value, scale in zip(FEATURE_NAMES, fitted.coefficients, fitted.scales, strict=True):
        print(f"  {name:<20}{value * scale:>7.2f}")
    print(f"\nweights.json: {len(fitted.to_json().encode())} bytes, {fitted.identity}")


if __name__ == "__main__":
    main()
