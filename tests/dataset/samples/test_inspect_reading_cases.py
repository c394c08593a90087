"""From files to records, case by case: formats, encodings, compression, limits and errors."""

import gzip
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rubricate.dialects.inspect_ai.dataset import (
    Dataset,
    FieldSpec,
    Sample,
    csv_dataset,
    file_dataset,
    json_dataset,
)
from rubricate.errors import InputError


def inputs(dataset: Dataset) -> list[str]:
    return [sample.input for sample in dataset]


@pytest.fixture
def write(tmp_path: Path):
    """Writes a file; `.gz` names are compressed."""

    def write_(name: str, content: str | bytes) -> Path:
        data = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_


def refused(read, path: Path, *args, **options) -> str:
    """The message with which a file is refused; it begins with the file."""
    with pytest.raises(ValueError) as caught:
        list(read(path, *args, **options))
    message = str(caught.value)
    assert message.startswith(str(path))
    return message


CSV = "input,target,id\none,A,1\ntwo,B,2\n"
JSON = '[{"input": "one", "target": "A"}, {"input": "two", "target": "B"}]'
LINES = '{"input": "one", "target": "A"}\n{"input": "two", "target": "B"}\n'


# --- which reader, name, location


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", CSV),
        ("a.csv.gz", CSV),
        ("a.tsv", CSV.replace(",", "\t")),
        ("a.tab", CSV.replace(",", "\t")),
        ("a.json", JSON),
        ("a.json.gz", JSON),
        ("a.jsonl", LINES),
        ("a.JSONL", LINES),
        ("a.jsonl.gz", LINES),
        ("a.ndjson", LINES),
        ("a.ndjson.gz", LINES),
    ],
)
@pytest.mark.parametrize("bom", ["", "\ufeff"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_is_read_by_its_suffix_as_text_or_path(write, name, content, bom, kind):
    path = kind(write(name, bom + content))
    own = csv_dataset if name[2:5] in ("csv", "tsv", "tab") else json_dataset
    for read in (file_dataset, own):
        dataset = read(path)
        assert inputs(dataset) == ["one", "two"]
        assert [sample.target for sample in dataset] == ["A", "B"]


@pytest.mark.parametrize("name", ["a.json.gz", "a.jsonl.gz"])
def test_compression_may_still_be_asked_for_to_be_inferred(write, name):
    path = write(name, JSON if name == "a.json.gz" else LINES)
    assert inputs(json_dataset(str(path), fs_options={"compression": "infer"})) == ["one", "two"]


def test_a_suffix_that_no_reader_has_is_refused_with_the_known_ones(write):
    assert ".jsonl" in refused(file_dataset, write("a.txt", LINES))


@pytest.mark.parametrize(
    ("file", "given", "name"),
    [
        ("my.data.jsonl", None, "my.data"),
        ("x.json.gz", None, "x.json"),
        ("a.jsonl", "", "a"),
        ("a.jsonl", "mine", "mine"),
    ],
)
def test_a_datasets_name_is_the_given_one_or_the_files_stem(write, file, given, name):
    content = LINES if ".jsonl" in file else JSON
    assert json_dataset(str(write(file, content)), name=given).name == name


def test_the_location_of_a_relative_path_is_absolute(write, tmp_path, monkeypatch):
    write("a.csv", CSV)
    monkeypatch.chdir(tmp_path)
    dataset = csv_dataset("a.csv")
    assert dataset.location == str(tmp_path / "a.csv")
    assert not dataset.shuffled


def test_the_location_is_that_of_the_file_itself(write, tmp_path, monkeypatch):
    write("a.csv", CSV)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "link.csv").symlink_to(tmp_path / "a.csv")
    monkeypatch.chdir(tmp_path)
    for given in ("sub/../a.csv", f"{tmp_path}//a.csv", "sub/link.csv"):
        assert csv_dataset(given).location == str(tmp_path / "a.csv")


def test_files_are_looked_for_beside_the_link_that_was_given(write, tmp_path):
    write("a.jsonl", '{"input": "x", "files": {"f": "f.txt", "up": "../a.jsonl"}}\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "f.txt").write_text("text")
    link = tmp_path / "sub" / "link.jsonl"
    link.symlink_to(tmp_path / "a.jsonl")
    (sample,) = json_dataset(link)
    assert sample.files == {"f": str(tmp_path / "sub" / "f.txt"), "up": str(tmp_path / "a.jsonl")}


def test_two_dots_behind_a_link_lead_where_the_disk_says(write, tmp_path):
    write("a.jsonl", '{"input": "x", "setup": "link/../run.sh"}\n')
    (tmp_path / "far" / "inner").mkdir(parents=True)
    (tmp_path / "far" / "run.sh").write_text("true")
    (tmp_path / "link").symlink_to(tmp_path / "far" / "inner")
    (sample,) = json_dataset(tmp_path / "a.jsonl")
    assert sample.setup == str(tmp_path / "far" / "run.sh")


def test_file_dataset_takes_the_options_of_text_for_every_file(write):
    for name, content in (("a.csv", CSV), ("a.json", JSON), ("a.jsonl", LINES)):
        options = {"limit": 1, "dialect": "excel", "encoding": "utf-8", "name": "mine"}
        dataset = file_dataset(write(name, content), **options)
        assert (dataset.name, inputs(dataset)) == ("mine", ["one"])
    bare = write("b.csv", "one,A\n")
    assert inputs(file_dataset(bare, fieldnames=["input", "target"])) == ["one"]


@pytest.mark.parametrize("read", [csv_dataset, json_dataset, file_dataset])
def test_a_file_that_is_not_there_is_named(tmp_path, read):
    path = tmp_path / "absent.csv"
    with pytest.raises(FileNotFoundError) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("read", [csv_dataset, json_dataset])
def test_a_folder_in_place_of_a_file_is_named(tmp_path, read):
    assert "folder" in refused(read, tmp_path)


# --- JSON and JSON Lines


@pytest.mark.parametrize("content", ["", " \n", "[]"], ids=["empty", "blank", "empty array"])
def test_an_empty_json_document_is_an_empty_dataset(write, content):
    assert len(json_dataset(write("a.json", content))) == 0


@pytest.mark.parametrize("content", ["", "\n \n"], ids=["empty", "blank"])
def test_an_empty_json_lines_file_is_an_empty_dataset(write, content):
    assert len(json_dataset(write("a.jsonl", content))) == 0


def test_a_json_object_is_one_record(write):
    assert inputs(json_dataset(write("a.json", '{"input": "only"}'))) == ["only"]


def test_a_json_text_is_no_dataset(write):
    message = refused(json_dataset, write("a.json", '"text"'))
    assert "Could not read json into a supported type" in message


def test_blank_lines_are_left_out_and_counted_in_errors(write):
    content = '\n{"input": "one"}\n  \t\r\n\r\n{"input": "two"}\n\n'
    assert inputs(json_dataset(write("a.jsonl", content))) == ["one", "two"]
    message = refused(json_dataset, write("b.jsonl", content + '{"target": "x"}\n'))
    assert "b.jsonl:7: record 3" in message


def test_windows_line_ends_and_a_last_line_without_an_end_are_read(write):
    content = LINES.strip().replace("\n", "\r\n")
    assert inputs(json_dataset(write("a.jsonl", content))) == ["one", "two"]


def test_the_record_separator_is_accepted_and_of_twin_keys_the_last_counts(write):
    path = write("a.jsonl", '\x1e{"input": "one", "input": "1"}\n\x1e{"input": "two"}\n')
    assert inputs(json_dataset(path)) == ["1", "two"]


@pytest.mark.parametrize(
    "line", ['{"input": ', "{'input': 'x'}", "null", "5", '"text"', "[1]", '{"input": "a"} {}']
)
def test_a_line_that_is_no_object_is_refused_with_file_and_line(write, line):
    assert "a.jsonl:2" in refused(json_dataset, write("a.jsonl", f'{{"input": "one"}}\n{line}\n'))


@pytest.mark.parametrize("entry", ["5", "null", '"text"', '[{"input": "x"}]'])
def test_an_entry_of_an_array_that_is_no_object_is_refused_with_its_index(write, entry):
    message = refused(json_dataset, write("a.json", f'[{{"input": "one"}}, {entry}]'))
    assert "index 1" in message
    assert "expected an object" in message


def test_json_lines_in_a_json_file_are_told(write):
    message = refused(json_dataset, write("a.json", LINES))
    assert "looks like JSON Lines" in message
    assert ".jsonl" in message


@pytest.mark.parametrize("indent", [None, 2], ids=["one line", "indented"])
def test_a_json_array_in_a_json_lines_file_is_told(write, indent):
    content = json.dumps(json.loads(JSON), indent=indent)
    message = refused(json_dataset, write("a.jsonl", content))
    assert "looks like a JSON array" in message


def test_a_bad_json_document_is_refused_with_its_line(write):
    message = refused(json_dataset, write("a.json", '[\n{"input": "one"},\n{"input": }\n]'))
    assert "a.json:3" in message


DIGITS = 123456789012345678901234567890


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_a_large_whole_number_keeps_its_digits(write, name):
    record = {"input": "x", "id": DIGITS, "target": DIGITS, "metadata": {"n": DIGITS}}
    (sample,) = json_dataset(write(name, json.dumps(record)))
    assert (sample.id, sample.target, sample.metadata) == (DIGITS, str(DIGITS), {"n": DIGITS})


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_nan_is_a_missing_value(write, name):
    content = '{"input": "x", "target": NaN, "id": NaN, "metadata": {"a": NaN, "b": "NaN"}}'
    (sample,) = json_dataset(write(name, content))
    assert (sample.target, sample.id) == ("", None)
    assert sample.metadata == {"a": None, "b": "NaN"}


def test_an_encoding_is_used_and_a_wrong_one_names_the_file(write):
    path = write("a.jsonl", '{"input": "é"}\n'.encode("latin-1"))
    assert inputs(json_dataset(path, encoding="latin-1")) == ["é"]
    refused(json_dataset, path)
    refused(json_dataset, path, encoding="no-such-encoding")


# --- CSV


@pytest.mark.parametrize("content", ["", "\n\n", "input,target\n"], ids=repr)
def test_an_empty_or_header_only_csv_is_an_empty_dataset(write, content):
    assert len(csv_dataset(write("a.csv", content))) == 0


def test_cells_are_text_and_are_not_read_as_json_except_where_a_field_is(write):
    content = 'input,target,id,choices\n"[{""role"": ""user""}]","[""a""]",1,"[""A"", ""B, C""]"\n'
    (sample,) = csv_dataset(write("a.csv", content))
    assert sample == Sample('[{"role": "user"}]', ["A", "B, C"], '["a"]', "1")


@pytest.mark.parametrize("empty", ["", "  "], ids=["empty", "blank"])
def test_an_empty_optional_cell_is_no_value(write, empty):
    header = "input,target,choices,id,metadata,sandbox,files,setup\n"
    filled = 'one,A,"a,b",1,"{""k"": 1}",docker,"{""f"": ""text""}",ls -l\n'
    path = write("a.csv", header + filled + ",".join(["two", "B", *[empty] * 6]) + "\n")
    first, second = csv_dataset(path)
    assert first == Sample("one", ["a", "b"], "A", "1", {"k": 1}, "docker", {"f": "text"}, "ls -l")
    assert second == Sample("two", target="B")


@pytest.mark.parametrize("line", ["", "   ", ",", " , "], ids=repr)
def test_rows_whose_cells_are_all_blank_are_left_out(write, line):
    path = write("a.csv", f"input,target\none,A\n{line}\ntwo,B\n")
    assert inputs(csv_dataset(path)) == ["one", "two"]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_line_ends_inside_quotes_are_kept(write, end):
    path = write("a.csv", f'input,target{end}"one\r\ntwo\nthree",A{end}')
    assert inputs(csv_dataset(path)) == ["one\r\ntwo\nthree"]


def test_quotes_inside_quotes_are_doubled(write):
    assert inputs(csv_dataset(write("a.csv", 'input,target\n"say ""hi"", now",A\n'))) == [
        'say "hi", now'
    ]


def test_header_names_are_taken_as_they_are_and_listed_where_the_input_is_not_among_them(write):
    message = refused(csv_dataset, write("a.csv", "question , target\none,A\n"))
    assert "a.csv:2: record 1" in message
    assert "No input in dataset" in message
    assert "'question ', ' target'" in message


def test_an_empty_input_cell_is_refused_with_its_line(write):
    path = write("a.csv", 'input,target\n"one\nmore",A\n,B\n')
    assert "a.csv:4: record 2: field 'input'" in refused(csv_dataset, path)


def test_two_columns_of_one_name_are_refused(write):
    message = refused(csv_dataset, write("a.csv", "input,target,input\none,A,1\n"))
    assert "'input'" in message


@pytest.mark.parametrize(
    ("row", "what"),
    [("three", ["1 cells", "3 columns", "missing", "'target', 'id'"]),
     ("three,A,3,more", ["4 cells", "3 columns", "extra", "'more'"])],
    ids=["short", "long"],
)  # fmt: skip
def test_a_ragged_row_is_refused_with_line_counts_and_columns(write, row, what):
    message = refused(csv_dataset, write("a.csv", f"{CSV}{row}\n"))
    assert "a.csv:4: record 3" in message
    assert all(part in message for part in what)


def test_an_unclosed_quote_is_refused_with_the_line_where_it_opens(write):
    message = refused(csv_dataset, write("a.csv", 'input,target\none,A\n"two,B\nthree,C\n'))
    assert "a.csv:3" in message
    assert "quote" in message


def test_an_unknown_dialect_is_refused_with_the_known_ones(write):
    with pytest.raises(ValueError, match=r"unknown dialect 'xls'.*excel-tab.*unix"):
        csv_dataset(write("a.csv", CSV), dialect="xls")


@pytest.mark.parametrize(
    ("between", "options"),
    [
        (";", {"delimiter": ";"}),
        (",", {"delimiter": None}),
        (",", {"dialect": "excel"}),
        ("\t", {"dialect": "excel-tab"}),
        ("\t", {"dialect": "excel-tab", "delimiter": None}),
        (",", {"dialect": "excel-tab", "delimiter": ","}),
        ("\t", {"delimiter": "\t"}),
    ],
    ids=repr,
)
def test_cells_stand_between_the_dialects_or_the_given_delimiter(write, between, options):
    path = write("a.csv", CSV.replace(",", between))
    assert [sample.id for sample in csv_dataset(path, **options)] == ["1", "2"]


def test_with_fieldnames_the_first_line_is_a_record(write):
    path = write("a.csv", "one,A\ntwo,B\n")
    assert inputs(csv_dataset(path, fieldnames=["input", "target"])) == ["one", "two"]


def test_a_csv_that_is_not_in_its_encoding_names_the_file_and_can_be_given_another(write):
    path = write("a.csv", "input,target\né,A\n".encode("latin-1"))
    assert "utf-8" in refused(csv_dataset, path)
    assert inputs(csv_dataset(path, encoding="latin-1")) == ["é"]


# --- record functions and sample_fields

RECORDS = '{"q": "one", "n": 1}\n{"q": "two", "n": 0}\n{"q": "three", "n": 2}\n'


@pytest.mark.parametrize("kind", [list, tuple, iter], ids=["list", "tuple", "generator"])
def test_a_record_function_may_give_any_number_of_samples(write, kind):
    def samples(record):
        return kind([Sample(f"{record['q']} {part}") for part in range(record["n"])])

    dataset = json_dataset(write("a.jsonl", RECORDS), samples, auto_id=True)
    assert inputs(dataset) == ["one 0", "three 0", "three 1"]
    assert [sample.id for sample in dataset] == [1, 2, 3]


def test_auto_id_overwrites_the_files_ids(write):
    path = write("a.csv", CSV.replace("1", "x"))
    assert [sample.id for sample in csv_dataset(path, auto_id=True)] == [1, 2]


@pytest.mark.parametrize("auto_id", [False, True])
@pytest.mark.parametrize(
    ("returned", "shown"), [(None, "None"), ({"input": "x"}, "dict"), ("x", "str"), (["x"], "str")]
)
def test_what_a_record_function_returned_is_said(write, returned, shown, auto_id):
    def function(record):
        return Sample("fine") if record["n"] == 1 else returned

    message = refused(json_dataset, write("a.jsonl", RECORDS), function, auto_id=auto_id)
    assert "a.jsonl:2: record 2" in message
    assert shown in message


@pytest.mark.parametrize("lazily", [False, True], ids=["function", "generator function"])
def test_an_error_in_a_record_function_names_the_record_and_is_the_cause(write, lazily):
    def one(record):
        return Sample(record["answer"])

    def several(record):
        yield Sample(record["answer"])

    with pytest.raises(
        InputError, match=r"a\.jsonl:1: record 1.*KeyError: 'answer'.*'q', 'n'"
    ) as e:
        json_dataset(write("a.jsonl", RECORDS), several if lazily else one)
    assert isinstance(e.value.__cause__, KeyError)


@pytest.mark.parametrize("fields", [{"input": "q"}, FieldSpec, "q"], ids=["dict", "class", "text"])
@pytest.mark.parametrize("read", [csv_dataset, json_dataset, file_dataset])
def test_sample_fields_of_a_wrong_kind_are_refused_with_the_accepted_kinds(write, read, fields):
    with pytest.raises(ValueError, match="FieldSpec"):
        read(write("a.jsonl", RECORDS), fields)


# --- limit


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (1, 1), (2, 2), (99, 2), (None, 2)])
@pytest.mark.parametrize(
    ("name", "content"), [("a.csv", CSV), ("a.json", JSON), ("a.jsonl", LINES)]
)
def test_a_limit_is_the_most_samples_and_keeps_name_and_location(
    write, name, content, limit, count
):
    dataset = file_dataset(write(name, content), limit=limit)
    assert inputs(dataset) == ["one", "two"][:count]
    assert dataset.name == "a"
    assert dataset.location.endswith(name)


