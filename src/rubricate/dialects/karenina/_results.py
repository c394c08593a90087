"""The results of a verification: one for each question, answering model and parsing model."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SkipValidation, TypeAdapter

from rubricate._files import user_path
from rubricate.dialects.karenina._template import CORRECTNESS
from rubricate.dialects.karenina._traits import Question, METRICS, TraitKind, outcome_of
from rubricate.errors import extra_needed
from rubricate.rubric import Evidence, Failure, Score, Usage, Verdict

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class VerificationResult:
    """One parsing model's judgement of one answering model's answer to one question.

    Failed traits are in `failures` with their causes, and not in the three dicts of outcomes.
    Traits that the judge abstained from are in `abstained`.

    Attributes:
        question: the question; its text is `question.question`.
        answering_model: the id of the model that answered.
        parsing_model: the id of the model that judged.
        answered: a verdict that contains the answer and its usage.
        correctness: the verdict by the question's template; None if it has none.
        verdicts: the traits' verdicts by name.
        kinds: the kind of each trait's outcome, by name.
        score: the weighted score of the traits, without correctness.
        classes: the classes of traits with classes, by name and in order.
        replicate: the number of the answer among the model's answers to the question, from 1.
    """

    question: SkipValidation[Question]
    answering_model: str
    parsing_model: str
    answered: Verdict
    correctness: Verdict | None
    verdicts: dict[str, Verdict]
    kinds: dict[str, TraitKind]
    score: Score
    classes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    replicate: int = 1

    def __repr__(self) -> str:
        question, pair = self.question.question, (self.answering_model, self.parsing_model)
        return f"<VerificationResult: {question[:60]!r} answered by {pair[0]}, judged by {pair[1]}>"

    @property
    def answer(self) -> str | None:
        """The text of the answer; None if there is none."""
        return None if self.answered.answer is None else str(self.answered.answer)

    @property
    def correct(self) -> bool | None:
        """Whether the answer is correct by the template; None if unknown."""
        verdict = self.correctness
        if verdict is None or verdict.status != "judged":
            return None
        return verdict.label == "correct"

    @property
    def extracted(self) -> dict[str, Any]:
        """For each field of the template: the `extracted` and the `expected` value, and whether it
        is `right`."""
        detail = self.correctness.detail if self.correctness else None
        return dict(detail["fields"]) if detail else {}

    def _labels(self, *kinds: TraitKind) -> dict[str, str]:
        """Return the labels of judged traits of these kinds, by name."""
        return {
            name: str(verdict.label)
            for name, verdict in self.verdicts.items()
            if self.kinds[name] in kinds and verdict.status == "judged"
        }

    @property
    def rubric_scores(self) -> dict[str, int | bool]:
        """The result of each trait by a model: a score, True or False, or a class index."""
        return {
            **{name: int(label) for name, label in self._labels("score").items()},
            **{name: label == "MET" for name, label in self._labels("binary").items()},
            **{
                name: self.classes[name].index(label)
                for name, label in self._labels("literal").items()
            },
        }

    @property
    def rubric_labels(self) -> dict[str, str]:
        """The class of each trait with classes, whose index is the trait's result."""
        labels = self._labels("literal", "callable")
        return {name: label for name, label in labels.items() if name in self.classes}

    @property
    def manual_rubric_results(self) -> dict[str, bool]:
        """Whether each pattern passes, with `invert` taken into account."""
        return {name: label == "MET" for name, label in self._labels("regex").items()}

    @property
    def callable_rubric_results(self) -> dict[str, bool | int | float]:
        """The result of each callable trait: True or False, a score, or a class index."""
        return {
            name: outcome_of(label, self.classes.get(name, ()))
            for name, label in self._labels("callable").items()
        }

    @property
    def metric_rubric_results(self) -> dict[str, dict[str, float]]:
        """The metrics in [0, 1] of each metric trait; its items' cells are in `verdicts`."""
        return {
            name: dict((self.verdicts[name].detail or {})["metrics"])
            for name in self._labels("metric")
        }

    @property
    def failures(self) -> dict[str, Failure]:
        """Failed traits with their causes; `answer template` means correctness."""
        of_template = {} if self.correctness is None else {CORRECTNESS: self.correctness}
        everything = {**of_template, **self.verdicts}
        return {name: verdict.error for name, verdict in everything.items() if verdict.error}

    @property
    def abstained(self) -> list[str]:
        """The traits that the judge abstained from."""
        return [name for name, verdict in self.verdicts.items() if verdict.status == "abstained"]

    @property
    def reasons(self) -> dict[str, str]:
        """The judge's reasons, by trait."""
        return {name: verdict.reason for name, verdict in self.verdicts.items() if verdict.reason}

    @property
    def evidence(self) -> dict[str, tuple[Evidence, ...]]:
        """The passages that support each verdict, with their positions in the answer, by trait."""
        verdicts = self.verdicts.items()
        return {name: verdict.evidence for name, verdict in verdicts if verdict.evidence}

    @property
    def usage(self) -> Usage:
        """Requests, tokens and cost of the answer and its verdicts, also in earlier runs."""
        return self.answered.usage + self._judging()

    def _judging(self) -> Usage:
        correctness = () if self.correctness is None else (self.correctness,)
        return Usage.total(verdict.usage for verdict in (*correctness, *self.verdicts.values()))

    @property
    def cost(self) -> float | None:
        """The cost of `usage` in US dollars; None if a price is unknown."""
        return self.usage.cost

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per trait, all with the same columns; without traits, a single row."""
        common = {
            "question_id": self.question.id,
            "question": self.question.question,
            "raw_answer": self.question.raw_answer,
            "answering_model": self.answering_model,
            "parsing_model": self.parsing_model,
            "replicate": self.replicate,
            "answer": self.answer,
            "correct": self.correct,
            "score": self.score.value,
        }
        return [{**common, **self._row(name)} for name in self.verdicts or [None]]

    def _row(self, name: str | None) -> dict[str, Any]:
        verdict = None if name is None else self.verdicts[name]
        metrics = self.metric_rubric_results.get(name or "", {})
        outcomes = {
            **self.rubric_scores,
            **self.manual_rubric_results,
            **self.callable_rubric_results,
        }
        error = verdict.error if verdict else None
        return {
            "trait": name,
            "kind": None if name is None else self.kinds[name],
            "status": verdict.status if verdict else None,
            "result": outcomes.get(name or "", verdict.value if verdict and metrics else None),
            "value": verdict.value if verdict else None,
            **{metric: metrics.get(metric) for metric in METRICS},
            "reason": verdict.reason if verdict else None,
            "evidence": [entry.quote for entry in verdict.evidence] if verdict else [],
            "error_kind": error.kind if error else None,
            "error_message": error.message if error else None,
            "cost": verdict.usage.cost if verdict else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the question as JSON values, which `from_dict` reads."""
        data: dict[str, Any] = _adapter().dump_python(
            self, mode="json", exclude={"question"}, exclude_defaults=True
        )
        return data

    @classmethod
    def from_dict(cls, question: Question, data: Mapping[str, Any]) -> VerificationResult:
        """Create a result from the output of `to_dict`.

        Raises:
            pydantic.ValidationError: the data has another form.
        """
        return _adapter().validate_python({**data, "question": question})


