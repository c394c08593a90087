"""`karenina.benchmark`: benchmarks."""

from rubricate.dialects.karenina import *
