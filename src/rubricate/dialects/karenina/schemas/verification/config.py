"""`karenina.schemas.verification.config`: which models answer and judge."""

from typing import TYPE_CHECKING

from rubricate.dialects._missing import missing
from rubricate.dialects.karenina.schemas import VerificationConfig

__all__ = ["VerificationConfig"]

if not TYPE_CHECKING:  # for type checkers what is not here is an error of its own
    __getattr__ = missing(__name__)
