"""`autorubric.graders.base`."""

from rubricate.dialects.autorubric.graders import *
