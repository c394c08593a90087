"""Spans and metrics where a program uses OpenTelemetry, and nothing where none does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rubricate.testing import Rule, ScriptedEndpoint

PROGRAM = """
import json, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))

import rubricate
from rubricate import Criterion, Rubric, RubricDataset

dataset = RubricDataset("How fast?", Rubric([Criterion(name="a", requirement="r")]), name="light")
for number in range(3):
    dataset.add_item(f"planted-submission {number}", "d")
with trace.get_tracer("mine").start_as_current_span("mine"):
    options = {"base_url": sys.argv[1], "attempts": 2, "max_tokens": 99}
    for item in rubricate.grade_stream(dataset, "openai/small", **options):
        current = trace.get_current_span().name
if "one" in sys.argv:
    rubricate.grade_one(dataset.rubric, "planted-text", judge="openai/one", **options)
found = [json.loads(span.to_json()) for span in spans.get_finished_spans()]
data = json.loads(reader.get_metrics_data().to_json())
measured = {
    metric["name"]: [metric["unit"], metric["data"]["data_points"]]
    for resource in data["resource_metrics"]
    for scope in resource["scope_metrics"]
    for metric in scope["metrics"]
}
print(json.dumps({"spans": found, "metrics": measured, "current": current}))
"""


def traced(*rules: Rule, then: tuple[str, ...] = ()) -> dict:
    """What a program that grades three items sees."""
    with ScriptedEndpoint([*rules]) as endpoint:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, endpoint.url, *then],
            capture_output=True,
            text=True,
            check=True,
            env={"OPENAI_API_KEY": "planted-key-1234"},
        )
    assert "planted" not in done.stdout
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def told() -> dict:
    """What the program sees where nothing fails."""
    return traced()


def test_a_run_has_a_span_and_each_request_one_below_it(told):
    by_name = {span["name"]: span for span in told["spans"]}
    run, mine = by_name["rubricate.run"], by_name["mine"]
    requests = [span for span in told["spans"] if span["name"] == "chat small"]
    assert len(requests) == 3
    assert {span["parent_id"] for span in requests} == {run["context"]["span_id"]}
    assert run["parent_id"] == mine["context"]["span_id"]
    assert told["current"] == "mine"  # the caller's own span stays the current one
    assert run["attributes"]["rubricate.dataset"] == "light"
    assert run["attributes"]["rubricate.calls"] == 3
    attributes = requests[0]["attributes"]
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 99,
        "gen_ai.response.model": "small",
        "gen_ai.response.finish_reasons": ["stop"],
        "server.address": "127.0.0.1",
    }
    assert attributes.items() >= expected.items()
    assert attributes["gen_ai.usage.input_tokens"] > 0
    assert requests[0]["kind"] == "SpanKind.CLIENT"


def test_one_text_that_is_graded_is_a_run_without_an_error_by_its_judges_name():
    runs = [span for span in traced(then=("one",))["spans"] if span["name"] == "rubricate.run"]
    assert [span["attributes"]["rubricate.judge"] for span in runs] == [
        "openai/small",
        "openai/one",
    ]
    assert [span["status"]["status_code"] for span in runs] == ["UNSET", "UNSET"]
    assert not any("error.type" in span["attributes"] for span in runs)


def test_metrics_are_how_long_requests_took_and_their_tokens(told):
    unit, (duration,) = told["metrics"]["gen_ai.client.operation.duration"]
    assert (unit, duration["count"], duration["explicit_bounds"][0]) == ("s", 3, 0.01)
    unit, points = told["metrics"]["gen_ai.client.token.usage"]
    assert unit == "{token}"
    assert {point["attributes"]["gen_ai.token.type"] for point in points} == {"input", "output"}


def test_a_failed_request_says_its_kind_and_not_what_was_said():
    told = traced(Rule(status=500, times=1, message="planted-message"))
    failed = [span for span in told["spans"] if span["status"]["status_code"] == "ERROR"]
    assert [span["attributes"]["error.type"] for span in failed] == ["server"]
    assert failed[0]["attributes"]["http.response.status_code"] == 500
    assert "description" not in failed[0]["status"]


@pytest.mark.parametrize("blocked", [True, False])
def test_without_opentelemetry_in_use_nothing_of_it_is_loaded(blocked, endpoint):
    program = (
        "import sys\n"
        + ("sys.modules['opentelemetry.trace'] = None\n" if blocked else "")
        + "import rubricate\n"
        "from rubricate import Criterion, Rubric\n"
        "rubric = Rubric([Criterion(name='a', requirement='r')])\n"
        f"rubricate.grade_one(rubric, 'text', judge='m', base_url={endpoint.url!r})\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry') "
        "and sys.modules[name]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
