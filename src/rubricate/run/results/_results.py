"""The results of a run: one for each item, and the facts of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rubricate._spelling import NamesAdvised, unknown_word
from rubricate.dataset import DataItem, Item
from rubricate.judge import Stage
from rubricate.rubric import (
    UNANSWERED,
    DeclaredScoring,
    Rubric,
    Score,
    ScoringRules,
    Status,
    Usage,
    Verdict,
    grouped_tags,
    restricted,
    score,
    score_with_groups,
)
from rubricate.views import figure

if TYPE_CHECKING:
    from rubricate.rubric import Aggregation
    from rubricate.views import Section

LONGEST_ID = 60
"""Characters of an item's id in its `repr`."""
SHORT = 200
"""Longest text in metadata that is kept with the results, in characters."""
STRICT = {
    "strict": True,
    "allow_inf_nan": False,
    "use_attribute_docstrings": True,
    "defer_build": True,
}
"""How pydantic reads a line: strictly, so that no text counts as a number. The validator is built
on first use, which takes about 10 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTexts:
    """A line of `items.jsonl`: the texts of an item."""

    __pydantic_config__ = STRICT

    item: str
    """The item's identifier."""
    description: str = ""
    """A short description of the item."""
    prompt: str | None = None
    submission: str | None = None
    reference: str | None = None
    """Its texts as they were judged."""
    context: tuple[str | Mapping[str, str | None], ...] = ()
    """Its documents: texts, or objects with `title` and `text`."""

    @classmethod
    def of(cls, item: Item) -> ItemTexts:
        """The texts of an item of a dataset."""
        return cls(
            item=item.id,
            description=item.data.description,
            prompt=item.prompt,
            submission=item.submission,
            reference=item.reference,
            context=tuple(document.to_json() for document in item.context),
        )


@dataclass(frozen=True, kw_only=True)
class ItemFacts(NamesAdvised):
    """What results keep of an item, besides its verdicts."""

    __slots__ = ()  # subclasses have the fields, so that millions of objects need no `__dict__`

    description: str = ""
    """A short description of the item."""
    tags: tuple[str, ...] = ()
    """The tags of the item, without very long ones."""
    tag_scores: Mapping[str, Score] = field(default_factory=dict)
    """If scores are broken down by tags of criteria, the score for each tag, without a length
    penalty."""
    judge_scores: Mapping[str, Score] = field(default_factory=dict)
    """With several judges, the item's score by each of them alone."""
    warnings: Mapping[str, str] = field(default_factory=dict)
    """Reasons to doubt the score, by kind: `empty_submission`, `faults_only` (see `Score`),
    `same_family` (a judge belongs to the model family that wrote the text) and `invented_quotes` (a
    quote of a judge is not in the text)."""
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """The numbers, booleans and short texts in the item's metadata."""


class Verdicts(dict[str, Verdict]):
    """Verdicts by criterion name; the error about an unknown name suggests the nearest."""

    __slots__ = ()

    def __missing__(self, name: str) -> Verdict:
        raise KeyError(unknown_word("criterion", name, self))


