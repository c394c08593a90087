"""One run, one figure: every view of a run says the same agreement, over the same pairs."""

from __future__ import annotations

import html
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

import rubricate
from rubricate import (
    Criterion,
    CriterionOption,
    DataItem,
    Panel,
    PythonModel,
    Rubric,
    RubricDataset,
    ScaleCriterion,
)
from rubricate.analysis import (
    Plots,
    agreement_report,
    compare_runs,
    list_runs,
    ppi_report,
    read_run,
    read_summary,
)
from rubricate.errors import ModelError
from rubricate.report import write_report
from rubricate.views import estimate_text

TONE = [("cold", 0.0), ("mild", 0.4), ("warm", 1.0), ("no tone", None)]
TOPIC = [("art", 1.0), ("sport", 1.0), ("law", 1.0), ("none", None)]
STARS = [("1", 0.0), ("2", 0.5), ("3", 1.0)]


def options(pairs: list[tuple[str, float | None]]) -> list[CriterionOption]:
    return [CriterionOption(label=label, value=value, na=value is None) for label, value in pairs]


RUBRIC = Rubric(
    [
        Criterion(name="correct", requirement="<correct>"),
        Criterion(name="fault", weight=-1, requirement="<fault>"),
        Criterion(name="rare", requirement="<rare>"),
        Criterion(name="tone", requirement="<tone>", options=options(TONE), scale_type="ordinal"),
        Criterion(
            name="topic", requirement="<topic>", options=options(TOPIC), scale_type="nominal"
        ),
        Criterion(name="stars", requirement="<stars>", options=options(STARS)),
        ScaleCriterion(name="quality", requirement="<quality>"),
        ScaleCriterion(name="marks", requirement="<marks>", low=0, high=100),
    ]
)
CHOICES: dict[str, list[Any]] = {
    "correct": ["MET", "UNMET"],
    "fault": ["MET", "UNMET"],
    "rare": ["UNMET"],
    "tone": [label for label, _ in TONE],
    "topic": [label for label, _ in TOPIC],
    "stars": [label for label, _ in STARS],
    "quality": ["1", "2", "3", "4", "5"],
    "marks": [str(mark) for mark in range(0, 101, 10)],
}
ITEMS = 40


def graded(rubric: Any, items: list[DataItem], answers: dict[str, list[str]], folder: Path) -> Any:
    """A run of one judge for each list of answers, one for each verdict in the dataset's order."""
    places = {item.submission: place for place, item in enumerate(items)}

    def model(judge: str) -> PythonModel:
        def answer(messages: list[Any]) -> dict[str, Any]:
            text = json.dumps(messages)
            (place,) = (place for submission, place in places.items() if submission in text)
            return {"reason": "so", "evidence": [], "verdict": answers[judge][place]}

        return PythonModel(answer, name=judge)

    dataset = RubricDataset(prompt="?", rubric=rubric, items=items, name="small")
    judges = [model(judge) for judge in answers]
    judge = judges[0] if len(judges) == 1 else Panel(judges)
    return rubricate.grade(dataset, judge, run_dir=folder)


def texts(count: int) -> list[str]:
    return [f"text <{number}>" for number in range(count)]


def said(generator: random.Random, name: str, undecided: float = 0.1) -> str:
    return "CANNOT_ASSESS" if generator.random() < undecided else generator.choice(CHOICES[name])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run of two judges with all that can make figures differ, with its result."""
    generator = random.Random(5)
    names = RUBRIC.names
    items = [
        DataItem(
            submission=f"item <{number}>",
            description="",
            annotations={
                person: {name: said(generator, name) for name in names if generator.random() < 0.8}
                for person in ("ada", "ben", "eve")
            },
            ground_truth=([said(generator, name) for name in names] if number % 8 == 0 else None),
        )
        for number in range(ITEMS)
    ]
    answers: dict[tuple[str, str, str], str | None] = {
        (judge, str(number), name): None if generator.random() < 0.06 else said(generator, name)
        for judge in ("x", "y")
        for number in range(ITEMS)
        for name in names
    }

    def model(judge: str) -> PythonModel:
        def answer(messages: list[Any]) -> dict[str, Any]:
            text = json.dumps(messages)
            (number,) = set(re.findall(r"item <(\d+)>", text))
            (name,) = [name for name in names if f"<{name}>" in text]
            verdict = answers[judge, number, name]
            if verdict is None:
                raise ModelError("context_length", "too long")
            return {"reason": "so", "evidence": [], "verdict": verdict}

        return PythonModel(answer, name=judge)

    folder = tmp_path_factory.mktemp("runs") / "nasty"
    dataset = RubricDataset(prompt="?", rubric=RUBRIC, items=items, name="nasty")
    result = rubricate.grade(dataset, Panel([model("x"), model("y")]), run_dir=folder)
    return result, folder


def rows_of(text: str, columns: int) -> dict[str, list[str]]:
    """The last columns of a table's rows, by the first word."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > columns:
            found.setdefault(words[0].rstrip(","), words[-columns:])
    return found


