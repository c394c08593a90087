"""`rubricate grade` on tables: CSV, JSON, JSON Lines, Parquet, addresses, `hf:`."""

from __future__ import annotations

import csv
import functools
import http.server
import io
import json
import threading
from typing import Any

import pytest

from rubricate import InputError

ROWS = [
    {"qid": "1", "question": "How fast?", "answer": "Roughly 300000 kilometres.", "human": "yes"},
    {"qid": "2", "question": "How fast?", "answer": "Shamelessly it praises itself.", "human": "0"},
]
MAP = "submission=answer,prompt=question,id=qid,label.speed=human"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def grade(rubricate, tmp_path, endpoint):
    rubric = [
        {"name": "speed", "requirement": "Gives roughly 300000 kilometres"},
        {"name": "boasting", "weight": -1.0, "requirement": "Praises itself shamelessly"},
    ]
    (tmp_path / "rubric.json").write_text(json.dumps(rubric))

    def run(data, *options, rows=None):
        if rows is not None:
            path = tmp_path / data
            if data.endswith(".csv"):
                text = io.StringIO()
                writer = csv.DictWriter(text, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
                path.write_text(text.getvalue())
            elif data.endswith(".jsonl"):
                path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            else:
                path.write_text(json.dumps(rows))
        judge = ("--judge", "m", "--base-url", endpoint.url, "--run-dir", "run")
        return rubricate("grade", data, "--rubric", "rubric.json", *judge, *options)

    return run


def results(tmp_path):
    return [json.loads(line) for line in (tmp_path / "run/results.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl"])
def test_a_table_is_graded_by_its_mapped_columns(grade, tmp_path, name):
    done = grade(name, "--map", MAP, rows=ROWS)
    assert done.returncode == 0, done.stderr
    rows = results(tmp_path)
    assert [row["label"] for row in rows] == ["MET", "UNMET", "UNMET", "MET"]
    assert [row["item"] for row in rows] == ["1", "1", "2", "2"]
    assert [row["human_label"] for row in rows] == ["MET", None, "UNMET", None]


def test_columns_of_the_right_names_need_no_mapping(grade, tmp_path):
    rows = [{"submission": "Roughly 300000 kilometres.", "input": "q"}]
    for name in ("a.csv", "b.jsonl", "c.json"):
        assert grade(name, "--run-dir", name + "-run", rows=rows).returncode == 0


def test_the_keys_of_a_metadata_object_are_metadata_as_columns_are(grade, tmp_path):
    rows = [
        {"submission": "a", "source": "web", "metadata": {"year": 2024}},
        {"submission": "b", "year": 1999, "metadata": {"year": 2024}},  # neither is lost
        {"submission": "c", "metadata": "new"},
    ]
    assert grade("a.jsonl", rows=rows).returncode == 0
    found = [row["metadata"] for row in results(tmp_path)[::2]]
    assert found[0] == {"source": "web", "year": 2024}
    assert found[1]["year"] == 1999
    assert found[2] == {"metadata": "new"}


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("submission=answr", "no column 'answr' (did you mean 'answer'?); the columns are 'qid'"),
        ("prompt=question", "no column is mapped to submission"),
        ("submission=answer,submission=question", "'submission' is mapped twice"),
        ("submission=answer,prompt=answer", "column 'answer' is mapped twice"),
        ("submision=answer", "did you mean 'submission'"),
        ("submission", "not of the form submission=COLUMN"),
        ("submission=answer,label.none=human", "no criterion 'none' (it has speed, boasting)"),
        ("submission=answer,label.speed=qid", "column 'qid': criterion 'speed' has no label '2'"),
    ],
)
def test_a_mapping_that_does_not_fit_names_the_columns(grade, mapping, message):
    done = grade("a.csv", "--map", mapping, rows=ROWS)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line]
    assert message in line
    if mapping.startswith("prompt"):
        assert "not mapped are 'qid'" in line


