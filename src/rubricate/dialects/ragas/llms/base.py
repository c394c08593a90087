"""`ragas.llms.base`."""

from rubricate.dialects.ragas.llms import *
