"""Train the weights of the built-in judge, and measure them on data that they were not fitted on.

    python tools/train_builtin.py [--data DIR] [--output FILE] [--seed N]

Labels come from three sets of human judgements; how rare words are comes from other texts of the
same folder, which carry none of these labels. The same seed and data give the same bytes.

The figures are of data that the features were chosen on. What the package says of the judge are
those of data that it has not seen (`rubricate.judge.builtin._unseen`), which nothing here writes.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from rubricate.judge.builtin import FEATURE_NAMES, Inputs, Labelled, Option, fit
from rubricate.judge.builtin._features import Lexicon
from rubricate.judge.builtin._figures import Array, calibration_error, figures
from rubricate.judge.builtin._fit import HAND_SET, STRENGTH, Examples, examine, solve
from rubricate.judge.builtin._text import analyse

Mask = NDArray[np.bool_]
Split = Callable[[Sequence["Row"], int], Iterator[tuple[Mask, Mask]]]

ROOT = Path(__file__).resolve().parents[1]
DATE = "2026-11-21"
SETS = {
    "physics": "MIT",
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

OFF_TOPIC_WEIGHT = 0.3
"""Weight of a submission with another question's reference; a judgement has 1."""

FOLDS = {"physics": 5, "semeval2013": 15}
VARIANTS = ("simple", "detailed_2")


@dataclass(frozen=True)
class Row:
    """One labelled judgement, with what must not straddle a fold."""

    labelled: Labelled
    data: str
    record: str
    criterion: str
    extra: bool = False
    """Only fitted on: another wording, or a submission with another question's reference."""
    asked: tuple[str, str] | None = None
    """Data set and criterion of that reference, if it is another question's."""


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file of one JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def rows(folder: Path) -> list[Row]:
    """All labelled judgements. Physics has one row for each annotator: a tie is one of each."""
    return [
        row
        for data in SETS
        for record in records(folder / f"{data}.jsonl")
        for criterion in record["criteria"]
        for row in (
            binary_rows(data, record, criterion)
            if criterion["kind"] == "binary"
            else choice_rows(data, record, criterion)
        )
    ]


def binary_rows(data: str, record: dict[str, Any], criterion: dict[str, Any]) -> Iterator[Row]:
    """Rows of a binary criterion, and of the other wordings of it, which are only fitted on."""
    wordings = [criterion["requirement"]]
    wordings += [criterion["requirement_variants"].get(name) for name in VARIANTS]
    for place, wording in enumerate(wordings):
        for verdict in criterion["human"] if wording else ():
            inputs = Inputs(record["submission"], wording, record["prompt"])
            labelled = Labelled(inputs, "MET" if verdict else "UNMET", f"{data}:{record['id']}")
            yield Row(labelled, data, record["id"], criterion["name"], place > 0)


def choice_rows(data: str, record: dict[str, Any], criterion: dict[str, Any]) -> Iterator[Row]:
    """The row of a multi-choice criterion: its best option against the others."""
    if criterion["kind"] != "multi_choice":
        return
    options = tuple(Option(option["label"], option["value"]) for option in criterion["options"])
    reference = re.sub(r"^Reference answer(\(s\))?:\s*", "", record["context"])
    inputs = Inputs(
        record["submission"], criterion["requirement"], record["prompt"], reference, options
    )
    labelled = Labelled(inputs, criterion["human"][0], f"{data}:{record['group']}")
    yield Row(labelled, data, record["id"], record["group"])


def off_topic(own: Sequence[Row], seed: int) -> list[Row]:
    """Every judgement's submission against the reference of a random other question: unmet."""
    random = np.random.default_rng(seed)
    asked = [row for row in own if row.labelled.inputs.reference]
    found: list[Row] = []
    for row in own:
        if row.extra:
            continue
        other = row
        while other.criterion == row.criterion:
            other = asked[int(random.integers(len(asked)))]
        inputs = replace(other.labelled.inputs, submission=row.labelled.inputs.submission)
        labelled = Labelled(inputs, inputs.options[-1].label, row.labelled.group)
        question = (other.data, other.criterion)
        found.append(Row(labelled, row.data, row.record, row.criterion, True, question))
    return found


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


