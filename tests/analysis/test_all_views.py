"""Every figure of a run is the same number in all views: terminal, JSON, Markdown, page, Python."""

from __future__ import annotations

import csv
import html
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate.analysis import (
    AgreementReport,
    Plots,
    agreement_report,
    compare_runs,
    list_runs,
    ppi_report,
    read_run,
)
from rubricate.report import write_report
from rubricate.run.results import Summary
from rubricate.stats import Estimate, LabelAgreement, ScoreAgreement
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint
from rubricate.views import estimate_text, figure, p_text, percent

BINARY = [
    {"name": "right", "weight": 10, "requirement": "<right>"},
    {"name": "short", "weight": 1, "requirement": "<short>"},
    {"name": "fault", "weight": -2, "requirement": "<fault>"},
]
SCALE = {"name": "quality", "kind": "scale", "low": 1, "high": 5, "requirement": "<quality>"}
TREE = [
    {"name": "content", "weight": 3, "criteria": BINARY[:2]},
    {"name": "style", "criteria": [BINARY[2], {"name": "warm", "requirement": "<warm>"}]},
    {"name": "lies", "weight": -1, "requirement": "<lies>"},
]
WARM = ["right", "short", "fault", "warm", "lies"]
NAMES = WARM[:3]
ITEMS = 32
REPEATED = 8
"""The number of prompts where each has several answers."""


def own_rubric(number: int) -> list[dict[str, Any]]:
    """Criteria of an item: one to three of different weights."""
    of_item = [{**BINARY[0], "weight": 5 + number % 4}, *BINARY[1:]]
    return of_item[: 1 + number % 3]


RUNS: dict[str, dict[str, Any]] = {
    "replicates": {"rubric": BINARY, "options": {"replicates": 3}},
    "weights": {"rubric": BINARY},
    "aggregate": {
        "rubric": {
            "scoring": {"items": "raw", "aggregate": "clipped_mean", "by": ["topic"]},
            "criteria": BINARY,
        }
    },
    "by topic, repeated prompts": {
        "rubric": {"scoring": {"by": ["topic"]}, "criteria": BINARY},
        "prompts": REPEATED,
    },
    "repeated prompts": {"rubric": BINARY, "prompts": REPEATED},
    "two annotators": {"rubric": BINARY, "people": ("ada", "ben")},
    "failed and abstained": {"rubric": BINARY},
    "scale": {"rubric": [*BINARY, SCALE], "names": [*NAMES, "quality"]},
    "own rubrics": {"rubric": BINARY, "own": own_rubric},
    "tree": {"rubric": TREE, "names": WARM, "prompts": REPEATED},
    "probabilities": {"rubric": BINARY, "options": {"mode": "probability"}},
}


def label_of(generator: random.Random, name: str) -> str:
    return (
        str(generator.randint(1, 5))
        if name == "quality"
        else generator.choices(["MET", "UNMET"], [6, 4])[0]
    )


def dataset_of(name: str) -> dict[str, Any]:
    """A dataset of the kind of `RUNS`, in which nine items of ten have labels."""
    kind, generator, items = RUNS[name], random.Random(name), []
    for number in range(ITEMS):
        item: dict[str, Any] = {
            "submission": f"text <{number}>",
            "description": f"item {number}",
            "metadata": {"topic": ("even", "odd")[number % 2]},
        }
        names = kind.get("names", NAMES)
        if "prompts" in kind:
            item["prompt"] = f"question {number % kind['prompts']}?"
        if "own" in kind:
            item["rubric"] = kind["own"](number)
            names = [criterion["name"] for criterion in item["rubric"]]
        if number % 10:
            if "people" in kind:
                item["annotations"] = {
                    person: {each: label_of(generator, each) for each in names}
                    for person in kind["people"]
                }
            else:
                item["ground_truth"] = [label_of(generator, each) for each in names]
        items.append(item)
    return {"name": name, "prompt": "?", "rubric": kind["rubric"], "items": items}


