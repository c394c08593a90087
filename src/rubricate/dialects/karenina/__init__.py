"""Karenina's names: `karenina` becomes `rubricate.dialects.karenina` in import lines.

A benchmark has questions with reference answers. Models answer them, and models judge the answers
by templates (is it correct?) and by rubrics of traits (how good is it?). All of it runs on
rubricate's engine.
"""

from rubricate.dialects import names_elsewhere
from rubricate.dialects.karenina._benchmark import Benchmark as Benchmark
from rubricate.dialects.karenina._task import TaskEval as TaskEval

names_elsewhere(__name__)
