"""`karenina.schemas.results`: results of verifications."""

from rubricate.dialects.karenina.schemas import *
