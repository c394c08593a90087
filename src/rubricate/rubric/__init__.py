"""What is asked: criteria, rubrics, verdicts and the scorer. Pure: no network, no loop.

A `Rubric` is a list of criteria of any kind, each with a name and a weight, or a tree whose inner
nodes are `Group`s of them. A kind is a class that
knows what to ask (`ask`), how to read the answer (`read`), and the answer's `value` in [0, 1];
nothing else switches on it. What comes back for an item, a criterion and a judge is a `Verdict`;
`aggregate` makes one of several votes, and `score` makes one `Score` of an item's verdicts.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate._usage import NO_USAGE, Usage
    from rubricate.rubric._aggregates import AGGREGATES, Aggregate, Aggregated, Scored
    from rubricate.rubric._code import NOT_APPLICABLE, CodeCriterion, source_of
    from rubricate.rubric._computed import Computed, ComputedCriterion
    from rubricate.rubric._confidence import confidence, confidence_of
    from rubricate.rubric._counter import COUNTERS, CounterCriterion, document_counts
    from rubricate.rubric._criterion import (
        BINARY_LABELS,
        STRATEGIES,
        Criterion,
        CriterionOption,
        Measurement,
        kinds,
    )
    from rubricate.rubric._declared import (
        CannotAssess,
        DeclaredScoring,
        Skipped,
        agreed,
        check_cannot_assess,
    )
    from rubricate.rubric._distribution import Obtained, read_distribution, read_kept
    from rubricate.rubric._fingerprint import fingerprint
    from rubricate.rubric._gate import Gate
    from rubricate.rubric._gates import GATE, Gates, Waiting
    from rubricate.rubric._group import Group, Node, flat_weights, restricted
    from rubricate.rubric._metric import ConfusionCounts, MetricCriterion
    from rubricate.rubric._options import Scoring
    from rubricate.rubric._penalty import (
        LengthPenalty,
        Parts,
        PenaltyType,
        SpokenParts,
        count_words,
        split_thinking,
    )
    from rubricate.rubric._question import (
        ABSTENTION,
        Answer,
        Question,
        Reading,
        read_label,
        read_object,
    )
    from rubricate.rubric._ratio import least_ratio
    from rubricate.rubric._regex import RegexCriterion
    from rubricate.rubric._rubric import Rubric
    from rubricate.rubric._rules import ScoringRules
    from rubricate.rubric._scale import ScaleCriterion
    from rubricate.rubric._scoring import Score, Tally, score, score_with_groups, tally
    from rubricate.rubric._tags import TAGS, grouped_tags, read_tags, split_tag, tags_by, values_of
    from rubricate.rubric._verdict import (
        CriterionVerdict,
        Evidence,
        Failure,
        Paraphrase,
        Status,
        Verdict,
    )
    from rubricate.rubric._votes import Aggregation, aggregate, check_weights
else:
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "ABSTENTION",
    "AGGREGATES",
    "BINARY_LABELS",
    "COUNTERS",
    "GATE",
    "NOT_APPLICABLE",
    "NO_USAGE",
    "STRATEGIES",
    "TAGS",
    "Aggregate",
    "Aggregated",
    "Aggregation",
    "Answer",
    "CannotAssess",
    "CodeCriterion",
    "Computed",
    "ComputedCriterion",
    "ConfusionCounts",
    "CounterCriterion",
    "Criterion",
    "CriterionOption",
    "CriterionVerdict",
    "DeclaredScoring",
    "Evidence",
    "Failure",
    "Gate",
    "Gates",
    "Group",
    "LengthPenalty",
    "Measurement",
    "MetricCriterion",
    "Node",
    "Obtained",
    "Paraphrase",
    "Parts",
    "PenaltyType",
    "Question",
    "Reading",
    "RegexCriterion",
    "Rubric",
    "ScaleCriterion",
    "Score",
    "Scored",
    "Scoring",
    "ScoringRules",
    "Skipped",
    "SpokenParts",
    "Status",
    "Tally",
    "Usage",
    "Verdict",
    "Waiting",
    "aggregate",
    "agreed",
    "check_cannot_assess",
    "check_weights",
    "confidence",
    "confidence_of",
    "count_words",
    "document_counts",
    "fingerprint",
    "flat_weights",
    "grouped_tags",
    "kinds",
    "least_ratio",
    "read_distribution",
    "read_kept",
    "read_label",
    "read_object",
    "read_tags",
    "restricted",
    "score",
    "score_with_groups",
    "source_of",
    "split_tag",
    "split_thinking",
    "tags_by",
    "tally",
    "values_of",
]
