"""`karenina.schemas.config.models`: models."""

from rubricate.dialects.karenina.schemas import *