def test_the_run_has_all_that_makes_figures_differ(run: Any):
    result, _ = run
    summary = result.summary()
    assert {status for status, count in summary.verdicts.items() if not count} == {"not_run"}
    assert summary.stratified is not None
    assert summary.stratified.left_out == 1  # `rare`: one label throughout
    assert summary.agreement.n == sum(one.agreement.n for one in summary.criteria)


def test_all_views_of_a_run_say_the_same_agreement_over_the_same_pairs(
    run: Any, rubricate: Any, tmp_path: Path
):
    result, folder = run
    summary = result.summary()
    figures = {one.name: one.agreement for one in summary.criteria}
    whole = summary.agreement

    assert read_summary(read_run(folder)).agreement == whole
    report = agreement_report(read_run(folder))
    for one in report.criteria:
        theirs = figures[one.name]
        assert one.agreement.n == theirs.n, one.name
        assert one.accuracy.value == pytest.approx(theirs.accuracy), one.name
        assert one.kappa.value == (
            None if theirs.kappa is None else pytest.approx(theirs.kappa, abs=1e-9)
        ), one.name
    accuracy, kappa, n = report.whole
    assert (n, accuracy.value) == (whole.n, pytest.approx(whole.accuracy))
    assert kappa.value == pytest.approx(whole.kappa, abs=1e-9)
    assert kappa.low < kappa.value < kappa.high

    def text(value: float | None) -> str:
        return "–" if value is None else f"{value:.2f}"

    expected = {
        name: [text(one.accuracy), text(one.kappa), str(one.n)] for name, one in figures.items()
    }
    together = [text(whole.accuracy), text(whole.kappa), str(whole.n)]
    wide = {"COLUMNS": "200"}
    for view in (rubricate("show", folder, **wide).stdout, str(summary)):
        rows = rows_of(view, 3)
        assert {name: rows[name] for name in expected} == expected
        assert rows["all"] == together
    agree = rubricate("trust", "agree", folder, **wide).stdout
    for name, (accuracy_text, kappa_text, pairs) in {**expected, "all": together}.items():
        (line,) = [line for line in agree.splitlines() if re.match(rf"{name}\b[^:]*$", line)][:1]
        told = re.sub(r"\[.*?\]", "", line.replace(", stratified", "")).split()
        assert told[1:4] == [pairs, accuracy_text, kappa_text]
    data = json.loads(rubricate("trust", "agree", folder, "--json").stdout)
    assert data["stratified"]["kappa"]["value"] == pytest.approx(whole.kappa, abs=1e-9)
    assert data["stratified"]["n"] == sum(one["agreement"]["n"] for one in data["criteria"])

    page = tmp_path / "page.html"
    write_report(folder, page)
    source = html.unescape(page.read_text("utf-8"))
    for name, cells in expected.items():
        row = source[source.index(f'<td data-of="criterion">{name}</td>') :]
        found = [
            re.search(rf'data-of="{column}">([^ <]*)', row).group(1)  # type: ignore[union-attr]
            for column in ("(?:accuracy|exact)", "kappa", "n")  # of labels, of numbers
        ]
        assert found == cells
    headline = source[source.index("<dt>Agreement</dt>") :][:600]
    assert f"<dd>{together[0]}</dd>" in headline
    assert f"kappa {together[1]}" in headline
    assert f"<br>{together[2]} " in headline


def test_judge_and_people_have_their_means_on_the_same_items(run: Any, rubricate: Any):
    result, folder = run
    pairs = [
        (item.score.value, item.human_score.value)
        for item in result.items
        if item.human_score is not None
        and item.human_score.value is not None
        and item.score.value is not None
    ]
    score = result.summary().score
    assert 0 < score.labelled == len(pairs) < score.scored
    assert score.judge_mean == pytest.approx(sum(one for one, _ in pairs) / len(pairs))
    assert score.human_mean == pytest.approx(sum(other for _, other in pairs) / len(pairs))
    found = agreement_report(read_run(folder)).scores
    assert (found.n, found.judge_mean) == (score.labelled, pytest.approx(score.judge_mean))
    assert found.human_mean == pytest.approx(score.human_mean)
    told = f"{score.human_mean:.2f}   n {score.labelled}   the judge on the same items"
    shown = rubricate("show", folder, COLUMNS="200").stdout
    assert f"{told} {score.judge_mean:.2f}" in shown
    assert f"n {score.scored}" in shown