def balance(chosen: Sequence[Row]) -> list[float]:
    """Row weights: every data set has about the same sum, and off-topic rows count for less."""
    sizes = collections.Counter(row.data for row in chosen)
    even = [len(chosen) / len(sizes) / sizes[row.data] for row in chosen]
    return [
        weight * (OFF_TOPIC_WEIGHT if row.asked else 1.0)
        for weight, row in zip(even, chosen, strict=True)
    ]


def asks(all_rows: Sequence[Row], questions: set[tuple[str, str]]) -> Mask:
    """Rows with the reference of one of the questions, though the submission is another's."""
    return np.array([row.asked in questions for row in all_rows])


def by_group(all_rows: Sequence[Row], seed: int) -> Iterator[tuple[Mask, Mask]]:
    """(held out, fitted on) masks for leave-one-group-out.

    semeval2013: 135 questions in 15 folds. saf_en: its two questions. physics is one question: each
    of its three criteria x five folds of students is held out, and every other row of that
    criterion or of those students is left out of the fit too.
    """
    data = np.array([row.data for row in all_rows])
    main = np.array([not row.extra for row in all_rows])
    random = np.random.default_rng(seed)

    def deal(values: set[str], count: int) -> dict[str, int]:
        names = sorted(values)
        return {
            names[name]: place % count for place, name in enumerate(random.permutation(len(names)))
        }

    students = deal({row.record for row in all_rows if row.data == "physics"}, FOLDS["physics"])
    fold = np.array([students.get(row.record, -1) for row in all_rows])
    criterion = np.array([row.criterion for row in all_rows])
    for name in sorted(set(criterion[data == "physics"])):
        for number in range(FOLDS["physics"]):
            here = data == "physics"
            touched = here & ((criterion == name) | (fold == number))
            yield here & main & (criterion == name) & (fold == number), ~touched
    questions = deal(
        {row.criterion for row in all_rows if row.data == "semeval2013"}, FOLDS["semeval2013"]
    )
    fold = np.array([questions.get(row.criterion, -1) for row in all_rows])
    for number in range(FOLDS["semeval2013"]):
        held_out = (data == "semeval2013") & (fold == number)
        names = {("semeval2013", name) for name in criterion[held_out]}
        yield held_out & main, ~(held_out | asks(all_rows, names))
    for name in sorted(set(criterion[data == "saf_en"])):
        held_out = (data == "saf_en") & (criterion == name)
        yield held_out & main, ~(held_out | asks(all_rows, {("saf_en", name)}))


def by_data_set(all_rows: Sequence[Row], _: int) -> Iterator[tuple[Mask, Mask]]:
    """(held out, fitted on) masks for leave-one-data-set-out."""
    data = np.array([row.data for row in all_rows])
    main = np.array([not row.extra for row in all_rows])
    asked = np.array([row.asked[0] if row.asked else "" for row in all_rows])
    for name in SETS:
        yield (data == name) & main, (data != name) & (asked != name)


def out_of_fold(all_rows: Sequence[Row], examples: Examples, split: Split, seed: int) -> Array:
    """P(MET) of every row that a split holds out, NaN for the others."""
    probabilities = np.full(len(all_rows), np.nan)
    for held_out, fitted in split(all_rows, seed):
        weights = np.zeros(len(all_rows))
        weights[fitted] = balance([row for row, use in zip(all_rows, fitted, strict=True) if use])
        weighted = Examples(
            examples.features, examples.targets, weights, examples.groups, examples.blank, 0
        )
        model = solve(weighted.take(fitted), seed, None)
        probabilities[held_out] = model.probabilities(weighted.take(held_out))
    return probabilities


