"""Requests to a scripted endpoint, and rules for its answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from rubricate._documents import read_document, validate
from rubricate.errors import InputError, errors_within
from rubricate.judge import NOTE, as_written

Fault = Literal["reset", "hang", "drip", "truncate", "not_json"]
"""`reset`: the connection breaks before an answer. `hang`: no answer ever arrives. `drip`: the body
arrives byte by byte and never ends. `truncate`: the body ends too early. `not_json`: status 200
with a body that is not JSON."""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One parsed request to the endpoint.

    Attributes:
        body: the JSON body.
        headers: the headers of the request, or of the one that created its batch. Keys are replaced
            by a note whether there was one.
        submission: the text between the submission tags of the prompt, with control tokens as
            written by its author; in a comparison, the first one.
        second: the second submission of a comparison.
        criterion: the requirement of the criterion.
        labels: the verdicts (or scores) that the prompt allows, in its order.
        items: the items to classify, for metric criteria.
        choices: if the reply is a single token, the label of each token, in the order of the
            prompt.
        prefix: the text of the messages before the criterion, which a prompt cache would serve.
        criteria: if there are several criteria, one request for each.
    """

    body: dict[str, Any]
    headers: dict[str, str]
    submission: str = ""
    criterion: str = ""
    labels: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    prefix: str = ""
    criteria: tuple[JudgeRequest, ...] = ()
    second: str = ""
    choices: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, body: dict[str, Any], headers: dict[str, str]) -> JudgeRequest:
        """Parse a chat request. Parts that the prompt of another program lacks are empty.

        Args:
            body: the JSON body.
            headers: the headers.
        """
        messages = body.get("messages") or []
        texts = [str(message.get("content", "")) for message in messages]
        matches = ((text, _SUBMISSION.search(text) or _UNFENCED.search(text)) for text in texts)
        prompt, match = next(((text, match) for text, match in matches if match), ("", None))
        submission, rest = (match["text"], prompt[match.end() :]) if match else ("", "")
        if NOTE in prompt:
            submission = as_written(submission)
        before = "".join(texts[: texts.index(prompt)]) + prompt[: match.end()] if match else ""
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
        if match := _CHOICE.search(rest):
            criterion, labels, items = _question(rest[len("\n\nCriterion:\n") : match.start()], {})
            tokens = dict(_token(label) for label in labels)
            labels = tuple(tokens.values())
            return cls(body, headers, submission, criterion, labels, items, before, (), "", tokens)
        rest = rest.partition("\n\nAnswer with one JSON object")[0]
        first, *others = _CRITERION.split(rest)
        if others and "criteria, each to be judged by itself" in first:
            entries = [
                cls(body, headers, submission, *_question(part, {}), before) for part in others
            ]
            return cls(body, headers, submission, prefix=before, criteria=tuple(entries))
        question = others[0] if others else ""
        answers = schema.get("properties", {})
        both = _SECOND.search(prompt)
        second = both["text"] if both else ""
        second = as_written(second) if NOTE in prompt else second
        return cls(body, headers, submission, *_question(question, answers), before, (), second)


_SECOND = re.compile(r"<second-(\w+)>\n(?P<text>.*)\n</second-\1>", re.DOTALL)
_SUBMISSION = re.compile(
    r"<(submission|first|findings|outline)-(\w+)>\n(?P<text>.*)\n</\1-\2>", re.DOTALL
)
_UNFENCED = re.compile(r"^Submission:\n(?P<text>.*)(?=\n\nCriterion:\n)", re.DOTALL | re.MULTILINE)
_CHOICE = re.compile(r"\n\nAnswer with one of [A-Z0-9, ]+ and nothing else\.")
_CRITERION = re.compile(r"\n\nCriterion(?: \d+)?:\n")


