"""Selecting verdicts of a finished run by item, criterion, failure and disagreement."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from rubricate._spelling import did_you_mean
from rubricate._terminal import one_line
from rubricate.analysis._finished import FinishedItem, FinishedRun
from rubricate.errors import InputError
from rubricate.rubric import ComputedCriterion, Criterion
from rubricate.run import Exchange
from rubricate.run.results import (
    Conversation,
    Conversations,
    ResultRow,
    differs_from_label,
    vote_of,
)
from rubricate.views import (
    GAP,
    NONE,
    STATUSES,
    Column,
    Paragraph,
    Passage,
    Report,
    Row,
    Section,
    Table,
    Words,
    figure,
    say,
)

EXCERPT, WHOLE = 400, 1500
"""The number of characters of a submission to show: usually, and for items selected by name."""
SHOWN = 20
"""The maximum number of known names in an error about an unknown one."""


@dataclass(frozen=True)
class Selection(Report):
    """The verdicts that match all conditions. Iterate it for the items that have some.

    Args:
        run: the run.
        items: ids of items; empty for all.
        criteria: names of criteria; empty for all.
        failed: only failed verdicts.
        disagreements: only verdicts that differ from the human label or, in a run without labels,
            whose votes differ.
        prompts: include the requests and replies of each verdict in `to_dict`.
        journal: the database with the requests and replies, if the user names it.

    Raises:
        InputError: an item or a criterion is not in the run, or disagreements are selected in a run
            with neither labels nor votes.
    """

    run: FinishedRun
    items: Collection[str] = ()
    criteria: Collection[str] = ()
    failed: bool = False
    disagreements: bool = False
    prompts: bool = False
    journal: str | None = None

    def __post_init__(self) -> None:
        _check("criterion", self.criteria, self.run.criteria)
        if self.items:
            known = dict.fromkeys(rows[0].item for rows in self.run.item_rows())
            _check("item", self.items, known)
        if self.disagreements and not self._has_labels and not self.run.summary.get("judges"):
            raise InputError(
                "there are no disagreements to select: the run has no human labels, and one judge",
                file=self.run.path,
            )

    @property
    def _has_labels(self) -> bool:
        return self.run.summary.get("agreement") is not None

    def __iter__(self) -> Iterator[FinishedItem]:
        for item in self.run.items:
            if self.items and item.item not in self.items:
                continue
            known = self.run.rubric_of(item.item).by_name
            rows = tuple(row for row in item.rows if self._has(known[row.criterion], row))
            if rows:
                yield replace(item, rows=rows)

    def _has(self, criterion: Criterion, row: ResultRow) -> bool:
        if self.criteria and row.criterion not in self.criteria:
            return False
        if self.failed and row.status != "failed":
            return False
        return not self.disagreements or self._disagrees(criterion, row)

    def _disagrees(self, criterion: Criterion, row: ResultRow) -> bool:
        if self._has_labels:
            return differs_from_label(criterion, row)
        answers = {vote_of(criterion, vote) for vote in row.votes}
        return len(answers - {None}) > 1

    def to_dict(self) -> dict[str, Any]:
        """The items as JSON values: their texts, scores, and verdicts as in `results.jsonl`."""
        with ExitStack() as stack:
            sent = None
            if self.prompts:
                sent = stack.enter_context(Conversations(self.run.path, self.journal))
            return {"run": str(self.run.path), "items": [_item_data(item, sent) for item in self]}

    @property
    def title(self) -> str:
        return f"Verdicts of {self.run.path}"

    def sections(self) -> Iterator[Section]:
        """Each item with its text, and each verdict with its reason; one item in memory at a
        time."""
        items = verdicts = 0
        yield from self._criteria_sections()
        for item in self:
            items, verdicts = items + 1, verdicts + len(item.rows)
            yield from _item_sections(item, WHOLE if self.items else EXCERPT)
        counts = f"{_counted(verdicts, 'verdict')} of {_counted(items, 'item')}"
        yield say(counts if items else "No verdicts match.", "quiet")

    def _criteria_sections(self) -> Iterator[Section]:
        """The questions of the selected criteria, and their answers in the whole run."""
        known = self.run.criteria
        figures = {criterion["name"]: criterion for criterion in self.run.summary["criteria"]}
        for name in self.criteria:
            criterion = known[name]
            asks = criterion.requirement
            if isinstance(criterion, ComputedCriterion):
                asks = criterion.described()
            description = f", weight {criterion.weight:g}: {asks}"
            yield Paragraph((Words(name, "strong"), Words(description)))
            counts = [f"{label} {count}" for label, count in figures[name]["labels"].items()]
            counts += [
                f"{words.text} {figures[name][status]}"
                for status, words in STATUSES.items()
                if status != "judged" and figures[name].get(status)
            ]
            agreement = figures[name]["agreement"]
            if agreement and agreement["accuracy"] is not None:
                counts.append(f"accuracy {figure(agreement['accuracy'])} (n {agreement['n']})")
            yield say(f"in the run: {', '.join(counts)}", "quiet")
            yield GAP


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _item_sections(item: FinishedItem, longest: int) -> Iterator[Section]:
    score, human = item.rows[0].item_score.value, item.rows[0].human_score
    head = f"  {item.description}" if item.description else ""
    head += f"  score {figure(score)}"
    head += "" if human is None else f", by human labels {figure(human)}"
    yield Paragraph((Words(item.item, "strong"), Words(head)))
    if item.prompt:
        left_out = max(0, len(item.prompt) - longest)
        yield Passage(item.prompt[:longest], left_out=left_out, tone="quiet")
    if item.submission is not None:
        yield _excerpt(item, item.submission, longest)
    yield _verdicts(item)
    yield GAP


def _excerpt(item: FinishedItem, submission: str, longest: int) -> Passage:
    """The beginning of the submission, with quotes underlined."""
    marks = tuple(
        (evidence.start, min(evidence.end, longest))
        for row in item.rows
        for evidence in row.evidence
        if evidence.start is not None and evidence.end is not None and evidence.start < longest
    )
    return Passage(submission[:longest], marks, max(0, len(submission) - longest))


def _verdicts(item: FinishedItem) -> Table:
    labelled = any(row.human_label is not None for row in item.rows)
    human = [Column("human", is_text=True, most=14)] if labelled else []
    rows = []
    for row in item.rows:
        penalty = " (penalty)" if row.weight < 0 else ""
        label = [row.human_label or NONE] if labelled else []
        rows.append(Row([row.criterion + penalty, _verdict(row), *label, (*_why(row),)]))
    columns = [
        Column("criterion", is_text=True, share=2, least=9),
        Column("verdict", is_text=True, most=15),
        *human,
        Column("why", is_text=True, share=5),
    ]
    return Table(columns, rows, wide=True)


def _verdict(row: ResultRow) -> tuple[Words, ...]:
    facts = [Words(fact, "quiet") for fact in row.facts()]
    status = STATUSES[row.status]
    return (Words(one_line(row.label or status.text), status.tone), *facts)


def _why(row: ResultRow) -> Iterator[Words]:
    if row.error is not None:
        yield Words(one_line(str(row.error)), "error")
    if row.reason:
        yield Words(" ".join(row.reason.split()))
    for evidence in row.evidence:
        note = " (a paraphrase)" if evidence.paraphrase else ""
        note = " (not in the submission)" if evidence.invented else note
        yield Words(f"“{' '.join(evidence.quote.split())}”{note}", "quote")
    for vote in row.votes:
        words = f"{one_line(vote.judge or '')}: {vote.label or vote.status}"
        reason = vote.error.message if vote.error else vote.reason
        if reason and reason != row.reason:
            words += f", {' '.join(reason.split())}"
        yield Words(words, "quiet")


def _item_data(item: FinishedItem, sent: Conversations | None) -> dict[str, Any]:
    first = item.rows[0].to_dict()
    names = ("item", "description", "item_score", "human_score")
    texts = ("item", "description", "prompt", "submission", "reference")
    return {
        **{name: getattr(item, name) for name in texts},
        **{name: first[name] for name in names},
        "verdicts": [
            {name: value for name, value in row.to_dict().items() if name not in names}
            | _conversations_of(row, sent)
            for row in item.rows
        ],
    }


def _conversations_of(row: ResultRow, sent: Conversations | None) -> dict[str, Any]:
    return (
        {}
        if sent is None
        else {"conversations": [conversation.to_dict() for conversation in sent.of(row)]}
    )


def _check(what: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            if not hint and len(known) <= SHOWN:
                hint = f" (it has {', '.join(known)})"
            raise InputError(f"the run has no {what} '{name}'{hint}")


# Requests and replies, verbatim


def conversation_lines(selection: Selection) -> Iterator[str]:
    """Yield the requests and replies behind each selected verdict, in order; texts may contain line
    breaks.

    Raises:
        InputError: the journal cannot be read.
    """
    with Conversations(selection.run.path, selection.journal) as conversations:
        for item in selection:
            for row in item.rows:
                for conversation in conversations.of(row):
                    yield from _exchange_lines(item.item, row.criterion, conversation)


def _exchange_lines(item: str, criterion: str, conversation: Conversation) -> Iterator[str]:
    head = f"=== {one_line(item)}, {one_line(criterion)}"
    if conversation.judge is not None:
        head += f", judged by {one_line(conversation.judge)}"
    if conversation.missing is not None:
        yield f"{head}: {conversation.missing}"
        yield ""
    for number, exchange in enumerate(conversation.exchanges, start=1):
        yield f"{head}: {_about(exchange, number, len(conversation.exchanges))}"
        for message in exchange.messages:
            yield f"--- {message['role']}"
            yield message["content"]
        if exchange.damaged:
            yield "--- parts of this are damaged in the journal and left out"
        if exchange.thinking:
            yield "--- thinking, which no verdict is read from"
            yield exchange.thinking
        if exchange.reply is not None:
            yield f"--- reply{_note(exchange)}"
            yield exchange.reply
        if exchange.elsewhere:
            yield "--- in place of its text: its reasoning, or the arguments of a tool call"
            yield exchange.elsewhere
        if exchange.error is not None:
            yield "--- no reply"
            yield one_line(": ".join(exchange.error))
        yield ""


def _about(exchange: Exchange, number: int, count: int) -> str:
    when = datetime.fromtimestamp(exchange.sent_at, UTC)
    about = f"exchange {number} of {count}, model {one_line(exchange.model)}"
    about += f", {when:%Y-%m-%d %H:%M:%S} UTC"
    if exchange.requests == 0:
        return f"{about}, answered before"
    return about if exchange.requests == 1 else f"{about}, {exchange.requests} requests"


def _note(exchange: Exchange) -> str:
    notes = []
    if exchange.cut_off:
        notes.append("cut off: as long as a reply may be")
    if exchange.left_out:
        notes.append(f"{exchange.left_out} characters of it were not kept")
    if exchange.probabilities is not None:
        likely = sorted(exchange.probabilities.items(), key=lambda pair: -pair[1])
        notes.append(", ".join(f"{token!r} {share:.4f}" for token, share in likely))
    return f" ({'; '.join(notes)})" if notes else ""
