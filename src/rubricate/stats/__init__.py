"""Agreement, intervals, calibration, comparison and few labels.

Functions on sequences of labels or numbers, with `None` for missing values. Most figures are an
`Estimate`: its value, the ends of its interval, and the reason if one of these is `None`.

Functions are loaded when they are first used, and so are numpy and scipy.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door
from rubricate.stats._agreement import (
    Agreement as Agreement,
    agreement_of_counts as agreement_of_counts,
    stratified as stratified,
)
from rubricate.stats._estimate import Estimate as Estimate

if TYPE_CHECKING:
    from rubricate.stats._annotators import (
        AnnotatorAgreement as AnnotatorAgreement,
        annotator_agreement as annotator_agreement,
    )
    from rubricate.stats._asymmetry import asymmetry as asymmetry
    from rubricate.stats._calibration import (
        Calibration as Calibration,
        CalibrationGain as CalibrationGain,
        CalibrationMap as CalibrationMap,
        CalibrationMethod as CalibrationMethod,
        IsotonicMap as IsotonicMap,
        PlattMap as PlattMap,
        ReliabilityBin as ReliabilityBin,
        calibration as calibration,
        calibration_gain as calibration_gain,
        read_calibration_map as read_calibration_map,
    )
    from rubricate.stats._comparison import (
        PairedComparison as PairedComparison,
        PairedTest as PairedTest,
        benjamini_hochberg as benjamini_hochberg,
        compare_paired as compare_paired,
        holm as holm,
        mcnemar_test as mcnemar_test,
        permutation_test as permutation_test,
        smallest_detectable_difference as smallest_detectable_difference,
        wilcoxon_test as wilcoxon_test,
    )
    from rubricate.stats._conformal import (
        ConformalSets as ConformalSets,
        conformal_sets as conformal_sets,
    )
    from rubricate.stats._dawid_skene import (
        DawidSkene as DawidSkene,
        accuracy_weights as accuracy_weights,
        dawid_skene as dawid_skene,
        reliability_weights as reliability_weights,
    )
    from rubricate.stats._discrimination import (
        DecisionThreshold as DecisionThreshold,
        decision_threshold as decision_threshold,
        roc_auc as roc_auc,
    )
    from rubricate.stats._changed_answers import changed_answers_test as changed_answers_test
    from rubricate.stats._gate import (
        BoundTest as BoundTest,
        bound_e_value as bound_e_value,
        bound_test as bound_test,
    )
    from rubricate.stats._intervals import (
        MeanEstimate as MeanEstimate,
        clustered_mean as clustered_mean,
        clustered_share as clustered_share,
        exact_interval as exact_interval,
        mean_of_scores as mean_of_scores,
        stratified_mean as stratified_mean,
    )
    from rubricate.stats._labels import (
        LabelAgreement as LabelAgreement,
        Undecided as Undecided,
        decided_pairs as decided_pairs,
        label_agreement as label_agreement,
    )
    from rubricate.stats._planning import (
        corrected_mean_width as corrected_mean_width,
        likely_differing as likely_differing,
        lower_end_power as lower_end_power,
        mcnemar_power as mcnemar_power,
        mean_width as mean_width,
        paired_power as paired_power,
        share_width as share_width,
    )
    from rubricate.stats._pooled import PooledShare as PooledShare, pooled_shares as pooled_shares
    from rubricate.stats._prediction_powered import (
        CorrectedMean as CorrectedMean,
        corrected_mean as corrected_mean,
        corrected_share as corrected_share,
        next_to_label as next_to_label,
        weights_by_chance as weights_by_chance,
    )
    from rubricate.stats._raters import (
        Level as Level,
        Weights as Weights,
        fleiss_kappa as fleiss_kappa,
        gwet_ac as gwet_ac,
        intraclass_correlation as intraclass_correlation,
        krippendorff_alpha as krippendorff_alpha,
    )
    from rubricate.stats._resampling import Bootstrap as Bootstrap
    from rubricate.stats._scores import (
        LevelBias as LevelBias,
        ScoreAgreement as ScoreAgreement,
        score_agreement as score_agreement,
    )
    from rubricate.stats._strata import (
        StratifiedAgreement as StratifiedAgreement,
        stratified_agreement as stratified_agreement,
    )
    from rubricate.stats._threshold import (
        ThresholdChoice as ThresholdChoice,
        ThresholdPoint as ThresholdPoint,
        choose_threshold as choose_threshold,
        threshold_point as threshold_point,
    )
    from rubricate.stats._variance import (
        VarianceComponents as VarianceComponents,
        variance_components as variance_components,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
