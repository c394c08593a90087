"""`karenina.schemas.entities.rubric`: rubrics and their traits."""

from rubricate.dialects.karenina.schemas import *
