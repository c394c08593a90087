"""Several judges: each vote is kept, reused and counted."""

from __future__ import annotations

from typing import Any

import pytest

import rubricate
from rubricate import (
    Criterion,
    InputError,
    ModelJudge,
    Panel,
    PythonModel,
    RegexCriterion,
    Rubric,
    RubricDataset,
    RunStopped,
)
from rubricate.errors import ModelError
from rubricate.judge import Explained, named_judge
from rubricate.testing import Rule, ScriptedEndpoint


class Judges:
    """Makes judges that give one answer by what they find in the prompt, and counts the calls."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.failing: set[str] = set()

    def __call__(self, name: str, met_if: str = "") -> PythonModel:
        def answer(messages: list[Any]) -> dict[str, Any]:
            self.calls[name] = self.calls.get(name, 0) + 1
            if name in self.failing:
                raise ModelError("context_length", "too long")
            verdict = "MET" if met_if in messages[-1]["content"] else "UNMET"
            return {"reason": f"{name} says so", "evidence": [], "verdict": verdict}

        return PythonModel(answer, name=name)


@pytest.fixture
def judges() -> Judges:
    return Judges()


def test_every_vote_is_in_the_results_with_reason_cost_and_time(
    make_dataset, judges, tmp_path, rows
):
    panel = Panel([judges("a"), judges("b"), judges("c", "never")])
    result = rubricate.grade(make_dataset(2), panel, run_dir=tmp_path)
    verdict = result.items[0].criteria["speed"]
    assert [vote.judge for vote in verdict.votes] == ["a", "b", "c"]
    assert (verdict.label, verdict.judge, verdict.reason) == ("MET", "a + b + c", "a says so")
    assert verdict.usage.requests == 3
    row = rows(tmp_path)[0]
    assert [(vote["judge"], vote["label"], vote["reason"]) for vote in row["votes"]] == [
        ("a", "MET", "a says so"),
        ("b", "MET", "b says so"),
        ("c", "UNMET", "c says so"),
    ]
    assert all(vote["usage"]["seconds"] > 0 for vote in row["votes"])
    frame = result.to_pandas()
    assert list(frame["votes.c"]) == ["UNMET"] * 4
    assert list(frame["judge_scores.c"]) == [0.0] * 4
    assert row["judge_scores"]["c"]["value"] == 0.0


def test_a_panel_reuses_what_its_judges_have_answered_alone(make_dataset, judges, tmp_path):
    a, b, c = judges("a"), judges("b"), judges("c")
    rubricate.grade(make_dataset(3), a, run_dir=tmp_path)
    assert judges.calls == {"a": 6}
    both = rubricate.grade(make_dataset(3), [a, b], run_dir=tmp_path)
    assert judges.calls == {"a": 6, "b": 6}
    assert (both.calls, both.resumed) == (6, 6)
    rubricate.grade(make_dataset(3), [a, b, c], run_dir=tmp_path)
    assert judges.calls == {"a": 6, "b": 6, "c": 6}
    rubricate.grade(make_dataset(3), b, run_dir=tmp_path)
    assert judges.calls["b"] == 6


def test_another_strategy_counts_the_same_votes_without_a_request(make_dataset, judges, tmp_path):
    panel = [judges("a"), judges("b", "never")]
    first = rubricate.grade(make_dataset(2), panel, strategy="any", run_dir=tmp_path)
    again = rubricate.grade(make_dataset(2), panel, strategy="unanimous", run_dir=tmp_path)
    assert judges.calls == {"a": 4, "b": 4}
    assert first.items[0].criteria["speed"].label == "MET"
    assert again.items[0].criteria["speed"].label == "UNMET"
    assert again.items[0].criteria["speed"].resumed


def test_a_criterions_own_aggregation_goes_before_the_panels_strategy(
    make_dataset, judges, tmp_path
):
    panel, dataset = [judges("a"), judges("b", "never")], make_dataset(2)
    first = rubricate.grade(dataset, panel, strategy="any", run_dir=tmp_path)
    asked, other = dataset.rubric
    dataset.rubric = Rubric([asked.model_copy(update={"aggregation": "unanimous"}), other])
    again = rubricate.grade(dataset, panel, strategy="any", run_dir=tmp_path)
    assert judges.calls == {"a": 4, "b": 4}
    labels = [(one.criteria[asked.name].label, one.criteria[other.name].label) for one in again]
    assert [label for label, _ in labels] == ["UNMET", "UNMET"]
    assert [label for _, label in labels] == [one.criteria[other.name].label for one in first]


def test_more_replicates_ask_only_for_those_that_are_missing(make_dataset, judges, tmp_path, rows):
    a = judges("a")
    for replicates, calls in ((1, 2), (2, 4), (3, 6)):
        rubricate.grade(make_dataset(1), a, replicates=replicates, run_dir=tmp_path)
        assert judges.calls["a"] == calls
    row = rows(tmp_path)[0]
    assert [vote["judge"] for vote in row["votes"]] == ["a", "a #2", "a #3"]


def test_a_failed_vote_is_no_vote_and_is_asked_again(make_dataset, judges, tmp_path):
    panel = [judges("a"), judges("b")]
    judges.failing.add("b")
    for _ in range(2):
        result = rubricate.grade(make_dataset(1), panel, run_dir=tmp_path)
        verdict = result.items[0].criteria["speed"]
        assert (verdict.status, verdict.label) == ("judged", "MET")
        assert verdict.votes[1].error.kind == "context_length"
    assert judges.calls == {"a": 2, "b": 4}


def test_votes_below_the_quorum_fail_the_verdict_with_the_cause(make_dataset, judges):
    panel = [judges("a"), judges("b")]
    judges.failing.add("b")
    result = rubricate.grade(make_dataset(1), panel, min_votes=2)
    verdict = result.items[0].criteria["speed"]
    assert verdict.status == "failed"
    assert str(verdict.error.message).startswith("1 of 2 votes decide, 2 needed; the first that")
    assert result.summary().errors == {"quorum": 2}
    assert result.items[0].score.value is None


def test_a_run_that_stops_between_votes_has_no_verdict_of_half_a_panel(make_dataset, judges):
    with ScriptedEndpoint([Rule(status=401)]) as endpoint:
        refused = rubricate.HTTPModel("m", base_url=endpoint.url)
        panel = Panel([judges("a"), refused], min_votes=2)
        with pytest.raises(RunStopped) as stopped:
            rubricate.grade(make_dataset(1), panel, concurrency=1)
    verdict = stopped.value.result.items[0].criteria["boasting"]
    assert (verdict.status, verdict.error.kind) == ("not_run", "not_run")
    assert [vote.judge for vote in verdict.votes] == ["a"]


def test_code_is_run_once_and_votes_on_nothing(judges):
    rubric = Rubric(
        [RegexCriterion(name="r", pattern="light"), Criterion(name="c", requirement="x")]
    )
    item = rubricate.grade_one(rubric, "light", judge=[judges("a"), judges("b")])
    assert item.criteria["r"].votes == ()
    assert item.criteria["r"].judge == "code"
    assert len(item.criteria["c"].votes) == 2


def test_judges_of_a_panel_may_answer_several_criteria_in_a_call(make_dataset, judges):
    def all_met(messages: list[Any]) -> dict[str, Any]:
        judges.calls["g"] = judges.calls.get("g", 0) + 1
        answer = {"reason": "r", "evidence": [], "verdict": "MET"}
        return {"1": answer, "2": answer}

    grouped = ModelJudge(PythonModel(all_met, name="g"), Explained(criteria_per_call="all"))
    result = rubricate.grade(make_dataset(1), [judges("a"), grouped])
    assert judges.calls == {"a": 2, "g": 1}
    assert [vote.label for vote in result.items[0].criteria["speed"].votes] == ["MET", "MET"]


def test_reliability_weighs_judges_by_their_votes_on_the_whole_dataset(tmp_path, rows):
    """Two judges who are right as a rule outvote three who answer without looking."""
    rubric = Rubric([Criterion(name="c", requirement="x")])
    dataset = RubricDataset("p", rubric)
    for number in range(24):
        truth = number % 2 == 0
        noise = [(number >> bit) & 1 for bit in (1, 2, 3)]
        dataset.add_item(
            f"{'yes' if truth else 'no'} " + " ".join(f"n{i}{bit}" for i, bit in enumerate(noise)),
            ground_truth=["MET" if truth else "UNMET"],
        )
    judges = Judges()
    panel = [judges("a", "yes "), judges("b", "yes "), judges("e", "yes ")]
    panel += [judges(f"noise {i}", f"n{i}1") for i in range(3)]
    equal = rubricate.grade(dataset, panel, run_dir=tmp_path)
    learnt = rubricate.grade(dataset, panel, weights="reliability", run_dir=tmp_path)
    assert learnt.calls == 0
    assert learnt.summary().agreement.accuracy == 1.0 > equal.summary().agreement.accuracy
    weights = {figures.name: figures.weight for figures in learnt.summary().judges}
    assert weights["a"] > 3 * weights["noise 1"] > 0
    assert all(row["label"] == row["human_label"] for row in rows(tmp_path))


def test_the_summary_shows_agreement_of_judges_and_what_each_alone_would_give(make_dataset, judges):
    dataset = make_dataset(2, ground_truth=["MET", "UNMET"])
    panel = [judges("a"), judges("b"), judges("c", "never")]
    summary = rubricate.grade(dataset, panel).summary()
    assert [figures.judges_agree for figures in summary.criteria] == pytest.approx([1 / 3, 1 / 3])
    a, _, c = summary.judges
    assert (a.name, a.with_verdict, a.score) == ("a", 1.0, 0.5)
    assert (c.name, c.with_verdict, c.score) == ("c", 0.0, 0.0)
    assert a.agreement.accuracy == c.agreement.accuracy == 0.5
    assert summary.strategies["binary"] == "majority"
    assert "agree" in str(summary)
    assert "0 tied; binary majority" in str(summary)


def test_an_abstention_that_turns_into_a_full_score_is_warned_about(make_dataset, tmp_path, rows):
    def abstains_on_points(messages: list[Any]) -> dict[str, Any]:
        fault = "Praises itself" in messages[-1]["content"]
        verdict = "UNMET" if fault else "CANNOT_ASSESS"
        return {"reason": "r", "evidence": [], "verdict": verdict}

    result = rubricate.grade(make_dataset(3), abstains_on_points, run_dir=tmp_path)
    assert result.items[0].score.value == 1.0
    assert result.summary().warnings == {"faults_only": 3}
    assert "Items with a warning: faults only 3" in str(result.summary())
    assert "penalties only" in rows(tmp_path)[0]["warnings"]["faults_only"]


UNWEIGHTED = {"strategy": "any", "ordinal": "min", "nominal": "mode", "numeric": "mean"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"strategy": "majorty"}, "did you mean 'majority'"),
        ({"min_votes": 3}, "min_votes is 3, but there are only 2 votes"),
        ({"weights": [1]}, "1 weights for 2 judges"),
        ({"weights": {"a": 1, "B": 1}}, "unknown judge 'B'.*did you mean 'b'"),
        ({"weights": {"a": 1}}, "weights: none for b"),
        ({"weights": "reliable"}, "weights.* or 'reliability'"),
        ({"strategy": "weighted"}, "needs weights"),
        (UNWEIGHTED | {"weights": [1, 2]}, "no strategy is weighted"),
        ({"replicates": 0}, "at least 1"),
    ],
)
def test_a_panel_that_makes_no_sense_is_an_error_before_anything_is_asked(judges, given, message):
    panel = [judges("a"), judges("b")]
    with pytest.raises(InputError, match=message):
        Panel(panel, **given)
    with pytest.raises(InputError, match=message):
        rubricate.grade_one(Rubric([Criterion(requirement="x")]), "a", judge=panel, **given)
    assert judges.calls == {}


def test_a_judge_that_stands_twice_is_an_error_and_two_of_one_name_are_told_apart(judges):
    a = judges("a")
    with pytest.raises(InputError, match=r"a is listed twice.*replicates"):
        Panel([a, ModelJudge(a)])
    other = PythonModel(lambda messages: "", name="a")
    assert [member.name for member in Panel([a, other]).members] == ["a", "a (2)"]
    with pytest.raises(InputError, match="at least one judge"):
        Panel([])


@pytest.mark.parametrize(
    ("judge", "given", "message"),
    [
        (None, {"strategy": "any"}, "strategy is for several judges"),
        ("builtin", {"min_votes": 2}, "min_votes is 2, but there is only one vote"),
        (Panel(["builtin"]), {"strategy": "any"}, "a Panel has its own"),
        ([], {}, "list of judges is empty"),
    ],
)
def test_options_of_a_panel_without_one_are_errors(judge, given, message):
    with pytest.raises(InputError, match=message):
        rubricate.grade_one(Rubric([Criterion(requirement="x")]), "a", judge=judge, **given)


def test_a_rewards_judges_may_be_several(judges):
    rubric = Rubric([Criterion(name="c", requirement="x")])
    with rubricate.RewardFunction(rubric, [judges("a"), judges("b")], strategy="any") as reward:
        assert reward(["one", "two"]) == [1.0, 1.0]
    assert judges.calls == {"a": 2, "b": 2}


def test_an_estimate_counts_every_judges_requests_and_knows_what_is_known(
    make_dataset, judges, tmp_path
):
    a, b = judges("a"), judges("b")
    rubricate.grade(make_dataset(2), a, run_dir=tmp_path)
    found = rubricate.estimate(make_dataset(2), [a, b], run_dir=tmp_path)
    assert (found.verdicts, found.known, found.models) == (8, 4, {"b": 4})
    assert judges.calls == {"a": 4}


def test_only_failed_votes_are_asked_again_where_that_is_wanted(make_dataset, judges, tmp_path):
    panel = [judges("a"), judges("b")]
    options = {"min_votes": 2, "run_dir": tmp_path}
    judges.failing.add("b")
    assert rubricate.grade(make_dataset(1), panel, **options).failed == 2
    judges.failing.clear()
    again = rubricate.grade(make_dataset(1), panel, retry_failed=True, **options)
    assert again.failed == 0
    assert judges.calls == {"a": 2, "b": 4}
    third = [*panel, judges("c")]
    new = rubricate.grade(make_dataset(1), third, retry_failed=True, **options)
    assert [verdict.error.kind for _, verdict in new.verdicts()] == ["not_run", "not_run"]


def test_a_stopped_run_that_learns_weights_still_gives_every_item_once(make_dataset, judges):
    with ScriptedEndpoint([Rule(status=401)]) as endpoint:
        refused = rubricate.HTTPModel("m", base_url=endpoint.url)
        panel = Panel([judges("a"), refused], weights="reliability", min_votes=2)
        with pytest.raises(RunStopped) as stopped:
            rubricate.grade(make_dataset(4), panel, concurrency=1)
    result = stopped.value.result
    assert [item.index for item in result] == [0, 1, 2, 3]
    assert result.summary().not_run == 7  # of 8; the first criterion has a vote and a failure
    assert list(result.weights) == ["a", "m"]


def test_a_panels_fingerprint_is_of_its_members_and_strategy() -> None:
    def prints(*judges: Any, **options: Any) -> str | None:
        return Panel(judges, **options).fingerprint()

    other = PythonModel(lambda messages: "", name="other")
    assert prints("builtin", other) == prints("builtin", other)
    different = [
        prints("builtin", other),
        prints("builtin"),
        prints("builtin", other, strategy="any"),
        prints("builtin", other, replicates=2),
        named_judge("builtin").fingerprint(),
    ]
    assert len(set(different)) == 5


def test_quotes_that_no_text_has_are_counted_per_judge_and_criterion(make_dataset):
    def judge(name: str, quote: str) -> PythonModel:
        reply = {"reason": "r", "evidence": [quote], "verdict": "MET"}
        return PythonModel(lambda messages: reply, name=name)

    dataset = make_dataset(2)
    word = dataset.items[0].submission.split()[0]
    honest, liar = judge("honest", word), judge("liar", "words that nobody has ever written")
    summary = rubricate.grade(dataset, [honest, liar]).summary()
    found = [(one.judge, one.quotes, one.invented) for one in summary.invented_quotes]
    assert found == [("liar", 4, 4)]
    figures = [(one.name, one.quotes, one.invented_quotes) for one in summary.judges]
    assert figures == [("honest", 4, 0), ("liar", 4, 4)]
    assert [(one.quotes, one.invented_quotes) for one in summary.criteria] == [(4, 2), (4, 2)]
    assert summary.warnings["invented_quotes"] == 2
    assert "judge liar: 4 of 4 quotes are not in the submission" in str(summary)
    alone = rubricate.grade(dataset, honest).summary()
    assert not alone.invented_quotes
    assert "quotes" not in str(alone)
    assert rubricate.grade(dataset, liar).summary().invented_quotes[0].invented == 4


@pytest.mark.parametrize("rule", [Rule(status=401), Rule(status=404), Rule(status=400)])
def test_a_judge_that_is_refused_costs_its_own_votes_while_a_quorum_is_left(make_dataset, rule):
    # Five refused as wrong show that all will be. Until the fifth reply is there as many as may be
    # in flight are, and one more goes for each of the four before.
    most = 1 if rule.status != 400 else 32 + 4
    with ScriptedEndpoint([rule]) as refusing, ScriptedEndpoint() as working:
        bad = rubricate.HTTPModel("bad", base_url=refusing.url)
        good = rubricate.HTTPModel("good", base_url=working.url)
        result = rubricate.grade(make_dataset(20), [bad, good, "builtin"], min_votes=2)
        assert (result.stopped, result.failed) == (None, 0)
        assert len(working.requests) == 40
        assert len(refusing.requests) <= most
        summary = result.summary()
        assert [judge.votes["failed"] + judge.votes["not_run"] for judge in summary.judges] == [
            *(40, 0, 0)
        ]
        shown = " ".join(str(summary).split())
        assert "judge bad: of 40 votes " in shown
        assert f"; the first: {summary.judges[0].first_error}" in shown
        refused = len(refusing.requests)
        with pytest.raises(RunStopped):
            rubricate.grade(make_dataset(20), [bad, good, "builtin"], min_votes=3)
        assert len(refusing.requests) - refused <= most


def test_of_two_models_of_one_endpoint_only_the_one_that_is_not_there_is_lost(make_dataset):
    def respond(request: Any) -> Rule:
        missing = request.body["model"] == "missing"
        return Rule(status=404, message="no such model") if missing else Rule(verdict="MET")

    trouble: list[str | None] = []
    with ScriptedEndpoint(respond=respond) as endpoint:
        result = rubricate.grade(
            make_dataset(10),
            ["missing", "there"],
            base_url=endpoint.url,
            on_progress=lambda progress: trouble.append(progress.trouble),
        )
    assert (result.failed, result.stopped) == (0, None)
    assert sum(request.body["model"] == "missing" for request in endpoint.requests) == 1
    lost = "missing is given up, the others go on: HTTP 404: no such model"
    assert any(lost in (one or "") for one in trouble)
