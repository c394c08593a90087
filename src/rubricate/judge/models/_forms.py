"""Optional parameters of a request, and fallbacks for endpoints that reject them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from rubricate.errors import InputError, ModelError
from rubricate.judge.models._model import Completion, Message, ReplyForm, Request

TAGGED_INSTRUCTION = (
    "Write the answer with these tags instead of JSON:\n"
    "<reason>...</reason>\n"
    "<evidence>one quote</evidence> (repeat the tag for each quote; none if there is none)\n"
    "<verdict>...</verdict>"
)
LADDER: tuple[ReplyForm, ...] = ("json_schema", "json_object", "text")
Structured = Literal["auto", "schema", "json", "text"]
_FORMS: Mapping[str, tuple[ReplyForm, ...]] = {
    "auto": LADDER,
    "schema": ("json_schema",),
    "json": ("json_object",),
    "text": ("text",),
}
REFUSALS = (400, 415, 422, 501)
"""The HTTP statuses with which an endpoint rejects an unknown parameter."""
_NOT_ALLOWED = (403, 500)
"""The statuses with which OpenAI rejects logprobs for reasoning models, and llama-cpp-python for
models that are loaded without them."""
TOP_LOGPROBS, FEW_LOGPROBS = 20, 5
"""The maximum of the API, and a number that all endpoints with logprobs support."""
CHOICE_TOKENS = 4
"""Token limit of a reply that is one token; some models write space before it."""
CHOICE_TEMPERATURE = 1.0
MOST_QUOTES = 8
"""The maximum number of quotes of a reply if the server's grammar enforces a limit, because small
models repeat a quote endlessly."""
FORMAT_WORDS = ("response_format", "json_schema", "json_object", "structured", "schema")


_OURS = (
    *("model", "messages", "input", "response_format", "stream", "n"),
    *("logprobs", "top_logprobs"),
)
_HAVE_OPTIONS = {
    "temperature": "temperature",
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens"), "max_tokens"),
}


def checked_options(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the user's extra request options as JSON values; {} for none.

    Raises:
        InputError: a value cannot be sent, or rubricate has its own option for it.
    """
    if values is None:
        return {}
    try:
        json.dumps(dict(values), allow_nan=False)
        options: dict[str, Any] = orjson.loads(orjson.dumps(dict(values)))
    except (TypeError, ValueError) as error:
        raise InputError(f"model_options must be JSON values: {error}") from None
    for name in options:
        if name in _OURS:
            raise InputError(f"model_options: '{name}' is set by the judge: leave it out")
        if name in _HAVE_OPTIONS:
            raise InputError(f"model_options: '{name}' has an option, {_HAVE_OPTIONS[name]}")
    return options


_HEADER = re.compile(r"[A-Za-z0-9_-]+")
_OUR_HEADERS = {
    *("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization"),
    *("host", "content-type", "content-length", "transfer-encoding", "accept-encoding"),
    *("connection", "expect", "content-encoding"),
}


def checked_headers(values: Mapping[str, str]) -> dict[str, str]:
    """Return the user's extra HTTP headers, with names in lower case.

    Raises:
        InputError: a header cannot be sent, contains a key, or is reserved for the client.
    """
    headers = {str(name).lower(): value for name, value in values.items()}
    for name, value in headers.items():
        if name in _OUR_HEADERS:
            raise InputError(
                f"headers: '{name}' is set by rubricate; keys are environment variables"
            )
        is_text = isinstance(value, str) and value.isascii() and value.isprintable()
        if not (is_text and _HEADER.fullmatch(name)):
            raise InputError(f"headers: '{name}' is no header of printable ASCII text")
    return headers


@dataclass(frozen=True, slots=True)
class Form:
    """The optional parameters of a request; a temperature of None is not sent.

    `most` is the endpoint's name for the token limit of a reply; None if it accepts no limit. The
    others are for requests with choices: the number of logprobs (0 for none), and whether the
    endpoint accepts a seed.
    """

    rung: ReplyForm
    temperature: float | None
    logprobs: int = TOP_LOGPROBS
    most: Literal["max_tokens", "max_completion_tokens", "max_output_tokens"] | None = "max_tokens"
    seed: bool = True


