"""How far to believe it: agreement between judges and people."""

from rubricate.stats._agreement import Agreement, agreement, agreement_of_counts, cohen_kappa

__all__ = ["Agreement", "agreement", "agreement_of_counts", "cohen_kappa"]
