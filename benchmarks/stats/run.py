"""Bootstrap of all label statistics, against a loop over scikit-learn's functions.

The loop is timed on `--looped` resamples and scaled up, since all of them would take many minutes.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn import metrics

from rubricate.stats import Bootstrap, label_agreement

LABELS = ("MET", "UNMET")


def loop_once(human: np.ndarray, judge: np.ndarray) -> None:
    """The statistics that scikit-learn has, of one resample."""
    metrics.accuracy_score(human, judge)
    metrics.balanced_accuracy_score(human, judge)
    metrics.f1_score(human, judge, average="macro")
    metrics.cohen_kappa_score(human, judge)
    metrics.matthews_corrcoef(human, judge)
    metrics.precision_recall_fscore_support(human, judge)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--criteria", type=int, default=10)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--looped", type=int, default=20)
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    shape = (options.criteria, options.items)
    human = generator.integers(0, 2, shape)
    judge = np.where(generator.random(shape) < 0.8, human, 1 - human)
    label_agreement(["MET", "UNMET"], ["MET", "UNMET"])  # what is loaded on first use

    start = time.perf_counter()
    for row in range(options.criteria):
        label_agreement(
            [LABELS[label] for label in judge[row]],
            [LABELS[label] for label in human[row]],
            bootstrap=Bootstrap(resamples=options.resamples),
        )
    ours = time.perf_counter() - start

    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in range(options.criteria):
            for _ in range(options.looped):
                drawn = generator.integers(0, options.items, options.items)
                loop_once(human[row][drawn], judge[row][drawn])
    theirs = (time.perf_counter() - start) * options.resamples / options.looped
    size = f"{options.items} items x {options.criteria} criteria x {options.resamples} resamples"
    print(f"{size}: rubricate {ours:.2f} s, loop {theirs:.0f} s (from {options.looped} resamples)")
    print(f"ratio {theirs / ours:.0f}")


if __name__ == "__main__":
    main()
