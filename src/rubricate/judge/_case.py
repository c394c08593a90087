"""What a judge is given beside the criterion: the same for all criteria of an item."""

from __future__ import annotations

from rubricate.dataset import Item as Case

__all__ = ["Case"]
