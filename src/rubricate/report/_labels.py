"""Labels that people give on the page of a run, which shows them the judge's verdict.

They go into a dataset's file like those of `rubricate label`, each as a decision on the label that
holds (`dataset.Adjudication`), not as one of an annotator's blind labels. Without a file of the
user's, the run folder gets one: `labelled.json`, a dataset of the run's items.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from rubricate._files import check_no_links, user_path, write_text
from rubricate.analysis import AgreementReport, FinishedRun, read_summary
from rubricate.dataset import Adjudication, LabelFile, LabelSelection, RubricDataset
from rubricate.errors import InputError
from rubricate.labelling import checked_label, checked_name
from rubricate.rubric import Rubric, Verdict, score_with_groups
from rubricate.run.results import AgreementFigures, ResultRow, Summary, differs_from_label

FILE_NAME = "labelled.json"
LONGEST_REASON = 10_000
"""Characters."""


@dataclass(frozen=True)
class LabelledRun(FinishedRun):
    """A run with the labels that its items have now, in place of those that it was graded with.

    Attributes:
        before: the run as it was graded.
        labels: human verdicts by item and criterion.
    """

    before: FinishedRun | None = None
    labels: Mapping[str, Mapping[str, Verdict]] = field(default_factory=dict)

    @cached_property
    def rows(self) -> tuple[ResultRow, ...]:
        """All verdicts, with the labels of now."""
        assert self.before is not None
        items = groupby(self.before.rows, attrgetter("item"))
        return tuple(row for item, rows in items for row in self._relabelled(item, [*rows]))

    def _relabelled(self, item: str, rows: Sequence[ResultRow]) -> Iterable[ResultRow]:
        labels = self.labels.get(item)
        if labels is None:
            return rows
        rubric, score = self.rubric_of(item), None
        if len(labels) == len(rubric):
            in_order = [labels[name] for name in rubric.names]
            score = score_with_groups(rubric.tree, in_order, self.rules)[0].value
        return [
            replace(_labelled(row, labels.get(row.criterion)), human_score=score) for row in rows
        ]

    def summary_with(self, report: AgreementReport | None) -> Summary:
        """The run's summary with the agreement of now."""
        summary = read_summary(self)
        if report is None:
            return summary
        accuracy, kappa, n = report.whole
        of_criteria = {line.name: line for line in report.criteria}
        human = self.human_scores
        both = [
            (score, human[item])
            for item, score in self.item_scores.items()
            if score is not None and human[item] is not None
        ]
        return summary.model_copy(
            update={
                "agreement": AgreementFigures(n=n, accuracy=accuracy.value, kappa=kappa.value),
                "criteria": [
                    figures.model_copy(
                        update={
                            "agreement": AgreementFigures(
                                n=line.agreement.n,
                                accuracy=line.accuracy.value,
                                kappa=line.kappa.value,
                            )
                        }
                    )
                    if (line := of_criteria.get(figures.name))
                    else figures
                    for figures in summary.criteria
                ],
                "score": summary.score.model_copy(
                    update={
                        "labelled": len(both),
                        "judge_mean": _mean([judge for judge, _ in both]),
                        "human_mean": _mean([people for _, people in both]),
                    }
                ),
            }
        )


def _labelled(row: ResultRow, label: Verdict | None) -> ResultRow:
    """A row with a label in place of the one that it has."""
    if label is None:
        return replace(row, human_label=None, human_value=None, human_reason=None)
    return replace(
        row,
        human_label=label.label,
        human_value=label.value,
        human_reason=label.reason,
        human_selection={"how": "by_hand"} if row.human_label is None else row.human_selection,
    )


def _mean(values: list[Any]) -> float | None:
    return sum(values) / len(values) if values else None