@dataclass(frozen=True, slots=True, repr=False)
class ItemResult(ItemFacts):
    """One graded item.

    Attributes:
        id: the item's identifier.
        rubric: its rubric.
        criteria: the judge's verdicts by criterion name.
        score: the score of these verdicts.
        labels: the human verdicts by criterion name, if any.
        human_score: the score of the human verdicts, if every criterion has one or is computed.
        index: its position in the dataset, from 0.
        annotations: the labels of several annotators, by annotator and criterion name.
        keys: the journal's keys by criterion name, one for each judgement; with several judges in
            the order of the votes.
        groups: in a tree, the score of each group by name, without length penalty. A group comes
            before those that it contains.
        human_groups: the same for the human verdicts, if every criterion has one.
        scoring: the declared scoring; None if there is none.
        item: the item of the dataset; None if there are only verdicts.
        prompt: the prompt of the item; None if it is unknown.
    """

    id: str
    rubric: Rubric
    criteria: dict[str, Verdict]
    score: Score
    labels: dict[str, Verdict]
    human_score: Score | None
    index: int = 0
    annotations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    groups: Mapping[str, Score] = field(default_factory=dict)
    human_groups: Mapping[str, Score] = field(default_factory=dict)
    scoring: DeclaredScoring | None = None
    item: Item | None = None
    prompt: str | None = None

    @property
    def texts(self) -> ItemTexts:
        """Its texts: prompt, submission, reference and documents."""
        if self.item is None:
            return ItemTexts(item=self.id, description=self.description)
        return ItemTexts.of(self.item)

    def __repr__(self) -> str:
        value = self.score.value
        score = "no score" if value is None else f"score {figure(value)}"
        counts = Counter(verdict.status for verdict in self.criteria.values())
        shown = [
            f"{counts[status]} {status.replace('_', ' ')}"
            for status in get_args(Status)
            if counts[status]
        ]
        id = self.id if len(self.id) <= LONGEST_ID else f"{self.id[:LONGEST_ID]}..."
        return f"<ItemResult {id!r}: {', '.join([score, *shown])}>"

    @classmethod
    def scored(
        cls,
        item: Item,
        criteria: Mapping[str, Verdict],
        rules: ScoringRules,
        *,
        index: int = 0,
        author: str | None = None,
        keys: Mapping[str, Mapping[int, str]] | None = None,
    ) -> ItemResult:
        """Build an item's result from its verdicts.

        Args:
            item: the item of the dataset.
            criteria: the verdicts by criterion.
            rules: the scoring rules.
            index: its position in the dataset, from 0.
            author: the model that wrote the submission.
            keys: the journal's keys by criterion name and voter.

        Raises:
            InputError: the item's labels do not fit its rubric.
        """
        rubric, names, data = item.rubric, item.rubric.names, item.data
        labels = item.labels()
        human_labels = (
            labels if rubric.gates is None else rubric.gates.applied(labels, rules.declared)
        )

        def scored(verdicts: Mapping[str, Verdict]) -> tuple[Score, dict[str, Score]]:
            ordered = [verdicts[name] for name in names]
            total, groups = score_with_groups(rubric.tree, ordered, rules)
            if rules.penalty:
                total = total.less(rules.penalty.of(data.parts))
            return total, groups

        declared = rules.declared
        own, groups = scored(criteria)
        human: Score | None = None
        human_groups: dict[str, Score] = {}
        if labels:  # computed criteria count as labelled
            computed = {
                name: criteria[name]
                for name, criterion in rubric.by_name.items()
                if not criterion.needs_judge and criteria[name].status not in UNANSWERED
            }
            people = {**computed, **human_labels}
            if all(name in people for name in names):
                human, human_groups = scored(people)
        return cls(
            item.id,
            rubric,
            Verdicts({name: criteria[name] for name in names}),
            own,
            labels,
            human,
            index,
            _annotations(data) if data.annotations else {},
            {name: [at[voter] for voter in sorted(at)] for name, at in (keys or {}).items()},
            groups,
            human_groups,
            declared,
            item,
            item.prompt,
            description=data.description,
            tags=short_tags(data),
            tag_scores={} if declared is None else scores_by_tag(rubric, criteria, rules),
            judge_scores={
                judge: scored(alone)[0] for judge, alone in _verdicts_by_judge(criteria).items()
            },
            warnings=_warnings(own, criteria, author, item),
            metadata=short_metadata(data) if data.metadata else {},
        )

    @classmethod
    def of_verdicts(
        cls,
        id: str,
        rubric: Rubric,
        verdicts: Mapping[str, Verdict],
        rules: ScoringRules,
        *,
        index: int = 0,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
    ) -> ItemResult:
        """Build a result from verdicts alone, for example from a file of results.

        Args:
            id: the item's identifier.
            rubric: its rubric.
            verdicts: the verdicts by criterion.
            rules: the scoring rules.
            index: its position, from 0.
            metadata: its metadata.
            tags: its tags.

        Raises:
            InputError: the numbers of verdicts and criteria differ.
        """
        own, groups = score_with_groups(
            rubric.tree, [verdicts[name] for name in rubric.names], rules
        )
        return cls(
            id,
            rubric,
            dict(verdicts),
            own,
            {},
            None,
            index,
            metadata=metadata or {},
            groups=groups,
            tags=tuple(tags),
            tag_scores=scores_by_tag(rubric, verdicts, rules),
            scoring=rules.declared,
        )

    def _repr_html_(self) -> str:
        from rubricate.views import as_html

        return as_html(_item_sections(self))


def scores_by_tag(
    rubric: Rubric, verdicts: Mapping[str, Verdict], rules: ScoringRules
) -> dict[str, Score]:
    """The score for each tag by which scores are broken down."""
    fields = () if rules.declared is None else rules.declared.by
    scores = {}
    for tag, places in grouped_tags(fields, [criterion.tags for criterion in rubric]).items():
        names = [rubric[place].name for place in places]
        scores[tag] = score(
            restricted(rubric.tree, {*names}), [verdicts[name] for name in names], rules
        )
    return scores


def _item_sections(item: ItemResult) -> Iterator[Section]:
    """An item's score, and a row for each criterion."""
    from rubricate.views import Column, Row, Table, say

    score = item.score
    shown = "no score" if score.value is None else f"score {figure(score.value)}"
    if score.value is not None and score.lowest != score.highest:
        shown += f" (between {figure(score.lowest)} and {figure(score.highest)})"
    yield say(f"{item.id}: {shown}")
    headings = ("criterion", "weight", "verdict", "reason")
    rows = []
    for name, criterion in item.rubric.by_name.items():
        verdict = item.criteria[name]
        answer = verdict.label or verdict.status
        if verdict.error is not None:
            answer = f"failed: {verdict.error}"
        rows.append(Row((name, f"{criterion.weight:g}", answer, verdict.reason or "")))
    yield Table([Column(heading, is_text=True) for heading in headings], rows)


