"""`--fail-under` and its like: a run fails a build where that is shown, and no failure passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubricate.errors import InputError
from rubricate.run.results import Thresholds
from rubricate.testing import Rule, ScriptedEndpoint

GRADE = ("grade", "data.json", "--judge", "m", "--no-cache", "--run-dir", "run")
RUBRIC = [
    {"name": "speed", "weight": 1.0, "requirement": "Gives roughly 300000 kilometres"},
    {"name": "unit, long", "weight": 1.0, "requirement": "Says a second"},
    {"name": "boasting", "weight": -1.0, "requirement": "Praises itself shamelessly"},
]


@pytest.fixture
def graded(rubricate: Any, write_dataset: Any) -> Any:
    """Grade 48 right texts and 12 wrong ones, whose judgements are as the rules say."""

    def grade(*arguments: str, rules: tuple[Rule, ...] = (), command: tuple[str, ...] = GRADE):
        items = [
            {"submission": f"Roughly 300000 kilometres a second, {n}.", "id": f"right-{n}"}
            for n in range(48)
        ]
        items += [{"submission": f"It is fast {n}.", "id": f"wrong-{n}"} for n in range(12)]
        write_dataset(rubric=RUBRIC, items=items)
        given = [
            *rules,
            Rule(submission="Roughly", criterion="Praises", verdict="UNMET"),
            Rule(submission="Roughly", verdict="MET"),
            Rule(verdict="UNMET"),
        ]
        with ScriptedEndpoint(given) as judge:
            done = rubricate(*command, "--base-url", judge.url, *arguments)
        return done, judge.requests

    return grade


def reached_in(run: Path) -> dict[str, Any]:
    return json.loads((run / "summary.json").read_text())["thresholds"]


@pytest.mark.parametrize(
    ("thresholds", "code", "told"),
    [
        ("0.6", 0, "Thresholds reached: score 0.80 (0.69 to 0.89 by 60 items) is not below 0.6"),
        ("0.9", 6, "Thresholds missed: score 0.80 (0.69 to 0.89 by 60 items) is below 0.9"),
        ("0.6,speed=0.9", 6, "Thresholds missed: speed 0.80 (0.69 to 0.89 by 60 items) is below"),
        ("speed=0.6,unit, long=0.6", 0, "unit, long 0.80 (0.69 to 0.89 by 60 items) is not below"),
    ],
)
def test_a_figure_below_its_threshold_ends_the_run_with_an_exit_code_of_its_own(
    tmp_path: Path, graded: Any, thresholds: str, code: int, told: str
):
    done, _ = graded("--fail-under", thresholds)
    assert done.returncode == code, done.stderr
    assert told in " ".join(done.stdout.split())
    assert told not in done.stderr
    assert reached_in(tmp_path / "run")["outcome"] == ("below" if code else "passed")


def test_what_so_few_items_cannot_tell_passes_with_a_warning_or_fails(graded: Any, tmp_path: Path):
    done, _ = graded("--fail-under", "0.82")
    assert done.returncode == 0
    shown = " ".join(done.stdout.split())
    assert "Thresholds unclear: score 0.80 (0.69 to 0.89 by 60 items) may be below" in shown
    assert "such items would" in shown
    assert done.stderr.endswith("the gate cannot tell, and passes (--on-unclear fail: it fails).\n")
    done, _ = graded("--fail-under", "0.82", "--on-unclear", "fail", "--fresh")
    assert (done.returncode, reached_in(tmp_path / "run")["outcome"]) == (7, "cannot tell")
    done, _ = graded("--fail-if-confidence-bound-under", "0.72", "--fresh")
    assert done.returncode == 6
    assert "confidence bound of score 0.69 is below 0.72" in " ".join(done.stdout.split())
    assert graded("--fail-if-confidence-bound-under", "0.68", "--fresh")[0].returncode == 0
    done, _ = graded("--on-unclear", "fail", "--fresh")
    assert "--on-unclear is for thresholds: give --fail-under, too" in done.stderr


def test_items_that_belong_together_are_one_witness(graded: Any, rubricate: Any, tmp_path: Path):
    graded()
    lines = (tmp_path / "run" / "results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        row["metadata"] = {"question": int(row["item"].split("-")[1]) // 6}
    (tmp_path / "run" / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for options, outcome in ((), 0), (("--groups", "question", "--on-unclear", "fail"), 7):
        done = rubricate("show", "run", "--fail-under", "0.68", *options)
        assert done.returncode == outcome, done.stdout


def test_without_thresholds_nothing_is_said_of_thresholds(tmp_path: Path, graded: Any):
    graded("--fail-under", "0.9")
    done, _ = graded("--fresh")  # its endpoint is another one
    assert done.returncode == 0
    assert "hreshold" not in done.stdout
    assert "thresholds" not in json.loads((tmp_path / "run" / "summary.json").read_text())


BROKEN = Rule(submission="fast", reply="nonsense")


@pytest.mark.parametrize(
    ("thresholds", "code", "outcome"),
    [
        # right: 4 of 4 met; the fifth item, which fails, could be anything from 0 to 1
        ("0.75", 2, "passed"),
        ("0.8", 2, "passed"),
        ("0.9", 4, "undecided"),
        ("1", 4, "undecided"),
        ("0.9,speed=0.8", 4, "undecided"),
    ],
)
def test_a_failed_verdict_never_reaches_a_threshold(
    tmp_path: Path, graded: Any, thresholds: str, code: int, outcome: str
):
    done, _ = graded("--fail-under", thresholds, rules=(BROKEN,))
    reached = reached_in(tmp_path / "run")
    assert reached["checks"][0]["value"] == 1.0  # of the items that were judged
    assert (done.returncode, reached["outcome"]) == (code, outcome), done.stderr
    if outcome == "undecided":
        why = "could be 0.80 to 1.00, since 36 verdicts have no answer"
        assert why in " ".join(done.stdout.split())


def test_a_threshold_is_missed_where_no_answer_of_the_failed_verdicts_could_lift_it(
    tmp_path: Path, graded: Any
):
    rules = (
        Rule(submission=", 0.", reply="nonsense"),
        Rule(verdict="UNMET"),
    )
    done, _ = graded("--fail-under", "0.5", rules=rules)
    assert (done.returncode, reached_in(tmp_path / "run")["outcome"]) == (6, "below"), done.stderr


def test_the_worst_case_counts_abstentions_which_the_mean_leaves_out(graded: Any, tmp_path: Path):
    rules = (Rule(submission="fast", verdict="CANNOT_ASSESS"),)
    done, _ = graded("--fail-under", "1", rules=rules)
    assert done.returncode == 0, done.stderr
    done, _ = graded("--fail-if-worst-case-under", "0.9,speed=0.9", "--fresh", rules=rules)
    assert done.returncode == 6
    assert "worst case of score 0.80 is below 0.9" in " ".join(done.stdout.split())
    assert "worst case of speed 0.80 is below 0.9" in " ".join(done.stdout.split())
    done, _ = graded("--fail-if-worst-case-under", "0.8", "--fresh", rules=rules)
    assert done.returncode == 0
    assert reached_in(tmp_path / "run")["checks"][0]["figure"] == "worst case"


def test_a_threshold_of_which_nothing_was_judged_is_undecided(graded: Any, tmp_path: Path):
    done, _ = graded("--fail-under", "0", rules=(Rule(verdict="CANNOT_ASSESS"),))
    assert (done.returncode, reached_in(tmp_path / "run")["outcome"]) == (4, "undecided")
    assert "score: nothing was judged" in done.stdout


def test_a_run_that_could_not_go_on_keeps_its_exit_code(graded: Any, tmp_path: Path):
    done, _ = graded("--fail-under", "0", rules=(Rule(status=401),))
    assert done.returncode == 1
    assert reached_in(tmp_path / "run")["outcome"] == "undecided"


@pytest.mark.parametrize(
    ("thresholds", "told"),
    [
        ("80", "fail_under: 80 is not from 0 to 1, as scores are: give 0.8 for 80 %"),
        ("high", "'high' is no number"),
        ("nan", "nan is not from 0 to 1"),
        ("0.8,", "nothing follows the comma"),
        ("0.8,speed=high", "'speed=high' is no threshold"),
        ("speed=0.8,speed=0.9", "'speed' has two thresholds"),
        ("sped=0.8", "no criterion 'sped'; did you mean 'speed'?"),
        ("boasting=0.5", "'boasting' is a penalty criterion, for which more is worse"),
    ],
)
def test_thresholds_that_cannot_be_meant_are_refused_before_anything_is_sent(
    tmp_path: Path, graded: Any, thresholds: str, told: str
):
    done, requests = graded("--fail-under", thresholds)
    assert (done.returncode, done.stdout) == (1, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert not requests
    assert not (tmp_path / "run").exists()


def test_criteria_of_items_own_rubrics_are_found(rubricate: Any, write_dataset: Any, tmp_path):
    items = [
        {"submission": "300000", "description": "a", "rubric": RUBRIC[:1]},
        {"submission": "300000", "description": "b", "rubric": [dict(RUBRIC[1], name="unit")]},
    ]
    write_dataset(rubric=None, items=items)
    grade = ("grade", "data.json", "--run-dir", "run", "--no-cache")
    done = rubricate(*grade, "--fail-under", "unti=0.5")
    assert "did you mean 'unit'?" in done.stderr
    assert rubricate(*grade, "--fail-under", "unit=0", "--quiet").returncode in (0, 4)
    assert [one["criterion"] for one in reached_in(tmp_path / "run")["checks"]] == ["unit"]


def test_thresholds_stand_in_a_settings_file_too(tmp_path: Path, graded: Any):
    (tmp_path / "run.yaml").write_text("fail_under: 0.9\nfail_if_worst_case_under: speed=0.1\n")
    done, _ = graded("--config", "run.yaml", "--json")
    assert done.returncode == 6
    reached = json.loads(done.stdout)["thresholds"]
    assert [(one["criterion"], one["outcome"]) for one in reached["checks"]] == [
        (None, "below"),
        ("speed", "passed"),
    ]


def test_a_finished_run_is_checked_by_show_which_writes_nothing(
    tmp_path: Path, graded: Any, rubricate: Any
):
    graded()
    before = (tmp_path / "run" / "summary.json").read_bytes()
    done = rubricate("show", "run", "--fail-under", "0.9")
    assert done.returncode == 6
    assert "is below 0.9" in done.stdout
    assert rubricate("show", "run", "--fail-under", "0.6").returncode == 0
    assert rubricate("show", "run", "--fail-if-worst-case-under", "0.9").returncode == 6
    refused = rubricate("show", "run", "--fail-under", "0.9", "--item", "wrong-1")
    assert (refused.returncode, "leave out --item" in refused.stderr) == (1, True)
    assert (tmp_path / "run" / "summary.json").read_bytes() == before


def test_the_report_page_says_what_became_of_thresholds(
    tmp_path: Path, graded: Any, rubricate: Any
):
    graded("--fail-under", "0.9")
    assert rubricate("report", "run").returncode == 0
    page = (tmp_path / "run" / "report.html").read_text()
    missed = "Thresholds missed: score 0.80 (0.69 to 0.89 by 60 items) is below 0.9"
    assert f'<p class="bad-text">{missed}</p>' in page


def test_a_name_may_have_commas_and_equals_signs():
    found = Thresholds.parse("0.5, a=b, c=0.25,d=1")
    assert (found.score, found.criteria) == (0.5, {"a=b, c": 0.25, "d": 1.0})
    with pytest.raises(InputError, match="inf is not from 0 to 1"):
        Thresholds.parse("inf")
