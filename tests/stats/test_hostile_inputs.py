"""What nobody should give, given to every public name: an error that names the argument, or a
figure that says why it is undefined; never a TypeError, a NaN or a warning."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rubricate import stats
from rubricate.errors import InputError

NAN = math.nan
QUICK = stats.Bootstrap(resamples=20)
HOSTILE: dict[str, Any] = {
    "None": None,
    "empty": [],
    "one": [1],
    "one None": [None],
    "constant": [1, 1, 1],
    "zeros": [0, 0, 0],
    "NaN": [NAN, NAN, NAN],
    "some NaN": [1, NAN, 0],
    "some None": [None, 1, 0],
    "NA": [pd.NA, 1, 0],
    "NaT": [pd.NaT, np.datetime64("NaT", "s"), 1],
    "mixed": [1, "MET", 0],
    "mixed with None": ["MET", None, 0.5],
    "huge": [1e200, -1e200, 1e300],
    "huge whole": [10**400, 1, 0],
    "infinite": [math.inf, -math.inf, 0],
    "tiny": [1e-200, -1e-200, 5e-324],
    "large but allowed": [1e40, -1e40, 1],
    "flat where a table is meant": [1, 2, 3],
    "table": [[1, 2], [2, 1], [1, 1]],
    "ragged": [[1, 2], [1], []],
    "table of NaN": [[NAN, NAN], [NAN, 1], [pd.NA, None]],
    "deep": [[[1, 2]], [[2, 1]], [[1, 1]]],
    "text": "MET",
    "texts": ["MET", "UNMET", "MET"],
    "bytes": b"MET",
    "number": 7,
    "fraction": 1.5,
    "negative": -1,
    "not a number": NAN,
    "missing": pd.NA,
    "mapping": {"a": [1, 0, 1], "b": [1, 1, 0]},
    "mapping of nothing": {"a": None},
    "empty mapping": {},
    "pairs": {("MET", "MET"): 2, (1.0, 2.0): 1},
    "pairs of NaN": {(NAN, None): 3, (1, 2): -1},
    "set": {1, 2, 3},
    "object": object(),
    "objects": [object(), object(), object()],
    "lists": [[], {}, set()],
    "array": np.array([1.0, NAN, 0.0]),
    "whole array": np.array([1, 0, 1]),
    "array of one": np.array(3),
    "2d array": np.ones((3, 2)),
    "column": pd.Series([1, 0, None], index=[7, 8, 9]),
    "column with NA": pd.Series([1, pd.NA, 0], dtype="Int64"),
    "table of pandas": pd.DataFrame({"a": [1, 2, NAN], "b": [2, 2, 1]}),
    "complex": [1j, 2, 3],
    "masked": np.ma.array([1.0, 0.0, 1.0], mask=[True, False, False]),
    "iterator": iter([1, 2, 3]),
    "function": len,
}

VOTES = {"a": ["MET", "UNMET", "MET"], "b": ["MET", "MET", None]}
TABLE = [[1, 2, 1], [2, 2, None], [1, 1, 2]]
SCORES: dict[str, Any] = {"judge": [1.0, 2.0, 4.0], "human": [1.0, 3.0, 2.0]}
LABELS: dict[str, Any] = {"judge": ["MET", "UNMET", "MET"], "human": ["MET", "MET", "UNMET"]}
BINARY: dict[str, Any] = {"probabilities": [0.2, 0.9, 0.6], "outcomes": [0, 1, 0]}
SHARES = [{"MET": 0.9, "UNMET": 0.1}, {"MET": 0.2, "UNMET": 0.8}, {"MET": 0.6, "UNMET": 0.4}]
BOTH = {"groups": [1, 1, 2], "bootstrap": QUICK}

USES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Bootstrap": (stats.Bootstrap, {"resamples": 5, "confidence": 0.9, "seed": 1}),
    "IsotonicMap": (stats.IsotonicMap, {"points": (0.1, 0.9), "values": (0.2, 0.7)}),
    "IsotonicMap.fit": (stats.IsotonicMap.fit, BINARY),
    "IsotonicMap()": (stats.IsotonicMap((0.1, 0.9), (0.2, 0.7)), {"probability": 0.5}),
    "PlattMap": (stats.PlattMap, {"slope": 1.0, "intercept": 0.0}),
    "PlattMap.fit": (stats.PlattMap.fit, BINARY),
    "PlattMap()": (stats.PlattMap(1.0, 0.0), {"probability": 0.5}),
    "accuracy_weights": (stats.accuracy_weights, {"questions": [(VOTES, ["MET", None, "MET"])]}),
    "agreement_of_counts": (stats.agreement_of_counts, {"pairs": {("MET", "UNMET"): 1}}),
    "annotator_agreement": (
        stats.annotator_agreement,
        {
            "judge": ["MET", "UNMET", "MET"],
            "annotators": VOTES,
            "level": "ordinal",
            "labels": ["MET", "UNMET"],
            **BOTH,
        },
    ),
    "annotator_agreement of numbers": (
        stats.annotator_agreement,
        {"judge": [1, 2, 3], "annotators": {"judge": [1, 2, 4], 2: [2, 2, 4]}, "level": "interval"},
    ),
    "asymmetry": (
        stats.asymmetry,
        {"sums": [1, -1, 0], "squares": [1, 1, 2], "sizes": [1, 1, 2], "counts": [2, 1, 1]},
    ),
    "benjamini_hochberg": (stats.benjamini_hochberg, {"p_values": [0.1, 0.2]}),
    "mean_of_scores": (stats.mean_of_scores, {"scores": [1, 2, 3], "groups": [1, 1, 2]}),
    "calibration": (stats.calibration, {**BINARY, "bins": 3, "binning": "quantile", **BOTH}),
    "calibration_gain": (
        stats.calibration_gain,
        {**BINARY, "method": "isotonic", "groups": [1, 1, 2], "seed": 1},
    ),
    "choose_threshold": (
        stats.choose_threshold,
        {
            "confidence": [0.9, 0.8, 0.7],
            "agrees": [1, 1, 0],
            "promise": 0.3,
            "risk": 0.4,
            "groups": [1, 2, 3],
        },
    ),
    "clustered_mean": (
        stats.clustered_mean,
        {"values": [1, 2, 3], "groups": [1, 2, 2], "bounds": (0, 4), "reach": 0.5},
    ),
    "clustered_share": (stats.clustered_share, {"successes": [1, 0, 1], "groups": [1, 2, 2]}),
    "compare_paired": (
        stats.compare_paired,
        {"a": [1, 2, 3], "b": [2, 2, 4], "reach": 0.5, "groups": BOTH["groups"]},
    ),
    "bound_e_value": (
        stats.bound_e_value,
        {"values": [0.1, 0.2, 0.4], "bound": 0.1, "groups": [1, 2, 2], "limits": (0.0, 1.0)},
    ),
    "changed_answers_test": (
        stats.changed_answers_test,
        {"before": [{"MET": 3}, {"UNMET": 2}], "after": [{"MET": 1}, {"MET": 1}]},
    ),
    "bound_test": (
        stats.bound_test,
        {
            "values": [0.1, 0.2, 0.4],
            "bound": 0.1,
            "groups": [1, 2, 2],
            "limits": (0.0, 1.0),
            "distance": 0.1,
            "noise": [0.1, 0.0, 0.2],
            "significance": 0.05,
        },
    ),
    "ConformalSets()": (
        stats.conformal_sets(SHARES, ["MET", "UNMET", "MET"]),
        {"probabilities": {"MET": 0.7, "UNMET": 0.3}},
    ),
    "conformal_sets": (
        stats.conformal_sets,
        {
            "probabilities": SHARES,
            "labels": ["MET", "UNMET", "MET"],
            "coverage": 0.5,
            "by_label": True,
            "groups": [1, 1, 2],
            "seed": 1,
        },
    ),
    "corrected_mean": (
        stats.corrected_mean,
        {"judge": [1.0, 0.5, 0.2], "human": [1, 0.4, None], "groups": [1, 2, 3]},
    ),
    "corrected_mean_width": (
        stats.corrected_mean_width,
        {
            "labelled": 20,
            "unlabelled": 80,
            "spread": 0.5,
            "judge_spread": 0.4,
            "correlation": 0.7,
            "share": 0.5,
            "confidence": 0.9,
        },
    ),
    "dawid_skene": (
        stats.dawid_skene,
        {"votes": [[0, 1], [1, 1]], "labels": 2, "iterations": 3, "tolerance": 0, "smoothing": 1},
    ),
    "decided_pairs": (stats.decided_pairs, {**LABELS, "undecided": "label", "abstention": "MET"}),
    "decision_threshold": (
        stats.decision_threshold,
        {
            **BINARY,
            "false_positive_cost": 2,
            "false_negative_cost": 1.0,
            "groups": [1, 1, 2],
            "confidence": 0.9,
            "seed": 1,
        },
    ),
    "fleiss_kappa": (stats.fleiss_kappa, {"ratings": [[1, 2], [2, 2], [1, 1]], **BOTH}),
    "gwet_ac": (
        stats.gwet_ac,
        {"ratings": TABLE, "weights": "quadratic", "labels": [1, 2], **BOTH},
    ),
    "holm": (stats.holm, {"p_values": [0.1, 0.2]}),
    "intraclass_correlation": (stats.intraclass_correlation, {"ratings": TABLE, **BOTH}),
    "krippendorff_alpha": (
        stats.krippendorff_alpha,
        {"ratings": TABLE, "level": "ordinal", "labels": [1, 2], "strata": [1, 1, 2], **BOTH},
    ),
    "krippendorff_alpha of numbers": (
        stats.krippendorff_alpha,
        {"ratings": TABLE, "level": "interval"},
    ),
    "krippendorff_alpha without labels": (stats.krippendorff_alpha, {"ratings": TABLE}),
    "label_agreement": (
        stats.label_agreement,
        {
            **LABELS,
            "labels": ["MET", "UNMET"],
            "ordered": True,
            "undecided": "exclude",
            "abstention": None,
            **BOTH,
        },
    ),
    "label_agreement without labels": (stats.label_agreement, {**LABELS, "undecided": "wrong"}),
    "lower_end_power": (
        stats.lower_end_power,
        {"n": 20, "share": 0.9, "promise": 0.7, "confidence": 0.9},
    ),
    "likely_differing": (stats.likely_differing, {"difference": 0.1, "spread": 0.2}),
    "mcnemar_power": (
        stats.mcnemar_power,
        {"n": 20, "difference": 0.1, "differing": 0.2, "significance": 0.1},
    ),
    "mcnemar_test": (stats.mcnemar_test, {"first": [1, 0, 1], "second": [0, 0, 1]}),
    "mean_width": (
        stats.mean_width,
        {"n": 20, "spread": 0.2, "confidence": 0.9, "cluster_size": 2, "correlation": 0.3},
    ),
    "next_to_label": (
        stats.next_to_label,
        {"labelled": [True, False, False], "count": 1, "seed": 2},
    ),
    "paired_power": (
        stats.paired_power,
        {
            "n": 20,
            "difference": 0.1,
            "spread": 0.2,
            "significance": 0.1,
            "cluster_size": 2,
            "correlation": 0.3,
        },
    ),
    "permutation_test": (
        stats.permutation_test,
        {"differences": [1, -2, 3], "groups": [1, 2, 2], "rounds": 9, "seed": 1},
    ),
    "permutation_test of many": (
        lambda rounds, seed: stats.permutation_test([*range(1, 21)], rounds=rounds, seed=seed),
        {"rounds": 9, "seed": 1},
    ),
    "read_calibration_map": (
        stats.read_calibration_map,
        {"data": {"kind": "platt", "slope": 1, "intercept": 0}},
    ),
    "read_calibration_map of points": (
        lambda points, values: stats.read_calibration_map(
            {"kind": "isotonic", "points": points, "values": values}
        ),
        {"points": [0.1, 0.5, 0.9], "values": [0.1, 0.2, 0.3]},
    ),
    "reliability_weights": (stats.reliability_weights, {"questions": [VOTES]}),
    "roc_auc": (
        stats.roc_auc,
        {
            "scores": [0.2, 0.9, 0.6],
            "outcomes": [0, 1, 0],
            "strata": ["a", "a", "a"],
            "groups": [1, 1, 2],
            "confidence": 0.9,
        },
    ),
    "score_agreement": (stats.score_agreement, {**SCORES, "scale": True, **BOTH}),
    "share_width": (
        stats.share_width,
        {"n": 20, "share": 0.8, "confidence": 0.9, "cluster_size": 2, "correlation": 0.3},
    ),
    "smallest_detectable_difference": (
        stats.smallest_detectable_difference,
        {"standard_error": 0.1, "power": 0.8, "significance": 0.05},
    ),
    "stratified": (stats.stratified, {"strata": [stats.Agreement(3, 0.5, 0.1)]}),
    "stratified_agreement": (
        stats.stratified_agreement,
        {**LABELS, "strata": [1, 1, 2], "equal": [1, 0, 0], "without_kappa": [2], **BOTH},
    ),
    "stratified_agreement of numbers": (
        stats.stratified_agreement,
        {**SCORES, "strata": [1, 1, 2]},
    ),
    "stratified_mean": (
        stats.stratified_mean,
        {"values": [1, 2, 3], "strata": ["a", "a", "b"]},
    ),
    "threshold_point": (
        stats.threshold_point,
        {"confidence": [0.9, 0.8, 0.7], "agrees": [1, 1, 0], "threshold": 0.8, "groups": [1, 2, 3]},
    ),
    "variance_components": (
        stats.variance_components,
        {
            "values": [[[1, 2], [2, 2]], [[1, 1], [3, 1]], [[4, 1], [2, 2]]],
            "factors": ["judge"],
            **BOTH,
        },
    ),
    "pooled_shares": (
        stats.pooled_shares,
        {
            "successes": [[1, 0, 1], [1, 1, 1], [0, None, 1]],
            "groups": [[1, 1, 2], [1, 2, 3], [1, 1, 2]],
            "weights": [[1, 2, 1], [1, 1, 1], [3, 1, 1]],
            "confidence": 0.9,
            "seed": 1,
        },
    ),
    "corrected_share": (
        stats.corrected_share,
        {
            **{"share": 0.4, "n": 100, "sensitivity": 0.9, "positive": 20},
            **{"specificity": 0.8, "negative": 30, "confidence": 0.9},
        },
    ),
    "weights_by_chance": (stats.weights_by_chance, {"chances": [0.1, 0.2, 0.1], "total": 9}),
    "label_agreement with weights": (stats.label_agreement, {**LABELS, "weights": [1, 2.5, 1]}),
    "score_agreement with weights": (stats.score_agreement, {**SCORES, "weights": [1, 2.5, 1]}),
    "clustered_share with weights": (
        stats.clustered_share,
        {"successes": [1, 0, 1], "weights": [1, 2.5, 1]},
    ),
    "corrected_mean with weights": (
        stats.corrected_mean,
        {"judge": [1, 0, 1, 1], "human": [1, 0, 0, None], "weights": [1, 2.5, 1, None]},
    ),
    "stratified_agreement with weights": (
        stats.stratified_agreement,
        {**LABELS, "strata": [1, 1, 2], "weights": [1, 2.5, 1]},
    ),
    "wilcoxon_test": (stats.wilcoxon_test, {"differences": [1, -2, 3]}),
    "exact_interval": (stats.exact_interval, {"successes": 1, "n": 3, "confidence": 0.9}),
}

ONLY_RESULTS = {
    name
    for name in stats.__all__
    if inspect.isclass(getattr(stats, name)) and not {name, f"{name}()"} & set(USES)
} | {"CalibrationMap", "CalibrationMethod", "Level", "Undecided", "Weights"}
"""What functions give back, and aliases of types: nobody gives them anything."""


def test_every_public_name_is_attacked():
    assert {name.split(".")[0].split("(")[0].split(" ")[0] for name in USES} == (
        set(stats.__all__) - ONLY_RESULTS
    )


ARGUMENTS = [(name, argument) for name, (_, given) in USES.items() for argument in given]


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_hostile_inputs_are_refused_by_name_or_give_figures_without_nan(name: str, argument: str):
    function, given = USES[name]
    assert_defined(function(**given))
    for hostile, value in HOSTILE.items():
        other = iter([1, 2, 3]) if hostile == "iterator" else value
        try:
            found = function(**{**given, argument: other})
        except InputError as error:
            text = str(error)
            assert any(word in text for word in given), (hostile, text)
            assert len(text) < 400, hostile
        except Exception as error:
            raise AssertionError(f"{hostile}: {type(error).__name__}: {error}") from error
        else:
            assert_defined(found)


def assert_defined(found: Any) -> None:
    """No NaN anywhere, a reason where an estimate has no value, and ends in order around it."""
    if isinstance(found, stats.Estimate):
        assert found.value is not None or found.undefined
        if found.low is not None and found.high is not None:
            assert found.low <= found.high
    if isinstance(found, stats.PairedTest):
        assert found.p_value is not None or found.undefined
        assert found.p_value is None or 0 < found.p_value <= 1
    if isinstance(found, float):
        assert math.isfinite(found)
    elif isinstance(found, np.ndarray):
        assert np.isfinite(found).all()
    elif isinstance(found, Mapping):
        for part in found.values():
            assert_defined(part)
    elif isinstance(found, (list, tuple)):
        for part in found:
            assert_defined(part)
    elif dataclasses.is_dataclass(found):
        for field in dataclasses.fields(found):
            assert_defined(getattr(found, field.name))
