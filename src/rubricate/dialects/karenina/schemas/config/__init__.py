"""`karenina.schemas.config`: answering and judging models."""

from rubricate.dialects.karenina.schemas import *