ALLOWED_EVERY = 20
"""One lost reply in 20 is tolerated, because a simpler form does not help a model with occasional
errors. In simulated runs, a form that loses 8 % of the replies is left after 11 losses. At 10 that
takes 26, and one that loses 5 % is kept for thousands of replies; at 40, one that loses 3 % is
left, too."""
USELESS = 5 * ALLOWED_EVERY
"""The number of losses beyond the tolerated ones that make a form useless: five. In simulated runs
of 100,000 replies, a form that loses 1 in 1,000 was left in none of 60, one that loses 1 in 100 in
2. One that starts to lose all is left after 5. With three, 1 in 100 was too much in 58 of 60; with
ten, the last takes 10 losses, and 8 % takes 24."""
LAST_CHANCE = USELESS - ALLOWED_EVERY
DOUBTFUL = LAST_CHANCE - 2
"""From here, only one request at a time uses the form, until three replies in a row are readable.
This protects the many concurrent requests at the start of a run from being lost together. With an
endpoint that loses three in four, 300 judgements lost 11 replies (mean of 8 runs); with one
readable reply, 21, with six, 11. If JSON mode works, all requests used it after 75 in text with
three, after 25 with one, and after 160 with six."""
HEAD_START = LAST_CHANCE - ALLOWED_EVERY
"""For a new judge, a form is in doubt after its first loss, and useless after its second, because
the server may have changed. This wears off within 60 replies."""


class ReplyForms:
    """The forms in which replies can be requested from a model at an endpoint, and which of them
    work.

    A form is replaced by the next, simpler one if the endpoint rejects it, or if replies are lost
    because they ignore it. Losses beyond the tolerated ones are added up (CUSUM, Page 1954, with
    the head start of Lucas and Crosier 1982): the sum detects losses that start late in a run, and
    forgets single ones.

    Args:
        forms: from the best to the simplest, which is never replaced.

    Attributes:
        all_refused: whether every form was rejected once, so that the prompts cause the rejections.
        settled: the best form, as long as nothing speaks against it: its replies need no
            bookkeeping. None otherwise.
    """

    def __init__(self, forms: Sequence[ReplyForm] = LADDER) -> None:
        self._forms = tuple(forms)
        self._scores = dict.fromkeys(self._forms, LAST_CHANCE) | {self._forms[0]: 0}
        self._tried: set[ReplyForm] = set()
        self._worked: set[ReplyForm] = set()
        self._refused: set[ReplyForm] = set()
        self.all_refused = False
        self.settled: ReplyForm | None = None

    @property
    def ignored(self) -> list[ReplyForm]:
        """The forms that were replaced because replies ignored them."""
        useless = [form for form in self._forms[:-1] if self._scores[form] >= USELESS]
        return [form for form in useless if form not in self._refused]

    def begin(self) -> ReplyForms:
        """Let a new judge start with some doubt."""
        best = self._forms[0]
        self._scores[best] = max(HEAD_START, self._scores[best])
        self.settled = None
        return self

    def choose(self, lost_in: Sequence[ReplyForm]) -> ReplyForm:
        """Return the form for a request. Call `end` with it when the request has ended.

        Args:
            lost_in: the forms that lost a reply to the same question; the result is simpler.
        """
        forms = self._forms
        begin = forms.index(lost_in[-1]) + 1 if lost_in else 0
        for form in forms[begin:-1]:
            score = self._scores[form]
            if score < DOUBTFUL:
                return form
            if score < USELESS and form not in self._tried:
                self._tried.add(form)
                return form
        return forms[-1]

    def end(self, form: ReplyForm) -> None:
        """Record that a request in a form has ended, successfully or not."""
        self._tried.discard(form)

    def answered(self, form: ReplyForm, refused: Collection[ReplyForm]) -> None:
        """Record a reply, and the forms in which the endpoint rejected the same request before."""
        self._scores[form] = max(0, self._scores[form] - 1)
        self._worked.add(form)
        for other in refused:  # not held against the form accepted afterwards
            self._scores[other] = USELESS
            self._refused.add(other)
            self._scores[form] = min(HEAD_START, self._scores[form])
        if form == self._forms[0] and not self._scores[form]:
            self.settled = form

    def lost(self, form: ReplyForm, lost_in: Sequence[ReplyForm]) -> None:
        """Record that a reply, already counted by `answered`, ignored its form and is unreadable.

        A question whose replies are lost in every form is no evidence about the others.

        Args:
            form: the form of the reply.
            lost_in: the forms that lost a reply to the same question before.
        """
        self.settled = None
        if form != self._forms[-1]:
            self._scores[form] += 1 + ALLOWED_EVERY
            return
        for earlier in lost_in:
            self._scores[earlier] = max(0, self._scores[earlier] - ALLOWED_EVERY)

    def after_refusal(self, form: ReplyForm, text: str) -> ReplyForm | None:
        """Return the form to repeat a rejected request in, given its error text; None if there is
        none.

        Until a form has worked, or every form has failed, any rejection may be due to the form;
        afterwards only one that says so.
        """
        if form == self._forms[-1]:
            self.all_refused = True
            return None
        is_settled = self.all_refused or form in self._worked
        if is_settled and not any(word in text for word in FORMAT_WORDS):
            return None
        return self._forms[self._forms.index(form) + 1]


