"""`karenina.schemas.verification`: settings and results of verifications."""

from rubricate.dialects.karenina.schemas import *