class RunLabels:
    """The labels of a run's items, in a dataset's file.

    Args:
        run: the run.
        file: the dataset; the run's items are found in it by their ids. Default: `labelled.json`
            in the run folder, which is made with the first label.

    Attributes:
        path: the file.

    Raises:
        InputError: the file cannot be read, or has none of the run's items.
    """

    def __init__(self, run: FinishedRun, file: str | Path | None = None) -> None:
        self._run = run
        self.path = run.path / FILE_NAME if file is None else user_path(file)
        check_no_links(run.path)
        self._file = None
        if file is not None or self.path.exists():
            self._file = LabelFile(self.path)
            known = {item.id for item in self._file.items}
            if known.isdisjoint(run.item_scores):
                raise InputError(f"has none of the items of {run.path}", file=self.path)

    @property
    def run(self) -> FinishedRun:
        """The run with the labels of now; the run itself as long as nobody gave one here."""
        if self._file is None:
            return self._run
        self._file.refresh()
        labels = {item.id: item.labels() for item in self._file.items}
        known = {name: getattr(self._run, name) for name in FinishedRun.__dataclass_fields__}
        return LabelledRun(**known, before=self._run, labels=labels)

    def shown(self) -> dict[str, dict[str, dict[str, Any]]]:
        """What a page shows, by item and criterion, where it is not as the run has it."""
        changed: dict[str, dict[str, dict[str, Any]]] = {}
        if self._file is not None:
            for before, row in zip(self._run.rows, self.run.rows, strict=True):
                shown = self._shown(row)
                if (row.human_label, shown["reason"]) != (before.human_label, before.human_reason):
                    changed.setdefault(row.item, {})[row.criterion] = shown
        return changed

    def _shown(self, row: ResultRow) -> dict[str, Any]:
        assert self._file is not None
        decided = self._file.item(row.item).data.adjudications.get(row.criterion, {})
        criterion = self._run.rubric_of(row.item).by_name[row.criterion]
        return {
            "label": row.human_label,
            "reason": decided.get("reason", row.human_reason),
            "differs": differs_from_label(criterion, row),
        }

    def decide(self, annotator: str, item: str, criterion: str, label: object, reason: str) -> Any:
        """Write a label down; it is on disk when this returns. None takes it back.

        Returns:
            What the page shows of it.

        Raises:
            InputError: there is no such item or criterion, the label is none of the criterion's,
                or the file cannot be written.
        """
        if item not in self._run.item_scores:
            raise InputError(f"there is no item '{item}'", file=self._run.path)
        annotator = checked_name(annotator)
        if self._file is None:
            text = json.dumps(self._dataset().to_dict(), indent=1, ensure_ascii=False) + "\n"
            write_text(self.path, text, durable=True)
            self._file = LabelFile(self.path)
        chosen = checked_label(self._file.item(item), criterion, label)
        reason = reason.strip()[:LONGEST_REASON]
        self._file.apply([Adjudication(item, annotator, criterion, chosen, reason)])
        (row,) = [row for row in self._run.rows if (row.item, row.criterion) == (item, criterion)]
        return self._shown(_labelled(row, self._file.item(item).labels().get(criterion)))

    def _dataset(self) -> RubricDataset:
        """The run's items with the labels that the run has."""
        rubrics, items = self._run.rubrics, []
        for finished in self._run.items():
            if finished.submission is None:
                raise InputError(
                    "has no texts to make a dataset of: name one with --labels", file=self._run.path
                )
            item = finished.data()
            item.id = finished.item
            if not isinstance(rubrics, Rubric):
                item.rubric = rubrics[finished.item]
            labels: list[Any] = [row.human_label for row in finished.rows]
            if any(label is not None for label in labels):
                item.ground_truth = labels
                item.ground_truth_reasons = [row.human_reason for row in finished.rows]
            item.selection = {
                row.criterion: LabelSelection(
                    row.human_selection["how"], row.human_selection.get("probability")
                )
                for row in finished.rows
                if row.human_selection is not None
            }
            items.append(item)
        name = self._run.summary.get("dataset")
        return RubricDataset(None, rubrics if isinstance(rubrics, Rubric) else None, items, name)
