"""OpenTelemetry spans and metrics, for programs that use it.

Nothing is imported or done unless the program, or `opentelemetry-instrument`, has loaded
OpenTelemetry's API before the run. Names are those of the semantic conventions for generative AI
(`gen_ai.*`, status Development, https://opentelemetry.io/docs/specs/semconv/gen-ai/). No prompt,
submission, reply, error text or key is ever an attribute.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rubricate._version import __version__
from rubricate.errors import ModelError
from rubricate.judge import Completion, Model, Request
from rubricate.judge.models import split_name

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Span, Tracer

    from rubricate.run.results import RunFacts

NAME = "rubricate"
PROVIDERS = {"gemini": "gcp.gemini", "mistral": "mistral_ai"}
"""Names of providers in the conventions that differ from our prefix."""
SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKENS = tuple(4**power for power in range(14))
"""Histogram boundaries of the conventions."""
PARAMETERS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "n": "choice.count",
}
"""Names of request parameters in the conventions."""
LONGEST = 100
"""Longest name of a model or finish reason, in characters."""


def _tracer() -> Tracer | None:
    """The tracer; None if another package uses OpenTelemetry's name."""
    try:
        from opentelemetry import trace
    except ImportError:  # another package of that name space
        return None
    return trace.get_tracer(NAME, __version__)


@cache
def _histograms() -> tuple[Histogram, Histogram]:
    """The histograms of request durations and tokens."""
    from opentelemetry import metrics

    meter = metrics.get_meter(NAME, __version__)

    def made(name: str, unit: str, description: str, buckets: tuple[float, ...]) -> Histogram:
        attributes: dict[str, Any] = {"unit": unit, "description": description}
        try:
            return meter.create_histogram(
                name, explicit_bucket_boundaries_advisory=buckets, **attributes
            )
        except TypeError:  # the API before 1.30
            return meter.create_histogram(name, **attributes)

    return (
        made("gen_ai.client.operation.duration", "s", "Duration of a request", SECONDS),
        made("gen_ai.client.token.usage", "{token}", "Tokens of a request", TOKENS),
    )


class RunSpan:
    """The span of a run. Requests made in the same task are its children."""

    def __init__(self, judge: str, dataset: str | None, verdicts: int) -> None:
        tracer = _tracer()
        self._span: Span | None = None
        if tracer is None:
            return
        from opentelemetry import context, trace

        attributes: dict[str, str | int] = {
            "rubricate.judge": judge,
            "rubricate.judgements": verdicts,
        }
        if dataset is not None:
            attributes["rubricate.dataset"] = dataset
        self._span = tracer.start_span("rubricate.run", attributes=attributes)
        context.attach(trace.set_span_in_context(self._span))  # a run has its own task

    def end(self, outcome: RunFacts) -> None:
        """End the span with the usage of the run."""
        if self._span is None:
            return
        usage = outcome.usage
        attributes: dict[str, str | int | float] = {
            "rubricate.calls": outcome.calls,
            "rubricate.resumed": outcome.resumed,
            "rubricate.cached": outcome.cached,
            "rubricate.requests": usage.requests,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
        }
        if usage.cost is not None:
            attributes["rubricate.cost"] = usage.cost
        self._span.set_attributes(attributes)
        if outcome.stopped is not None:
            _fail(self._span, "interrupted" if outcome.interrupted else "stopped")
        self._span.end()


async def traced(model: Model, request: Request, answer: Awaitable[Completion]) -> Completion:
    """Await the answer to a request within a span, and record its metrics."""
    tracer = _tracer()
    if tracer is None:
        return await answer
    from opentelemetry import trace

    attributes = _attributes(model)
    span = tracer.start_span(
        f"chat {attributes['gen_ai.request.model']}",
        kind=trace.SpanKind.CLIENT,
        attributes={**attributes, **_parameters(model, request)},
    )
    begin = time.perf_counter()
    completion: Completion | None = None
    try:
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            completion = await answer
        return completion
    except BaseException as error:
        cause = error.kind if isinstance(error, ModelError) else type(error).__name__
        attributes["error.type"] = cause
        _fail(span, cause)
        if isinstance(error, ModelError) and error.status is not None:
            span.set_attribute("http.response.status_code", error.status)
        raise
    finally:
        _measure(span, attributes, completion, time.perf_counter() - begin)
        span.end()


def _measure(
    span: Span, attributes: dict[str, str | int], completion: Completion | None, seconds: float
) -> None:
    """Record the outcome, duration and tokens of a request."""
    durations, tokens = _histograms()
    if completion is not None and completion.model:
        attributes["gen_ai.response.model"] = completion.model[:LONGEST]
        span.set_attribute("gen_ai.response.model", completion.model[:LONGEST])
    if completion is not None and completion.finish_reason:
        reasons = [completion.finish_reason[:LONGEST]]
        span.set_attribute("gen_ai.response.finish_reasons", reasons)
    durations.record(seconds, attributes)
    if completion is not None:
        for side in ("input", "output"):
            count: int = getattr(completion.usage, f"{side}_tokens")
            span.set_attribute(f"gen_ai.usage.{side}_tokens", count)
            tokens.record(count, {**attributes, "gen_ai.token.type": side})


def _fail(span: Span, cause: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", cause)
    span.set_status(StatusCode.ERROR)


def _attributes(model: Model) -> dict[str, str | int]:
    provider, name = split_name(model.name)
    address = urlsplit(model.endpoint)
    known = "openai" if address.hostname else "in_process"  # unknown servers speak OpenAI's dialect
    attributes: dict[str, str | int] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(provider.company, provider.company)
        if provider
        else known,
        "gen_ai.request.model": name,
    }
    if address.hostname:
        attributes["server.address"] = address.hostname
        attributes["server.port"] = address.port or (443 if address.scheme == "https" else 80)
    return attributes


def _parameters(model: Model, request: Request) -> dict[str, str | int | float]:
    """The sampling parameters of a request."""
    parameters = model.parameters(request)
    return {
        f"gen_ai.request.{known}": parameters[name]
        for name, known in PARAMETERS.items()
        if isinstance(parameters.get(name), int | float)
    }
