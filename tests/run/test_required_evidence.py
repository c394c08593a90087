"""Answers that must rest on a quote: asked again, then abstaining, and counted."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

import rubricate
from rubricate import (
    Criterion,
    CriterionOption,
    DataItem,
    InputError,
    MetricCriterion,
    Rubric,
    RubricDataset,
    ScaleCriterion,
)
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

TEXT = (
    "The patient has a dry cough since May. The doctor thinks of bronchitis first. "
    "The doctor thinks of it."
)
BINARY = Criterion(name="cough", requirement="Tells of the cough")
METRIC = MetricCriterion(
    name="diagnoses",
    requirement="Names diseases",
    tp_instructions=("asthma", "bronchitis"),
)


@pytest.fixture
def scripted() -> Iterator[Any]:
    with contextlib.ExitStack() as stack:
        yield lambda rules: stack.enter_context(ScriptedEndpoint(rules))


def graded(criteria: list[Any], respond: Any, text: str = TEXT, **options: Any) -> Any:
    """The verdicts by name, the summary and the endpoint."""
    dataset = RubricDataset("Diagnose.", Rubric(criteria), [DataItem(text, id="one")])
    with ScriptedEndpoint(respond=respond) as endpoint:
        result = rubricate.grade(dataset, "m", base_url=endpoint.url, **options)
    return result.items[0].criteria, result.summary(), endpoint


def says(*quotes: str, verdict: Any = "MET") -> Any:
    """Answers with these quotes in turn, the last again and again."""
    left = list(quotes)

    def respond(request: JudgeRequest) -> Rule:
        quote = left.pop(0) if len(left) > 1 else left[0]
        return Rule(verdict=verdict, evidence=[quote] if quote else [])

    return respond


def items(**quotes: str) -> dict[str, Any]:
    """An answer that finds these diseases, each with its quote."""
    return {
        "items": [
            {
                "item": name,
                "classified": "positive" if name in quotes else "unmentioned",
                "quote": quotes.get(name, ""),
            }
            for name in ("asthma", "bronchitis")
        ],
        "others": [],
    }


def last_message(endpoint: ScriptedEndpoint) -> str:
    return str(endpoint.requests[-1].body["messages"][-1]["content"])


def test_an_item_whose_quote_is_not_in_the_text_is_no_true_positive():
    answer = items(asthma="The patient has asthma.", bronchitis="thinks of bronchitis")
    found, summary, endpoint = graded([METRIC], lambda request: Rule(verdict=answer))
    verdict = found["diagnoses"]
    assert (verdict.status, verdict.label, verdict.value) == ("abstained", "CANNOT_ASSESS", None)
    assert verdict.detail == {"require_evidence": {"asked_again": 2, "abstained": True}}
    assert "the quote for 'asthma' is not in the submission" in verdict.reason
    assert len(endpoint.requests) == 3
    assert 'asthma\' is not in the submission, "The patient has asthma."' in last_message(endpoint)
    assert (summary.asked_again_for_evidence, summary.abstained_for_evidence) == (1, 1)
    assert "asked again" in str(summary)


def test_what_is_right_when_asked_again_stands():
    answers = [
        items(asthma="asthma since birth"),
        items(bronchitis="The doctor thinks of bronchitis"),
    ]
    found, summary, endpoint = graded([METRIC], lambda request: Rule(verdict=answers.pop(0)))
    verdict = found["diagnoses"]
    assert verdict.detail["tp"] == ["bronchitis"]
    assert verdict.detail["require_evidence"] == {"asked_again": 1}
    assert len(endpoint.requests) == 2
    assert (summary.asked_again_for_evidence, summary.abstained_for_evidence) == (1, 0)


@pytest.mark.parametrize(
    ("required", "quote", "status"),
    [
        *((None, "asthma", "abstained"), (None, "", "judged"), (False, "asthma", "judged")),
        *((True, "", "abstained"), (True, "thinks of bronchitis", "judged")),
    ],
)
def test_the_quotes_of_items_are_looked_up_unless_that_is_turned_off(required, quote, status):
    answer = items(asthma=quote)
    found, _, _ = graded([METRIC], lambda r: Rule(verdict=answer), require_evidence=required)
    assert found["diagnoses"].status == status


@pytest.mark.parametrize(
    ("verdict", "quote", "status", "requests"),
    [
        ("MET", "a dry cough since May", "judged", 1),
        ("MET", "the patient had a dry cough since May", "judged", 1),  # a paraphrase
        ("MET", "a wet cough since June", "abstained", 3),
        ("MET", "", "abstained", 3),
        ("UNMET", "", "judged", 1),
        ("UNMET", "never said", "judged", 1),
        ("CANNOT_ASSESS", "never said", "abstained", 1),
    ],
)
def test_a_binary_verdict_that_says_something_is_there_needs_a_quote(
    verdict, quote, status, requests
):
    for weight in (1.0, -1.0):
        criterion = BINARY.model_copy(update={"weight": weight})
        found, summary, endpoint = graded(
            [criterion], says(quote, verdict=verdict), require_evidence=True
        )
        assert found["cough"].status == status
        assert len(endpoint.requests) == requests
        assert summary.abstained_for_evidence == int(requests == 3)
        found, summary, endpoint = graded([criterion], says(quote, verdict=verdict))
        assert len(endpoint.requests) == 1
        assert summary.asked_again_for_evidence == 0


@pytest.mark.parametrize(
    ("criterion", "least", "more"),
    [
        (ScaleCriterion(name="c", requirement="r", low=1, high=5), 1, 3),
        (
            ScaleCriterion(name="c", requirement="r", low=0, high=2, higher_is_better=False),
            0,
            2,
        ),
        (
            Criterion(
                name="c",
                requirement="r",
                scale_type="ordinal",
                options=(
                    CriterionOption(label="none", value=0.0),
                    CriterionOption(label="some", value=0.5),
                    CriterionOption(label="much", value=1.0),
                ),
            ),
            "none",
            "some",
        ),
    ],
)
def test_of_scales_and_options_all_but_the_least_need_one(criterion, least, more):
    for label, status in ((least, "judged"), (more, "abstained")):
        found, _, _ = graded([criterion], says("no", verdict=label), require_evidence=True)
        assert found["c"].status == status


def test_several_criteria_in_a_request_are_asked_again_one_by_one():
    other = Criterion(name="other", requirement="Says more")

    def respond(request: JudgeRequest) -> Rule:
        quote = "never said" if "Tells of the cough" in request.criterion else "The patient has"
        return Rule(verdict="MET", evidence=[quote])

    found, summary, endpoint = graded(
        [BINARY, other], respond, criteria_per_call="all", require_evidence=True
    )
    assert (found["cough"].status, found["other"].status) == ("abstained", "judged")
    assert found["cough"].detail["require_evidence"] == {"asked_again": 2, "abstained": True}
    assert [len(request.criteria) for request in endpoint.requests] == [2, 1, 1]
    assert 'MET needs a quote from the submission, and it does not have "never' in last_message(
        endpoint
    )
    assert summary.abstained_for_evidence == 1


@pytest.mark.parametrize(
    ("quote", "status"), [("It is said in part 7", "judged"), ("x", "abstained")]
)
def test_quotes_of_a_long_text_are_looked_up_in_it_and_not_in_what_readers_said(quote, status):
    text = "\n\n".join(
        f"## {n}\n\nIt is said in part {n} of the cough. " + "Words. " * 60 for n in range(12)
    )

    def respond(request: JudgeRequest) -> Rule:
        label = "RELEVANT" if "NOTHING" in request.labels else "MET"
        return Rule(verdict=label, evidence=[quote], reason="a reader says: x")

    found, summary, _ = graded([BINARY], respond, text, chunk_tokens=200, require_evidence=True)
    assert found["cough"].status == status
    assert found["cough"].detail["document"]["read"] == "parts"
    assert summary.abstained_for_evidence == int(status == "abstained")


def test_votes_are_looked_at_one_by_one():
    found, summary, _ = graded(
        [BINARY],
        says("never said"),
        require_evidence=True,
        replicates=2,
        temperature=0.5,
    )
    assert [vote.status for vote in found["cough"].votes] == ["abstained"] * 2
    assert (summary.asked_again_for_evidence, summary.abstained_for_evidence) == (2, 2)


def test_a_rerun_says_the_same_and_asks_nothing_and_the_option_is_part_of_the_key(
    tmp_path, scripted
):
    rules = [
        Rule(criterion="Tells", verdict="MET", evidence=["no"]),
        Rule(verdict=items(asthma="asthma")),
    ]
    endpoint = scripted(rules)
    options: dict[str, Any] = {"run_dir": tmp_path / "run", "base_url": endpoint.url}
    dataset = RubricDataset("", Rubric([BINARY, METRIC]), [DataItem(TEXT, id="one")])
    asked, summaries = [], []
    for required in (None, None, True, True, False, None):
        endpoint.requests.clear()
        result = rubricate.grade(dataset, "m", require_evidence=required, **options)
        found, summary = result.items[0].criteria, result.summary()
        asked.append(len(endpoint.requests))
        summaries.append((summary.asked_again_for_evidence, summary.abstained_for_evidence))
        assert found["diagnoses"].status == ("judged" if required is False else "abstained")
        assert found["cough"].status == ("abstained" if required else "judged")
    assert asked == [1 + 3, 0, 3 + 3, 0, 1, 0]  # off is what is usual for binary
    assert summaries == [(1, 1), (1, 1), (2, 2), (2, 2), (0, 0), (1, 1)]
    row = json.loads((tmp_path / "run" / "results.jsonl").read_text().splitlines()[1])
    assert row["detail"]["require_evidence"] == {"asked_again": 2, "abstained": True}


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"judge": "m", "mode": "probability"}, "is for explained mode, not probability"),
        ({"judge": "builtin", "base_url": None}, "require_evidence is for language models"),
    ],
)
def test_where_it_says_nothing_it_is_refused(options, wrong):
    dataset = RubricDataset("", Rubric([BINARY]), [DataItem("a")])
    with pytest.raises(InputError, match=wrong):
        rubricate.grade(
            dataset, require_evidence=True, **{"base_url": "http://127.0.0.1:9/v1", **options}
        )


def test_the_command_has_it(rubricate, write_dataset):
    with ScriptedEndpoint([Rule(verdict="MET", evidence=["never said"])]) as endpoint:
        options = ("grade", write_dataset(), "--judge", "m", "--base-url", endpoint.url)
        plain = rubricate(*options, "--json")
        strict = rubricate(*options, "--require-evidence", "--json")
    assert json.loads(plain.stdout)["asked_again_for_evidence"] == 0
    told = json.loads(strict.stdout)
    assert told["asked_again_for_evidence"] == told["abstained_for_evidence"] > 0
    assert told["verdicts"]["judged"] == 0