def test_the_judges_of_a_panel_have_the_stratified_kappa_too(run: Any):
    result, _ = run
    summary = result.summary()
    for judge in summary.judges:
        alone = [
            (item.criteria[name].votes, item.labels.get(name))
            for item in result.items
            for name in RUBRIC.names
        ]
        assert judge.agreement.n <= len(alone)
        assert abs(judge.agreement.kappa) < 0.2  # it answers at random


def test_verdicts_that_differ_from_the_labels_are_those_that_the_accuracy_counts(
    run: Any, rubricate: Any
):
    result, folder = run
    picked = json.loads(
        rubricate("show", folder, "--disagreements", "--criterion", "quality", "--json").stdout
    )
    found = next(one for one in result.summary().criteria if one.name == "quality").agreement
    assert sum(len(item["verdicts"]) for item in picked["items"]) == round(
        found.n * (1 - found.accuracy)
    )


STEPS = {
    "scale": ScaleCriterion(name="good", requirement="<good>"),
    "downwards": ScaleCriterion(name="good", requirement="<good>", higher_is_better=False),
    "options": Criterion(
        name="good",
        requirement="<good>",
        options=options([(str(step), (step - 1) / 4) for step in range(1, 6)]),
    ),
    "worst first": Criterion(
        name="good",
        requirement="<good>",
        options=options([(str(step), (5 - step) / 4) for step in range(1, 6)]),
    ),
}


