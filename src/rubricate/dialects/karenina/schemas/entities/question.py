"""`karenina.schemas.entities.question`: questions."""

from rubricate.dialects.karenina.schemas import *
