"""Criteria, rubrics, verdicts and scores. Pure code: no network, no event loop.

A `Rubric` is a list of criteria, each with a name and a weight, or a tree whose inner nodes are
`Group`s. Each kind of criterion is a class that knows what to ask (`ask`), how to read the answer
(`read`), and the answer's `value` in [0, 1]; no other code depends on the kind. The result for an
item, a criterion and a judge is a `Verdict`. `aggregate` combines several votes into one verdict,
and `score` computes the `Score` of an item from its verdicts.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate._usage import NO_USAGE as NO_USAGE, Usage as Usage
    from rubricate.rubric._aggregates import (
        AGGREGATES as AGGREGATES,
        Aggregate as Aggregate,
        Aggregated as Aggregated,
        Scored as Scored,
    )
    from rubricate.rubric._code import (
        CodeCriterion as CodeCriterion,
        source_of as source_of,
    )
    from rubricate.rubric._computed import (
        NOT_APPLICABLE as NOT_APPLICABLE,
        Computed as Computed,
        ComputedCriterion as ComputedCriterion,
    )
    from rubricate.rubric._counter import (
        COUNTERS as COUNTERS,
        CounterCriterion as CounterCriterion,
        document_counts as document_counts,
    )
    from rubricate.rubric._criterion import (
        BINARY_LABELS as BINARY_LABELS,
        STRATEGIES as STRATEGIES,
        Criterion as Criterion,
        CriterionOption as CriterionOption,
        Measurement as Measurement,
        kinds as kinds,
    )
    from rubricate.rubric._declared import (
        CannotAssess as CannotAssess,
        DeclaredScoring as DeclaredScoring,
        Skipped as Skipped,
        agreed as agreed,
        check_cannot_assess as check_cannot_assess,
    )
    from rubricate.rubric._distribution import (
        Obtained as Obtained,
        read_distribution as read_distribution,
        read_kept as read_kept,
    )
    from rubricate.rubric._code import fingerprint as fingerprint
    from rubricate.rubric._criterion import Gate as Gate
    from rubricate.rubric._gates import Gates as Gates, Waiting as Waiting
    from rubricate.rubric._group import (
        Group as Group,
        Node as Node,
        flat_weights as flat_weights,
        largest_share as largest_share,
        restricted as restricted,
    )
    from rubricate.rubric._metric import (
        MetricCriterion as MetricCriterion,
    )
    from rubricate.rubric._options import Scoring as Scoring
    from rubricate.rubric._penalty import (
        LengthPenalty as LengthPenalty,
        Parts as Parts,
        SpokenParts as SpokenParts,
        count_words as count_words,
        split_thinking as split_thinking,
    )
    from rubricate.rubric._question import (
        ABSTENTION as ABSTENTION,
        Answer as Answer,
        Question as Question,
        Reading as Reading,
        closed_object as closed_object,
        read_label as read_label,
        read_object as read_object,
    )
    from rubricate.rubric._aggregates import least_ratio as least_ratio
    from rubricate.rubric._regex import RegexCriterion as RegexCriterion
    from rubricate.rubric._rubric import Rubric as Rubric
    from rubricate.rubric._scale import ScaleCriterion as ScaleCriterion
    from rubricate.rubric._scoring import (
        Score as Score,
        ScoringRules as ScoringRules,
        score as score,
        score_with_groups as score_with_groups,
    )
    from rubricate.rubric._tags import (
        TAGS as TAGS,
        grouped_tags as grouped_tags,
        read_tags as read_tags,
        split_tag as split_tag,
        tags_by as tags_by,
        values_of as values_of,
    )
    from rubricate.rubric._verdict import (
        GATE as GATE,
        NOT_RUN as NOT_RUN,
        UNANSWERED as UNANSWERED,
        CriterionVerdict as CriterionVerdict,
        Evidence as Evidence,
        Failure as Failure,
        Paraphrase as Paraphrase,
        Status as Status,
        Verdict as Verdict,
        confidence as confidence,
    )
    from rubricate.rubric._votes import (
        Aggregation as Aggregation,
        aggregate as aggregate,
        check_weights as check_weights,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
