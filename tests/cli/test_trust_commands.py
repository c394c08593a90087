"""`rubricate trust agree`, `compare`, `certify` and `grade --certificate` on run folders."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from rubricate import InputError
from rubricate.analysis import agreement_report, compare_runs, read_certificate, read_run
from rubricate.stats import agreement_of_counts, annotator_agreement, clustered_share

KINDS = """
criteria:
  - {name: correct, weight: 1, requirement: Is correct}
  - {name: fault, weight: -1, requirement: Has a fault}
  - name: tone
    weight: 1
    requirement: What is its tone?
    options: [{label: cold, value: 0}, {label: neutral, value: 0.5}, {label: warm, value: 1},
              {label: none, na: true}]
  - name: topic
    weight: 1
    scale_type: nominal
    requirement: What is it about?
    options: [{label: art, value: 1}, {label: sport, value: 1}]
  - {name: quality, weight: 1, kind: scale, requirement: Is good}
  - {name: coverage, weight: 1, kind: metric, requirement: Names organs,
     tp_instructions: [heart, lung],
     score_metric: recall}
"""
LABELS = {
    "correct": ["MET", "UNMET", "MET", "CANNOT_ASSESS", "MET"],
    "fault": ["UNMET", "UNMET", "MET", "UNMET", "UNMET"],
    "tone": ["warm", "cold", "neutral", "none", "warm"],
    "topic": ["art", "sport", "art", "art", "sport"],
    "quality": ["4", "2", "3", "5", "1"],
    "coverage": [1.0, 0.5, 0.0, 1.0, 0.5],
}
ANSWERS: dict[str, list[Any]] = {
    "correct": ["MET", "UNMET", "UNMET", "MET", None],
    "fault": ["UNMET", "MET", "MET", "UNMET", "UNMET"],
    "tone": ["warm", "neutral", "neutral", "warm", "CANNOT_ASSESS"],
    "topic": ["art", "art", "art", "sport", "sport"],
    "quality": ["5", "2", "3", "4", None],
    "coverage": [1.0, 1.0, 0.0, 0.5, 0.5],
}
WEIGHTS = {"fault": -1.0}
VALUES = {"MET": 1.0, "UNMET": 0.0, "cold": 0.0, "neutral": 0.5, "warm": 1.0, "art": 1.0}


def value(label: Any) -> float | None:
    if label in (None, "CANNOT_ASSESS", "none"):
        return None
    if isinstance(label, float):
        return label
    return VALUES.get(label, (int(label) - 1) / 4 if label.isdigit() else 1.0)


def write_run(folder: Path, answers: dict[str, list[Any]] = ANSWERS, **summary: Any) -> Path:
    """A run folder as a run leaves it; None is a verdict that failed."""
    folder.mkdir()
    lines = []
    for index in range(len(next(iter(answers.values())))):
        for name, given in answers.items():
            label = given[index]
            status = "judged" if value(label) is not None else "abstained"
            failed = {"kind": "timeout", "message": "no answer"} if label is None else None
            row = {
                "item": f"item-{index}",
                "criterion": name,
                "weight": WEIGHTS.get(name, 1.0),
                "status": "failed" if failed else status,
                "label": None if label is None else str(label),
                "value": value(label),
                "human_label": str(LABELS[name][index % 5]),
                "human_value": value(LABELS[name][index % 5]),
                "reason": None if failed else f"because of {label}",
                "error": failed,
                "item_score": {"value": (value(answers["quality"][index]) or 0.0)},
            }
            lines.append(json.dumps(row))
    (folder / "results.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "rubric.yaml").write_text(KINDS)
    (folder / "summary.json").write_text(
        json.dumps({"judge": "a-judge", "judge_fingerprint": "1f", "stopped": None, **summary})
    )
    return folder


def test_every_kind_of_criterion_is_compared_with_its_labels(tmp_path: Path, rubricate: Any):
    write_run(tmp_path / "run")
    done = rubricate("trust", "agree", "run", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    found = {one["name"]: one for one in report["criteria"]}
    assert list(found) == list(LABELS)
    correct = found["correct"]["agreement"]
    assert correct["n"] == 3
    assert correct["not_decided"] == {"human abstained": 1, "no answer of the judge": 1}
    tone = found["tone"]
    assert tone["agreement"]["labels"] == ["cold", "neutral", "warm"]
    assert tone["not_applicable"] == 1
    assert tone["agreement"]["not_decided"] == {"judge abstained": 1}
    theirs = cohen_kappa_score([2, 0, 1], [2, 1, 1], weights="quadratic")
    assert tone["agreement"]["figures"]["quadratic_kappa"]["value"] == pytest.approx(theirs)
    topic = found["topic"]["agreement"]["figures"]
    assert "quadratic_kappa" not in topic
    assert topic["accuracy"]["value"] == pytest.approx(0.6)
    quality = found["quality"]["agreement"]["figures"]
    assert quality["exact_accuracy"]["value"] == pytest.approx(0.5)
    assert quality["within_one_accuracy"]["value"] == pytest.approx(1.0)
    coverage = found["coverage"]["agreement"]["figures"]
    assert coverage["mae"]["value"] == pytest.approx(0.2)
    pairs = [one["agreement"]["n"] for one in report["criteria"]]
    assert (report["stratified"]["n"], report["stratified"]["clusters"]) == (sum(pairs), 5)
    assert report["undecided"] == "exclude"


def test_the_policy_for_undecided_pairs_is_an_option_and_is_shown(tmp_path: Path, rubricate: Any):
    write_run(tmp_path / "run")
    done = rubricate("trust", "agree", "run", "--undecided", "wrong", "--json")
    report = json.loads(done.stdout)
    correct = report["criteria"][0]["agreement"]
    assert (report["undecided"], correct["n"]) == ("wrong", 4)
    assert correct["figures"]["accuracy"]["value"] == pytest.approx(0.5)
    shown = rubricate("trust", "agree", "run", "--undecided", "wrong").stdout
    assert "a judge that does not decide is wrong." in " ".join(shown.split())
    done = rubricate("trust", "agree", "run", "--undecided", "skip")
    assert (done.returncode, done.stdout) == (1, "")
    assert "undecided must be 'exclude', 'label' or 'wrong', found 'skip'" in done.stderr


def test_items_with_rubrics_of_their_own_are_compared_too(
    tmp_path: Path, rubricate: Any, write_dataset: Any
):
    own = [{"name": "own", "weight": 3, "requirement": "Gives roughly 300000 kilometres"}]
    light = "Roughly 300000 kilometres a second."
    items = [
        {"submission": light, "description": "one", "ground_truth": ["MET", "UNMET"]},
        {"submission": light, "description": "two", "rubric": own, "ground_truth": ["MET"]},
    ]
    data = write_dataset(items=items)
    summary = json.loads(rubricate("grade", data, "--run-dir", "run", "--json").stdout)
    report = json.loads(rubricate("trust", "agree", "run", "--json").stdout)
    assert [one["name"] for one in report["criteria"]] == ["speed", "boasting", "own"]
    assert report["scores"]["human_mean"] == pytest.approx(summary["score"]["human_mean"])
    assert rubricate("trust", "certify", "run").returncode == 0


def test_what_is_no_finished_run_with_labels_is_one_clear_line(
    tmp_path: Path, rubricate: Any, write_dataset: Any
):
    assert "no such run folder" in rubricate("trust", "agree", "nothing").stderr
    (tmp_path / "labelled.json").write_text("{}")
    told = rubricate("trust", "agree", "labelled.json").stderr
    assert "grade it first (rubricate grade FILE --judge NAME)" in told
    assert "rubricate trust replay FILE" in told
    (tmp_path / "empty").mkdir()
    assert "it has no summary.json" in rubricate("trust", "agree", "empty").stderr
    run = write_run(tmp_path / "run")
    text = (run / "results.jsonl").read_text()
    (run / "results.jsonl").write_text(text[: len(text) // 2])
    whole = text[: len(text) // 2].count("\n")
    done = rubricate("trust", "agree", "run")
    assert done.returncode == 1
    assert f"results.jsonl:{whole + 1}: not a line of a run's results" in done.stderr
    items = [{"submission": "A text.", "description": "one"}]
    write_dataset(items=items)
    rubricate("grade", "data.json", "--run-dir", "bare", "-q")
    done = rubricate("trust", "agree", "bare")
    assert (done.returncode, done.stdout) == (1, "")
    assert "bare: this run has no human labels" in done.stderr


WORSE = {**ANSWERS, "quality": ["3", "1", "2", "3", "1"], "topic": ["art"] * 5}


def test_a_comparison_tells_differences_and_lists_flips_with_both_reasons(
    tmp_path: Path, rubricate: Any
):
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", WORSE)
    done = rubricate("compare", "a", "b", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert (found["items"], found["score"]["n"]) == (5, 5)
    assert found["score"]["difference"]["value"] == pytest.approx(-0.05)
    flips = {(flip["item"], flip["criterion"]): flip for flip in found["flips"]}
    flip = flips["item-0", "quality"]
    assert (flip["a"], flip["b"], flip["human_label"]) == ("5", "3", "4")
    assert (flip["reason_a"], flip["reason_b"]) == ("because of 5", "because of 3")
    assert len(flips) == 6
    (one_sided,) = found["one_sided"]  # the verdict that failed in A is no changed answer
    assert (one_sided["item"], one_sided["a"], one_sided["b"]) == ("item-4", "failed", "1")
    assert one_sided["reason_a"] == "timeout: no answer"
    quality = next(one for one in found["criteria"] if one["name"] == "quality")
    assert (quality["values"]["n"], quality["values"]["left_out"]) == (4, 1)
    assert (quality["flips"], quality["one_sided"]) == (4, 1)
    assert quality["p_value"] == pytest.approx(6 * quality["values"]["permutation"]["p_value"])
    shown = rubricate("compare", "a", "b").stdout
    assert "item-0, quality: 5 -> 3 (human: 4)" in shown
    assert "  B: because of 3" in shown


def test_a_gate_is_worse_no_worse_or_cannot_tell_each_with_its_exit_code(
    tmp_path: Path, rubricate: Any
):
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", WORSE)
    covered = ("--min-coverage", "0.9")
    gate = ("compare", "a", "b", "--fail-if-worse", "0.02", *covered)
    done = rubricate(*gate)  # five items
    assert done.returncode == 0
    shown = " ".join(done.stdout.split())
    assert "Cannot tell: the mean score changed by -0.050" in shown
    assert "such items would" in shown
    assert "Warning: the gate cannot tell, and passes" in done.stderr
    done = rubricate(*gate, "--on-unclear", "fail", "--json")
    assert (done.returncode, "Warning" in done.stderr) == (7, False)
    decision = json.loads(done.stdout)["decision"]
    assert (decision["outcome"], decision["test"]["n"]) == ("cannot tell", 5)
    assert decision["why"] in done.stderr
    many = {name: given * 60 for name, given in ANSWERS.items()}
    write_run(tmp_path / "c", many)
    write_run(tmp_path / "d", {**many, "quality": WORSE["quality"] * 60})
    done = rubricate("compare", "c", "d", "--fail-if-worse", "0.02", *covered)
    assert done.returncode == 3
    words = " ".join(done.stdout.split())
    assert "Worse: the mean score changed by -0.050 (interval from " in words
    done = rubricate("compare", "c", "d", "--fail-if-worse", "0.2", *covered)
    assert (done.returncode, "No worse: a drop of more than 0.2 is excluded" in done.stdout) == (
        0,
        True,
    )
    assert "give both" in rubricate("compare", "a", "b", "--on-unclear", "fail").stderr
    for wrong in ("-1", "2"):  # 2 would let everything pass; who writes it means per cent
        done = rubricate("compare", "a", "b", "--fail-if-worse", wrong)
        assert (done.returncode, f"found {wrong}" in done.stderr) == (1, True)


def test_a_second_run_that_failed_on_much_does_not_pass(tmp_path: Path, rubricate: Any):
    whole = {name: [given[0]] * 5 for name, given in ANSWERS.items()}
    failing = {name: [given[0], None, None, None, given[0]] for name, given in whole.items()}
    failing["quality"] = whole["quality"]  # of which this run's scores are made
    write_run(tmp_path / "a", whole)
    write_run(tmp_path / "b", failing)
    gate = ("compare", "a", "b", "--fail-if-worse", "0.02")
    done = rubricate(*gate, "-o", "report.md")
    assert done.returncode == 4
    shown = " ".join(done.stdout.split())
    assert "only 50.0% of the verdicts of A could be compared, less than 95%" in shown
    assert "(15 failed in B)" in shown
    assert "Compared: 50% of the verdicts of A; of the others 15 failed in B." in done.stdout
    assert "15 failed in B" in (tmp_path / "report.md").read_text()
    assert rubricate(*gate, "--min-coverage", "0.5").returncode == 0
    assert rubricate("compare", "a", "b").returncode == 0
    assert "give both" in rubricate("compare", "a", "b", "--min-coverage", "0.4").stderr
    found = compare_runs(read_run(tmp_path / "b"), read_run(tmp_path / "a"))
    assert (found.coverage, found.not_compared) == (0.5, {"failed in A": 15})


def test_items_that_belong_together_are_grouped_by_their_metadata(
    tmp_path: Path, rubricate: Any, write_dataset: Any
):
    items = [
        {
            "submission": f"{number}: Roughly {300 - number % 3}000 kilometres a second.",
            "description": "",
            "ground_truth": ["MET" if number % 4 else "UNMET", "UNMET"],
            "metadata": {"source": f"s{number // 4}", "long": "x" * 300},
        }
        for number in range(12)
    ]
    rubricate("grade", write_dataset(items=items), "--run-dir", "run", "-q")
    plain = json.loads(rubricate("trust", "agree", "run", "--json").stdout)
    grouped = json.loads(rubricate("trust", "agree", "run", "--groups", "source", "--json").stdout)
    one, other = (report["criteria"][0]["agreement"] for report in (plain, grouped))
    assert (one["clusters"], other["clusters"]) == (12, 3)
    assert one["figures"]["accuracy"] != other["figures"]["accuracy"]
    assert grouped["stratified"]["clusters"] == 3
    shown = " ".join(rubricate("trust", "agree", "run", "--groups", "source").stdout.split())
    assert "over groups by source" in shown
    assert "Intervals are rough with fewer than 8 groups by source: " in shown
    assert "rough" in grouped["few"]
    assert plain["few"] is None
    run = read_run(tmp_path / "run")
    found = compare_runs(run, run, groups="source")
    assert (found.score.clusters, found.criteria[0].values.clusters) == (3, 3)
    done = rubricate("compare", "run", "run", "--groups", "sorce")
    assert (done.returncode, "did you mean 'source'?" in done.stderr) == (1, True)
    with pytest.raises(InputError, match="no item has metadata 'long'"):
        agreement_report(run, groups="long")
    done = rubricate("trust", "certify", "run", "--groups", "source", "--json")
    certificate = json.loads(done.stdout)
    assert (certificate["groups"], certificate["items"]) == ("source", 12)
    of = certificate["criteria"][grouped["criteria"][0]["name"]]
    assert (of["n"], of["clusters"]) == (12, 3)
    assert of["figures"] == grouped["criteria"][0]["agreement"]["figures"]
    told = [*read_certificate(tmp_path / "certificate.json").sections()]
    assert told[-1].text.startswith("Intervals: 95%, by source.")
    assert told[-2].text.startswith("Intervals are rough with fewer than 8 groups by source: ")
    done = rubricate("trust", "certify", "run", "--groups", "sorce", "-o", "none.json")
    assert (done.returncode, "did you mean 'source'?" in done.stderr) == (1, True)
    assert not (tmp_path / "none.json").exists()


@pytest.fixture
def graded_in_lessons(
    rubricate: Any, shipped_example: Any, tmp_path: Path
) -> Callable[[int], None]:
    """Grade the shipped example into `run`, with its items in so many lessons."""

    def grade(lessons: int) -> None:
        data = json.loads(Path(shipped_example("physics.json")).read_text())
        for place, item in enumerate(data["items"]):
            item["metadata"] = {"lesson": place % lessons}
        (tmp_path / "data.json").write_text(json.dumps(data))
        rubricate("grade", "data.json", "--judge", "builtin", "--run-dir", "run", "-q")

    return grade


def test_a_cascades_promise_is_harder_to_keep_where_few_groups_stand_for_many_items(
    rubricate: Any, graded_in_lessons: Callable[[int], None]
):
    graded_in_lessons(4)
    command = ("trust", "cascade", "run", "--promise", "0.8")
    plain = json.loads(rubricate(*command, "--json").stdout)
    grouped = json.loads(rubricate(*command, "--groups", "lesson", "--json").stdout)
    assert (plain["groups"], grouped["groups"]) == (None, "lesson")
    assert plain["choice"]["chosen"]["coverage"]["value"] > 0.5
    assert grouped["choice"]["chosen"] is None
    shown = " ".join(rubricate(*command, "--groups", "lesson").stdout.split())
    assert "Intervals: 95 %, by lesson." in shown
    done = rubricate(*command, "--groups", "leson")
    assert (done.returncode, "did you mean 'lesson'?" in done.stderr) == (1, True)


def test_annotators_are_compared_with_the_judge_and_among_themselves(
    tmp_path: Path, rubricate: Any, write_dataset: Any
):
    rubric = [
        {"name": "speed", "requirement": "Gives roughly 300000 kilometres"},
        {"name": "boasting", "weight": -1, "requirement": "Praises itself shamelessly"},
        {"name": "style", "kind": "scale", "requirement": "Is lively"},
    ]
    says = [("MET", "UNMET", 1), ("MET", "MET", 3), ("UNMET", "MET", 5), ("UNMET", "UNMET", 2)]
    items = [
        {
            "submission": f"{number}: Roughly 300000 kilometres a second.",
            "description": "",
            "annotations": {
                person: dict(zip(("speed", "boasting", "style"), said, strict=True))
                for person, said in (
                    ("ada", says[number % 4]),
                    ("ben", says[number % 4]),
                    ("eve", says[number % 3]),
                )
                if person != "ben" or number != 7
            },
        }
        for number in range(8)
    ]
    rubricate("grade", write_dataset(rubric=rubric, items=items), "--run-dir", "run", "-q")
    rows = [json.loads(line) for line in (tmp_path / "run/results.jsonl").read_text().splitlines()]
    assert rows[0]["annotations"] == {"ada": "MET", "ben": "MET", "eve": "MET"}
    assert rows[0]["human_label"] == "MET"
    report = json.loads(rubricate("trust", "agree", "run", "--json").stdout)
    found = {one["name"]: one for one in report["annotators"]}
    assert list(found) == ["speed", "boasting", "style"]
    speed = found["speed"]["agreement"]
    assert list(speed["against"]) == ["ada", "ben", "eve"]
    assert (speed["against"]["ada"]["n"], speed["against"]["ben"]["n"]) == (8, 7)
    columns = {
        person: [item["annotations"].get(person, {}).get("speed") for item in items]
        for person in ("ada", "ben", "eve")
    }
    judge = [row["label"] for row in rows if row["criterion"] == "speed"]
    theirs = annotator_agreement(judge, columns)
    assert speed["alpha"]["value"] == pytest.approx(theirs.alpha.value)
    assert speed["ceiling"]["cohen_kappa"] == pytest.approx(theirs.ceiling["cohen_kappa"])
    assert found["style"]["level"] == "steps"
    together = report["annotators_together"]
    assert together["criteria"] == 3
    known = []
    for name in ("speed", "boasting", "style"):
        pairs = [
            (row["label"], row["annotations"]["eve"])
            for row in rows
            if row["criterion"] == name and row["status"] == "judged"
        ]
        if name == "style":  # the built-in judge abstains on it
            assert not pairs
        kappa = agreement_of_counts(Counter(pairs)).kappa
        if kappa is not None:
            known.append((len(pairs), kappa))
    mean = sum(n * kappa for n, kappa in known) / sum(n for n, _ in known)
    assert together["against"]["eve"]["value"] == pytest.approx(mean)
    shown = rubricate("trust", "agree", "run").stdout
    assert "The judge and the annotators" in shown


def test_runs_without_a_common_item_cannot_be_compared(tmp_path: Path, rubricate: Any):
    write_run(tmp_path / "a")
    run = write_run(tmp_path / "b")
    (run / "results.jsonl").write_text(
        (run / "results.jsonl").read_text().replace("item-", "other-")
    )
    done = rubricate("compare", "a", "b")
    assert done.returncode == 1
    assert "a and b have no item in common" in done.stderr


def test_a_certificate_holds_for_the_same_judge_prompt_and_rubric_only(
    tmp_path: Path, rubricate: Any, write_dataset: Any, endpoint: Any
):
    write_dataset()
    at = {"OPENAI_API_KEY": "not-a-key", "OPENAI_BASE_URL": endpoint.url}
    grade = ("grade", "data.json", "--judge", "openai/some-model", "--no-cache")
    rubricate(*grade, "--run-dir", "run", **at)
    done = rubricate("trust", "certify", "run", "-o", "certificate.json")
    assert done.returncode == 0
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    assert certificate["sha256"] in done.stdout
    speed = certificate["criteria"]["speed"]
    agreement = json.loads(rubricate("trust", "agree", "run", "--json").stdout)["criteria"][0]
    assert (agreement["name"], agreement["agreement"]["figures"]) == ("speed", speed["figures"])
    assert (speed["n"], speed["sensitivity"]["value"], speed["specificity"]["value"]) == (2, 1, 1)
    assert (speed["sensitivity"]["n"], speed["specificity"]["n"]) == (1, 1)
    told = rubricate("trust", "agree", "run").stdout
    assert "speed 1 and 1" in told
    text = json.dumps(
        {name: value for name, value in certificate.items() if name != "sha256"},
        sort_keys=True,
        separators=(",", ":"),
    )
    assert certificate["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert read_certificate(tmp_path / "certificate.json").criteria["speed"].sensitivity.n == 1

    with_it = ("--certificate", "certificate.json")
    done = rubricate(*grade, "--run-dir", "run", *with_it, **at)
    assert done.returncode == 0
    assert "judge, prompt and rubric are as certified" in done.stdout
    assert "as certified" in rubricate("show", "run").stdout
    done = rubricate(*grade, "--run-dir", "warm", "--temperature", "1", "--json", *with_it, **at)
    found = json.loads(done.stdout)["certificate"]
    assert found["holds"] is False
    assert found["differences"] == ["the judge's prompt, address or sampling is another"]
    done = rubricate("grade", "data.json", "--run-dir", "builtin", *with_it)
    assert done.returncode == 5
    assert "does not hold: judged by builtin, certified is openai/some-model" in done.stderr
    assert "judged by builtin, certified is openai/some-model" in " ".join(done.stdout.split())
    rubric = [{"name": "speed", "weight": 9.0, "requirement": "Gives roughly 300000 kilometres"}]
    write_dataset(rubric=rubric, items=[{"submission": "It is fast.", "description": "one"}])
    done = rubricate(*grade, "--run-dir", "other", *with_it, **at)
    assert "does not hold: the rubric is another" in " ".join(done.stdout.split())


def test_a_changed_certificate_is_refused_before_anything_is_judged(
    tmp_path: Path, rubricate: Any, write_dataset: Any
):
    write_run(tmp_path / "run")
    rubricate("trust", "certify", "run")
    path = tmp_path / "certificate.json"
    path.write_text(path.read_text().replace('"items": 5', '"items": 500'))
    write_dataset()
    done = rubricate("grade", "data.json", "--run-dir", "new", "--certificate", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "was changed since it was written" in done.stderr
    assert not (tmp_path / "new").exists()
    path.write_text("{}")
    done = rubricate("grade", "data.json", "--certificate", path)
    assert "not a certificate" in done.stderr


def test_a_run_that_ended_early_is_not_certified(tmp_path: Path, rubricate: Any):
    write_run(tmp_path / "run", stopped="interrupted")
    done = rubricate("trust", "certify", "run")
    assert (done.returncode, "finish" in done.stderr) == (1, True)


def test_a_calibration_is_fitted_and_applied_by_name(
    tmp_path: Path, rubricate: Any, shipped_example: Any
):
    data = shipped_example("physics.json")
    rubricate("grade", data, "--run-dir", "run", "-q")
    done = rubricate("trust", "calibrate", "run", "-o", "physics.json", "--method", "platt")
    assert done.returncode == 0
    fitted = json.loads((tmp_path / "physics.json").read_text())
    assert (fitted["name"], fitted["method"], fitted["judge"]) == ("physics", "platt", "builtin")
    assert fitted["labels"] == fitted["out_of_fold"]["n"] == 138
    assert (fitted["out_of_fold"]["clusters"], fitted["not_shown"]) == (49, None)
    assert "platt map for builtin" in done.stdout
    options = ("grade", data, "--judge", "builtin", "--run-dir", "run", "--json")
    summary = json.loads(rubricate(*options, "--calibration", "physics.json").stdout)
    assert summary["calibration"]["map"] == f"physics {fitted['sha256'][:12]}"
    assert (summary["calibration"]["applied"], summary["usage"]["calls"]) == (147, 0)


def test_a_map_that_is_not_shown_to_be_better_is_refused_without_force(
    rubricate: Any, shipped_example: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    data = shipped_example("physics.json")
    rubricate("grade", data, "--run-dir", "run", "-q")
    command = ("trust", "calibrate", "run", "-o", "map.json", "--method", "isotonic", "--seed", "1")
    refused = rubricate(*command)
    assert refused.returncode == 1
    assert not (tmp_path / "map.json").exists()
    why = "the gain in the Brier score is 0.014 [-0.026, 0.053]"
    assert f"not shown to be better than none: {why}" in refused.stderr
    assert "--force" in refused.stderr
    forced = rubricate(*command, "--force")
    assert (forced.returncode, forced.stderr) == (0, "")
    assert f"Not shown to be better than none: {why}" in forced.stdout
    assert json.loads((tmp_path / "map.json").read_text())["not_shown"] == why
    options = ("--judge", "builtin", "--run-dir", "mapped", "--calibration", "map.json")
    assert rubricate("grade", data, *options).returncode == 0
    assert f"calibration map is not shown to be better than none: {why}" in caplog.text


def test_a_map_of_few_items_or_groups_is_not_shown_to_be_better(
    rubricate: Any, graded_in_lessons: Callable[[int], None]
):
    graded_in_lessons(9)
    assert rubricate("trust", "calibrate", "run").returncode == 0
    refused = rubricate("trust", "calibrate", "run", "--groups", "lesson")
    assert refused.returncode == 1
    assert "and there are 9" in refused.stderr
    unknown = rubricate("trust", "calibrate", "run", "--groups", "leson")
    assert "did you mean 'lesson'?" in unknown.stderr


def test_the_default_interval_of_the_accuracy_of_all_knows_which_verdicts_are_of_one_item(
    tmp_path: Path,
):
    run = read_run(write_run(tmp_path / "run"))
    report = agreement_report(run)
    rows = [
        row
        for row in run.rows
        if row.status == "judged" and row.human_label not in ("CANNOT_ASSESS", "none")
    ]
    right = [row.label == row.human_label for row in rows]
    assert report.stratified is not None
    # How often this interval holds the truth is tested in tests/stats/test_intervals.py.
    expected = clustered_share(right, groups=[row.item for row in rows])
    assert report.stratified.accuracy == expected


def test_probabilities_are_told_apart_cut_by_cost_and_made_sets(
    tmp_path: Path, rubricate: Any, endpoint: Any
):
    dataset = Path(__file__).parents[2] / "examples" / "physics.json"
    done = rubricate("grade", str(dataset), "--judge", "builtin", "--run-dir", "run", "-q")
    assert done.returncode == 0, done.stderr
    plain = json.loads(rubricate("trust", "agree", "run", "--json").stdout)
    assert (plain["probabilities"]["threshold"], plain["probabilities"]["sets"]) == (None, None)
    run = read_run(tmp_path / "run")
    known = [row for row in run.rows if row.status == "judged" and row.human_label is not None]
    for one in plain["criteria"]:
        rows = [row for row in known if row.criterion == one["name"]]
        expected = roc_auc_score(
            [row.human_label == "MET" for row in rows], [row.probability_met for row in rows]
        )
        assert one["probabilities"]["auc"]["value"] == pytest.approx(expected, abs=1e-9)
    done = rubricate(
        "trust", "agree", "run", "--json", "--costs", "1,5", "--coverage", "0.9", "-o", "a.html"
    )
    found = json.loads(done.stdout)["probabilities"]
    assert 0 < found["threshold"]["threshold"] < 0.5
    assert found["threshold"]["cost"]["value"] < found["threshold"]["cost_at_half"]["value"]
    assert found["sets"]["held_out"]["value"] > 0.8
    page = (tmp_path / "a.html").read_text("utf-8")
    for words in ("AUC", "threshold for costs (false MET 1, false UNMET 5)", "sets of labels"):
        assert words in page
    few = rubricate("trust", "agree", "run", "--coverage", "0.999").stdout
    assert "too few to leave any label out" in " ".join(few.split())


def test_costs_and_coverage_without_probabilities_are_an_error(rubricate: Any, endpoint: Any):
    dataset = str(Path(__file__).parents[2] / "examples" / "physics.json")
    judge = ("--judge", "m", "--base-url", endpoint.url, "--limit", "5")
    assert rubricate("grade", dataset, *judge, "--run-dir", "run", "-q").returncode == 0
    for rule in (("--costs", "1,3"), ("--coverage", "0.9")):
        done = rubricate("trust", "agree", "run", *rule)
        assert (done.returncode, "--mode probability" in done.stderr) == (1, True)


@pytest.mark.parametrize("costs", ["5", "5,x", "5,-1", "nan,1", "1,2,3", "0,1", "1e99,1"])
def test_costs_that_are_none_are_refused(costs: str, rubricate: Any, write_dataset: Any):
    rubricate("grade", write_dataset(), "--run-dir", "run", "-q")
    done = rubricate("trust", "agree", "run", "--costs", costs)
    assert done.returncode == 1
    assert "--costs takes two numbers" in " ".join(done.stderr.split())
