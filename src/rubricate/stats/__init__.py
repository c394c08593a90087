"""How far to believe it: agreement, intervals, calibration, comparison, few labels.

Functions on sequences of labels or numbers, `None` where there is none. A figure comes back as an
`Estimate`: its value, the ends of its interval, and, where one of these is `None`, the reason.

What is named here is loaded when it is first used, so that numpy and scipy are too.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door
from rubricate.stats._agreement import Agreement, agreement_of_counts, stratified
from rubricate.stats._estimate import Estimate

if TYPE_CHECKING:
    from rubricate.stats._annotators import (
        AnnotatorAgreement,
        Level,
        annotator_agreement,
        fleiss_kappa,
        intraclass_correlation,
        krippendorff_alpha,
    )
    from rubricate.stats._asymmetry import asymmetry
    from rubricate.stats._calibration import (
        Calibration,
        CalibrationGain,
        CalibrationMap,
        CalibrationMethod,
        IsotonicMap,
        PlattMap,
        ReliabilityBin,
        calibration,
        calibration_gain,
        read_calibration_map,
    )
    from rubricate.stats._comparison import (
        PairedComparison,
        PairedTest,
        benjamini_hochberg,
        compare_paired,
        holm,
        mcnemar_test,
        permutation_test,
        smallest_detectable_difference,
        wilcoxon_test,
    )
    from rubricate.stats._conformal import ConformalSets, conformal_sets
    from rubricate.stats._dawid_skene import (
        DawidSkene,
        accuracy_weights,
        dawid_skene,
        reliability_weights,
    )
    from rubricate.stats._discrimination import DecisionThreshold, decision_threshold, roc_auc
    from rubricate.stats._gwet import Weights, gwet_ac
    from rubricate.stats._intervals import (
        MeanEstimate,
        bootstrapped_mean,
        clustered_mean,
        clustered_share,
        stratified_mean,
        wilson_interval,
    )
    from rubricate.stats._labels import LabelAgreement, Undecided, decided_pairs, label_agreement
    from rubricate.stats._planning import (
        corrected_mean_width,
        lower_end_power,
        mcnemar_power,
        mean_width,
        paired_power,
        share_width,
    )
    from rubricate.stats._prediction_powered import (
        CorrectedMean,
        LabelPlan,
        corrected_mean,
        next_to_label,
    )
    from rubricate.stats._resampling import Bootstrap
    from rubricate.stats._scores import LevelBias, ScoreAgreement, score_agreement
    from rubricate.stats._strata import StratifiedAgreement, stratified_agreement
    from rubricate.stats._threshold import (
        ThresholdChoice,
        ThresholdPoint,
        choose_threshold,
        threshold_point,
    )
    from rubricate.stats._variance import VarianceComponents, variance_components
else:
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "Agreement",
    "AnnotatorAgreement",
    "Bootstrap",
    "Calibration",
    "CalibrationGain",
    "CalibrationMap",
    "CalibrationMethod",
    "ConformalSets",
    "CorrectedMean",
    "DawidSkene",
    "DecisionThreshold",
    "Estimate",
    "IsotonicMap",
    "LabelAgreement",
    "LabelPlan",
    "Level",
    "LevelBias",
    "MeanEstimate",
    "PairedComparison",
    "PairedTest",
    "PlattMap",
    "ReliabilityBin",
    "ScoreAgreement",
    "StratifiedAgreement",
    "ThresholdChoice",
    "ThresholdPoint",
    "Undecided",
    "VarianceComponents",
    "Weights",
    "accuracy_weights",
    "agreement_of_counts",
    "annotator_agreement",
    "asymmetry",
    "benjamini_hochberg",
    "bootstrapped_mean",
    "calibration",
    "calibration_gain",
    "choose_threshold",
    "clustered_mean",
    "clustered_share",
    "compare_paired",
    "conformal_sets",
    "corrected_mean",
    "corrected_mean_width",
    "dawid_skene",
    "decided_pairs",
    "decision_threshold",
    "fleiss_kappa",
    "gwet_ac",
    "holm",
    "intraclass_correlation",
    "krippendorff_alpha",
    "label_agreement",
    "lower_end_power",
    "mcnemar_power",
    "mcnemar_test",
    "mean_width",
    "next_to_label",
    "paired_power",
    "permutation_test",
    "read_calibration_map",
    "reliability_weights",
    "roc_auc",
    "score_agreement",
    "share_width",
    "smallest_detectable_difference",
    "stratified",
    "stratified_agreement",
    "stratified_mean",
    "threshold_point",
    "variance_components",
    "wilcoxon_test",
    "wilson_interval",
]