@pytest.mark.parametrize("more", [(), ("--on-error", "skip")])
def test_labels_of_no_criterion_are_an_error_unless_they_are_ignored(grade, tmp_path, more):
    rows = [{"submission": text, "label.sped": "yes", "label.speed": "no"} for text in "ab"]
    done = grade("a.csv", *more, rows=rows)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line]
    assert "column 'label.sped': the rubric has no criterion 'sped'; did you mean 'speed'?" in line
    assert not (tmp_path / "run").exists()
    done = grade("a.csv", *more, "--map", "ignore=label.*", rows=rows)
    assert done.returncode == 0, done.stderr
    speed, _ = results(tmp_path)[:2]
    assert (speed["human_label"], speed["metadata"]) == ("UNMET", {})


@pytest.mark.parametrize("column", ["Label.speed", "labels.speed", "label_speed", "LABEL spede"])
def test_a_column_that_looks_like_labels_is_an_error_and_no_metadata(grade, tmp_path, column):
    rows = [{"submission": "a", column: "yes"}]
    (line,) = filter(None, grade("a.csv", rows=rows).stderr.splitlines())
    assert f"'{column}' looks like labels of the criterion 'speed'" in line
    mapped = grade("a.csv", "--map", f"label.speed={column}", rows=rows)
    assert mapped.returncode == 0, mapped.stderr
    assert results(tmp_path)[0]["human_label"] == "MET"


def test_a_column_of_verdicts_says_of_which_criterion_they_are(grade, tmp_path):
    rows = [{"submission": "a", "human_label": "UNMET"}]
    (line,) = filter(None, grade("a.csv", rows=rows).stderr.splitlines())
    assert "does not say of which criterion: --map 'label.speed=human_label'" in line
    assert grade("a.csv", "--map", "label.speed=human_label", rows=rows).returncode == 0
    assert results(tmp_path)[0]["human_label"] == "UNMET"


@pytest.mark.parametrize("column", ["label_noise", "labels", "labelled", "speed"])
def test_other_names_with_label_in_them_are_metadata(grade, tmp_path, column):
    rows = [{"submission": "a", "label.speed": "no", column: "yes", "label_speed": "x"}]
    assert grade("a.csv", rows=rows).returncode == 0
    assert results(tmp_path)[0]["metadata"] == {column: "yes", "label_speed": "x"}


def test_a_column_without_a_name_is_metadata_as_others_are(grade, tmp_path):
    assert grade("a.csv", rows=[{"": "0", "submission": "a"}]).returncode == 0
    assert results(tmp_path)[0]["metadata"] == {"": "0"}


def test_ignored_columns_are_not_kept(grade, tmp_path):
    rows = [{"submission": "a", "reference": "b", "raw_html": "c", "source": "web"}]
    for pattern, kept in (("raw_*", {"source": "web"}), ("*r*", {})):
        done = grade("a.csv", "--map", f"ignore={pattern}", "--fresh", rows=rows)
        assert done.returncode == 0, done.stderr
        assert results(tmp_path)[0]["metadata"] == kept
    (line,) = (tmp_path / "run/items.jsonl").read_text().splitlines()
    assert json.loads(line)["reference"] == "b"  # it is used


def test_rows_that_do_not_fit_can_be_left_out_and_are_listed(grade, tmp_path):
    rows = [*ROWS, {"qid": "3", "question": "?", "answer": "Fast.", "human": "maybe"}]
    done = grade("a.csv", "--map", MAP, rows=rows)
    assert done.returncode == 1
    assert "a.csv:4: record 3: column 'human': criterion 'speed' has no label" in done.stderr
    done = grade("a.csv", "--map", MAP, "--on-error", "skip", rows=rows)
    assert done.returncode == 0
    assert "Left out 1 row that does not fit; see run/skipped.jsonl" in done.stderr
    (skipped,) = (tmp_path / "run/skipped.jsonl").read_text().splitlines()
    assert json.loads(skipped)["line"] == 4
    done = grade("a.csv", "--map", MAP, "--on-error", "skip", rows=rows[2:])
    assert done.returncode == 1
    assert "none of its 1 rows fits; the first: column 'human': criterion 'speed'" in done.stderr


