"""The sources of variance of verdicts in finished runs, by criterion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rubricate.analysis._finished import FinishedRun, RunLike, finished_run
from rubricate.errors import InputError
from rubricate.stats import Bootstrap, Estimate, VarianceComponents, variance_components
from rubricate.views import Column, Report, Row, Section, Table, numbers, percent, say

STABLE = 0.5
"""A criterion is unstable if items account for less than this share of the variance."""
Answered = Sequence[float | None]
Values = Mapping[tuple[str, str], float | None]
_REPLICATE = re.compile(r"^(.*) #(\d+)$")


@dataclass(frozen=True, slots=True)
class CriterionVariance:
    """The variance of one criterion.

    Attributes:
        name: the name of the criterion.
        variance: the components of the variance of its values.
        differ: the share of items whose answers have different values; None without items.
        unstable: whether items account for less than half of the variance, by the whole interval;
            None if only the figure says so, because more items may say otherwise.
    """

    name: str
    variance: VarianceComponents
    differ: float | None
    unstable: bool | None


@dataclass(frozen=True, slots=True)
class VarianceReport(Report):
    """The shares of items, judges, prompts and sampling in the variance; see `variance_report`.

    Attributes:
        judges: the judges' names.
        prompts: the folders of runs with different prompts; empty for one run.
        replicates: the number of answers of each judge to each question.
        criteria: the criteria with answers, in the rubric's order.
        groups: the metadata field that says which items belong together, if any.
    """

    judges: tuple[str, ...]
    prompts: tuple[str, ...]
    replicates: int
    criteria: tuple[CriterionVariance, ...]
    groups: str | None

    @property
    def unstable(self) -> tuple[str, ...]:
        """The names of the criteria that are shown to be unstable."""
        return tuple(criterion.name for criterion in self.criteria if criterion.unstable)

    def to_dict(self) -> dict[str, Any]:
        return {**Report.to_dict(self), "unstable": list(self.unstable)}

    title = "Where the spread of verdicts comes from"

    def sections(self) -> Iterator[Section]:
        """The shares by criterion, and the unstable criteria."""
        prompts = f", prompts {len(self.prompts)}" if self.prompts else ""
        sources = [
            *dict.fromkeys(
                name for criterion in self.criteria for name in criterion.variance.shares
            )
        ]
        yield Table(
            [Column("criterion", is_text=True), *numbers("n", *sources, "items that differ")],
            [
                Row(
                    [
                        criterion.name,
                        str(criterion.variance.n),
                        *(
                            criterion.variance.shares.get(source, Estimate(None))
                            for source in sources
                        ),
                        percent(criterion.differ),
                    ],
                    "warning" if criterion.unstable else "",
                )
                for criterion in self.criteria
            ],
            f"Shares of the spread: judges {len(self.judges)}{prompts}, answers to each "
            f"question {self.replicates}",
        )
        lead = "Unstable (less than half of the spread is the items'): "
        unclear = [criterion.name for criterion in self.criteria if criterion.unstable is None]
        more = f" Perhaps, take more items to tell: {', '.join(unclear)}." if unclear else ""
        yield say(f"{lead}{', '.join(self.unstable) or 'none'}.{more}")
        left_out = {
            criterion.name: criterion.variance.left_out
            for criterion in self.criteria
            if criterion.variance.left_out
        }
        if left_out:
            causes = ", ".join(f"{name} {count}" for name, count in left_out.items())
            yield say(f"Items left out for an answer that is missing: {causes}.")
        yield say(
            "Analysis of variance, random effects; --json has the intervals (95 %, generalized, by "
            f"{self.groups or 'item'}).",
            "quiet",
        )


def variance_report(
    runs: Sequence[RunLike], *, groups: str | None = None, bootstrap: Bootstrap | None = None
) -> VarianceReport:
    """Compute variance components (analysis of variance) of the values of answers, by criterion.

    Within a run, the members of a panel are the judges, and replicates show the sampling. Several
    runs of the same items count as different prompts if their judges are the same, and as different
    judges if all judges differ. Items with a missing answer (failed, abstained, not applicable) are
    left out and counted.

    Args:
        runs: runs, from `read_run`.
        groups: a field of the items' metadata; items with the same value are resampled together.
        bootstrap: the settings of the intervals. Default: 2,000 draws, 95 %.

    Raises:
        InputError: there is only one answer per verdict, or the runs do not fit together.
    """
    finished = [finished_run(run) for run in runs]
    answers = [_answers(run) for run in finished]
    judges, are_prompts = _crossed(answers)
    prompts = tuple(str(run.path) for run in finished) if are_prompts and len(finished) > 1 else ()
    replicates = min(len(of_judge) for of_run in answers for of_judge in of_run.values())
    if len(judges) * max(1, len(prompts)) * replicates < 2:
        raise InputError(
            "there is one answer for each verdict: grade with --replicates or several judges, or "
            "give several runs",
            file=finished[0].path,
        )
    first = finished[0]
    groups = first.grouping(groups)
    group_of = first.groups_by(groups)
    columns = [  # by judge, prompt and replicate
        [of_run[judge][:replicates] for of_run in answers if judge in of_run] for judge in judges
    ]
    criteria: list[CriterionVariance] = []
    for name, criterion in first.criteria.items():
        items = [row.item for row in first.rows if row.criterion == name]
        if not criterion.needs_judge or not items:
            continue
        table = [
            [
                [[values.get((name, item)) for values in of_prompt] for of_prompt in of_judge]
                for of_judge in columns
            ]
            for item in items
        ]
        components = variance_components(
            table,
            ("judge", "prompt"),
            groups=None if groups is None else [group_of[item] for item in items],
            bootstrap=bootstrap or Bootstrap(),
        )
        criteria.append(_criterion(name, table, components))
    return VarianceReport(judges, prompts, replicates, tuple(criteria), groups)


def _criterion(
    name: str, table: Sequence[Sequence[Sequence[Answered]]], components: VarianceComponents
) -> CriterionVariance:
    flat = [[*chain(*chain(*of_item))] for of_item in table]
    whole = [values for values in flat if None not in values]
    differ = sum(len(set(values)) > 1 for values in whole) / len(whole) if whole else None
    share = components.shares["item"]
    unstable: bool | None = False
    if share.value is not None and share.value < STABLE:
        unstable = True if share.high is not None and share.high < STABLE else None
    return CriterionVariance(name, components, differ, unstable)


def _answers(run: FinishedRun) -> dict[str, list[Values]]:
    """The values of a run by judge, with one table of criteria and items per replicate."""
    values: dict[str, dict[int, dict[tuple[str, str], float | None]]] = {}
    judged = {name for name, criterion in run.criteria.items() if criterion.needs_judge}
    for row in run.rows:
        if row.stage is not None:
            raise InputError("a cascade's judges do not answer for all items", file=run.path)
        votes = [(vote.judge or "", vote.value) for vote in row.votes] or [(run.judge, row.value)]
        for name, value in votes if row.criterion in judged else ():
            match = _REPLICATE.match(name)
            judge, replicate = (match.group(1), int(match.group(2))) if match else (name, 1)
            of_judge = values.setdefault(judge, {}).setdefault(replicate, {})
            of_judge[row.criterion, row.item] = value
    if not values:
        raise InputError("no criterion of this run needs a judge", file=run.path)
    return {
        judge: [of_judge[number] for number in sorted(of_judge)]
        for judge, of_judge in values.items()
    }


def _crossed(answers: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], bool]:
    """The judges, and whether the runs are prompts."""
    every = tuple(dict.fromkeys(judge for of_run in answers for judge in of_run))
    if all(of_run.keys() == answers[0].keys() for of_run in answers):
        return every, True
    if sum(map(len, answers)) == len(every):
        return every, False
    raise InputError(
        "the runs have some judges in common and some not: give runs of the same judges (other "
        "prompts), or of different ones"
    )
