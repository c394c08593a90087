"""A question of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rubricate.dialects.karenina._template import Template
from rubricate.dialects.karenina._traits import Rubric
from rubricate.rubric import Failure


@dataclass
class Question:
    """A question of a benchmark.

    Attributes:
        question: its text.
        raw_answer: the right answer, in words; no judge of a trait is shown it.
        rubric: traits for this question alone, beside the benchmark's.
        template: what makes an answer correct; None where there is none yet.
        template_failure: why no template could be generated, if that was tried in vain.
        id: its identifier, unique in the benchmark.
        keywords: free labels.
        date_created, date_modified: ISO 8601.
        node: the question as it is in the file that it came from; what else it holds is written
            back.
    """

    question: str
    raw_answer: str
    rubric: Rubric | None = None
    template: Template | None = None
    template_failure: Failure | None = None
    id: str = ""
    keywords: tuple[str, ...] = ()
    date_created: str = ""
    date_modified: str = ""
    node: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def template_code(self) -> str | None:
        """The Python code that a file has as this question's template, for people; never run."""
        part = self.node.get("item", {}).get("hasPart")
        if isinstance(part, dict) and part.get("@type") == "SoftwareSourceCode":
            return str(part.get("text", ""))
        return None