def _question(text: str, answers: dict[str, Any]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the requirement, labels and items of a question."""
    text, _, verdicts = text.partition("\n\nPossible verdicts:\n")
    criterion, _, items = text.partition("\n\nItems:\n")
    criterion = criterion.partition("\n\nNote on this criterion:\n")[0]
    labels = re.findall(r"^- (.*?)(?:: .*)?$", verdicts.partition("\n\n")[0], re.MULTILINE)
    allowed = (answers.get("verdict") or answers.get("score") or {}).get("enum", labels)
    listed = re.findall(r"^- (.*)$", items.partition("\n\n")[0], re.MULTILINE)
    return criterion, tuple(map(str, allowed)), tuple(listed)


def _token(line: str) -> tuple[str, str]:
    """Return the token before a label, and the label; a digit is its own label."""
    token, dot, label = line.partition(". ")
    return (token, label) if dot and len(token) == 1 else (line, line)


class Rule(BaseModel):
    """A rule for answers. The first rule that applies is used.

    A rule applies to requests whose submission and criterion match its regular expressions
    (anywhere in the text, ignoring case; a missing one matches everything), at most `times` times.
    It answers with a verdict, raw text, an HTTP status, or a fault.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    submission: str | None = None
    """A regular expression for the submission."""
    criterion: str | None = None
    """A regular expression for the requirement."""
    times: int | None = None
    """Apply only to the first N requests that match."""
    verdict: str | int | dict[str, Any] | None = None
    """Answer with this label, score or (for a metric criterion) object in the correct format."""
    probabilities: dict[str, float] | None = None
    """If the reply is a single token: the probability of each label or token, from which the reply
    is drawn."""
    reason: str = "scripted"
    """The reason for `verdict`."""
    evidence: list[str] = field(default_factory=list)
    """The quotes for `verdict`."""
    thinking: str = ""
    """The model's reasoning, which is separate from the answer, but counted with it."""
    reply: str | None = None
    """Answer with this text as the message, whether in the correct format or not."""
    status: int | None = None
    """Answer with this HTTP status and an error body."""
    message: str = "scripted error"
    """The message in the error body for `status`."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers for `status`, such as Retry-After."""
    body: dict[str, Any] = field(default_factory=dict)
    """Keys of the JSON answer that replace the usual ones (`usage`, `choices`, ...); null removes
    one."""
    fault: Fault | None = None
    """Break the exchange this way."""
    delay: float = 0.0
    """Seconds to wait before answering."""

    @field_validator("submission", "criterion")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise InputError(f"bad regular expression: {error}") from None
        return pattern

    @field_validator("probabilities")
    @classmethod
    def _are_shares(cls, shares: dict[str, float] | None) -> dict[str, float] | None:
        if shares is None:
            return None
        if not shares or min(shares.values()) < 0.0 or not 0.0 < sum(shares.values()) < 1.0 + 1e-9:
            raise InputError("probabilities must be from 0 up, and together more than 0 to 1")
        return shares

    @model_validator(mode="after")
    def _answers_once(self) -> Rule:
        if len(self.answers) > 1 or not (self.answers or self.delay):
            raise InputError(
                "a rule needs one of verdict, probabilities, reply, status, fault (or a delay)"
            )
        return self

    @property
    def answers(self) -> list[Any]:
        """The parts that it answers with: one, or none for a rule that only delays."""
        possible = (self.verdict, self.probabilities, self.reply, self.status, self.fault)
        return [answer for answer in possible if answer is not None]

    def matches(self, request: JudgeRequest) -> bool:
        """Whether the rule matches this request."""
        return all(
            pattern is None or re.search(pattern, text, re.IGNORECASE | re.DOTALL)
            for pattern, text in (
                (self.submission, request.submission),
                (self.criterion, request.criterion),
            )
        )


def load_rules(path: str | Path) -> list[Rule]:
    """Read rules from a YAML or JSON file.

    Args:
        path: a file with a list of objects with the fields of `Rule`.

    Returns:
        The rules, in the order of the file; the first that applies is used.

    Raises:
        InputError: it cannot be read, or a rule is invalid; the message says where.
    """
    data = read_document(path)
    if not isinstance(data, list):
        raise InputError("expected a list of rules", file=path)
    with errors_within(file=path):
        return [validate(Rule, raw, (index,)) for index, raw in enumerate(data)]


def echo(messages: Sequence[Mapping[str, Any]]) -> str:
    """A judge that only repeats the submission.

    If the submission contains a ready verdict, so does the reply; a program that accepts it as the
    judge's own passes every text that asks for it. As a judge (`rubricate.redteam(echo)`), it must
    give no verdict, and thus no attack may succeed.

    Args:
        messages: the request's messages, each with `role` and `content`.
    """
    request = JudgeRequest.parse({"messages": [dict(message) for message in messages]}, {})
    return "\n\n".join(filter(None, (request.submission, request.second)))
