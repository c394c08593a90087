"""How far to believe it: agreement between judges and people."""

from rubricate.stats._agreement import Agreement, agreement, agreement_of_counts, cohen_kappa
from rubricate.stats._dawid_skene import (
    DawidSkene,
    accuracy_weights,
    dawid_skene,
    reliability_weights,
)

__all__ = [
    "Agreement",
    "DawidSkene",
    "accuracy_weights",
    "agreement",
    "agreement_of_counts",
    "cohen_kappa",
    "dawid_skene",
    "reliability_weights",
]
