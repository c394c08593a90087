"""`karenina.schemas.verification`: what is verified, and what comes of it."""

from typing import TYPE_CHECKING

from rubricate.dialects._missing import missing
from rubricate.dialects.karenina.schemas import (
    VerificationConfig,
    VerificationResult,
    VerificationResultSet,
)

__all__ = ["VerificationConfig", "VerificationResult", "VerificationResultSet"]

if not TYPE_CHECKING:  # for type checkers what is not here is an error of its own
    __getattr__ = missing(__name__)
