"""`rubricate schema`, and that what is written and read is as the schemas say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator, ValidationError
from schemas import check_run_folder, check_schema

from rubricate import Rubric, RubricDataset
from rubricate.cli._schemas import SCHEMAS, schema_of
from rubricate.testing import Rule, ScriptedEndpoint

EXAMPLES = Path(__file__).parents[2] / "examples"
OTHERS = {EXAMPLES / "returns.yaml", EXAMPLES / "model.yaml"}  # a rubric, a scripted model
DATASETS = sorted({*EXAMPLES.glob("*.json"), *EXAMPLES.glob("*.yaml")} - OTHERS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_and_is_printed_by_its_name(name: str, rubricate: Any):
    done = rubricate("schema", name)
    assert done.returncode == 0
    printed = json.loads(done.stdout)
    Draft202012Validator.check_schema(printed)
    assert printed == schema_of(name)
    assert printed["title"] == f"rubricate {name}"


def test_without_a_name_all_are_listed_and_with_a_folder_written(rubricate: Any, tmp_path: Path):
    listed = rubricate("schema").stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(SCHEMAS)
    assert rubricate("schema", "-o", "schemas").returncode == 0
    files = sorted(path.name for path in (tmp_path / "schemas").iterdir())
    assert files == sorted(f"{name}.schema.json" for name in SCHEMAS)
    written = json.loads((tmp_path / "schemas" / "results.schema.json").read_text())
    assert written == schema_of("results")


def test_a_name_that_there_is_not_is_one_line(rubricate: Any):
    done = rubricate("schema", "sumary")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: no schema 'sumary'; did you mean 'summary'?\n"
    assert "leave out the name" in rubricate("schema", "summary", "-o", "x").stderr


@pytest.mark.parametrize("path", DATASETS, ids=lambda path: path.name)
def test_a_dataset_and_the_files_of_its_run_are_as_the_schemas_say(
    path: Path, rubricate: Any, tmp_path: Path
):
    check_schema("dataset", yaml.safe_load(path.read_text("utf-8")), open=True)
    done = rubricate("grade", path, "--run-dir", "run", "--no-cache", "--limit", "6", "--json")
    assert done.returncode in (0, 2), done.stderr
    check_schema("summary", json.loads(done.stdout))
    check_run_folder(tmp_path / "run")
    dataset = RubricDataset.from_file(path)
    dataset.to_file(tmp_path / "written.json")
    check_schema("dataset", json.loads((tmp_path / "written.json").read_text()), open=True)
    if dataset.rubric is not None:
        check_schema("rubric", dataset.rubric.to_dict(), open=True)
        check_schema("rubric", json.loads(json.dumps({"rubric": dataset.rubric.to_dict()})))


def test_panels_cascades_failures_and_gates_are_as_the_schemas_say(
    rubricate: Any, write_dataset: Any, tmp_path: Path
):
    write_dataset()
    rules = [
        Rule(submission="Fast", reply="nonsense"),
        Rule(verdict="MET", evidence=["Roughly", "never said"]),
    ]
    with ScriptedEndpoint(rules) as endpoint:
        judges = ("--judge", "a", "--judge", "b", "--base-url", endpoint.url, "--no-cache")
        rubricate("grade", "data.json", *judges, "--run-dir", "panel", "--fail-under", "0.5")
        cascade = ("--escalate-to", "c", "--threshold", "0.9")
        one = ("--judge", "a", "--base-url", endpoint.url, "--no-cache")
        rubricate("grade", "data.json", *one, *cascade, "--run-dir", "cascade")
        dry = rubricate("grade", "data.json", *one, "--run-dir", "dry", "--dry-run", "--json")
    check_run_folder(tmp_path / "panel")
    check_run_folder(tmp_path / "cascade")
    check_schema("estimate", json.loads(dry.stdout))
    for pick in ("--failed", "--disagreements"):
        done = rubricate("show", "panel", pick, "--json")
        check_schema("selection", json.loads(done.stdout), open=True)


@pytest.mark.parametrize(
    "rubric",
    [
        [{"requirement": "r"}],
        [{"requirement": "r", "weight": 1, "options": [{"label": x, "value": 0.5} for x in "ab"]}],
        {"criteria": [{"kind": "regex", "pattern": "a"}], "name": "n", "guidelines": "g"},
        {"sections": [{"name": "s", "criteria": [{"requirement": "r", "tags": {"axis": "x"}}]}]},
        {"rubric": {"criteria": [{"name": "g", "criteria": [{"requirement": "r"}]}]}},
        [{"kind": "scale", "requirement": "r", "low": 0, "high": 10}],
    ],
)
def test_every_shape_of_a_rubric_fits(rubric: Any):
    check_schema("rubric", rubric, open=True)
    Rubric.from_dict(rubric)


@pytest.mark.parametrize(
    "rubric",
    [[], {}, "text", [{"name": "no requirement"}], [{"requirement": 1}], [{"kind": "wheel"}]],
)
def test_what_is_no_rubric_does_not(rubric: Any):
    with pytest.raises(ValidationError):
        Draft202012Validator(schema_of("rubric")).validate(rubric)
    dataset = {"prompt": "p", "rubric": rubric, "items": []}
    with pytest.raises(ValidationError):
        Draft202012Validator(schema_of("dataset")).validate(dataset)


def test_a_line_without_a_key_or_with_a_wrong_status_does_not_fit(
    rubricate: Any, write_dataset: Any, tmp_path: Path
):
    write_dataset()
    rubricate("grade", "data.json", "--run-dir", "run", "--no-cache", "--quiet")
    line = json.loads((tmp_path / "run" / "results.jsonl").read_text().splitlines()[0])
    check_schema("results", line)
    for wrong in ({**line, "status": "unknown"}, {k: line[k] for k in line if k != "label"}):
        with pytest.raises(AssertionError, match="schema results"):
            check_schema("results", wrong)
    with pytest.raises(AssertionError, match="'new' was unexpected"):
        check_schema("results", {**line, "new": 1})
