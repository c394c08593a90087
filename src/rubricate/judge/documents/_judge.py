"""A language model that reads long documents in parts.

A document over the budget is split (`_splitter`). For each criterion the parts that may bear on it
(`_selector`) are read one by one, each with a request for notes and quotes, and one last request
makes a verdict from the findings. A criterion about the document as a whole is first judged from an
outline. A document within the budget is judged as usual: same request, same key.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from rubricate._spelling import listed
from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.judge._judge import Judge, hash_of, part_answer
from rubricate.judge.asking import ModelJudge, key_suffix, suffix, texts_of
from rubricate.judge.documents._document import Document, Seen, bears, document_of, tokens_of
from rubricate.judge.documents._outline import is_about_the_whole
from rubricate.judge.documents._prompts import DOCUMENT_PROMPTS
from rubricate.judge.documents._readers import (
    PartPrompting,
    on_the_whole,
    question_about,
)
from rubricate.judge.documents._selector import selected
from rubricate.judge.documents._splitter import estimated_tokens
from rubricate.judge.models import Model, Send
from rubricate.rubric import UNANSWERED, Criterion, Failure, Usage, Verdict

CHUNK_TOKENS = 8000
"""The default budget, in tokens."""
LEAST_TOKENS = 200

_T = TypeVar("_T")


def check_chunk_tokens(value: int | None) -> int | None:
    """Return the budget. Raises `InputError` if it is invalid."""
    if value is None or (
        isinstance(value, int) and not isinstance(value, bool) and value >= LEAST_TOKENS
    ):
        return value
    raise InputError(f"chunk tokens must be a number from {LEAST_TOKENS}, found {value!r}")


class DocumentJudge(Judge):
    """A language model that reads a submission over its budget in parts.

    A verdict on such a submission says in `detail["document"]` how it was read: `read` (`parts` or
    `outline`), `parts` (their number), `asked` and `relevant` (the numbers of these parts),
    `oversized` (parts over the budget), `evidence` (the part of each quote, None if a quote is in
    no part), `requests` and `tokens` (of document text) that were needed, and `requests_naive` and
    `tokens_naive`, which reading every part would need. Offsets of evidence refer to the whole
    submission.

    Parts are read in explained mode; the verdict is requested in the judge's own mode.

    Args:
        judge: the model's judge, for submissions within the budget.
        chunk_tokens: the budget, in tokens of the submission, at least 200.

    Attributes:
        whole: the judge for submissions within the budget.

    Raises:
        InputError: the budget is invalid, or the judge has a custom prompt.
    """

    text_only = True

    def __init__(self, judge: ModelJudge, *, chunk_tokens: int = CHUNK_TOKENS) -> None:
        check_chunk_tokens(chunk_tokens)
        self.name = judge.name
        self.model: Model = judge.model
        self.caches_prefixes = judge.caches_prefixes
        self.answers_later = judge.answers_later
        self.probability_mode = judge.probability_mode
        self.prompt_version = f"{judge.prompt_version} and {DOCUMENT_PROMPTS}"
        self.mode = f"{judge.mode}; over {chunk_tokens} tokens in parts"
        self.chunk_tokens = chunk_tokens
        self.whole = judge
        self._count = judge.model.count_tokens or estimated_tokens
        self._seen = on_the_whole(judge.prompting)
        self._reader = judge.with_prompting(PartPrompting())
        self._outline = judge.with_prompting(self._seen.outline)
        self._findings = judge.with_prompting(self._seen)

    def in_turn(self, turn: int) -> DocumentJudge:
        """The same judge with another order of the answers; parts are read once for all orders."""
        return DocumentJudge(self.whole.in_turn(turn), chunk_tokens=self.chunk_tokens)

    @property
    def note(self) -> str | None:  # type: ignore[override]
        judges = (self.whole, self._outline, self._findings)
        return ". ".join(dict.fromkeys(judge.note for judge in judges if judge.note)) or None

    def reads_in_parts(self, submission: str) -> bool:
        """Whether a submission is over the budget."""
        if 4 * len(submission) <= self.chunk_tokens:  # a token has at least one byte
            return False
        return tokens_of(submission, self._count) > self.chunk_tokens

    # One criterion

    def key(self, item: Item, criterion: Criterion) -> str:
        if not self.reads_in_parts(item.submission):
            return self.whole.key(item, criterion)
        self._findings.asked_otherwise(criterion)
        digest = hashlib.blake2b(self._reader.identity, digest_size=16)
        how = (DOCUMENT_PROMPTS, self.chunk_tokens, self._seen.settings, criterion.tags)
        digest.update(repr(how).encode())
        text, schema = suffix(criterion)
        for part in (*texts_of(item), item.guidelines or "", text, repr(schema)):
            digest.update(b"\0" + part.encode("utf-8", "surrogatepass"))
        digest.update(key_suffix(self._seen.require_evidence, criterion))
        return digest.hexdigest()

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        if not self.reads_in_parts(item.submission):
            return await self.whole.judge(item, criterion, send)
        document = document_of(item.submission, self.chunk_tokens, self._count)
        spent = Usage()
        if is_about_the_whole(criterion):
            seen = replace(item, submission=document.outline)
            verdict = await self._kept(self._outline, seen, criterion, send)
            if verdict.status != "abstained":
                return self._described(verdict, criterion, document, Usage(), None)
            spent = verdict.usage
        indexes = selected(document.relevance, criterion)
        findings = await self._read(document, indexes, item, criterion, send)
        if len(indexes) < len(document.chunks) and not any(map(bears, findings.values())):
            others = [index for index in range(len(document.chunks)) if index not in findings]
            findings |= await self._read(document, others, item, criterion, send)
        spent = sum((finding.usage for finding in findings.values()), spent)
        failed = [index for index in sorted(findings) if findings[index].status in UNANSWERED]
        if failed:
            verdict = self._unread(criterion, failed, findings, len(document.chunks))
        else:
            seen = Seen(
                document.findings(findings, self.chunk_tokens),
                item.prompt,
                item.reference,
                item.guidelines,
                item.context,
                item.data,
                whole=item.submission,
            )
            verdict = await self._findings.judge(seen, criterion, send)
        return self._described(verdict, criterion, document, spent, findings)

    async def _read(
        self,
        document: Document,
        indexes: Sequence[int],
        item: Item,
        criterion: Criterion,
        send: Send,
    ) -> dict[int, Verdict]:
        """Read some parts, given by index; return what they have on the criterion."""
        question = question_about(criterion)
        reading = (
            self._kept(self._reader, document.part(index, item), question, send)
            for index in indexes
        )
        return dict(zip(indexes, await _together(reading), strict=True))

    @staticmethod
    async def _kept(judge: ModelJudge, item: Item, criterion: Criterion, send: Send) -> Verdict:
        key = judge.key(item, criterion)
        return await part_answer(send, key, criterion, lambda: judge.judge(item, criterion, send))

    def _unread(
        self, criterion: Criterion, failed: Sequence[int], findings: dict[int, Verdict], parts: int
    ) -> Verdict:
        """The verdict if a part could not be read."""
        error = findings[failed[0]].error or Failure("server", "no answer")
        which = listed([str(index + 1) for index in failed])
        message = f"part {which} of {parts} could not be read: {error.message}"
        failure = Failure(error.kind, message)
        return Verdict(criterion.name, failure.status, error=failure, judge=self.name)

    def _described(
        self,
        verdict: Verdict,
        criterion: Criterion,
        document: Document,
        spent: Usage,
        findings: dict[int, Verdict] | None,
    ) -> Verdict:
        """The verdict with offsets into the document, the total usage, and how it was read."""
        evidence = tuple(document.located(e.quote, findings) for e in verdict.evidence)
        indexes = sorted(findings or ())
        chunks, parts = document.chunks, len(document.chunks)
        tokens = sum(chunks[index].tokens for index in indexes)
        outlined = is_about_the_whole(criterion)
        one_verdict = self._seen.requests(criterion)
        figures = {
            "read": "outline" if findings is None else "parts",
            "parts": parts,
            "asked": [index + 1 for index in indexes],
            "relevant": [index + 1 for index in indexes if bears((findings or {})[index])],
            "oversized": [chunk.number for chunk in chunks if chunk.oversized],
            "evidence": [document.number_at(e.start) for e in evidence],
            "requests": outlined * one_verdict
            + (0 if findings is None else len(indexes) + one_verdict),
            "requests_naive": parts + one_verdict,
            "tokens": tokens + (self._count(document.outline) if outlined else 0),
            "tokens_naive": sum(chunk.tokens for chunk in chunks),
        }
        return replace(
            verdict,
            usage=verdict.usage + spent,
            evidence=evidence,
            detail={**(verdict.detail or {}), "document": figures},
        )

    def fingerprint(self) -> str | None:
        fingerprint = super().fingerprint()  # for a short text: the usual judge's
        return None if fingerprint is None else hash_of((fingerprint, self.chunk_tokens))

    # Several criteria: only for documents within the budget

    def groups(self, criteria: Sequence[Criterion]) -> list[list[int]]:
        return self.whole.groups(criteria)

    def keys(self, item: Item, criteria: Sequence[Criterion]) -> list[str]:
        if not self.reads_in_parts(item.submission):
            return self.whole.keys(item, criteria)
        return [self.key(item, criterion) for criterion in criteria]

    async def judge_group(
        self, item: Item, criteria: Sequence[Criterion], send: Send
    ) -> list[Verdict]:
        if not self.reads_in_parts(item.submission):
            return await self.whole.judge_group(item, criteria, send)
        return await _together(self.judge(item, criterion, send) for criterion in criteria)

    async def aclose(self) -> None:
        await self.whole.aclose()


async def _together(work: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """All results, in order; if one raises, the others are awaited first, because they are paid
    for."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast("list[_T]", results)
