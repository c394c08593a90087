"""How far to believe it: agreement between judges and people."""

from rubricate.stats._agreement import Agreement, agreement, cohen_kappa

__all__ = ["Agreement", "agreement", "cohen_kappa"]