def test_a_limit_counts_samples_not_records(write):
    dataset = json_dataset(
        write("a.jsonl", RECORDS), lambda r: [Sample(r["q"])] * (r["n"] + 1), limit=3
    )
    assert inputs(dataset) == ["one", "one", "two"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", f'{CSV}ragged\n"unclosed'), ("a.jsonl", f"{LINES}{{bad")],
)
def test_records_behind_the_limit_are_not_read_unless_they_are_shuffled(write, name, content):
    path = write(name, content)
    assert inputs(file_dataset(path, limit=2)) == ["one", "two"]
    assert name in refused(file_dataset, path, limit=2, shuffle=True)


# --- over HTTP


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """The address at which `tmp_path` is served, and the paths that were asked for."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            asked.append(self.path)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=tmp_path)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", CSV), ("a.json", JSON), ("a.jsonl", LINES), ("a.jsonl.gz", LINES)],
)
def test_an_address_is_read_by_the_suffix_before_its_query(write, served, name, content):
    write(name, content)
    address = f"{served[0]}/{name}?sig=secret"
    dataset = file_dataset(address)
    assert inputs(dataset) == ["one", "two"]
    assert dataset.location == address
    assert dataset.name == Path(name).stem


def test_an_error_at_an_address_does_not_show_its_query(write, served):
    write("a.jsonl", '{"target": "x"}\n')
    for name, kind in (("a.jsonl", ValueError), ("absent.jsonl", FileNotFoundError)):
        with pytest.raises(kind) as caught:
            json_dataset(f"{served[0]}/{name}?sig=secret")
        assert name in str(caught.value)
        assert "secret" not in str(caught.value)
