"""`csv_dataset`: cells, headers, rows, dialects."""

from __future__ import annotations

import gzip

import pytest

from rubricate import FieldSpec, InputError, Sample, csv_dataset, file_dataset


@pytest.fixture
def write(tmp_path):
    def put(content: str | bytes, name: str = "a.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


def test_empty_optional_cells_are_none(write):
    header = "input,target,choices,id,metadata,sandbox,files,setup"
    (sample,) = csv_dataset(write(f"{header}\nq,,,,,,,\n"))
    assert sample.model_dump() == {
        "input": "q",
        "target": "",
        **dict.fromkeys(("choices", "id", "metadata", "sandbox", "files", "setup")),
    }


def test_cells_are_read_as_the_fields_need_them(write):
    text = 'input,target,choices,id,metadata\n[1],"[""a""]","[""A"",""B, C""]",7,"{""a"": 1}"\n'
    (sample,) = csv_dataset(write(text))
    assert (sample.input, sample.target, sample.id) == ("[1]", '["a"]', "7")
    assert sample.choices == ["A", "B, C"]
    assert sample.metadata == {"a": 1}


def test_both_ways_of_reading_rows_agree(write):
    path = write("input,target,id,note\nq,t,1,n\nr,,,\n")
    quick = csv_dataset(path, FieldSpec(metadata=["note"]))
    slow = csv_dataset(path, FieldSpec(metadata=["note", "missing"]))
    assert [s.metadata for s in quick] == [{"note": "n"}, {"note": ""}]
    assert [s.metadata for s in slow] == [
        {"note": "n", "missing": None},
        {"note": "", "missing": None},
    ]
    assert [(s.input, s.target, s.id) for s in quick] == [("q", "t", "1"), ("r", "", None)]
    assert [s.model_dump(exclude={"metadata"}) for s in quick] == [
        s.model_dump(exclude={"metadata"}) for s in slow
    ]


def test_a_cell_may_be_of_any_length_and_keeps_its_line_ends(write):
    long = "x" * 200_000
    (sample,) = csv_dataset(write(f'input,target\r\n{long},"a\r\nb\nc"\r\n'))
    assert sample.input == long
    assert sample.target == "a\r\nb\nc"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "input,target\nq,t\n\nq\n",
            r"a\.csv:4: record 2: the row has 1 cells .*missing are 'target'",
        ),
        ("input,target\nq,t,u\n", r"a\.csv:2: record 1: .*extra are 'u'"),
        ("input,input\nq,t\n", r"a\.csv:1: columns of the same name: 'input'"),
        ("input , target\nq,t\n", r"a\.csv:2: .*No input in dataset.*'input ', ' target'"),
        ("input,target\nq,t\n,t\n", r"a\.csv:3: record 2: field 'input': No input"),
        ('input,target\nq,t\n"r,t\ns,t\n', r"a\.csv:3: a quote that opens .*line 3 is not closed"),
        (b"input\nna\xefve\n", r"a\.csv:2: is not utf-8 text"),
    ],
)
def test_errors_say_where_and_what(write, content, message):
    with pytest.raises(InputError, match=message):
        csv_dataset(write(content))


def test_blank_rows_are_left_out_and_an_empty_file_has_no_samples(write):
    assert len(csv_dataset(write("input,target\n\n , \nq,t\n"))) == 1
    assert len(csv_dataset(write(""))) == 0
    assert len(csv_dataset(write("input,target\n"))) == 0


def test_dialects_and_delimiters(write):
    assert csv_dataset(write("input\ttarget\nq\tt\n", "a.tsv"))[0].target == "t"
    tabs = write("input\ttarget\nq\tt\n")
    assert csv_dataset(tabs, dialect="excel-tab")[0].target == "t"
    assert csv_dataset(tabs, dialect="excel-tab", delimiter=None)[0].target == "t"
    assert csv_dataset(write("input;target\nq;t\n"), delimiter=";")[0].target == "t"
    with pytest.raises(InputError, match=r"unknown dialect 'nope'; known are excel"):
        csv_dataset(tabs, dialect="nope")
    with pytest.raises(InputError, match="delimiter"):
        csv_dataset(tabs, delimiter="ab")


def test_names_may_be_given_and_archives_and_marks_are_seen_through(write):
    (sample,) = csv_dataset(write("q,t\n"), fieldnames=["input", "target"])
    assert sample.target == "t"
    assert csv_dataset(write(b"\xef\xbb\xbfinput\nq\n"))[0].input == "q"
    packed = write(gzip.compress(b"input\nq\n"), "a.csv.gz")
    assert csv_dataset(packed).name == "a.csv"
    assert file_dataset(packed)[0].input == "q"
    with pytest.raises(InputError, match="is no table"):
        file_dataset(write("q", "a.txt"))


def test_a_limit_stops_before_a_bad_row(write):
    path = write("input,target\nq,t\nr,t\nbad\n")
    assert len(csv_dataset(path, limit=2)) == 2
    skipped = csv_dataset(path, on_error="skip").skipped
    assert [(record.record, record.line) for record in skipped] == [(3, 4)]


def test_a_comma_at_the_end_of_the_header_is_harmless(write):
    (sample,) = csv_dataset(write("input,target,,\nq,t,,\n"))
    assert (sample.input, sample.target) == ("q", "t")
    (sample,) = csv_dataset(write("input,target,,\nq,t\n"), lambda record: Sample(**record))
    assert sample.input == "q"
    with pytest.raises(InputError, match="extra are '', 'x'"):
        csv_dataset(write("input,target,,\nq,t,,x\n"))
    with pytest.raises(InputError, match="columns of the same name: 'a'"):
        csv_dataset(write("input,a,a,\nq,1,2,\n"))


def test_a_delimiter_that_is_given_goes_before_the_files_name(write):
    path = write("input,target\nq\tr,t\n", "a.tsv")
    assert csv_dataset(path, delimiter=",")[0].input == "q\tr"
    assert csv_dataset(write("input\ttarget\nq,r\tt\n", "b.tsv"))[0].input == "q,r"