def _annotations(item: DataItem) -> dict[str, dict[str, str]]:
    return {
        annotator: {name: str(label) for name, label in labels.items() if label is not None}
        for annotator, labels in item.annotations.items()
    }


def short_metadata(data: DataItem) -> dict[str, str | int | float | bool]:
    """The part of an item's metadata that results keep and scores can be grouped by."""
    return {
        name: value
        for name, value in data.metadata.items()
        if isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= SHORT)
    }


def short_tags(data: DataItem) -> tuple[str, ...]:
    """The tags that results keep."""
    tags = data.tags
    return tuple([tag for tag in tags if len(tag) <= SHORT]) if tags else ()


def _verdicts_by_judge(criteria: Mapping[str, Verdict]) -> dict[str, dict[str, Verdict]]:
    """The verdicts of each voting judge by criterion. Those without votes are the same for all."""
    judges = dict.fromkeys(
        vote.judge for verdict in criteria.values() for vote in verdict.votes if vote.judge
    )
    return {
        judge: {
            name: next((vote for vote in verdict.votes if vote.judge == judge), verdict)
            for name, verdict in criteria.items()
        }
        for judge in judges
        if all(
            verdict.stage is None or any(vote.judge == judge for vote in verdict.votes)
            for verdict in criteria.values()
        )
    }


def _of_its_family(author: str, criteria: Mapping[str, Verdict]) -> list[str]:
    """The judges that belong to the model family of the author."""
    from rubricate.judge import model_family

    family = model_family(author)
    judges = dict.fromkeys(
        vote.judge for verdict in criteria.values() for vote in verdict.votes or (verdict,)
    )
    if family is None:
        return []
    return [judge for judge in judges if judge and model_family(judge) == family]


def _warnings(
    score: Score, criteria: Mapping[str, Verdict], author: str | None, item: Item
) -> dict[str, str]:
    warnings: dict[str, str] = {}
    if not item.submission and item.unseen is None:
        warnings["empty_submission"] = "the submission is empty"
    if score.faults_only:
        warnings["faults_only"] = (
            "no criterion that gives points was judged: the score reflects penalties only"
        )
    if author and (kin := _of_its_family(author, criteria)):
        warnings["same_family"] = (
            f"{', '.join(kin)} belongs to the same model family as {author}, which wrote the text: "
            "judges tend to favour their own family"
        )
    invented = {
        (vote.judge, evidence.quote)
        for verdict in criteria.values()
        for vote in verdict.votes or (verdict,)
        for evidence in vote.evidence
        if evidence.invented
    }
    if invented:
        warnings["invented_quotes"] = (
            f"quotes that are not in the submission: {len(invented)}; look at the reasons that "
            "rest on them"
        )
    return warnings


@dataclass(frozen=True, kw_only=True, repr=False)
class RunFacts:
    """The facts of a run, without its items.

    Attributes:
        judge: the judge's name.
        note: a line by the judge about itself, if any.
        dataset: the dataset's name, if it has one.
        usage: the usage of this call. Stored answers cost nothing.
        run_usage: the usage of the whole run: this call, earlier ones and other processes.
        calls: judgements made in this run.
        resumed: judgements read from the journal instead.
        cached: judgements read from the cache instead.
        saved: the original usage of the judgements from journal and cache.
        damaged: damaged records in journal and cache, which count as missing.
        seconds: how long the run took.
        rules: the scoring rules.
        judges: the names of the judges, if several vote.
        aggregation: how votes were combined; None for one judge.
        weights: the weight of each judge's votes, by name; None if all counted equally.
        stages: the stages of a cascade.
        calibration: the name and hash of the calibration map, if one was applied.
        run_dir: the run folder, if there is one.
        fingerprint: a hash of the judge with prompt and sampling, if it has one.
        prompt_version: the prompt for language models.
        mode: how they were asked, in words: explained or by probability, one criterion a request or
            several; None if no language model was asked.
        stopped: why the run ended early, if it did.
        interrupted: whether someone stopped it, rather than an error.
    """

    judge: str
    note: str | None = None
    dataset: str | None = None
    usage: Usage = field(default_factory=Usage)
    run_usage: Usage = field(default_factory=Usage)
    calls: int = 0
    resumed: int = 0
    cached: int = 0
    saved: Usage = field(default_factory=Usage)
    damaged: int = 0
    seconds: float = 0.0
    rules: ScoringRules
    judges: tuple[str, ...] = ()
    aggregation: Aggregation | None = None
    weights: Mapping[str, float] | None = None
    stages: tuple[Stage, ...] = ()
    calibration: str | None = None
    run_dir: Path | None = None
    fingerprint: str | None = None
    prompt_version: str | None = None
    mode: str | None = None
    stopped: str | None = None
    interrupted: bool = False
