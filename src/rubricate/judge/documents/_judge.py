"""A language model that reads long documents in parts.

A document over the budget is split (`_splitter`). For each criterion the parts that may bear on it
(`_selector`) are read one by one, each with the request for notes and quotes, and one last request
makes a verdict of what was found. A criterion about the document as a whole is first asked on an
outline. A document that fits is judged as without all this: same request, same key.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar, cast

from rubricate.errors import InputError
from rubricate.judge._case import Case
from rubricate.judge._confidence import ConfidentJudge
from rubricate.judge._evidence import locate
from rubricate.judge._grouped import GroupJudge
from rubricate.judge._judge import ModelJudge
from rubricate.judge._parts import part_answer
from rubricate.judge._prompts import suffix, texts_of
from rubricate.judge.documents._outline import is_about_the_whole, outline
from rubricate.judge.documents._prompts import (
    DOCUMENT_PROMPTS,
    LABELS,
    NOTHING_HERE,
    render_part,
    render_whole,
)
from rubricate.judge.documents._selector import Relevance, selected
from rubricate.judge.documents._splitter import Chunk, split_document
from rubricate.judge.documents._tokens import BYTES_PER_TOKEN, CountTokens, token_counter
from rubricate.judge.models import Model, Request, Send
from rubricate.rubric import Criterion, Evidence, Failure, Reading, Usage, Verdict, read_label

__all__ = ["CHUNK_TOKENS", "DocumentJudge", "check_chunk_tokens"]

CHUNK_TOKENS = 8000
"""The usual budget, in tokens."""
LEAST_TOKENS = 200
OVERLAP = 1 / 20
"""Of the budget: what a part repeats of the one before it."""
LEAST_FINDINGS = 2000
"""Tokens that the last request may have of findings, where the budget is less."""

_T = TypeVar("_T")


def check_chunk_tokens(given: int | None) -> int | None:
    """The budget, if it can be one; `InputError` if not."""
    if given is None or (
        isinstance(given, int) and not isinstance(given, bool) and given >= LEAST_TOKENS
    ):
        return given
    raise InputError(f"chunk tokens must be a number from {LEAST_TOKENS}, found {given!r}")


class DocumentJudge:
    """A language model that reads a submission over its budget in parts.

    A verdict on such a submission says in `detail["document"]` how it was read: `read` (`parts` or
    `outline`), `parts` (how many there are), `asked` and `relevant` (their numbers), `oversized`
    (parts over the budget), `evidence` (the part of each quote, None where a quote is in none),
    `calls` and `tokens` (of document text) that this takes, and `calls_naive` and `tokens_naive`,
    which reading every part takes. Offsets of evidence are those of the whole submission.

    The verdict on a long submission is asked for in explained mode, whatever the judge's own.

    Args:
        judge: the model's judge, for submissions that fit.
        chunk_tokens: the budget, in tokens of the submission, at least 200.

    Attributes:
        whole: the judge for submissions that fit.
    """

    def __init__(self, judge: ModelJudge, *, chunk_tokens: int = CHUNK_TOKENS) -> None:
        check_chunk_tokens(chunk_tokens)
        self.name = judge.name
        self.chunk_tokens = chunk_tokens
        self.whole = judge
        self._grouping = judge if isinstance(judge, GroupJudge) else None
        self._turn = 0
        self._count = token_counter(judge.model)
        self._reader = _PartReader(judge.model)
        kind = _ConfidentWholeJudge if isinstance(judge, ConfidentJudge) else _WholeJudge
        self._outline = kind(judge.model, "outline", judge._shuffle)
        self._findings = kind(judge.model, "findings", judge._shuffle)

    def in_turn(self, turn: int) -> DocumentJudge:
        """The same judge, with the answers in another order; parts are read once for all orders."""
        other = copy(self)
        other.whole = self.whole.in_turn(turn)
        other._grouping = other.whole if isinstance(other.whole, GroupJudge) else None
        other._outline, other._findings = self._outline.in_turn(turn), self._findings.in_turn(turn)
        other._turn = turn
        return other

    @property
    def prompt_version(self) -> str:
        """The versions of its prompts."""
        return f"{self.whole.prompt_version} and {DOCUMENT_PROMPTS}"

    @property
    def note(self) -> str | None:
        return self.whole.note

    @property
    def model(self) -> Model:
        """The model that is asked."""
        return self.whole.model

    @property
    def caches_prefixes(self) -> bool:
        return self.whole.caches_prefixes

    def reads_in_parts(self, submission: str) -> bool:
        """Whether a submission is over the budget."""
        if 4 * len(submission) <= self.chunk_tokens:  # a token has one byte at least
            return False
        return _size(submission, self._count) > self.chunk_tokens

    # One criterion

    def key(self, case: Case, criterion: Criterion) -> str:
        if not self.reads_in_parts(case.submission):
            return self.whole.key(case, criterion)
        digest = hashlib.blake2b(self._reader.identity, digest_size=16)
        asked = (type(self._findings).__name__, self.whole._shuffle, self._turn)
        how = (DOCUMENT_PROMPTS, self.chunk_tokens, asked, criterion.tags)
        digest.update(repr(how).encode())
        text, schema = suffix(criterion)
        for part in (*texts_of(case), case.guidelines or "", text, repr(schema)):
            digest.update(b"\0" + part.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    async def judge(self, case: Case, criterion: Criterion, send: Send) -> Verdict:
        if not self.reads_in_parts(case.submission):
            return await self.whole.judge(case, criterion, send)
        document = _document(case.submission, self.chunk_tokens, self._count)
        spent = Usage()
        if is_about_the_whole(criterion):
            seen = replace(case, submission=document.outline)
            verdict = await self._kept(self._outline, seen, criterion, send)
            if verdict.status != "abstained":
                return self._described(verdict, criterion, document, Usage(), None)
            spent = verdict.usage
        places = selected(document.relevance, criterion)
        found = await self._read(document, places, case, criterion, send)
        if len(places) < len(document.chunks) and not any(map(_bears, found.values())):
            others = [place for place in range(len(document.chunks)) if place not in found]
            found |= await self._read(document, others, case, criterion, send)
        spent = sum((finding.usage for finding in found.values()), spent)
        failed = [place for place in sorted(found) if found[place].status == "failed"]
        if failed:
            verdict = self._unread(criterion, failed, found, len(document.chunks))
        else:
            seen = replace(case, submission=document.findings(found, self.chunk_tokens))
            verdict = await self._findings.judge(seen, criterion, send)
        return self._described(verdict, criterion, document, spent, found)

    async def _read(
        self,
        document: _Document,
        places: Sequence[int],
        case: Case,
        criterion: Criterion,
        send: Send,
    ) -> dict[int, Verdict]:
        """What stands in some parts, by their places."""
        question = _question(criterion)
        reading = (
            self._kept(self._reader, document.part(place, case), question, send) for place in places
        )
        return dict(zip(places, await _together(reading), strict=True))

    @staticmethod
    async def _kept(judge: ModelJudge, case: Case, criterion: Criterion, send: Send) -> Verdict:
        key = judge.key(case, criterion)
        return await part_answer(send, key, criterion, lambda: judge.judge(case, criterion, send))

    def _unread(
        self, criterion: Criterion, failed: Sequence[int], found: dict[int, Verdict], parts: int
    ) -> Verdict:
        """The verdict where what stands in a part is not known."""
        error = found[failed[0]].error or Failure("server", "no answer")
        numbers = ", ".join(str(place + 1) for place in failed)
        message = f"part {numbers} of {parts} could not be read: {error.message}"
        failure = Failure(error.kind, message)
        return Verdict(criterion.name or "", "failed", error=failure, judge=self.name)

    def _described(
        self,
        verdict: Verdict,
        criterion: Criterion,
        document: _Document,
        spent: Usage,
        found: dict[int, Verdict] | None,
    ) -> Verdict:
        """The verdict with offsets into the document, all that it took, and how it was read."""
        evidence = tuple(document.located(e.quote, found) for e in verdict.evidence)
        asked = sorted(found or ())
        chunks, parts = document.chunks, len(document.chunks)
        tokens = sum(chunks[place].tokens for place in asked)
        outlined = is_about_the_whole(criterion)
        figures = {
            "read": "outline" if found is None else "parts",
            "parts": parts,
            "asked": [place + 1 for place in asked],
            "relevant": [place + 1 for place in asked if _bears((found or {})[place])],
            "oversized": [chunk.number for chunk in chunks if chunk.oversized],
            "evidence": [document.number_at(e.start) for e in evidence],
            "calls": outlined + (0 if found is None else len(asked) + 1),
            "calls_naive": parts + 1,
            "tokens": tokens + (self._count(document.outline) if outlined else 0),
            "tokens_naive": sum(chunk.tokens for chunk in chunks),
        }
        return replace(
            verdict,
            usage=verdict.usage + spent,
            evidence=evidence,
            detail={**(verdict.detail or {}), "document": figures},
        )

    # Several criteria: only of what fits

    def groups(self, criteria: Sequence[Criterion]) -> list[list[int]]:
        if self._grouping is not None:
            return self._grouping.groups(criteria)
        return [[place] for place in range(len(criteria))]

    def keys(self, case: Case, criteria: Sequence[Criterion]) -> list[str]:
        if self._grouping is not None and not self.reads_in_parts(case.submission):
            return self._grouping.keys(case, criteria)
        return [self.key(case, criterion) for criterion in criteria]

    async def judge_group(
        self, case: Case, criteria: Sequence[Criterion], send: Send
    ) -> list[Verdict]:
        if self._grouping is not None and not self.reads_in_parts(case.submission):
            return await self._grouping.judge_group(case, criteria, send)
        return await _together(self.judge(case, criterion, send) for criterion in criteria)

    async def aclose(self) -> None:
        await self.whole.aclose()


class _PartReader(ModelJudge):
    """Reads one part for a criterion: notes, quotes, and whether anything in it bears on it."""

    @property
    def identity(self) -> bytes:
        """The model and the version of the usual prompts."""
        return self._identity

    def request(self, case: Case, criterion: Criterion) -> Request:
        assert isinstance(case, _Part)
        assert isinstance(criterion, _PartQuestion)
        return render_part(case, case.place, criterion.asked)

    def key(self, case: Case, criterion: Criterion) -> str:
        return self._key_of(self.request(case, criterion))


class _WholeJudge(ModelJudge):
    """Judges what is seen of a document: its outline, or what was found in its parts."""

    def __init__(self, model: Model, kind: str, shuffle: int | None) -> None:
        super().__init__(model, shuffle=shuffle)
        self._kind = kind

    def request(self, case: Case, criterion: Criterion) -> Request:
        return render_whole(case, self._kind, criterion, self._order(case, criterion))

    def key(self, case: Case, criterion: Criterion) -> str:
        return self._key_of(self.request(case, criterion))


class _ConfidentWholeJudge(ConfidentJudge, _WholeJudge):
    """The same, and how sure it is."""


@dataclass(frozen=True, slots=True)
class _Part(Case):
    """A part of a document as a case of its own; `place` says which it is."""

    place: str = ""


class _PartQuestion(Criterion):
    """What a reader of a part is asked: the criterion, with answers of its own."""

    asked: Criterion

    def read(self, answer: object) -> Reading:
        return Reading("judged", read_label(answer, LABELS))

    def value(self, label: str) -> float | None:
        return None


@lru_cache(maxsize=1024)
def _question(criterion: Criterion) -> _PartQuestion:
    return _PartQuestion(
        name=criterion.name, requirement=criterion.requirement or "part", asked=criterion
    )


def _bears(finding: Verdict) -> bool:
    return finding.status != "failed" and finding.label != NOTHING_HERE


class _Document:
    """A long document with its parts."""

    def __init__(self, text: str, chunk_tokens: int, count: CountTokens) -> None:
        self.text = text
        self.chunks = split_document(
            text, budget=chunk_tokens, overlap=int(chunk_tokens * OVERLAP), count=count
        )
        self._budget = chunk_tokens
        self._count = count

    @cached_property
    def outline(self) -> str:
        return outline(self.text, budget=self._budget, count=self._count)

    @cached_property
    def relevance(self) -> Relevance:
        return Relevance(self._text_of(chunk) for chunk in self.chunks)

    def _text_of(self, chunk: Chunk) -> str:
        return self.text[chunk.start : chunk.end]

    def part(self, place: int, case: Case) -> _Part:
        """A part as a case, with what belongs to the document."""
        chunk = self.chunks[place]
        return _Part(
            self._text_of(chunk),
            case.prompt,
            case.reference,
            case.guidelines,
            case.context,
            place=self._place(chunk),
        )

    def _place(self, chunk: Chunk) -> str:
        under = " > ".join(name[:120] for name in chunk.path)
        return f"Part {chunk.number} of {len(self.chunks)}" + (f", under: {under}" if under else "")

    def findings(self, found: dict[int, Verdict], budget: int) -> str:
        """What was found, as text of about `budget` tokens, or `LEAST_FINDINGS`, at most."""
        relevant = [place for place in sorted(found) if _bears(found[place])]
        share = int(BYTES_PER_TOKEN * max(budget, LEAST_FINDINGS) / max(1, len(relevant)))
        lines = [_noted(self._place(self.chunks[p]), found[p], share) for p in relevant]
        nothing = [str(place + 1) for place in sorted(found) if place not in relevant]
        if nothing:
            lines.append(f"Nothing on the criterion was found in part {', '.join(nothing)}.")
        if len(found) < len(self.chunks):
            rest = [str(chunk.number) for chunk in self.chunks if chunk.number - 1 not in found]
            lines.append(f"Not read, since it has little to do with it: part {', '.join(rest)}.")
        return "\n\n".join(lines)

    def located(self, quote: str, found: dict[int, Verdict] | None) -> Evidence:
        """A quote in the document: in the parts that bear on the criterion, else in any."""
        first = [place for place in sorted(found or ()) if _bears((found or {})[place])]
        others = [place for place in range(len(self.chunks)) if place not in first]
        for place in (*first, *others):
            chunk = self.chunks[place]
            at = locate(quote, self._text_of(chunk))
            if at.start is not None and at.end is not None:
                return Evidence(quote, chunk.start + at.start, chunk.start + at.end)
        return Evidence(quote)

    def number_at(self, offset: int | None) -> int | None:
        """The number of the part that has an offset in its own span."""
        if offset is None:
            return None
        return next((chunk.number for chunk in self.chunks if offset < chunk.end), None)


def _noted(place: str, finding: Verdict, share: int) -> str:
    """One finding, in about `share` characters."""
    text = f"{place}:\n{_cut(finding.reason or '', share // 2)}"
    for evidence in finding.evidence:
        if len(text) + len(evidence.quote) > share:
            text += f'\n- "{_cut(evidence.quote, max(40, share - len(text)))}"'
            break
        text += f'\n- "{evidence.quote}"'
    return text


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: max(1, length - 1)]}…"


@lru_cache(maxsize=8)
def _document(text: str, chunk_tokens: int, count: CountTokens) -> _Document:
    return _Document(text, chunk_tokens, count)


@lru_cache(maxsize=8)
def _size(text: str, count: CountTokens) -> int:
    return count(text)


async def _together(work: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """All results, in order; where one raises, the others are waited for: they are paid for."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast("list[_T]", results)
