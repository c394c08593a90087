"""What a run leaves: the result, the run folder, and tables."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import yaml

import rubricate
from rubricate import Criterion, CriterionOption, Rubric, RubricDataset
from rubricate.errors import InputError, RubricateError
from rubricate.run.results import RunFolder
from rubricate.testing import Rule, ScriptedEndpoint

MET = '{"reason": "r", "evidence": [], "verdict": "MET"}'


def met(messages: Any) -> str:
    return MET


@pytest.fixture
def folder(make_dataset, tmp_path):
    """A run folder of two items with human labels, one verdict of them failed."""
    rules = [
        Rule(
            submission="Answer 0", criterion="kilometres", verdict="MET", evidence=["300000", "no"]
        ),
        Rule(submission="Answer 1", criterion="kilometres", reply="?"),
    ]
    with ScriptedEndpoint(rules) as endpoint:
        dataset = make_dataset(2, ground_truth=["MET", None])
        rubricate.grade(dataset, "m", base_url=endpoint.url, run_dir=tmp_path / "run")
    return tmp_path / "run"


def test_threads_that_open_a_folder_at_once_are_in_nobody_s_way(tmp_path):
    def opened(number: int) -> None:
        for _ in range(300):
            RunFolder(tmp_path / "run")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(opened, range(8)))
    assert not list((tmp_path / "run").iterdir())


def test_the_folder_has_these_files_and_no_other_for_its_owner_only(folder):
    names = sorted(path.name for path in folder.iterdir())
    files = ["items.jsonl", "journal.sqlite", "results.jsonl", "rubric.yaml", "run.json"]
    assert names == [*files, "summary.json"]
    assert [path for path in (folder, *folder.iterdir()) if path.stat().st_mode & 0o077] == []


def test_files_are_for_their_owner_only_whoever_may_look_into_the_folder(make_dataset, tmp_path):
    tmp_path.chmod(0o755)
    rubricate.grade(make_dataset(2), met, run_dir=tmp_path)
    names = [path.name for path in tmp_path.iterdir() if path.stat().st_mode & 0o077]
    assert names == []


def test_a_full_disk_leaves_whole_lines(make_dataset, tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    try:
        with pytest.raises(RubricateError, match=r"File too large|journal"):
            rubricate.grade(make_dataset(200), met, run_dir=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    lines = (tmp_path / "results.jsonl").read_bytes().splitlines(keepends=True)
    assert lines
    assert len(lines) % 2 == 0  # whole items, too
    for line in lines:
        json.loads(line)


def test_results_have_one_line_a_verdict_in_the_datasets_order(folder, rows):
    found = rows(folder)
    assert [(row["description"], row["criterion"]) for row in found] == [
        (f"answer {number}", name) for number in range(2) for name in ("speed", "boasting")
    ]
    _, unlabelled, failed, _ = found
    assert unlabelled["human_label"] is unlabelled["human_value"] is None
    assert (failed["status"], failed["label"], failed["value"]) == ("failed", None, None)
    assert failed["error"]["kind"] == "unreadable_reply"


def test_a_line_of_results_has_all_of_a_verdict(folder, rows, make_dataset):
    row = rows(folder)[0]
    usage = row.pop("usage")
    assert row == {
        "order": None,
        "item": make_dataset(2).item_ids()[0],
        "description": "answer 0",
        "criterion": "speed",
        "weight": 2.0,
        "status": "judged",
        "label": "MET",
        "value": 1.0,
        "human_label": "MET",
        "human_value": 1.0,
        "probability": None,
        "reason": "scripted",
        "evidence": [
            {"quote": "300000", "start": 18, "end": 24},
            {"quote": "no", "start": None, "end": None},
        ],
        "error": None,
        "judge": "m",
        "detail": None,
        "resumed": False,
        "votes": [],
        "tied": False,
        "item_score": {
            "value": 0.5,
            "lowest": 0.5,
            "highest": 0.5,
            "raw": 1.0,
            "coverage": 1.0,
            "faults_only": False,
            "penalty": 0.0,
            "before_penalty": None,
        },
        "human_score": None,
        "judge_scores": {},
        "warnings": {
            "invented_quotes": "quotes that are not in the submission: 1; look at the reasons that "
            "rest on them"
        },
        "stage": None,
        "annotations": {},
        "keys": row["keys"],
        "metadata": {},
    }
    assert usage["requests"] == 1
    assert usage["input_tokens"] > 0
    assert usage["cost"] is None


def test_why_people_say_so_is_in_the_results_beside_their_label(make_dataset, tmp_path, rows):
    reasons = ["It says so.", None]
    dataset = make_dataset(1, ground_truth=["MET", "UNMET"], ground_truth_reasons=reasons)
    rubricate.grade(dataset, met, run_dir=tmp_path)
    found = rows(tmp_path)
    assert (found[0]["human_reason"], "human_reason" in found[1]) == ("It says so.", False)


def test_the_summary_has_the_figures_and_the_rubric_can_be_loaded_again(folder, make_dataset):
    summary = json.loads((folder / "summary.json").read_text())
    expected = {"judge": "m", "dataset": "light", "items": 2, "stopped": None}
    expected |= {"errors": {"unreadable_reply": 1}, "run_dir": str(folder)}
    assert {name: summary[name] for name in expected} == expected
    verdicts = {"judged": 3, "abstained": 0, "not_applicable": 0, "failed": 1, "not_run": 0}
    assert summary["verdicts"] == verdicts
    assert summary["agreement"]["n"] == 1
    assert (summary["usage"]["calls"], summary["usage"]["requests"]) == (4, 6)
    assert Rubric.from_file(folder / "rubric.yaml") == make_dataset(1).rubric


def test_rubrics_of_items_are_written_by_item(make_dataset, tmp_path):
    own = Rubric([Criterion(name="own", requirement="Own")])
    dataset = make_dataset(1)
    dataset.add_item("text", rubric=own, id="second")
    rubricate.grade(dataset, lambda m: {"reason": "", "verdict": "MET"}, run_dir=tmp_path / "run")
    written = yaml.safe_load((tmp_path / "run" / "rubric.yaml").read_text())["items"]
    assert list(written) == dataset.item_ids()
    assert Rubric.from_dict(written["second"]) == own


def test_a_rubric_with_odd_line_breaks_is_written_as_it_is(tmp_path):
    rubric = Rubric([Criterion(name="a", requirement="one\x85two\u2028three\n four")])
    dataset = RubricDataset("p", rubric)
    dataset.add_item("text")
    rubricate.grade(dataset, lambda m: {"reason": "", "verdict": "MET"}, run_dir=tmp_path / "run")
    assert Rubric.from_file(tmp_path / "run" / "rubric.yaml") == rubric


def test_a_failed_verdict_has_no_value_in_the_table():
    result_of = Rubric([Criterion(name="a", requirement="r")])
    dataset = RubricDataset("p", result_of)
    dataset.add_item("good")
    dataset.add_item("bad")

    def judge(messages: Any) -> Any:
        if "bad" in messages[-1]["content"]:
            raise ValueError("no")
        return {"reason": "r", "verdict": "MET"}

    frame = rubricate.grade(dataset, judge).to_pandas()
    assert frame["value"].mean() == 1.0
    assert frame["value"].isna().tolist() == [False, True]
    assert frame["error.kind"].tolist()[1] == "judge_error"


def test_usage_is_the_sum_over_all_calls(make_dataset, endpoint):
    result = rubricate.grade(make_dataset(5), "m", base_url=endpoint.url)
    usages = [verdict.usage for _, verdict in result.verdicts()]
    assert result.usage.requests == sum(usage.requests for usage in usages) == 10
    assert result.usage.input_tokens == sum(usage.input_tokens for usage in usages)
    assert result.usage.cached_tokens == sum(usage.cached_tokens for usage in usages) > 0


def test_a_human_score_needs_a_label_on_every_criterion(make_dataset):
    def judge(messages: Any) -> Any:
        return {"reason": "r", "verdict": "MET"}

    (partly,) = rubricate.grade(make_dataset(1, ground_truth=["MET", None]), judge)
    (fully,) = rubricate.grade(make_dataset(1, ground_truth=["MET", "UNMET"]), judge)
    assert partly.human_score is None
    assert fully.human_score.value == 1.0
    assert fully.labels["boasting"].label == "UNMET"


def test_the_verdict_of_an_item_is_found_by_the_criterions_name(make_dataset, endpoint):
    result = rubricate.grade(make_dataset(1), "m", base_url=endpoint.url)
    verdict = result.items[0].criteria["boasting"]
    assert (verdict.criterion, verdict.label, verdict.judge) == ("boasting", "MET", "m")
    assert len(result) == 1
    assert next(iter(result)) is result.items[0]


def test_a_criterion_without_a_name_is_called_by_its_place():
    rubric = Rubric([Criterion(requirement="One"), Criterion(requirement="Two")])
    item = rubricate.grade_one(rubric, "t", judge=lambda m: {"reason": "r", "verdict": "MET"})
    assert [(name, v.criterion) for name, v in item.criteria.items()] == [
        ("criterion_1", "criterion_1"),
        ("criterion_2", "criterion_2"),
    ]


def test_an_option_chosen_by_a_judge_is_spelt_as_in_the_rubric():
    options = (
        CriterionOption(label="Very Good", value=1.0),
        CriterionOption(label="Bad", value=0.0),
    )
    rubric = Rubric([Criterion(name="a", requirement="r", options=options)])
    item = rubricate.grade_one(
        rubric, "t", judge=lambda m: {"reason": "r", "verdict": " very good "}
    )
    assert (item.criteria["a"].label, item.criteria["a"].value) == ("Very Good", 1.0)


def test_an_items_result_is_shown_in_one_short_line(make_dataset):
    rules = [Rule(submission="Answer 0", criterion="kilometres", reply="?")]
    with ScriptedEndpoint(rules) as endpoint:
        result = rubricate.grade(make_dataset(2), "m", base_url=endpoint.url)
    broken, right = result
    assert repr(right) == f"<ItemResult '{right.id}': score {right.score.value:.2f}, 2 judged>"
    assert repr(broken).endswith(", 1 judged, 1 failed>")
    dataset = make_dataset(1)
    dataset.items[0].id = "line\n" * 100
    lost = rubricate.grade(dataset, lambda messages: "?").items[0]
    assert "no score, 2 failed>" in repr(lost)
    assert len(repr(lost)) < 130
    assert "\n" not in repr(lost)


def test_results_are_also_a_parquet_table_where_that_is_asked_for(make_dataset, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    run = {"judge": met, "run_dir": tmp_path / "run"}
    rubricate.grade(make_dataset(3), results="parquet", **run)
    file = tmp_path / "run" / "results.parquet"
    rows = parquet.read_table(file).to_pylist()
    assert [row["item"] for row in rows[::2]] == [
        json.loads(line)["item"]
        for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()[::2]
    ]
    assert {row["status"] for row in rows} == {"judged"}
    assert file.stat().st_mode & 0o077 == 0
    rubricate.grade(make_dataset(3), **run)
    assert not file.exists()  # it would be of the run before


def test_a_parquet_table_needs_a_run_folder(make_dataset):
    with pytest.raises(InputError, match="give run_dir"):
        rubricate.grade(make_dataset(1), results="parquet")
