"""`rubricate compare`: what it says of two runs is true, whatever the runs were scored by."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rubricate import LengthPenalty, RubricDataset, grade
from rubricate.analysis import RunComparison, compare_runs, read_run
from rubricate.errors import RunStopped
from rubricate.judge import Panel, RecordedJudge
from rubricate.report import write_report
from rubricate.testing import Rule, ScriptedEndpoint

ABSTAINS = "CANNOT_ASSESS"
TONE = {
    "name": "tone",
    "requirement": "What is its tone?",
    "options": [
        {"label": "cold", "value": 0.0},
        {"label": "neutral", "value": 0.5},
        {"label": "warm", "value": 1.0},
        {"label": "none", "na": True},
    ],
}
RUBRIC: list[dict[str, Any]] = [
    {"name": "right", "weight": 3.0, "requirement": "Is right"},
    {"name": "fault", "weight": -1.0, "requirement": "Has a fault"},
    TONE,
    {"name": "quality", "kind": "scale", "requirement": "Is good"},
]
ANSWERS = {
    "right": ["MET", "UNMET", "MET", ABSTAINS, "MET", "UNMET", "MET", "MET"] * 3,
    "fault": ["UNMET", "MET", "UNMET", "UNMET", ABSTAINS, "UNMET", "UNMET", "MET"] * 3,
    "tone": ["warm", "cold", "neutral", "none", "warm", "neutral", ABSTAINS, "cold"] * 3,
    "quality": ["4", "2", "3", "5", "1", "3", "4", "2"] * 3,
}
Answers = Mapping[str, Sequence[str | None]]
Grade = Callable[..., Path]


def on_stdout(done: Any) -> str:
    """What a command printed, without the breaks of lines."""
    return " ".join(done.stdout.split())


@pytest.fixture
def graded(tmp_path: Path) -> Grade:
    """Make a run folder of recorded answers; None is a verdict that fails."""

    def graded(
        name: str,
        answers: Answers = ANSWERS,
        rubric: Sequence[Mapping[str, Any]] = RUBRIC,
        words: Callable[[int], int] = lambda place: 5,
        **options: Any,
    ) -> Path:
        items = []
        for place in range(len(next(iter(answers.values())))):
            votes = {key: given[place] for key, given in answers.items()}
            items.append(
                {
                    "id": f"item-{place}",
                    "submission": f"{place} " + "word " * words(place),
                    "description": "",
                    "metadata": {"votes": {"judge": votes, "other": votes}},
                }
            )
        data = {"name": name, "prompt": "", "rubric": list(rubric), "items": items}
        grade(
            RubricDataset.from_dict(data),
            options.pop("judge", RecordedJudge("judge")),
            run_dir=tmp_path / name,
            **options,
        )
        return tmp_path / name

    return graded


def compared(a: Path, b: Path) -> RunComparison:
    return compare_runs(read_run(a), read_run(b))


def changed(rubric: Sequence[Mapping[str, Any]], which: str, **fields: Any) -> list[dict[str, Any]]:
    return [{**one, **(fields if one["name"] == which else {})} for one in rubric]


def other_worth(label: str, **fields: Any) -> list[dict[str, Any]]:
    options = [{**one, **(fields if one["label"] == label else {})} for one in TONE["options"]]
    return changed(RUBRIC, "tone", options=options)


PENALTY = LengthPenalty(free_budget=3, max_cap=40)


@pytest.mark.parametrize(
    ("of_a", "of_b", "told"),
    [
        ({}, {"cannot_assess": "zero"}, "abstentions count as skip in A, zero in B"),
        ({"cannot_assess": "fail"}, {}, "abstentions count as fail in A, skip in B"),
        (
            {"cannot_assess": "partial", "partial": 0.2},
            {"cannot_assess": "partial", "partial": 0.9},
            "abstentions count as partial (0.2) in A, partial (0.9) in B",
        ),
        ({}, {"rubric": changed(RUBRIC, "right", weight=0.5)}, "'right' weighs 3 in A, 0.5 in B"),
        ({}, {"rubric": changed(RUBRIC, "tone", weight=-2.0)}, "'tone' weighs 1 in A, -2 in B"),
        (
            {},
            {"rubric": other_worth("neutral", value=0.1)},
            "'neutral' of 'tone' has the value 0.5 in A, 0.1 in B",
        ),
        (
            {"rubric": other_worth("cold", na=True)},
            {},
            "'cold' of 'tone' has the value none (N/A) in A, 0 in B",
        ),
        (
            {},
            {"rubric": changed(RUBRIC, "quality", higher_is_better=False)},
            "'1' of 'quality' has the value 0 in A, 1 in B",
        ),
        (
            {},
            {"length_penalty": PENALTY, "words": lambda n: n},
            "the length penalty, which is left",
        ),
        ({"length_penalty": PENALTY}, {}, "the length penalty, which is left out"),
        ({"rubric": RUBRIC[1:]}, {}, "'right' is only in B"),
        ({}, {"rubric": list(reversed(RUBRIC))}, ""),
    ],
)
def test_the_same_verdicts_under_other_scoring_are_not_worse(
    graded: Grade, rubricate: Any, of_a: Any, of_b: Any, told: str
):
    a, b = graded("a", **of_a), graded("b", **of_b)
    for first, second in ((a, b), (b, a)):
        found = compared(first, second)
        assert found.score.n == 24
        assert found.score.difference.value == pytest.approx(0.0, abs=1e-12)
        assert all(one.values.difference.value == pytest.approx(0.0) for one in found.criteria)
        assert (found.flips, found.one_sided) == ((), ())
    found = compared(a, b)
    assert any(told in text for text in found.differences) if told else not found.differences
    done = rubricate("compare", "a", "b", "--fail-if-worse", "0")
    assert (done.returncode, "Cannot tell: the mean" in on_stdout(done)) == (
        0,
        True,
    ), done.stderr
    assert ("Both are scored as B is" in done.stdout) == bool(told)


def test_where_runs_are_scored_alike_the_means_are_those_that_the_runs_show(graded: Grade):
    worse = {**ANSWERS, "quality": ["2"] * 24}
    options: dict[str, Any] = {"cannot_assess": "zero", "length_penalty": PENALTY}
    a, b = graded("a", **options), graded("b", worse, words=lambda place: 5 + place, **options)
    found = compared(a, b)
    for mean, run in ((found.score.mean_a, a), (found.score.mean_b, b)):
        shown = json.loads((run / "summary.json").read_text())["score"]
        assert (mean, shown["scored"]) == (pytest.approx(shown["mean"]), 24)
    assert found.differences == ()


def test_a_criterion_that_failed_everywhere_makes_no_run_worse_but_is_not_covered(
    graded: Grade, rubricate: Any
):
    graded("a")
    graded("b", {**ANSWERS, "right": [None] * 24})
    done = rubricate("compare", "a", "b", "--fail-if-worse", "0.02")
    assert done.returncode == 4
    assert "could be compared, less than 95%" in on_stdout(done)
    assert "21 failed in B" in on_stdout(done)
    done = rubricate(
        "compare", "a", "b", "--fail-if-worse", "0.02", "--min-coverage", "0", "--json"
    )
    assert done.returncode == 0
    figures = json.loads(done.stdout)
    assert figures["score"]["difference"]["value"] == 0.0
    assert figures["flips"] == []
    assert len(figures["one_sided"]) == 21
    assert figures["not_covered"] == ["right"]
    right = figures["criteria"][0]
    assert (right["values"]["n"], right["flips"], right["one_sided"]) == (0, 0, 21)


def test_a_whole_criterion_that_is_missing_among_many_is_not_covered(graded: Grade, rubricate: Any):
    rubric = [{"name": f"c{place}", "requirement": f"Has {place}"} for place in range(40)]
    answers: dict[str, list[str | None]] = {one["name"]: ["MET"] * 4 for one in rubric}
    graded("a", answers, rubric)
    graded("b", {**answers, "c7": [None] * 4}, rubric)
    done = rubricate("compare", "a", "b", "--fail-if-worse", "0.02")
    assert done.returncode == 4
    assert "nothing could be compared on c7 (4 failed in B)" in on_stdout(done)
    graded("c", {**answers, "c7": ["MET", None, None, None]}, rubric)
    assert rubricate("compare", "a", "c", "--fail-if-worse", "0.02").returncode == 0
    itself = rubricate("compare", "a", "./a", "--fail-if-worse", "0.02")
    assert (itself.returncode, "./a is compared with itself" in itself.stderr) == (0, True)


def test_coverage_comes_before_the_difference_which_is_told_all_the_same(
    graded: Grade, rubricate: Any
):
    graded("a")
    graded("b", {**ANSWERS, "right": ["UNMET"] * 24, "quality": [None] * 24})
    done = rubricate("compare", "a", "b", "--fail-if-worse", "0.02")
    assert done.returncode == 4
    assert "Of the rest: Worse: the mean score changed by -" in on_stdout(done)
    done = rubricate("compare", "a", "b", "--fail-if-worse", "0.02", "--min-coverage", "0")
    assert (
        done.returncode,
        "Worse: the mean score changed by" in on_stdout(done),
    ) == (3, True)


def test_what_failed_in_the_first_run_alone_makes_neither_run_better(graded: Grade, rubricate: Any):
    graded("a", {**ANSWERS, "fault": [None] * 24})
    graded("b")
    for gate in (("a", "b"), ("b", "a")):
        done = rubricate("compare", *gate, "--fail-if-worse", "0", "--json")
        assert json.loads(done.stdout)["score"]["difference"]["value"] == 0.0
        assert done.returncode == 4


def test_two_runs_of_which_one_decided_nothing_are_one_line(graded: Grade, rubricate: Any):
    graded("a")
    graded("b", {name: [None] * 24 for name in ANSWERS})
    for pair in (("a", "b"), ("b", "a")):
        done = rubricate("compare", *pair)
        assert (done.returncode, done.stdout) == (1, "")
        assert "nothing can be compared: " in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert rubricate("compare", *pair, "--fail-if-worse", "0").returncode == 4


def test_flips_are_changed_answers_and_what_only_one_run_decided_is_apart(graded: Grade):
    answers = {name: list(given) for name, given in ANSWERS.items()}
    answers["right"][:5] = ["UNMET", None, ABSTAINS, "MET", "MET"]
    answers["tone"][3] = "cold"  # none: does not apply
    found = compared(graded("a"), graded("b", answers))
    assert [(flip.item, flip.criterion, flip.a, flip.b) for flip in found.flips] == [
        ("item-0", "right", "MET", "UNMET"),
        ("item-3", "tone", "none", "cold"),
    ]
    assert [(flip.item, flip.a, flip.b) for flip in found.one_sided] == [
        ("item-1", "UNMET", "failed"),
        ("item-2", "MET", ABSTAINS),
        ("item-3", ABSTAINS, "MET"),
    ]
    right = found.criteria[0]
    assert (right.values.n, right.flips, right.one_sided) == (19, 1, 3)
    assert found.not_compared == {"abstained in B": 1, "failed in B": 1}


def test_a_renamed_criterion_is_the_same_and_a_moved_one_without_a_name_too(graded: Grade):
    renamed = changed(RUBRIC, "right", name="correct")
    answers = {("correct" if name == "right" else name): ANSWERS[name] for name in ANSWERS}
    found = compared(graded("a"), graded("b", answers, renamed))
    assert (found.coverage, found.score.n, found.flips) == (1.0, 24, ())
    assert found.criteria[0].name == "correct"
    assert found.differences == ("'right' of A is 'correct' in B",)
    bare = [{"kind": "regex", "pattern": "^0"}, {"kind": "regex", "pattern": "^[01]"}]
    more = [{"kind": "regex", "pattern": "^2"}, *bare]
    a, b = graded("c", rubric=bare), graded("d", rubric=more)
    found = compared(a, b)
    assert (found.coverage, found.flips, found.score.difference.value) == (1.0, (), 0.0)
    assert "'criterion_1' is only in B" in found.differences
    found = compared(b, a)
    assert (found.flips, found.not_compared) == ((), {"not in B": 24})


def test_answers_to_another_question_are_not_compared(graded: Grade):
    rubric = changed(RUBRIC, "quality", low=1, high=10)
    found = compared(graded("a"), graded("b", rubric=rubric))
    assert found.not_compared == {"other answers in B": 24}
    assert found.not_covered == ("quality",)
    assert "'quality' has other answers" in found.differences
    assert found.score.difference.value == 0.0
    options = [*TONE["options"][:3], {"label": "hot", "value": 0.2}]
    answers = {**ANSWERS, "tone": ["hot" if one == "none" else one for one in ANSWERS["tone"]]}
    found = compared(
        graded("c"), graded("d", answers, rubric=changed(RUBRIC, "tone", options=options))
    )
    assert found.not_compared == {"other answers in B": 3}
    assert found.score.difference.value == 0.0


def test_the_votes_of_a_panel_are_compared_as_they_were_counted(graded: Grade):
    def panel(**how: Any) -> Panel:
        return Panel([RecordedJudge("judge"), RecordedJudge("other")], **how)

    a = graded("a", judge=panel())
    b = graded("b", judge=panel(), cannot_assess="zero", rubric=changed(RUBRIC, "right", weight=9))
    found = compared(a, b)
    assert (found.score.difference.value, found.coverage, found.flips) == (0.0, 1.0, ())


def test_items_with_rubrics_of_their_own_are_scored_alike(tmp_path: Path):
    def run(name: str, weight: float, **options: Any) -> Path:
        items = [
            {
                "id": f"item-{place}",
                "submission": f"Text {place}",
                "description": "",
                "rubric": [
                    {"name": "all", "requirement": "Is right", "weight": weight},
                    {"name": f"own-{place}", "requirement": f"Has {place}"},
                ],
                "metadata": {
                    "votes": {"j": {"all": "MET", f"own-{place}": ["UNMET", ABSTAINS][place % 2]}}
                },
            }
            for place in range(6)
        ]
        data = {"name": name, "prompt": "", "rubric": RUBRIC, "items": items}
        grade(RubricDataset.from_dict(data), RecordedJudge("j"), run_dir=tmp_path / name, **options)
        return tmp_path / name

    found = compared(run("a", 1.0), run("b", 4.0, cannot_assess="fail"))
    assert (found.score.n, found.score.difference.value, found.coverage) == (6, 0.0, 1.0)
    assert "'all' weighs 1 in A, 4 in B" in found.differences
    assert found.not_covered == ()


def test_every_view_of_a_comparison_says_the_same(graded: Grade, rubricate: Any, tmp_path: Path):
    answers = {**ANSWERS, "right": ["UNMET", None, *ANSWERS["right"][2:]]}
    graded("a")
    graded("b", answers, changed(RUBRIC, "tone", weight=0.25))
    done = rubricate(
        *("compare", "a", "b", "--fail-if-worse", "0.5", "-o", "report.md"), COLUMNS="200"
    )
    figures = json.loads(rubricate("compare", "a", "b", "--json").stdout)
    page = write_report(tmp_path / "a", compare=tmp_path / "b").path.read_text()
    shown = html.unescape(re.sub(r"<[^>]+>", " ", page.partition('id="changes"')[2]))
    texts = {
        "terminal": done.stdout,
        "markdown": (tmp_path / "report.md").read_text().replace("\\", ""),
        "page": shown,
    }
    score = figures["score"]
    rows = [("score", score, score["permutation"]["p_value"], len(figures["flips"]))] + [
        (one["name"], one["values"], one["p_value"], one["flips"]) for one in figures["criteria"]
    ]
    for view, text in texts.items():
        flat = " ".join(text.replace("|", " ").replace("*", " ").replace(",", ", ").split())
        for name, values, p, flips in rows:
            found = values["difference"]
            interval = ""
            if found["low"] is not None:
                interval = f"[{found['low']:+.2f}, {found['high']:+.2f}] "
            expected = (
                f"{name}{' (penalty)' if name == 'fault' else ''} {values['mean_a']:.2f} "
                f"{values['mean_b']:.2f} {found['value']:+.2f} {interval}"
                f"{p:.3f} {values['n']} {flips}"
            )
            assert expected in flat, (view, expected)
        assert "Both are scored as B is. Not the same in A and B: 'tone' weighs 1 in A" in flat
        assert "of the verdicts of A; of the others 1 failed in B." in flat
        assert "criteria corrected by Holm" in flat
    assert "item-1, right: UNMET -> failed" in done.stdout
    assert "## 1 verdicts that only one run decided" in texts["markdown"]


def test_asking_about_all_criteria_at_once_is_weighed_by_what_changes_and_what_it_saves(tmp_path):
    data = RubricDataset.from_dict(
        {
            "prompt": "",
            "rubric": [{"name": name, "requirement": f"Is {name}"} for name in "abcde"],
            "items": [{"submission": f"text {n}", "description": ""} for n in range(2, 22)],
        }
    )

    changes = [
        Rule(submission=f"text {n}", criterion="Is a", verdict="UNMET") for n in (3, 8, 12, 17)
    ]
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"m": {"input": 1.0, "output": 4.0}}))
    asked = (("single", 1, []), ("together", "all", changes))
    for name, size, rules in asked:
        with ScriptedEndpoint([*rules, Rule(verdict="MET")]) as endpoint:
            grade(
                data,
                "m",
                base_url=endpoint.url,
                prices=prices,
                criteria_per_call=size,
                run_dir=tmp_path / name,
            )
    comparison = compare_runs(read_run(tmp_path / "single"), read_run(tmp_path / "together"))
    changed, before, after = comparison.changed, comparison.usage_a, comparison.usage_b
    assert changed.value == 4 / 100
    assert (changed.low or 1) < 0.04 < (changed.high or 0)
    assert (before.requests, after.requests) == (5.0, 1.0)
    spent = [read_run(tmp_path / name).summary["usage"] for name in ("single", "together")]
    assert [before.cost, after.cost] == pytest.approx([usage["cost"] / 20 for usage in spent])
    said = re.search(r": (\d+)% less\.$", comparison.change_and_cost[1])
    assert said is not None
    assert abs(int(said[1]) - 100 * (1 - spent[1]["cost"] / spent[0]["cost"])) < 1


def test_of_no_changed_verdict_the_share_still_has_an_upper_bound(graded):
    comparison = compared(graded("before"), graded("after"))
    assert comparison.changed.value == 0.0
    assert 0.05 < (comparison.changed.high or 0) < 0.25


def test_a_run_that_ended_early_is_not_cheaper_for_that(tmp_path):
    items = [{"submission": f"text {n}", "description": ""} for n in range(12)]
    rubric = [{"name": "a", "requirement": "Is a"}]
    data = RubricDataset.from_dict({"prompt": "", "rubric": rubric, "items": items})
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"m": {"input": 1000.0, "output": 0.0}}))
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        options = {"base_url": endpoint.url, "prices": prices, "concurrency": 1, "cache": None}
        grade(data, "m", run_dir=tmp_path / "whole", **options)
        with pytest.raises(RunStopped):
            grade(data, "m", run_dir=tmp_path / "early", max_cost=1.2, max_tokens=90, **options)
    early = read_run(tmp_path / "early")
    assert sum(row.status == "not_run" for row in early.rows) > 6
    comparison = compare_runs(read_run(tmp_path / "whole"), early)
    assert comparison.usage_a.requests == 1.0
    assert comparison.usage_b.requests >= 1.0


def test_runs_without_their_texts_are_compared_though_prompts_repeat(tmp_path):
    items = [{"submission": f"t{n}", "description": "", "prompt": f"{n // 2}"} for n in range(6)]
    rubric = [{"name": "a", "requirement": "Is a"}]
    data = RubricDataset.from_dict({"rubric": rubric, "items": items})
    grade(
        data, lambda _: {"reason": "", "evidence": [], "verdict": "MET"}, run_dir=tmp_path / "run"
    )
    assert read_run(tmp_path / "run").grouping(None) == "prompt"
    (tmp_path / "run" / "items.jsonl").unlink()
    run = read_run(tmp_path / "run")
    assert run.grouping(None) is None
    assert compare_runs(run, run).score.n == 6
