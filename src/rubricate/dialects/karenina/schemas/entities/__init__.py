"""`karenina.schemas.entities`: questions, rubrics and their traits."""

from rubricate.dialects.karenina.schemas import *