@cache
def _adapter() -> TypeAdapter[VerificationResult]:
    return TypeAdapter(VerificationResult)


@dataclass(frozen=True, repr=False)
class VerificationResults:
    """The results of a verification, by question, then by answering and parsing model.

    Attributes:
        results: one for each question, answering model and parsing model.
        stopped: models that could not be used (an invalid key, an endpoint that is down) with the
            reason, by `answering ID` or `parsing ID`.
    """

    results: tuple[VerificationResult, ...]
    stopped: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<VerificationResults: {len(self)} results, {self.failed} verdicts failed>"

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[VerificationResult]:
        return iter(self.results)

    def __getitem__(self, index: int) -> VerificationResult:
        return self.results[index]

    @property
    def failed(self) -> int:
        """The number of failed verdicts, including those of templates."""
        return sum(len(result.failures) for result in self.results)

    @property
    def usage(self) -> Usage:
        """The total usage; an answer that several models judged counts once."""
        answers = {
            (result.question.id, result.answering_model, result.replicate): result.answered.usage
            for result in self.results
        }
        judging = (result._judging() for result in self.results)
        return Usage.total((*answers.values(), *judging))

    @property
    def cost(self) -> float | None:
        """The cost of `usage` in US dollars; None if a price is unknown."""
        return self.usage.cost

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per question, answering model, parsing model and trait."""
        return [row for result in self.results for row in result.rows()]

    def to_csv(self, path: str | Path | None = None, *, raw_cells: bool = False) -> str:
        """Return the rows as CSV with a header, and write them to `path` if it is set.

        Quotes of evidence are in one cell, one per line. Text that a spreadsheet would run as a
        formula gets a leading `'`, unless `raw_cells` is set.
        """
        from rubricate.analysis import spreadsheet_cell

        target = io.StringIO()
        rows = self.rows()
        writer = csv.DictWriter(target, list(rows[0]) if rows else [])
        writer.writeheader()
        for row in rows:
            cells = {**row, "evidence": "\n".join(row["evidence"])}
            if not raw_cells:
                cells = {name: spreadsheet_cell(value) for name, value in cells.items()}
            writer.writerow(cells)
        return _written(target.getvalue(), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the rows as a JSON list of objects, and write them to `path` if it is set."""
        return _written(json.dumps(self.rows(), ensure_ascii=False, indent=2) + "\n", path)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a table (extra `pandas`).

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with extra_needed("to_pandas", "pandas"):
            import pandas
        return pandas.DataFrame(self.rows())


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        user_path(path).write_bytes(text.encode("utf-8", "replace"))
    return text
