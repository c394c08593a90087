"""`karenina.adapters.manual`: answers written by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from rubricate.dialects.karenina._benchmark import Benchmark
from rubricate.dialects.karenina._task import trace_text
from rubricate.errors import InputError


def hash_of(question: str) -> str:
    """Return the name of a question in Karenina's files of traces: the MD5 hash of its text."""
    text = question.encode("utf-8", "surrogatepass")
    return hashlib.md5(text, usedforsecurity=False).hexdigest()


class ManualTraces:
    """Answers to a benchmark's questions, for a `ModelConfig(interface="manual")`.

        traces = ManualTraces(benchmark)
        traces.register_trace("What is 2+2?", "The answer is 4.", map_to_id=True)
        model = ModelConfig(interface="manual", manual_traces=traces)

    Args:
        benchmark: the benchmark; answers to other questions are errors.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._traces: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._traces)

    def register_trace(
        self, question: str, trace: str | Sequence[Any], map_to_id: bool = False
    ) -> None:
        """Set or replace the answer to a question.

        Args:
            question: the MD5 hash of its text, or the text itself with `map_to_id`.
            trace: the answer's text, or a list of chat messages as for `TaskEval.log`.
            map_to_id: whether `question` is the text of the question.

        Raises:
            InputError: the benchmark has no such question, or the answer is empty.
        """
        name = hash_of(question) if map_to_id else question
        if name not in {hash_of(known.question) for known in self._benchmark}:
            hint = "" if map_to_id else " with this hash; give its text with map_to_id=True"
            raise InputError(f"the benchmark has no question {question!r}{hint}")
        text = trace if isinstance(trace, str) else trace_text(trace)
        if not text.strip():
            raise InputError(f"the answer to {question!r} is empty")
        self._traces[name] = text

    def register_traces(
        self, traces: Mapping[str, str | Sequence[Any]], map_to_id: bool = False
    ) -> None:
        """Set several answers by question; otherwise like `register_trace`."""
        for question, trace in traces.items():
            self.register_trace(question, trace, map_to_id)

    def of(self, question: str) -> str | None:
        """Return the answer to a question by its text; None if there is none."""
        return self._traces.get(hash_of(question))
