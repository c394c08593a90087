"""`karenina.schemas.verification.config`: which models answer and judge."""

from rubricate.dialects.karenina.schemas import *
