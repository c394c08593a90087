"""`ragas.metrics`."""

from rubricate.dialects import names_elsewhere
from rubricate.dialects.ragas.metrics._domain_specific_rubrics import *
from rubricate.dialects.ragas.metrics.base import *

names_elsewhere(__name__)