@dataclass(frozen=True)
class Run:
    """A run in its folder, and what each form of `rubricate grade` shows of it."""

    name: str
    folder: Path
    result: Any
    printed: str
    data: dict[str, Any]

    @property
    def summary(self) -> Summary:
        return self.result.summary()

    @property
    def score(self) -> Estimate:
        """The score with its interval, as `rubricate runs` lists it."""
        score = list_runs(self.folder).runs[0].score
        assert score is not None
        return score

    @property
    def report(self) -> AgreementReport:
        return agreement_report(read_run(self.folder))


@pytest.fixture(scope="module", params=RUNS)
def run(request: Any, run_here: Any, tmp_path_factory: Any) -> Iterator[Run]:
    name, here = request.param, tmp_path_factory.mktemp("views")
    (here / "data.json").write_text(json.dumps(dataset_of(name)))
    times: dict[tuple[str, str], int] = {}

    def respond(asked: JudgeRequest) -> Rule:
        question = asked.submission, asked.criterion
        times[question] = times.get(question, 0) + 1
        generator = random.Random(f"{name} {question} {times[question]}")
        kind = generator.random() if name.startswith("failed") else 1.0
        if kind < 0.2:
            return Rule(reply="no verdict") if kind < 0.1 else Rule(verdict="CANNOT_ASSESS")
        if asked.choices:
            share = generator.betavariate(1.2, 1.2)
            return Rule(probabilities={"MET": share, "UNMET": 1 - share})
        return Rule(verdict=label_of(generator, asked.criterion.strip("<>")))

    options = RUNS[name].get("options", {})
    with ScriptedEndpoint(respond=respond) as endpoint:
        result = rubricate.grade(
            str(here / "data.json"),
            "m",
            base_url=endpoint.url,
            run_dir=here / "run",
            on_progress=lambda _: None,
            **options,
        )
        flags = [part for key, value in options.items() for part in (f"--{key}", str(value))]
        command = ("grade", "data.json", "--judge", "m", "--base-url", endpoint.url)
        command = (*command, "--run-dir", "run", *flags)
        printed = run_here(here, *command, COLUMNS="250").stdout
        data = json.loads(run_here(here, *command, "--json").stdout)
    return Run(name, here / "run", result, printed, data)


def score_line(run: Run, score: Estimate) -> dict[str, str | None]:
    """What the line of the score shows."""
    known = run.summary.score
    bounds = known.coverage < 1 or known.lowest != known.highest
    return {
        "value": figure(score.value),
        "n": str(known.scored),
        "interval": f"{figure(score.low)} to {figure(score.high)}",
        "bounds": f"{figure(known.lowest)} to {figure(known.highest)}" if bounds else None,
        "coverage": percent(known.coverage) if bounds else None,
    }


def shown_line(text: str) -> dict[str, str | None]:
    """The same, read from a text."""
    (line,) = re.findall(r"^\W*score\W* +(\S.*)$", text, re.MULTILINE)
    pattern = (
        r"(?P<value>\S+) +n (?P<n>\d+)(?: +95 % (?P<interval>\S+ to \S+))?"
        r"(?: +bounds (?P<bounds>\S+ to \S+))?(?: +coverage (?P<coverage>[\d.]+ ?%))?"
    )
    match = re.match(pattern, re.sub(r"[|,]", " ", line))
    assert match is not None, line
    return match.groupdict()


