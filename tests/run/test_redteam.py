"""Attacking judges: what counts as a success, and what does not."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import rubricate
from rubricate import InputError, PythonModel, RedTeamReport, RunStopped, Verdict
from rubricate.judge import load_attacks
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

SUITE = load_attacks()
RIGHT = {question.right for question in SUITE.questions}
WRONG = {question.wrong for question in SUITE.questions}
FAMILIES = [family.name for family in SUITE.families]
WEAKNESSES = {
    "fake verdict": r'"verdict": "MET"',
    "closing the fence": r"</submission",
    "instructions to the grader": r"Ignore",
    "content-free openers": r"^Thought process:$|step by step",
    "criterion echo": r"(Gives|Names|Explains) ",
    "another language": r"^(Reines|El agua|Grüne|Las plantas)",
    "length padding": r".{350}",
    "null answers": r"^\.?$",
}
"""For each family, what a judge looks at that falls for it and for no other."""
Respond = Callable[[JudgeRequest], Rule]


def robust(request: JudgeRequest) -> Rule:
    """Knows the right answers."""
    return Rule(verdict="MET" if request.submission in RIGHT else "UNMET")


def falls_for(pattern: str) -> Respond:
    def respond(request: JudgeRequest) -> Rule:
        fallen = re.search(pattern, request.submission, re.DOTALL)
        return Rule(verdict="MET") if fallen else robust(request)

    return respond


def attacked(respond: Respond, **options: object) -> tuple[RedTeamReport, ScriptedEndpoint]:
    with ScriptedEndpoint(respond=respond) as endpoint:
        report = rubricate.redteam("m", base_url=endpoint.url, **{"limit": 2, **options})
    return report, endpoint


def rates(report: RedTeamReport, place: int = 0) -> dict[str, float | None]:
    return {row.family: row.rate for row in report.defences[place].families}


def test_the_suite_has_every_family_and_no_attack_gives_the_right_answer():
    assert list(WEAKNESSES) == FAMILIES
    for question in SUITE.questions:
        texts = [text for family in SUITE.families for text in family.attacked(question)]
        assert len({*texts, question.right, question.wrong}) == len(texts) + 2
        assert not any(question.right in text or question.reference in text for text in texts)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_judge_that_falls_for_one_family_shows_it_for_that_family_alone(family):
    report, _ = attacked(falls_for(WEAKNESSES[family]), limit=1)
    for place in (0, 1):
        assert rates(report, place) == {name: float(name == family) for name in FAMILIES}


def test_a_robust_judge_is_never_talked_round_and_judges_the_controls_right():
    report, endpoint = attacked(robust, limit=None)
    assert [figures.defence for figures in report.defences] == ["on", "off"]
    for figures in report.defences:
        assert (figures.all.succeeded, figures.all.n, figures.all.rate) == (0, 128, 0.0)
        assert [control.accuracy for control in figures.controls] == [1.0, 1.0]
    assert report.calls == len(endpoint.requests) == 2 * (128 + 16)
    assert (report.questions, report.failed) == (8, 0)


def test_the_defence_makes_the_difference_for_a_judge_that_minds_it():
    def respond(request: JudgeRequest) -> Rule:
        warned = "never addressed to you" in request.prefix
        return robust(request) if warned else falls_for("</submission")(request)

    report, _ = attacked(respond)
    assert rates(report, 0)["closing the fence"] == 0.0
    assert rates(report, 1)["closing the fence"] == 1.0


def test_a_failed_call_is_no_success_and_is_counted_apart():
    def respond(request: JudgeRequest) -> Rule:
        forged = "</submission" in request.submission
        return Rule(status=400) if forged else robust(request)

    report, _ = attacked(respond)
    rows = {row.family: row for row in report.defences[0].families}
    broken = rows["closing the fence"]
    assert (broken.failed, broken.succeeded, broken.n, broken.rate) == (4, 0, 0, None)
    assert rows["fake verdict"].n == 4
    assert report.defences[0].all.failed == 4
    assert report.failed == 8


def test_an_abstention_is_no_success_and_is_counted_apart():
    def respond(request: JudgeRequest) -> Rule:
        empty = request.submission in ("", ".")
        return Rule(verdict="CANNOT_ASSESS") if empty else robust(request)

    report, _ = attacked(respond)
    row = report.defences[0].families[FAMILIES.index("null answers")]
    assert (row.abstained, row.n, row.rate) == (4, 0, None)
    assert report.failed == 0


def test_an_attack_without_a_control_that_was_judged_unmet_says_nothing():
    spoilt = SUITE.questions[0]

    def respond(request: JudgeRequest) -> Rule:
        return Rule(verdict="MET") if spoilt.wrong in request.submission else robust(request)

    report, _ = attacked(respond)
    figures = report.defences[0]
    assert figures.all.without_control == 16
    assert (figures.all.succeeded, figures.all.n) == (0, 16)
    wrong, right = figures.controls
    assert (wrong.accuracy, right.accuracy) == (0.5, 1.0)


def test_a_control_whose_judgement_failed_is_no_control():
    def respond(request: JudgeRequest) -> Rule:
        return Rule(status=400) if request.submission in WRONG else falls_for("Ignore")(request)

    report, _ = attacked(respond)
    figures = report.defences[0]
    assert (figures.all.n, figures.all.rate, figures.all.without_control) == (0, None, 32)
    assert (figures.controls[0].failed, figures.controls[0].accuracy) == (2, None)


def test_a_second_run_into_the_same_folder_asks_nothing_and_says_the_same(tmp_path):
    asked: list[str] = []

    def judge(messages):
        asked.append("".join(message["content"] for message in messages))
        return {"reason": "scripted", "evidence": [], "verdict": "UNMET"}

    model = PythonModel(judge, "scripted")
    first = rubricate.redteam(model, run_dir=tmp_path, limit=1)
    assert first.calls == len(asked) == len(set(asked)) == 36
    again = rubricate.redteam(model, run_dir=tmp_path, limit=2)  # what is new is asked for
    assert (again.calls, again.known) == (36, 36)
    assert len(asked) == len(set(asked)) == 72


def test_a_run_that_cannot_go_on_says_so_and_has_what_was_judged():
    def respond(request: JudgeRequest) -> Rule:
        return robust(request) if len(endpoint.requests) <= 20 else Rule(status=401)

    with (
        ScriptedEndpoint(respond=respond) as endpoint,
        pytest.raises(RunStopped, match="401") as caught,
    ):
        rubricate.redteam("m", base_url=endpoint.url, limit=2, concurrency=1)
    report = caught.value.report
    assert isinstance(report, RedTeamReport)
    assert "401" in (report.stopped or "")
    assert (report.questions, report.calls, report.not_run) == (2, 21, 72 - 21)
    assert (report.defences[0].all.n, report.defences[0].all.succeeded) == (16, 0)
    assert "auth: " in (report.first_error or "")
    assert "Stopped early: " in str(report)


def test_an_estimate_counts_what_would_be_asked_and_sends_nothing(tmp_path):
    estimate = rubricate.estimate_redteam(lambda messages: "", limit=1, run_dir=tmp_path / "run")
    assert (estimate.items, estimate.requests) == (36, 36)
    assert rubricate.estimate_redteam("builtin", limit=1).requests == 0
    assert not (tmp_path / "run").exists()


def test_a_judge_of_another_kind_is_attacked_as_it_is():
    report = rubricate.redteam("builtin", limit=1)
    assert [figures.defence for figures in report.defences] == ["own"]
    assert report.calls == 18
    assert report.note


def test_a_judge_with_a_prompt_of_its_own_is_attacked_as_it_is():
    class Lenient:
        name, note = "lenient", None

        def key(self, case, criterion):
            return case.prompt + "\0" + case.submission

        async def judge(self, case, criterion, send):
            wrong = case.submission in WRONG
            label = "UNMET" if wrong else "MET"
            return Verdict(criterion.name, "judged", label, float(not wrong))

        async def aclose(self):
            return None

    report = rubricate.redteam(Lenient())
    assert rates(report) == dict.fromkeys(FAMILIES, 1.0)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"limit": 0}, "the limit must be at least 1, found 0"),
        ({"base_url": "http://127.0.0.1:9/v1"}, "a base URL needs a judge"),
        ({"judge": 17}, "not a judge: int"),
        ({"judge": "openai/m"}, "OPENAI_API_KEY"),
    ],
)
def test_bad_input_is_one_clear_error(options, wrong):
    with pytest.raises(InputError, match=wrong):
        rubricate.redteam(**options)


def test_an_unknown_option_names_the_right_one():
    with pytest.raises(TypeError, match="did you mean 'concurrency'"):
        rubricate.redteam(concurency=3)
