"""`ragas.metrics`."""

from rubricate.dialects.ragas.metrics._domain_specific_rubrics import *
from rubricate.dialects.ragas.metrics.base import *
