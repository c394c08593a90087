"""`autorubric.graders.criterion_grader`."""

from rubricate.dialects.autorubric.graders import *
