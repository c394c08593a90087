"""Time every public statistic in this version and in another one, on the same input.

    git worktree add /tmp/before 080ea2e
    python benchmarks/stats/compare.py /tmp/before/src [--match groups] [--rounds 15]

Each version has a process of its own. They take turns, each time with as many calls as take 20 ms,
and CPU time counts, so that what else runs on the machine slows both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

HERE = Path(__file__).resolve()
BLOCK = 0.02
"""Seconds."""


def cases(n: int = 200) -> dict[str, Callable[[], Any]]:
    """A call of each public statistic, of n items."""
    from rubricate import stats

    chance = np.random.default_rng(1)
    truth = chance.random((n, 3)) < 0.4
    says = truth ^ (chance.random((n, 3)) < 0.1)
    words = np.where(says, "MET", "UNMET"), np.where(truth, "MET", "UNMET")
    judge, human = (side[:, 0].tolist() for side in words)
    right = (says == truth)[:, 0].tolist()
    sure = chance.random(n).tolist()
    likely = np.clip(truth[:, 0] * 0.5 + 0.5 * chance.random(n), 0, 1).tolist()
    happened = truth[:, 0].tolist()
    groups = np.repeat(np.arange(n // 4), 4).tolist()
    people = chance.integers(1, 6, (n, 1))
    rated = np.clip(people + chance.choice([-1, 0, 0, 0, 1], (n, 3)), 1, 5)
    steps, other = rated[:, 0].tolist(), rated[:, 1].tolist()
    numbers = chance.normal(size=(n, 2)) + chance.normal(size=(n, 1))
    left, right_side = numbers.T.tolist()
    scores = np.round(chance.random(n), 1).tolist()
    changes = (chance.choice([-0.2, 0, 0, 0.2], n)).tolist()
    after = np.clip(np.array(scores) + changes, 0, 1).tolist()
    letters = np.array(list("abcde"))[rated - 1]
    criteria = np.tile(np.arange(5), n // 5).tolist()
    shares = [{"MET": one, "UNMET": 1 - one} for one in likely]
    labelled = [float(one) if at < 50 else None for at, one in enumerate(happened)]
    votes = {f"rater {at}": words[1][:, at].tolist() for at in range(3)}
    question = {name: side[:50] for name, side in votes.items()}
    five = list("abcde")

    def call(name: str, *values: Any, **options: Any) -> Callable[[], Any]:
        return lambda: getattr(stats, name)(*values, **options)

    return {
        "accuracy_weights": call("accuracy_weights", [(question, human[:50])]),
        "agreement_of_counts": call("agreement_of_counts", {("MET", "UNMET"): 4, ("MET",) * 2: 9}),
        "annotator_agreement": call("annotator_agreement", judge, votes),
        "asymmetry": call("asymmetry", chance.choice([1, 0, -1], n).tolist()),
        "benjamini_hochberg": call("benjamini_hochberg", sure),
        "calibration": call("calibration", likely, happened),
        "calibration_gain": call("calibration_gain", likely, happened),
        "choose_threshold": call("choose_threshold", sure, right),
        "choose_threshold, groups": call("choose_threshold", sure, right, groups=groups),
        "clustered_mean": call("clustered_mean", scores),
        "clustered_mean, groups": call("clustered_mean", scores, groups=groups),
        "clustered_share": call("clustered_share", right),
        "clustered_share, groups": call("clustered_share", right, groups=groups),
        "compare_paired": call("compare_paired", scores, after),
        "compare_paired, groups": call("compare_paired", scores, after, groups=groups),
        "conformal_sets": call("conformal_sets", shares, human),
        "corrected_mean": call("corrected_mean", list(map(float, right)), labelled),
        "corrected_mean of numbers": call("corrected_mean", scores, [*after[:50], *[None] * 150]),
        "corrected_mean_width": call(
            "corrected_mean_width", 50, 950, spread=0.5, judge_spread=0.5, correlation=0.8
        ),
        "dawid_skene": call("dawid_skene", says.astype(int)),
        "decided_pairs": call("decided_pairs", judge, human),
        "decision_threshold": call("decision_threshold", likely, happened),
        "fleiss_kappa": call("fleiss_kappa", words[0].tolist()),
        "fleiss_kappa, groups": call("fleiss_kappa", words[0].tolist(), groups=groups),
        "gwet_ac": call("gwet_ac", words[0].tolist()),
        "gwet_ac of five labels": call(
            "gwet_ac", letters.tolist(), weights="quadratic", labels=five
        ),
        "holm": call("holm", sure),
        "intraclass_correlation": call("intraclass_correlation", rated.tolist()),
        "intraclass_correlation, groups": call(
            "intraclass_correlation", rated.tolist(), groups=groups
        ),
        "krippendorff_alpha": call("krippendorff_alpha", words[0].tolist()),
        "krippendorff_alpha, groups": call("krippendorff_alpha", words[0].tolist(), groups=groups),
        "krippendorff_alpha, ordinal": call("krippendorff_alpha", rated.tolist(), level="ordinal"),
        "krippendorff_alpha, interval": call(
            "krippendorff_alpha", rated.tolist(), level="interval"
        ),
        "krippendorff_alpha, strata": call(
            "krippendorff_alpha", words[0].tolist(), strata=criteria
        ),
        "label_agreement": call("label_agreement", judge, human),
        "label_agreement, groups": call("label_agreement", judge, human, groups=groups),
        "label_agreement of five labels": call(
            "label_agreement", letters[:, 0].tolist(), letters[:, 1].tolist()
        ),
        "label_agreement of five labels, ordered": call(
            "label_agreement",
            letters[:, 0].tolist(),
            letters[:, 1].tolist(),
            labels=five,
            ordered=True,
        ),
        "lower_end_power": call("lower_end_power", 200, 0.9, 0.8),
        "mcnemar_power": call("mcnemar_power", 200, 0.1, 0.2),
        "mcnemar_test": call("mcnemar_test", right, (truth[:, 1] == says[:, 1]).tolist()),
        "mean_width": call("mean_width", 200, 0.3),
        "next_to_label": call("next_to_label", [True, *[False] * 199], 50),
        "paired_power": call("paired_power", 200, 0.05, 0.3),
        "permutation_test": call("permutation_test", changes),
        "reliability_weights": call("reliability_weights", [question]),
        "roc_auc": call("roc_auc", likely, happened),
        "roc_auc, groups": call("roc_auc", likely, happened, groups=groups),
        "score_agreement of a scale": call("score_agreement", steps, other, scale=True),
        "score_agreement of a scale, groups": call(
            "score_agreement", steps, other, scale=True, groups=groups
        ),
        "score_agreement of numbers": call("score_agreement", left, right_side),
        "score_agreement of numbers, groups": call(
            "score_agreement", left, right_side, groups=groups
        ),
        "share_width": call("share_width", 200, 0.9),
        "smallest_detectable_difference": call("smallest_detectable_difference", 0.02),
        "stratified_agreement": call("stratified_agreement", judge, human, criteria),
        "stratified_agreement, groups": call(
            "stratified_agreement", judge, human, criteria, groups=groups
        ),
        "stratified_agreement of steps": call("stratified_agreement", steps, other, criteria),
        "stratified_mean": call("stratified_mean", scores, criteria),
        "threshold_point": call("threshold_point", sure, right, 0.5),
        "variance_components": call("variance_components", rated[:, :, None].tolist()),
        "wilcoxon_test": call("wilcoxon_test", changes),
    }


def work() -> None:
    """Answer lines "calls name" on standard input with the CPU seconds of a call."""
    known = cases()
    for line in sys.stdin:
        calls, name = line.rstrip("\n").split(" ", 1)
        try:
            begin = time.process_time()
            for _ in range(int(calls)):
                known[name]()
            answer: float | str = (time.process_time() - begin) / int(calls)
        except Exception as error:  # this version does not have it, or not in this way
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


class Version:
    """A process with the package of one source folder."""

    def __init__(self, source: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, HERE, "--work"],
            env={**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, name: str, calls: int = 1) -> Any:
        """How long a call takes, or why there is none."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{calls} {name}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("before", type=Path, nargs="?", help="the other version's src folder")
    options.add_argument("--match", default="", help="a regular expression of statistics")
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.work:
        work()
        return
    if given.before is None:
        options.error("which version to compare with?")
    versions = Version(given.before), Version(HERE.parents[2] / "src")
    print("| statistic of 200 items | before, ms | now, ms | ratio |\n|---|---:|---:|---:|")
    for name in filter(re.compile(given.match).search, cases()):
        first = [(version.seconds(name), version.seconds(name))[1] for version in versions]
        if any(isinstance(one, str) for one in first):
            print(f"| {name} | {' | '.join(f'{one}'[:60] for one in first)} | |", flush=True)
            continue
        calls = [max(1, int(BLOCK / one)) for one in first]
        rounds = [
            [version.seconds(name, many) for version, many in zip(versions, calls, strict=True)]
            for _ in range(given.rounds)
        ]
        before, now = (1000 * median(side) for side in zip(*rounds, strict=True))
        ratio = median(now / before for before, now in rounds)
        print(f"| {name} | {before:.3f} | {now:.3f} | {ratio:.2f} |", flush=True)
    for version in versions:
        version.close()


if __name__ == "__main__":
    main()