def test_the_score_is_the_same_in_all_views(run: Run, run_here: Any, tmp_path: Path):
    score, known = run.score, run.summary.score
    assert None not in (score.value, score.low, score.high)
    assert score.value == known.mean
    expected = score_line(run, score)
    here = run.folder.parent
    run_here(here, "show", "run", "-o", "show.md")
    for text in (
        run.printed,
        str(run.summary),
        run_here(here, "show", "run", COLUMNS="250").stdout,
        (here / "show.md").read_text("utf-8"),
        run_here(here, "show", "run", "--by", "topic", COLUMNS="250").stdout,
    ):
        found = shown_line(text)
        found["interval"] = found["interval"] or expected["interval"]  # not everywhere
        assert found == expected
    for data in (
        run.data,
        json.loads((run.folder / "summary.json").read_text("utf-8")),
        json.loads(run_here(here, "show", "run", "--json").stdout),
    ):
        assert data["score"] == run.data["score"] == known.model_dump(mode="json")
    (listed,) = json.loads(run_here(here, "runs", "run", "--json").stdout)["runs"]
    assert (listed["score"]["value"], listed["score"]["low"]) == (score.value, score.low)
    runs = run_here(here, "runs", "run", COLUMNS="250").stdout
    assert estimate_text(score).replace(", ", ",") in runs.replace(", ", ",")

    write_report(run.folder, tmp_path / "page.html")
    page = html.unescape((tmp_path / "page.html").read_text("utf-8"))
    assert f'<p class="big">{expected["value"]}</p>' in page
    assert f"95 % interval {expected['interval']}" in page
    if expected["bounds"]:
        assert f"could be {expected['bounds']}" in page
    assert f"<dt>Coverage</dt><dd>{percent(known.coverage)}</dd>" in page
    legend = dict(Plots(read_run(run.folder)).scores().plots[0].legend)
    assert legend["band"] == f"judge's mean {estimate_text(score)}"