_LEARNT: dict[tuple[str, str], ReplyForms] = {}


def forms_of(url: str, model: str, structured: str) -> ReplyForms:
    """The forms for a model at an address; what is learned about them is shared in the process.

    Raises:
        InputError: `structured` is not a known form.
    """
    forms = _FORMS.get(structured)
    if forms is None:
        raise InputError(f"structured must be {', '.join(_FORMS)}, found {structured!r}")
    if len(forms) == 1:
        return ReplyForms(forms)
    learnt = _LEARNT.get((url, model))
    if learnt is None:
        learnt = _LEARNT[url, model] = ReplyForms()
    return learnt.begin()


def forget_forms(url: str) -> None:
    """Forget what was learned at an address that a new server now uses."""
    for known in [known for known in _LEARNT if known[0] == url]:
        _LEARNT.pop(known, None)


BLANK_END = 200
"""White space at the end of a truncated reply that shows that the format let the model write
nothing else. At 100, an indented table would be enough; at 400, a limit of 128 tokens could hide
it."""


def ignores_schema(completion: Completion, schema: Mapping[str, Any]) -> bool:
    """Whether an unreadable reply ignores the requested form.

    A reply that follows the schema is unreadable for another reason, such as a contradiction, and a
    truncated one for its length: another form would not help.
    """
    text = completion.text
    if completion.cut_off:
        return len(text) - len(text.rstrip()) >= BLANK_END
    try:
        return not _fits(orjson.loads(text), schema)
    except orjson.JSONDecodeError:
        return True


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
}


def _fits(value: object, schema: Mapping[str, Any]) -> bool:
    """Whether a value matches a schema, for the keywords that our own schemas use."""
    if "enum" in schema and value not in schema["enum"]:
        return False
    if not isinstance(value, _TYPES.get(str(schema.get("type")), object)):
        return False
    if isinstance(value, list):
        return all(_fits(part, schema.get("items", {})) for part in value)
    if not isinstance(value, dict):
        return True
    properties = schema.get("properties", {})
    if schema.get("additionalProperties") is False and not value.keys() <= properties.keys():
        return False
    return value.keys() >= {*schema.get("required", ())} and all(
        _fits(part, properties.get(name, {})) for name, part in value.items()
    )


def with_few_quotes(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a reply, or of several in one, with a limit on quotes."""
    properties = {**schema.get("properties", {})}
    for name, inner in properties.items():
        if name == "evidence":
            properties[name] = {**inner, "maxItems": MOST_QUOTES}
        elif "properties" in inner:
            properties[name] = with_few_quotes(inner)
    return {**schema, "properties": properties} if properties else schema


def with_instruction(request: Request, form: Form) -> tuple[Message, ...] | None:
    """Return the messages with an instruction to use tags; None if the form needs none."""
    if request.schema is None or form.rung != "text" or not request.tags:
        return None
    *before, last = request.messages
    content = f"{last['content']}\n\n{TAGGED_INSTRUCTION}"
    return (*before, Message(role=last["role"], content=content))


def chosen(form: Form, sample: int) -> dict[str, Any]:
    """The parameters of a request with choices."""
    if not sample and form.logprobs:
        parameters: dict[str, Any] = {"logprobs": True, "top_logprobs": form.logprobs}
        return parameters | {form.most: CHOICE_TOKENS} if form.most else parameters
    return {"seed": sample} if form.seed else {}


def simpler_choice(form: Form, error: ModelError) -> Form | None:
    """Return the form to repeat a rejected request with choices in; None if none would help."""
    text = str(error).lower()
    if "logprobs" in text and form.logprobs and error.status in (*REFUSALS, *_NOT_ALLOWED):
        fewer = "top_logprobs" in text and form.logprobs > FEW_LOGPROBS
        return replace(form, logprobs=FEW_LOGPROBS if fewer else 0)
    if error.kind != "bad_request" or error.status not in REFUSALS:
        return None
    if form.most and form.most in text:
        if form.most == "max_tokens":
            return replace(form, most="max_completion_tokens")
        return replace(form, most=None)
    if "temperature" in text and form.temperature is not None:
        return replace(form, temperature=None)
    return replace(form, seed=False) if "seed" in text and form.seed else None


def marked(text: str, shared: str) -> list[dict[str, Any]]:
    """Split a message into parts, with the beginning marked for the endpoint's cache."""
    kept = {"type": "text", "text": shared, "cache_control": {"type": "ephemeral"}}
    rest = text[len(shared) :]
    return [kept, {"type": "text", "text": rest}] if rest else [kept]
