"""Long documents in a run: read in parts, each part's answer kept by itself."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import pytest

import rubricate
from rubricate import (
    Criterion,
    DataItem,
    InputError,
    Rubric,
    RubricDataset,
    RunStopped,
    ScaleCriterion,
    Verdict,
)
from rubricate.judge import (
    DocumentJudge,
    Explained,
    HTTPModel,
    Judge,
    ModelJudge,
    Pair,
    Prompting,
    PythonModel,
    Request,
)
from rubricate.run.results import DocumentFigures, DocumentTally
from rubricate.testing import Rule, ScriptedEndpoint

CRITERIA = [
    Criterion(name="funds", requirement="Explains sovereign wealth funds"),
    Criterion(name="missing", requirement="Mentions giraffes elephants"),
    Criterion(name="structure", requirement="The report is structured by headings"),
    Criterion(name="fault", weight=-1.0, requirement="Praises pensions unduly shamelessly"),
    Criterion.model_validate({"name": "last", "requirement": "Names the closing remark zebra"}),
]
FILLER = "This paragraph goes on about matters of no weight at all, at some length."


def document(sections: int = 40) -> str:
    """A report that has what the first criterion wants in one section, and a zebra in the last."""
    parts = [f"## Section {n}\n\n{FILLER} {FILLER}\n" for n in range(sections)]
    parts[20] = "## Money\n\nWe explain what a sovereign fund is: wealth that a state invests.\n"
    parts[-1] += "\nA closing remark: the zebra.\n"
    return "# Report\r\n\r\n" + "\n".join(parts)


@pytest.fixture
def dataset() -> RubricDataset:
    return RubricDataset("Write a report.", Rubric(CRITERIA), [DataItem(document())], "long")


def parts_asked(endpoint: ScriptedEndpoint) -> list[tuple[str, str]]:
    return [(r.submission, r.criterion) for r in endpoint.requests if "NOTHING" in r.labels]


def test_a_quote_from_a_late_part_is_not_placed_at_a_likelier_looking_sentence_before_it():
    sections = [
        f"## Site {n}\n\nAt site {n} the sovereign fund lost {n * 3} million. {FILLER}\n"
        for n in range(60)
    ]
    text = "\n".join(sections)
    quotes = [f"At site 55 the sovereign fund lost {lost} million." for lost in (165, 166)]
    dataset = RubricDataset("", Rubric(CRITERIA[:1]), [DataItem(text)], "sites")

    def respond(request):
        label = "RELEVANT" if "NOTHING" in request.labels else "MET"
        return Rule(verdict=label, evidence=quotes)

    with ScriptedEndpoint(respond=respond) as endpoint:
        run = rubricate.grade(dataset, "m", base_url=endpoint.url, chunk_tokens=400)
    verdict = run.items[0].criteria["funds"]
    assert verdict.detail["document"]["read"] == "parts"
    exact, invented = verdict.evidence
    assert (exact.start, exact.paraphrase) == (text.index(quotes[0]), False)
    assert invented.invented


def test_a_reply_about_the_whole_that_cannot_be_read_is_asked_again_in_its_form(dataset):
    rules = [Rule(criterion="structured by headings", times=1, reply="?")]
    with ScriptedEndpoint(rules) as endpoint:
        run = rubricate.grade(dataset, "m", base_url=endpoint.url, chunk_tokens=400)
        again = [
            request.body["messages"][-1]["content"]
            for request in endpoint.requests
            if "cannot be used" in request.body["messages"][-1]["content"]
        ]
    assert len(again) == 1
    assert 'one JSON object {"reason": "...", "evidence": ["..."], "verdict": ...} and' in again[0]
    assert run.items[0].criteria["structure"].status == "judged"


def test_documents_that_fit_are_judged_as_without(dataset, tmp_path, endpoint):
    plain = rubricate.grade(dataset, "m", base_url=endpoint.url, run_dir=tmp_path / "a")
    bodies = [request.body for request in endpoint.requests]
    endpoint.requests.clear()
    fits = {"base_url": endpoint.url, "chunk_tokens": 50_000}
    again = rubricate.grade(dataset, "m", run_dir=tmp_path / "b", **fits)
    assert [request.body for request in endpoint.requests] == bodies
    labels = [[v.label for v in run.items[0].criteria.values()] for run in (plain, again)]
    assert labels[0] == labels[1]
    endpoint.requests.clear()
    rubricate.grade(dataset, "m", run_dir=tmp_path / "a", **fits)  # the same keys
    assert endpoint.requests == []


def test_in_parts_the_keyword_judge_says_what_it_says_of_the_whole(dataset, endpoint):
    whole = rubricate.grade(dataset, "m", base_url=endpoint.url).items[0].criteria
    parts = rubricate.grade(dataset, "m", base_url=endpoint.url, chunk_tokens=200)
    found = parts.items[0].criteria
    asked = [name for name in found if name != "structure"]  # that is asked on the outline
    assert {name: found[name].label for name in asked} == {n: whole[n].label for n in asked}
    how = {name: verdict.detail["document"] for name, verdict in found.items()}
    assert how["structure"]["read"] == "outline"
    assert found["structure"].usage.requests == 1
    assert len(how["funds"]["asked"]) < how["funds"]["parts"]
    assert len(how["fault"]["asked"]) == how["fault"]["parts"]
    figures = parts.summary().documents
    assert figures.requests == len(endpoint.requests) - len(CRITERIA)
    assert figures.requests < figures.requests_naive
    assert figures.tokens < figures.tokens_naive


def test_what_is_missing_is_looked_for_in_all_parts(endpoint):
    text = document() + "\n\nHere elephants and girafes are mentioned once.\n"
    rubric = Rubric([Criterion(name="c", requirement="Explains wealth giraffe migration routes")])
    rules = [Rule(criterion="Explains", verdict="NOTHING")]
    with ScriptedEndpoint(rules) as endpoint:
        result = rubricate.grade(
            RubricDataset("", rubric, [DataItem(text)]),
            "m",
            base_url=endpoint.url,
            chunk_tokens=200,
        )
    how = result.items[0].criteria["c"].detail["document"]
    assert how["asked"] == list(range(1, how["parts"] + 1))


def test_evidence_has_offsets_into_the_document_and_its_part(dataset):
    quote = "a sovereign fund is: wealth that a state"

    def respond(request):
        if "NOTHING" in request.labels:
            return None
        return Rule(verdict="MET", evidence=[quote, "never said"])

    with ScriptedEndpoint(respond=respond) as endpoint:
        result = rubricate.grade(dataset, "m", base_url=endpoint.url, chunk_tokens=200)
    verdict = result.items[0].criteria["funds"]
    found, invented = verdict.evidence
    assert document()[found.start : found.end] == quote
    assert invented.start is None
    how = verdict.detail["document"]
    assert how["evidence"][1] is None
    assert how["evidence"][0] in how["relevant"]


def test_a_part_that_cannot_be_read_fails_the_verdict_and_only_it_is_asked_again(dataset, tmp_path):
    options = {"chunk_tokens": 200, "run_dir": tmp_path / "run"}
    rules = [Rule(submission="zebra", criterion="giraffes", status=400, times=1)]
    with ScriptedEndpoint(rules) as endpoint:
        result = rubricate.grade(dataset, "m", base_url=endpoint.url, **options)
        asked = len(endpoint.requests)
        again = rubricate.grade(dataset, "m", base_url=endpoint.url, **options)
        assert len(endpoint.requests) - asked == 2  # the part, and the verdict on all
    verdict = result.items[0].criteria["missing"]
    assert verdict.status == "failed"
    assert verdict.error.kind == "bad_request"
    assert "could not be read" in verdict.error.message
    assert again.failed == 0
    assert again.usage.requests == 2
    assert again.items[0].criteria["missing"].usage.requests > 10


SCRIPT = """
import sys, rubricate
rubricate.grade(
    rubricate.RubricDataset.from_file(sys.argv[1]), "m", base_url=sys.argv[2],
    run_dir=sys.argv[3], concurrency=4, chunk_tokens=200,
)
"""


def test_a_killed_run_reads_no_part_again(dataset, tmp_path):
    data = tmp_path / "data.json"
    dataset.to_file(data)
    with ScriptedEndpoint([Rule(delay=0.02)]) as endpoint:
        command = [sys.executable, "-c", SCRIPT, data, endpoint.url, tmp_path / "run"]
        process = subprocess.Popen(list(map(str, command)))
        while len(endpoint.requests) < 40:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
        result = rubricate.grade(dataset, "m", chunk_tokens=200, **options)
        sent = Counter(parts_asked(endpoint))
    assert result.failed == 0
    # In flight, and not yet committed: a commit comes after 0.2 s at the latest.
    assert sum(sent.values()) - len(sent) <= 4 + 64
    assert max(sent.values()) <= 2


def test_a_panel_of_models_and_code_reads_each_in_its_own_way(dataset, endpoint):
    judges = ["m", "n", "builtin"]
    result = rubricate.grade(dataset, judges, base_url=endpoint.url, chunk_tokens=200)
    votes = result.items[0].criteria["funds"].votes
    assert [vote.detail is None for vote in votes] == [False, False, True]
    assert result.summary().documents.verdicts == 2 * len(CRITERIA)


def test_the_parts_for_one_criterion_are_read_side_by_side(dataset):
    dataset.rubric = Rubric(CRITERIA[3:4])
    most = 0

    def on_progress(progress):
        nonlocal most
        most = max(most, progress.in_flight)

    with ScriptedEndpoint([Rule(delay=0.05)]) as endpoint:
        options = {"base_url": endpoint.url, "chunk_tokens": 200, "concurrency": 8}
        rubricate.grade(dataset, "m", on_progress=on_progress, **options)
    assert 4 <= most <= 9  # eight parts, and the judgement that they are for


def test_parts_are_read_once_for_all_orders_of_the_answers(dataset, endpoint):
    options = {"base_url": endpoint.url, "chunk_tokens": 200, "concurrency": 1}
    result = rubricate.grade(dataset, "m", permutations=2, **options)
    assert result.failed == 0
    asked = Counter(parts_asked(endpoint))
    assert max(asked.values()) == 1
    assert [len(verdict.votes) for _, verdict in result.verdicts()] == [2] * len(CRITERIA)
    last = [r for r in endpoint.requests if "NOTHING" not in r.labels]
    orders = {tuple(request.labels) for request in last}
    assert {order[:2] for order in orders} == {("MET", "UNMET"), ("UNMET", "MET")}


def test_parts_that_two_judgements_need_at_once_are_read_once(dataset):
    with ScriptedEndpoint([Rule(delay=0.02)]) as endpoint:
        options = {"base_url": endpoint.url, "chunk_tokens": 200, "concurrency": 32}
        result = rubricate.grade(dataset, "m", permutations=2, **options)
        assert max(Counter(parts_asked(endpoint)).values()) == 1
        assert result.usage.requests == len(endpoint.requests)


PROBABILITY: Any = {"chunk_tokens": 200, "mode": "probability"}


def test_in_probability_mode_what_is_read_in_parts_has_probabilities_as_what_fits_has(
    dataset, endpoint, tmp_path
):
    dataset.items.append(DataItem("Explains sovereign wealth funds."))
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run", "cache": None, **PROBABILITY}
    long, short = rubricate.grade(dataset, "m", **options).items
    for item in (long, short):
        for verdict in item.criteria.values():
            assert verdict.probability is not None
            assert len(verdict.detail["orders"]) == 2
            assert verdict.reason is None
    how = {name: verdict.detail["document"] for name, verdict in long.criteria.items()}
    assert (how["funds"]["read"], how["structure"]["read"]) == ("parts", "outline")
    asked = len(endpoint.requests)
    again = rubricate.grade(dataset, "m", **options)
    assert len(endpoint.requests) == asked
    kept = again.items[0].criteria
    assert all(kept[name].detail == verdict.detail for name, verdict in long.criteria.items())


def test_the_mode_of_the_verdict_is_changed_without_reading_a_part_again(
    dataset, endpoint, tmp_path
):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run", "chunk_tokens": 200}
    dataset.rubric = Rubric(one for one in CRITERIA if one.name != "structure")  # on the outline
    rubricate.grade(dataset, "m", **options)
    parts = len(parts_asked(endpoint))
    for permutations in (1, 2):
        before = len(endpoint.requests)
        rubricate.grade(
            dataset, "m", mode="probability", permutations=permutations, cache=None, **options
        )
        new = endpoint.requests[before:]
        # an order of each criterion; and of each set of answers, without content
        assert len(new) == (4 + 1)
    assert len(parts_asked(endpoint)) == parts


def test_an_outline_of_which_probabilities_say_nothing_has_its_parts_read(dataset):
    def respond(request):
        if "its headings" in str(request.body):
            return Rule(probabilities={"MET": 0.1, "UNMET": 0.1, "CANNOT_ASSESS": 0.8})
        return Rule(verdict=request.labels[0])

    dataset.rubric = Rubric(CRITERIA[2:3])
    with ScriptedEndpoint(respond=respond) as endpoint:
        result = rubricate.grade(dataset, "m", base_url=endpoint.url, **PROBABILITY)
    verdict = result.items[0].criteria["structure"]
    assert verdict.detail["document"]["read"] == "parts"
    assert verdict.usage.requests == len(endpoint.requests)


def test_a_criterion_that_no_token_answers_is_explained_of_a_document_too_and_named(
    dataset, endpoint
):
    percent = ScaleCriterion(name="percent", requirement="Explains funds", low=0, high=100)
    dataset.rubric = Rubric([*CRITERIA[:1], percent])
    result = rubricate.grade(dataset, "m", base_url=endpoint.url, **PROBABILITY)
    assert result.note.endswith("judged in explained mode: percent")
    found = result.items[0].criteria
    assert found["percent"].reason is not None
    assert found["funds"].reason is None


def test_an_estimate_in_probability_mode_counts_every_order_of_the_verdict(dataset, endpoint):
    options = {"base_url": endpoint.url, "cache": None, **PROBABILITY}
    found = rubricate.estimate(dataset, "m", **options)
    result = rubricate.grade(dataset, "m", **options)
    assert found.requests == len(endpoint.requests) == result.usage.requests
    assert result.summary().documents.requests == found.documents.requests


class OneQuestion(Prompting):
    version = "one-question"

    def request(self, item: Any, criterion: Criterion) -> Request:
        return Request(({"role": "user", "content": f"{criterion}? {item.submission}"},), None)


class Brief(Explained):
    version = "brief"

    def request(self, item: Any, criterion: Criterion) -> Request:
        return OneQuestion().request(item, criterion)


@pytest.mark.parametrize("way", [OneQuestion(), Brief(), Pair(), Explained(fenced=False)])
def test_a_way_of_asking_without_a_form_for_documents_is_refused(way):
    with pytest.raises(InputError, match=f"{type(way).__name__} has another prompt; leave out"):
        DocumentJudge(ModelJudge(PythonModel(len), way))


def test_each_replicate_reads_the_parts_itself(dataset, endpoint):
    options = {"base_url": endpoint.url, "chunk_tokens": 200, "concurrency": 1}
    rubricate.grade(dataset, "m", **options)
    alone = len(endpoint.requests)
    rubricate.grade(dataset, "m", replicates=2, **options)
    assert len(endpoint.requests) == 3 * alone


def test_an_estimate_counts_the_calls_of_all_parts(dataset, endpoint, tmp_path):
    options = {"base_url": endpoint.url, "chunk_tokens": 200, "run_dir": tmp_path / "run"}
    found = rubricate.estimate(dataset, "m", **options)
    assert endpoint.requests == []
    assert found.documents.requests == found.requests < found.documents.requests_naive
    result = rubricate.grade(dataset, "m", **options)
    assert result.summary().documents.requests == found.documents.requests
    assert found.input_tokens.low <= result.usage.input_tokens <= found.input_tokens.high
    assert rubricate.estimate(dataset, "m", **options).requests == 0


def test_a_budget_ends_a_run_between_two_parts(dataset, endpoint, tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("m: {input: 1000, output: 1000}\n")
    options = {"base_url": endpoint.url, "prices": prices, "run_dir": tmp_path / "run"}
    with pytest.raises(RunStopped, match="the maximum cost") as caught:
        rubricate.grade(dataset, "m", chunk_tokens=200, max_cost=10.0, **options)
    assert 5.0 < caught.value.result.usage.cost <= 10.0
    sent = len(endpoint.requests)
    result = rubricate.grade(dataset, "m", chunk_tokens=200, **options)
    assert result.failed == 0
    assert max(Counter(parts_asked(endpoint)).values()) == 1
    assert len(endpoint.requests) > sent


def test_the_command_reads_in_parts_and_says_what_it_saves(rubricate, dataset, endpoint, tmp_path):
    dataset.to_file(tmp_path / "data.json")
    options = ["grade", "data.json", "--judge", "m", "--base-url", endpoint.url, "--no-cache"]
    options += ["--chunk-tokens", "200"]
    assert "every part for every criterion" in rubricate(*options, "--dry-run").stdout
    summary = json.loads(rubricate(*options, "--json").stdout)
    assert summary["documents"]["requests"] < summary["documents"]["requests_naive"]
    row = json.loads((tmp_path / summary["run_dir"] / "results.jsonl").read_text().splitlines()[0])
    assert row["detail"]["document"]["parts"] > 10
    assert "document" not in row
    assert "long documents" in rubricate("show", summary["run_dir"]).stdout


class Unsure(Judge):
    """A first stage of a cascade that is sure of nothing."""

    name = "unsure"
    note: str | None = None

    def key(self, case: Any, criterion: Criterion) -> str:
        return f"unsure {criterion.name}"

    async def judge(self, case: Any, criterion: Criterion, send: Any) -> Verdict:
        return Verdict(criterion.name, "judged", "UNMET", 0.0, probability=0.6, judge="unsure")

    async def aclose(self) -> None:
        return None


def test_the_last_stage_of_a_cascade_reads_in_parts_and_reads_none_twice(
    dataset, tmp_path, endpoint
):
    reading = DocumentJudge(ModelJudge(HTTPModel("m", base_url=endpoint.url)), chunk_tokens=200)
    alone = rubricate.grade(dataset, reading, run_dir=tmp_path / "alone")
    asked = len(endpoint.requests)
    dataset.add_item("It says zebra.", "fits")

    def cascade(threshold: float, folder: str) -> rubricate.Result:
        judge = rubricate.Cascade([Unsure(), reading], threshold)
        return rubricate.grade(dataset, judge, run_dir=tmp_path / folder)

    foreseen = rubricate.estimate(dataset, rubricate.Cascade([Unsure(), reading], 0.9))
    found = cascade(0.9, "cascade")
    again = len(endpoint.requests) - asked
    assert again == asked + len(CRITERIA)
    assert (foreseen.requests, foreseen.most_requests) == (0, again)
    assert foreseen.documents.requests == again - len(CRITERIA)
    labels = [[v.label for v in run.items[0].criteria.values()] for run in (alone, found)]
    assert labels[0] == labels[1]
    how = found.items[0].criteria["fault"].detail["document"]
    assert (how["read"], len(how["asked"])) == ("parts", how["parts"])
    figures = found.summary().documents
    assert (figures.verdicts, figures.requests) == (len(CRITERIA), again - len(CRITERIA))
    before = len(endpoint.requests)
    assert cascade(0.9, "cascade").calls == 0
    assert cascade(0.5, "sure").summary().stages[1].asked == 0
    assert cascade(0.9, "alone").calls == 2 * len(CRITERIA)  # what it read alone is not read again
    assert len(endpoint.requests) - before == len(CRITERIA)


def test_documents_of_older_runs_are_counted_though_their_requests_were_calls():
    how = {"read": "parts", "calls": 4, "calls_naive": 7, "tokens": 9, "tokens_naive": 20}
    old = Verdict("c", "judged", "MET", 1.0, detail={"document": {**how, "oversized": []}})
    work = DocumentTally()
    work.add_verdict(old)
    figures = work.figures()
    assert (figures.requests, figures.requests_naive) == (4, 7)
    kept = figures.model_dump()
    kept["calls"], kept["calls_naive"] = kept.pop("requests"), kept.pop("requests_naive")
    assert DocumentFigures(**kept) == figures