@pytest.mark.parametrize("criterion", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("weight", [1.0, -1.0])
def test_the_mean_of_annotators_is_compared_as_it_is(criterion, weight, tmp_path):
    criterion = criterion.model_copy(update={"weight": weight})
    items = [
        DataItem(
            submission=text,
            description="",
            annotations={
                "ada": {"good": "2" if number % 4 < 2 else "3"},
                "ben": {"good": "3" if number % 4 < 2 else "4"},
            },
        )
        for number, text in enumerate(texts(24))
    ]
    judge = [str(2 + number % 2 + (number % 4 > 1)) for number in range(24)]
    result = graded(Rubric([criterion]), items, {"m": judge}, tmp_path / "run")
    report = agreement_report(read_run(tmp_path / "run"))
    found = report.criteria[0].agreement
    bias = found.figures["bias"]
    assert bias.value == pytest.approx(0)
    assert bias.low < 0 < bias.high
    assert (found.judge_mean, found.human_mean) == (3.0, 3.0)
    assert found.figures["mae"].value == pytest.approx(0.5)
    assert report.annotators[0].agreement.consensus.figures["bias"].value == pytest.approx(0)
    ours = result.summary().criteria[0].agreement
    assert ours.kappa == pytest.approx(found.figures["quadratic_kappa"].value)
    if criterion.weight > 0:
        assert report.scores.figures["bias"].value == pytest.approx(0)


def test_the_mean_of_a_panel_is_compared_as_it_is(tmp_path):
    items = [
        DataItem(submission=text, description="", ground_truth=[str(2 + number % 2)])
        for number, text in enumerate(texts(20))
    ]
    answers = {
        "low": [str(1 + number % 2) for number in range(20)],
        "high": [str(3 + number % 2) for number in range(20)],
        "same": [str(2 + number % 2) for number in range(20)],
        "up": [str(3 + number % 2) for number in range(20)],
    }
    graded(Rubric([STEPS["scale"]]), items, answers, tmp_path / "run")
    found = agreement_report(read_run(tmp_path / "run")).criteria[0].agreement
    assert found.figures["bias"].value == pytest.approx(0.25)  # 2.25 for 2, not 2
    assert found.figures["mae"].value == pytest.approx(0.25)
    assert found.figures["exact_accuracy"].value == 1.0  # its labels are those of people


def test_criteria_of_single_items_are_one_row_unless_each_is_asked_for(tmp_path, rubricate):
    labels = ["Entailment", "Neutral", "Contradiction"]
    generator = random.Random(2)
    truth = [generator.choice(labels) for _ in range(80)]
    items = [
        DataItem(
            submission=text,
            description="",
            ground_truth=[truth[number]],
            rubric=Rubric(
                [
                    Criterion(
                        name=f"claim {number}",
                        requirement="<claim>",
                        scale_type="nominal",
                        options=options(
                            [(label, 1.0 - place / 2) for place, label in enumerate(labels)]
                        ),
                    )
                ]
            ),
        )
        for number, text in enumerate(texts(80))
    ]
    judge = [one if generator.random() < 0.7 else generator.choice(labels) for one in truth]
    result = graded(None, items, {"m": judge}, tmp_path / "run")
    folder = tmp_path / "run"
    expected = cohen_kappa_score(truth, judge)
    shown = rubricate("trust", "agree", folder).stdout
    row = next(line for line in shown.splitlines() if line.startswith("80 criteria"))
    assert "claim 7" not in shown
    assert f"{expected:.2f}" in row
    assert len(shown.splitlines()) < 20
    whole = result.summary().agreement
    assert (whole.n, whole.kappa) == (80, pytest.approx(expected))
    report = agreement_report(read_run(folder))
    assert report.whole[1].value == pytest.approx(expected)
    assert [one.agreement.n for one in report.alone] == [80]
    every = rubricate("trust", "agree", folder, "--every-criterion").stdout
    assert sum(line.startswith("claim") for line in every.splitlines()) >= 80
    assert len(json.loads(rubricate("trust", "agree", folder, "--json").stdout)["criteria"]) == 80


def test_a_weight_that_items_do_not_share_is_told_as_its_range(tmp_path, rubricate):
    items = [
        DataItem(
            submission=text,
            description="",
            rubric=Rubric([Criterion(name="one", requirement="<one>", weight=weight)]),
        )
        for text, weight in zip(texts(4), (5, -5, 5, -5), strict=True)
    ]
    result = graded(None, items, {"m": ["MET"] * 4}, tmp_path / "run")
    (one,) = result.summary().criteria
    assert (one.weight, one.weight_range) == (None, (-5.0, 5.0))
    assert "-5 to 5" in rubricate("show", tmp_path / "run").stdout
    write_report(tmp_path / "run", tmp_path / "page.html")
    assert 'data-of="weight"><div><p>-5 to 5<' in (tmp_path / "page.html").read_text("utf-8")


def test_one_failure_of_many_is_not_a_coverage_of_100_per_cent(tmp_path, rubricate):
    items = [DataItem(submission=text, description="") for text in texts(300)]
    answers = ["MET"] * 299 + ["no such answer"]
    result = graded(
        Rubric([Criterion(name="one", requirement="<one>")]),
        items,
        {"m": answers},
        tmp_path / "run",
    )
    assert result.summary().verdicts["failed"] == 1
    for shown in (str(result.summary()), rubricate("show", tmp_path / "run").stdout):
        assert "coverage 99.6%" in shown
        assert "100%" not in shown
    write_report(tmp_path / "run", tmp_path / "page.html")
    assert "99.6%" in (tmp_path / "page.html").read_text("utf-8")


def test_the_last_stage_of_a_cascade_is_not_praised_for_agreeing_with_itself(tmp_path):
    def model(name: str) -> PythonModel:
        return PythonModel(lambda _: {"reason": "", "evidence": [], "verdict": "MET"}, name=name)

    dataset = RubricDataset(
        prompt="?",
        rubric=Rubric([Criterion(name="one", requirement="<one>")]),
        items=[DataItem(submission=text, description="") for text in texts(4)],
        name="small",
    )
    cascade = rubricate.Cascade([model("first"), model("last")], threshold=0.9)
    result = rubricate.grade(dataset, cascade, run_dir=tmp_path)
    first, last = result.summary().judges
    assert (first.with_verdict, last.with_verdict) == (1.0, None)
    row = next(line for line in str(result.summary()).splitlines() if line.startswith("last"))
    assert "1.00" not in row


def test_intervals_stay_inside_what_scores_can_be(tmp_path, rubricate):
    labels = ["MET", "MET", "MET", "UNMET"]
    items = [
        DataItem(submission=text, description="", ground_truth=[label])
        for text, label in zip(texts(4), labels, strict=True)
    ]
    rubric = Rubric([Criterion(name="one", requirement="<one>")])
    before = ["UNMET", "UNMET", "UNMET", "UNMET"]
    graded(rubric, items, {"m": before}, tmp_path / "before")
    graded(rubric, items, {"m": labels}, tmp_path / "after")
    runs = [read_run(tmp_path / name) for name in ("before", "after")]
    difference = compare_runs(*runs).score.difference
    assert difference.value == 0.75
    assert difference.high == 1.0  # the interval of t reaches 1.55
    assert agreement_report(runs[0]).scores.figures["bias"].low >= -1
    few = ppi_report(runs[1])
    for one in (few.score, *(criterion.mean for criterion in few.criteria)):
        for estimate in (one.naive, one.labelled_only, one.prediction_powered):
            assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    write_report(tmp_path / "after", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    interval = re.search(r"95 % interval ([\d.-]+) to ([\d.]+)", page)
    listed = list_runs(tmp_path / "after").runs[0].score
    assert (float(interval[1]), float(interval[2])) == (round(listed.low, 2), round(listed.high, 2))
    assert 0 < listed.low < 0.2
    assert 0.95 < listed.high < 1


def test_a_declared_score_has_one_interval_in_the_list_the_page_and_the_plot(tmp_path, rubricate):
    labels = ["MET", "MET", "MET", "UNMET", "UNMET", "MET"]
    items = [DataItem(submission=text, description="") for text in texts(6)]
    rubric = Rubric([Criterion(name="one", requirement="<one>")], scoring={"aggregate": "mean"})
    graded(rubric, items, {"m": labels}, tmp_path / "run")
    score = list_runs(tmp_path / "run").runs[0].score
    overall = read_summary(read_run(tmp_path / "run")).scoring.overall
    assert (score.value, score.low, score.high) == (overall.value, overall.low, overall.high)
    write_report(tmp_path / "run", tmp_path / "page.html")
    shown = f"95 % interval {score.low:.2f} to {score.high:.2f}"
    assert shown in (tmp_path / "page.html").read_text("utf-8")
    legend = dict(Plots(read_run(tmp_path / "run")).scores().plots[0].legend)
    assert legend["band"] == f"judge's mean {estimate_text(score)}"


def test_options_of_an_item_s_own_are_one_criterion_by_its_name(tmp_path, rubricate):
    items = [
        DataItem(
            submission=text,
            description="",
            ground_truth=[f"a{number}"],
            rubric=Rubric(
                [
                    Criterion(
                        name="answer",
                        requirement="<answer>",
                        scale_type="nominal",
                        options=options([(f"a{number}", 1.0), (f"b{number}", 0.0)]),
                    )
                ]
            ),
        )
        for number, text in enumerate(texts(12))
    ]
    judge = [f"{'ab'[number % 3 == 0]}{number}" for number in range(12)]
    result = graded(None, items, {"m": judge}, tmp_path / "run")
    (found,) = agreement_report(read_run(tmp_path / "run")).criteria
    assert (found.agreement.n, found.accuracy.value) == (12, pytest.approx(8 / 12))
    ours = result.summary().criteria[0].agreement
    assert (ours.n, ours.accuracy) == (12, pytest.approx(8 / 12))
    assert ours.kappa == pytest.approx(found.kappa.value)
    assert rubricate("trust", "agree", tmp_path / "run").returncode == 0


def test_the_criteria_of_a_single_item_make_no_kappa_together() -> None:
    def opposite(messages: Any) -> dict[str, Any]:
        met = "<first>" in str(messages[-1])
        return {"reason": "r", "evidence": [], "verdict": "MET" if met else "UNMET"}

    rubric = Rubric([Criterion(name=name, requirement=f"<{name}>") for name in ("first", "other")])
    row = {"submission": "a", "label.first": "UNMET", "label.other": "MET"}
    summary = rubricate.grade([row], opposite, rubric=rubric).summary()
    assert summary.agreement is not None
    assert (summary.agreement.accuracy, summary.agreement.kappa) == (0.0, None)


def test_a_computed_criterion_needs_no_label_for_the_scores_of_people() -> None:
    rubric = Rubric.from_dict(
        [
            {"name": "right", "requirement": "Is right"},
            {"name": "receipt", "kind": "regex", "pattern": "receipt"},
        ]
    )
    rows = [
        {"submission": "the receipt", "label.right": "UNMET"},
        {"submission": "no word", "label.right": "UNMET"},
    ]
    met = {"reason": "r", "evidence": [], "verdict": "MET"}
    result = rubricate.grade(rows, lambda messages: met, rubric=rubric)
    people = [item.human_score for item in result.items]
    assert [score and score.value for score in people] == [0.5, 0.0]
    assert result.summary().score.labelled == 2
