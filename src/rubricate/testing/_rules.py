"""What a scripted endpoint is asked, and what it answers."""

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
"""`reset`: the connection breaks before an answer. `hang`: no answer ever comes. `drip`: the body
comes byte by byte and never ends. `truncate`: the body ends before it should. `not_json`: status
200 with a body that is not JSON."""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One request to the endpoint, taken apart.

    Attributes:
        body: the JSON body as it came.
        headers: the request's headers, or those with which its batch was made; of a key only
            whether there was one.
        submission: the text between the submission tags of the prompt, control tokens as its
            author wrote them; of two that are compared, the first.
        second: the second of two submissions that are compared.
        criterion: the requirement that is asked about.
        labels: the verdicts (or scores) that the prompt allows, in its order.
        items: what the verdict is to classify, for metric criteria.
        choices: if the reply is to be one token, the label of each token, in the
            prompt's order.
        prefix: the messages' text up to the criterion, which a prompt cache would serve.
        criteria: where several criteria are asked about at once, each as its own request.
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
        """Take a chat request apart; parts that another program's prompt lacks are empty.

        Args:
            body: what was sent, as JSON values.
            headers: of the request.
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
    """The requirement, labels and items of a question."""
    text, _, verdicts = text.partition("\n\nPossible verdicts:\n")
    criterion, _, items = text.partition("\n\nItems:\n")
    criterion = criterion.partition("\n\nNote on this criterion:\n")[0]
    labels = re.findall(r"^- (.*?)(?:: .*)?$", verdicts.partition("\n\n")[0], re.MULTILINE)
    allowed = (answers.get("verdict") or answers.get("score") or {}).get("enum", labels)
    listed = re.findall(r"^- (.*)$", items.partition("\n\n")[0], re.MULTILINE)
    return criterion, tuple(map(str, allowed)), tuple(listed)


def _token(line: str) -> tuple[str, str]:
    """The token before a label, and the label; a digit is its own label."""
    token, dot, label = line.partition(". ")
    return (token, label) if dot and len(token) == 1 else (line, line)


class Rule(BaseModel):
    """When to answer what. The first rule that applies is used.

    A rule applies to requests whose submission and criterion match its regular expressions
    (searched, letter case aside; a missing one matches all), `times` times at most. It answers
    with a verdict, with raw text, with an HTTP status, or with a fault.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    submission: str | None = None
    """Regular expression for the submission."""
    criterion: str | None = None
    """Regular expression for the requirement."""
    times: int | None = None
    """Apply only to the first N requests that match."""
    verdict: str | int | dict[str, Any] | None = None
    """Answer with this label, score or (for a metric criterion) object, well-formed."""
    probabilities: dict[str, float] | None = None
    """Where the reply is one token: the probability of each label. What is no label is a
    token itself. The reply is drawn from them."""
    reason: str = "scripted"
    """The reason that goes with `verdict`."""
    evidence: list[str] = field(default_factory=list)
    """The quotes that go with `verdict`."""
    thinking: str = ""
    """The model's reasoning, which comes apart from the answer and is counted with it."""
    reply: str | None = None
    """Answer with this text as the message, well-formed or not."""
    status: int | None = None
    """Answer with this HTTP status and an error body."""
    message: str = "scripted error"
    """The error body's message that goes with `status`."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers that go with `status`, such as Retry-After."""
    body: dict[str, Any] = field(default_factory=dict)
    """What the answer's JSON has in place of the usual `usage`, `choices`, ...; null leaves one
    out."""
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
        """What it answers with: one thing, or nothing for a rule that only delays."""
        possible = (self.verdict, self.probabilities, self.reply, self.status, self.fault)
        return [answer for answer in possible if answer is not None]

    def matches(self, request: JudgeRequest) -> bool:
        """Whether the rule is for this request."""
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
        path: the file: a list of objects with the fields of `Rule`.

    Returns:
        The rules, in the file's order; the first that applies answers.

    Raises:
        InputError: it cannot be read, or a rule is not one; with its place.
    """
    data = read_document(path)
    if not isinstance(data, list):
        raise InputError("expected a list of rules", file=path)
    with errors_within(file=path):
        return [validate(Rule, raw, (index,)) for index, raw in enumerate(data)]


def echo(messages: Sequence[Mapping[str, Any]]) -> str:
    """A judge that repeats the submission and adds nothing.

    The submission comes back as the reply, even a ready verdict in it: a program that
    takes it for the judge's own passes every text that asks for it. Given as a judge
    (`rubricate.redteam(echo)`) it must have no verdict, and so no success.

    Args:
        messages: the request's messages, each with `role` and `content`.
    """
    request = JudgeRequest.parse({"messages": [dict(message) for message in messages]}, {})
    return "\n\n".join(filter(None, (request.submission, request.second)))