@pytest.mark.parametrize("argument", [MAP.replace(",", ", "), MAP.replace(",", " --map ")])
def test_a_mapping_can_have_spaces_and_several_options(grade, tmp_path, argument):
    assert grade("a.csv", "--map", *argument.split(), rows=ROWS).returncode == 0
    assert [row["item"] for row in results(tmp_path)] == ["1", "1", "2", "2"]


def test_an_empty_answer_is_graded(grade, tmp_path):
    rows = [*ROWS, {"qid": "3", "question": "?", "answer": "", "human": "0"}]
    assert grade("a.csv", "--map", MAP, rows=rows).returncode == 0
    assert [row["status"] for row in results(tmp_path)][4:] == ["judged", "judged"]


def test_repeated_ids_and_a_missing_rubric_are_refused(grade, rubricate, tmp_path):
    done = grade("a.csv", "--map", MAP, rows=[ROWS[0], ROWS[0]])
    assert "share an id: '1' (items 1, 2)" in done.stderr
    assert "give --rubric" in rubricate("grade", "a.csv").stderr


def test_parquet_and_datasets_of_hugging_face_are_tables(grade, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("datasets")
    (tmp_path / "data").mkdir()
    parquet.write_table(arrow.Table.from_pylist(ROWS), tmp_path / "data" / "train.parquet")
    for data in ("data/train.parquet", "hf:data@train"):
        done = grade(data, "--map", MAP, "--run-dir", data.replace("/", "-"))
        assert done.returncode == 0, done.stderr
    assert "hf:NAME@SPLIT" in grade("hf:data").stderr


def test_a_table_at_an_address_is_graded(grade, tmp_path):
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    handler = functools.partial(QuietHandler, directory=str(tmp_path / "web"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/a.jsonl?sig=secret"
        done = grade(address, "--map", MAP, "--limit", "1")
        server.shutdown()
        thread.join()
    assert done.returncode == 0, done.stderr
    assert [row["label"] for row in results(tmp_path)] == ["MET", "UNMET"]
    assert "secret" not in done.stdout + done.stderr


def test_a_table_in_a_bucket_is_graded_with_what_the_environment_says(grade, tmp_path, monkeypatch):
    s3fs = pytest.importorskip("s3fs")
    server_module = pytest.importorskip("moto.server")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
        files = s3fs.S3FileSystem(skip_instance_cache=True)
        files.mkdir("tables")
        files.pipe("tables/a.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS).encode())
        done = grade("s3://tables/a.jsonl", "--map", MAP)
    finally:
        server.stop()
    assert done.returncode == 0, done.stderr
    assert [row["label"] for row in results(tmp_path)] == ["MET", "UNMET", "UNMET", "MET"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("semicolons.csv", "submission;prompt\na;b\n", "several separated by ';': save the table"),
        ("empty.csv", "", "empty.csv: has no rows to grade"),
        ("answers.xlsx", "PK", "is a spreadsheet: save it as CSV"),
        ("answer.md", "# Light", "is one text, not a dataset"),
        ("rubric.yaml", "- {requirement: x}\n", "give a rubric by --rubric"),
        (
            "tasks.jsonl",
            '{"sample_id": "a", "prompt": "p", "rubrics": []}\n',
            "rubricate researchrubrics",
        ),
    ],
)
def test_a_file_that_is_no_dataset_is_told_with_the_way_around(tmp_path, name, text, message):
    from rubricate.cli._grade_settings import load_settings
    from rubricate.cli._grading import graded

    (tmp_path / "r.yaml").write_text("- {requirement: Says something}\n")
    (tmp_path / name).write_text(text)
    given = {"data": str(tmp_path / name), "rubric": str(tmp_path / "r.yaml")}
    given["run_dir"] = str(tmp_path / "run")
    with pytest.raises(InputError) as caught:
        graded(load_settings(given, None))
    assert message in str(caught.value)