def test_the_mean_of_items_is_the_same_where_it_is_computed_again(
    run: Run, run_here: Any, tmp_path: Path
):
    here, finished = run.folder.parent, read_run(run.folder)
    run_here(here, "export", "run", "-o", "items.csv", "--by", "item")
    with (here / "items.csv").open(encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    scores = [float(row["item_score.value"]) for row in rows if row["item_score.value"]]
    mean = fsum(scores) / len(scores)
    compared = compare_runs(finished, finished).score
    assert (compared.n, compared.mean_a) == (len(scores), pytest.approx(mean))
    assert ppi_report(finished).score.naive.value == pytest.approx(mean)
    assert run.score.value == pytest.approx(mean)


def estimates(run: Run) -> dict[str, tuple[int, Estimate, Estimate]]:
    """Pairs, accuracy and kappa of each criterion, and of all together."""
    report = run.report
    found = {each.name: (each.agreement.n, each.accuracy, each.kappa) for each in report.criteria}
    accuracy, kappa, n = report.whole
    return {**found, "all": (n, accuracy, kappa)}


def shown_rows(report: AgreementReport) -> Iterator[str]:
    """The rows of `trust agree`, from the figures in Python: labels, numbers, probabilities, and
    annotators."""

    def row(name: str, *cells: Estimate | str | float | None) -> str:
        texts = (
            estimate_text(cell) if isinstance(cell, Estimate) else cell or figure(None)
            for cell in (figure(cell) if isinstance(cell, float) else cell for cell in cells)
        )
        return " ".join([name, *texts])

    scores = [(each.name, each.agreement) for each in report.criteria]
    scored = any(isinstance(agreement, ScoreAgreement) for _, agreement in scores)
    if report.scores is not None:
        scores.append(("item score", report.scores))
    for name, agreement in scores:
        by = agreement.figures
        if isinstance(agreement, LabelAgreement):
            met = agreement.by_label["MET"]
            wrong = met["false_positive_rate"], met["false_negative_rate"]
            yield row(name, str(agreement.n), by["accuracy"], by["cohen_kappa"], *wrong)
        else:
            exact = [by.get(each) for each in ("exact_accuracy", "quadratic_kappa")]
            figures = (*exact * scored, by["pearson"], by["mae"], by["bias"])
            yield row(name, str(agreement.n), *figures)
    accuracy, kappa, n = report.whole
    yield row("all", str(n), accuracy, kappa)
    fits = [(each.name, each.probabilities) for each in report.criteria]
    for name, fit in (*fits, ("all", report.probabilities)):
        if fit is not None:
            known = fit.calibration
            errors = known.calibration_error, p_text(known.miscalibration)
            yield row(name, str(fit.n), fit.auc, known.brier, *errors)
    for each in report.annotators:
        kappas = [of.figures["cohen_kappa"] for of in each.agreement.against.values()]
        least, most = sorted(kappa.value or 0.0 for kappa in kappas)
        known = each.agreement
        judge = f"{figure(least)} to {figure(most)}", known.consensus.figures["cohen_kappa"]
        people = each.ceiling, known.perfect["cohen_kappa"], known.alpha
        yield row(each.name, str(len(kappas)), *judge, *people)


def test_agreement_is_the_same_in_all_views(run: Run, run_here: Any, tmp_path: Path):
    here, expected = run.folder.parent, estimates(run)
    assert estimates(Run(run.name, run.folder, run.result, "", {})) == expected
    assert agreement_report(run.result).to_dict() == run.report.to_dict()
    counted = {each.name: each.agreement for each in run.summary.criteria}
    counted["all"] = run.summary.agreement
    for name, (n, accuracy, kappa) in expected.items():
        assert (counted[name].n, counted[name].accuracy) == (n, pytest.approx(accuracy.value))
        assert counted[name].kappa == pytest.approx(kappa.value)
    short = {
        name: [figure(accuracy.value), figure(kappa.value), str(n)]
        for name, (n, accuracy, kappa) in expected.items()
    }
    for text in (run.printed, run_here(here, "show", "run", COLUMNS="250").stdout):
        rows = {line.split()[0]: line.split()[-3:] for line in text.splitlines() if line.split()}
        assert {name: rows[name] for name in short} == short
    run_here(here, "trust", "agree", "run", "-o", "agree.md")
    run_here(here, "trust", "agree", "run", "-o", "agree.html")
    write_report(run.folder, tmp_path / "page.html")
    texts = {
        "terminal": run_here(here, "trust", "agree", "run", COLUMNS="250").stdout,
        "Markdown": (here / "agree.md").read_text("utf-8"),
        "HTML": (here / "agree.html").read_text("utf-8"),
        "page": (tmp_path / "page.html").read_text("utf-8"),
    }
    for view, text in texts.items():
        plain = " ".join(html.unescape(re.sub(r"</?[a-z][^>]*>|[|*\\]", " ", text)).split())
        plain = re.sub(r", ?(?=\S+\])", ", ", plain)  # a terminal leaves out the space
        for row in shown_rows(run.report):
            assert f"{row} " in plain, view
    data = json.loads(run_here(here, "trust", "agree", "run", "--json").stdout)
    assert data == json.loads(json.dumps(run.report.to_dict()))
    (listed,) = json.loads(run_here(here, "runs", "run", "--json").stdout)["runs"]
    whole = expected["all"]
    assert (listed["labels"], listed["accuracy"]) == (whole[0], pytest.approx(whole[1].value))
    assert listed["kappa"] == pytest.approx(whole[2].value)


def test_a_certificate_and_a_calibration_have_the_figures_of_the_agreement(run: Run, run_here: Any):
    here, report = run.folder.parent, run.report
    run_here(here, "trust", "certify", "run", "-o", "certificate.json")
    certified = json.loads((here / "certificate.json").read_text("utf-8"))["criteria"]
    expected = {each["name"]: each["agreement"] for each in report.to_dict()["criteria"]}
    for name, known in certified.items():
        assert known["n"] == expected[name]["n"]
        assert known["figures"] == json.loads(json.dumps(expected[name]["figures"]))
        for key, label in (("sensitivity", "MET"), ("specificity", "UNMET")):
            if "by_label" in expected[name]:
                recall = {**known[key]}
                del recall["n"]
                assert recall == json.loads(json.dumps(expected[name]["by_label"][label]["recall"]))
    if report.probabilities is not None:
        printed = run_here(here, "trust", "calibrate", "run", COLUMNS="250").stdout
        error = figure(report.probabilities.calibration.calibration_error.value, 3)
        assert f"calibration error {error} -> " in printed