def measure(
    all_rows: Sequence[Row], targets: Array, probabilities: Array, seed: int
) -> dict[str, dict[str, float]]:
    """Figures for each data set and their mean, with the calibration error of a perfect judge.

    `ece_floor` is the mean calibration error that remains, at this number of rows, where the labels
    are drawn with the very probabilities that the judge gives.
    """
    random = np.random.default_rng(seed)
    table: dict[str, dict[str, float]] = {}
    for name in SETS:
        chosen = np.array([row.data == name and not row.extra for row in all_rows])
        chance, truth = probabilities[chosen], targets[chosen]
        entry = {key: value for key, value in figures(chance, truth).items() if value is not None}
        assert abs(entry["auc"] - roc_auc_score(truth, chance)) < 1e-9
        assert abs(entry["kappa"] - cohen_kappa_score(truth, chance >= 0.5)) < 1e-9
        kept = [row for row, use in zip(all_rows, chosen, strict=True) if use]
        once = [(row.record, row.criterion) for row in kept]
        place = {judgement: number for number, judgement in enumerate(dict.fromkeys(once))}
        twin = np.array([place[judgement] for judgement in once])
        draws = [(random.random(len(place))[twin] < chance).astype(float) for _ in range(200)]
        entry["ece_floor"] = float(np.mean([calibration_error(chance, draw) for draw in draws]))
        table[name] = {"labels": int(chosen.sum()), **entry}
    table["mean"] = {
        key: float(np.mean([table[name][key] for name in SETS])) for key in table["physics"]
    }
    table["mean"]["labels"] = sum(table[name]["labels"] for name in SETS)
    return {
        name: {key: round(value, 3) for key, value in entry.items()}
        for name, entry in table.items()
    }


def show(title: str, table: dict[str, dict[str, float]]) -> None:
    """Print a table of figures."""
    print(f"\n{title}")
    columns = ("auc", "kappa", "accuracy", "ece", "ece_floor", "log_loss")
    print(f"  {'data':<13}{'labels':>7}" + "".join(f"{column:>11}" for column in columns))
    for name, entry in table.items():
        cells = "".join(f"{entry[column]:>11.3f}" for column in columns)
        print(f"  {name:<13}{entry['labels']:>7.0f}{cells}")


def main() -> None:
    """Train, measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/human-labelled")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "src/rubricate/judge/builtin/weights.json"
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    all_rows = rows(arguments.data)
    all_rows += off_topic(all_rows, arguments.seed)
    lexicon = rarity(arguments.data)
    labelled = [row.labelled for row in all_rows]
    weights = balance(all_rows)
    classifier, _ = fit(labelled, arguments.seed, lexicon=lexicon, weights=weights)
    examples = examine(labelled, classifier)
    by_groups = out_of_fold(all_rows, examples, by_group, arguments.seed)
    by_sets = out_of_fold(all_rows, examples, by_data_set, arguments.seed)
    measured = {
        "leave_one_group_out": measure(all_rows, examples.targets, by_groups, arguments.seed),
        "leave_one_data_set_out": measure(all_rows, examples.targets, by_sets, arguments.seed),
    }
    fitted_on = collections.Counter(row.data for row in all_rows if not row.asked)
    training = {
        "data": {
            name: {"licence": licence, "labels_fitted": fitted_on[name]}
            for name, licence in SETS.items()
        },
        "rarity_from": BACKGROUND,
        "date": DATE,
        "seed": arguments.seed,
        "penalty": STRENGTH,
        "hand_set": HAND_SET,
        "off_topic": {
            "rows": sum(row.asked is not None for row in all_rows),
            "weight": OFF_TOPIC_WEIGHT,
        },
        "targets": "physics: each annotator's label; semeval2013: correct against the rest; "
        "saf_en: Correct against partially correct and incorrect",
        "figures": measured,
    }
    named = replace(classifier, training=training)
    arguments.output.write_text(named.to_json(), encoding="utf-8")
    show("leave one group out", measured["leave_one_group_out"])
    show("leave one data set out", measured["leave_one_data_set_out"])
    print("\ncoefficients, in logits for one standard deviation of the feature")
    for name, value, scale in zip(
        FEATURE_NAMES, classifier.coefficients, classifier.scales, strict=True
    ):
        print(f"  {name:<20}{value * scale:>7.2f}")
    print(f"\n{arguments.output.name}: {arguments.output.stat().st_size} bytes, {named.identity}")


if __name__ == "__main__":
    main()
