"""The overview of a run on the report page: the figures of the terminal, and plots."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from rubricate.analysis import (
    FinishedRun,
    agreement_plots,
    agreement_report,
    calibration_plot,
    mean_score,
    read_summary,
    scores_plot,
    waiting_plot,
)
from rubricate.report._items import tone
from rubricate.rubric import ABSTENTION, Criterion
from rubricate.run.results import CriterionFigures
from rubricate.stats import Bootstrap, Estimate
from rubricate.views import (
    STATUSES,
    Facts,
    Paragraph,
    Table,
    answers_bar,
    as_html,
    items_address,
    number_help,
    score_range,
    value_bar,
)

MOST_LINES = 200
"""The maximum number of criteria in the table; items with rubrics of their own have many more."""
NOTHING = Estimate(None)


def overview_of(run: FinishedRun, bootstrap: Bootstrap) -> dict[str, Any]:
    """All figures and plots, for the template of the page.

    Args:
        run: the run.
        bootstrap: the settings of bootstrap intervals.
    """
    summary, known = read_summary(run), run.criteria
    scores = run.item_scores
    labelled = any(row.human_label is not None for row in run.rows)
    report = None
    if labelled:
        report = agreement_report(run, bootstrap=bootstrap, bootstrapped=MOST_LINES)
    groups = run.grouping(None)
    group_of = None if groups is None else run.groups_by(groups)
    score = mean_score(scores, summary, groups=group_of, reach=run.reach)
    human = summary.score.human_mean if summary.score.labelled == summary.score.scored else None
    accuracy, kappa, n = (NOTHING, NOTHING, 0) if report is None else report.whole
    sections = [*summary.sections()][1:]  # the head of the page shows the first one
    in_card = {*summary.nothing(), *summary.problems()}
    # agreement has its own table with intervals
    criteria_table = summary.model_copy(update={"agreement": None}).criteria_table(labels=True)
    named = [figures for figures in summary.criteria if not figures.only_number][:MOST_LINES]
    by_name = run.by_criterion()
    values = {
        figures.name: mean_score(
            {row.item: row.value for row in by_name.get(figures.name, ())}, groups=group_of
        )
        for figures in named
    }
    every = () if report is None else report.sections(every=len(report.criteria) <= MOST_LINES)
    tables = [section for section in (*sections, *every) if isinstance(section, Table)]
    return {
        "summary": summary,
        "score": score,
        "range": score_range(score, summary.score.lowest, summary.score.highest, human),
        "accuracy": accuracy,
        "kappa": kappa,
        "agreement_n": n,
        "confidence": bootstrap.confidence,
        "few": None if report is None else report.few,
        "criteria_table": criteria_table,
        "help": number_help(
            [
                *("score", "interval", "coverage"),
                *(("accuracy", "kappa") if report is not None else ()),
                *(column.heading for column in criteria_table.columns),
            ]
        ),
        "criteria": [
            {
                "figures": figures,
                "requirement": known[figures.name].requirement,
                "cells": row.cells,
                "drawings": {
                    "answers": answers_bar(_answers(figures, known[figures.name])),
                    "value": value_bar(values[figures.name], (figures.weight or 0.0) < 0),
                },
                "value": values[figures.name],
            }
            for figures, row in zip(named, criteria_table.rows[:MOST_LINES], strict=True)
        ],
        "more_criteria": len(summary.criteria) - len(named),
        "distribution": scores_plot(
            [*scores.values()], [*run.human_scores.values()] if labelled else []
        ),
        "agreement": [] if report is None else agreement_plots(run, report),
        "calibration": None if report is None else calibration_plot(report),
        "waiting": waiting_plot([row.usage.seconds for row in run.rows]),
        "notices": [  # failures have a card of their own
            part
            for part in sections
            if isinstance(part, Paragraph) and part.text and part not in in_card
        ],
        "tables": [
            (table.title or f"By {table.columns[0].heading}", as_html([replace(table, title=None)]))
            for table in tables
        ],
        "facts": [fact for part in sections if isinstance(part, Facts) for fact in part.flowing],
    }


def _answers(figures: CriterionFigures, criterion: Criterion) -> list[tuple[str, int, str, str]]:
    """The parts of a criterion's bar, with the addresses of their items."""
    parts = []
    address = partial(items_address, criterion=figures.name)
    for label, count in figures.labels.items():
        if label != ABSTENTION:
            try:
                value = criterion.value(label)
            except ValueError:  # a label of a criterion with this name on another item
                value = None
            colour = tone(figures.weight or 1.0, value)
            parts.append((label, count, colour, address(verdict=label)))
    if not parts and figures.judged:
        parts.append(("judged", figures.judged, "half", address(value="~")))
    for status, colour in {"abstained": "none", "failed": "failed", "not_run": "failed"}.items():
        count, words = getattr(figures, status), STATUSES[status].text
        parts.append((words, count, colour, address(only=status)))
    return [part for part in parts if part[1]]
