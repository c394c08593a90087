"""`json_dataset`: documents, lines, and what is read when."""

from __future__ import annotations

import gc
import gzip
import json
import random
import sys

import numpy as np
import pytest
import zstandard
from pydantic import BaseModel

from rubricate import FieldSpec, InputError, Sample, json_dataset
from rubricate.errors import MissingExtraError, MissingFileError


def lines(count: int) -> str:
    return "".join(json.dumps({"input": f"q{n}", "id": n}) + "\n" for n in range(count))


@pytest.fixture
def write(tmp_path):
    def put(name: str, content: str | bytes):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


def test_a_document_is_an_array_or_one_object(write):
    assert len(json_dataset(write("a.json", '[{"input": "x"}, {"input": "y"}]'))) == 2
    assert len(json_dataset(write("b.json", '{"input": "x"}'))) == 1
    for name, content in (("c.jsonl", ""), ("c.json", ""), ("c.json", " \n"), ("c.json", "[]")):
        assert len(json_dataset(write(name, content))) == 0
    with pytest.raises(InputError, match="expected an array of objects, found"):
        json_dataset(write("d.json", '"text"'))
    with pytest.raises(InputError, match="record 2: expected an object at index 1"):
        json_dataset(write("e.json", '[{"input": "x"}, 5]'))


def test_the_other_format_is_recognised(write):
    with pytest.raises(InputError, match=r"looks like JSON Lines.*\.jsonl"):
        json_dataset(write("a.json", lines(2)))
    with pytest.raises(InputError, match="looks like a JSON array"):
        json_dataset(write("a.jsonl", '[{"input": "x"}]'))


def test_blank_lines_are_left_out_and_line_numbers_stay_true(write):
    path = write("a.jsonl", '\ufeff\n  \n{"input": "x"}\n\n{"input": ""}\n')
    with pytest.raises(InputError, match=r"a\.jsonl:5: record 2: field 'input'"):
        json_dataset(path)
    bad = write("b.jsonl", '{"input": "x"}\r\n \r\n{"input": \r\n')
    with pytest.raises(InputError, match=r"b\.jsonl:3:.*record 2: not valid JSON"):
        json_dataset(bad)


def test_a_byte_order_mark_is_left_out(write):
    for name in ("a.jsonl", "a.json"):
        assert json_dataset(write(name, b'\xef\xbb\xbf{"input": "x"}'))[0].input == "x"


def test_large_integers_keep_their_digits_and_nan_is_missing(write):
    metadata = '{"n": 123456789012345678901234567890, "v": [NaN]}'
    text = f'{{"input": "x", "target": NaN, "id": NaN, "metadata": {metadata}}}'
    for name, content in (("a.jsonl", text), ("a.json", f"[{text}]")):
        (sample,) = json_dataset(write(name, content))
        assert sample.metadata == {"n": 123456789012345678901234567890, "v": [None]}
        assert (sample.target, sample.id) == ("", None)


@pytest.mark.parametrize(
    "name", ["a.jsonl.gz", "a.ndjson.gz", "a.JSONL.zst", "a.ndjson", "a.json.gz"]
)
def test_files_are_known_by_their_whole_name(write, name):
    content = lines(3) if not name.startswith("a.json.") else json.dumps([{"input": "q"}] * 3)
    data = content.encode()
    if name.endswith(".gz"):
        data = gzip.compress(data)
    elif name.endswith(".zst"):
        data = zstandard.compress(data)
    path = write(name, data)
    dataset = json_dataset(path)
    assert len(dataset) == 3
    assert dataset.name == path.stem
    assert dataset.location == str(path)


def test_without_the_extra_a_zstd_file_is_one_line_that_names_it(write, monkeypatch):
    path = write("a.jsonl.zst", zstandard.compress(lines(3).encode()))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"a\.jsonl\.zst needs .*\[zstd\]"):
        json_dataset(path)


def test_a_cut_off_archive_is_one_clear_error(write):
    with pytest.raises(InputError, match=r"a\.jsonl\.gz: is not a whole gzip file"):
        json_dataset(write("a.jsonl.gz", gzip.compress(lines(500).encode())[:-20]))
    with pytest.raises(InputError, match=r"b\.jsonl\.gz: is not a whole gzip file"):
        json_dataset(write("b.jsonl.gz", lines(3)))
    with pytest.raises(InputError, match=r"c\.jsonl\.zst: is not a zstd file"):
        json_dataset(write("c.jsonl.zst", lines(3)))


def test_what_is_not_there_or_not_text_says_so(write, tmp_path):
    with pytest.raises(FileNotFoundError) as info:
        json_dataset(tmp_path / "none.jsonl")
    assert isinstance(info.value, MissingFileError)
    with pytest.raises(InputError, match="is a folder"):
        json_dataset(tmp_path)
    path = write("latin.jsonl", '{"input": "naïve"}'.encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        json_dataset(path)
    assert json_dataset(path, encoding="latin-1")[0].input == "naïve"
    with pytest.raises(InputError, match=r"latin\.jsonl.*'no-such-encoding'"):
        json_dataset(path, encoding="no-such-encoding")


def test_a_limit_reads_no_further_than_it_must(write):
    path = write("a.jsonl", lines(5) + "broken\n")
    assert [s.id for s in json_dataset(path, limit=5)] == [0, 1, 2, 3, 4]
    assert len(json_dataset(path, limit=0)) == 0
    with pytest.raises(InputError, match=":6:"):
        json_dataset(path, limit=6)
    with pytest.raises(InputError, match=":6:"):
        json_dataset(path, limit=2, shuffle=True)
    for limit in (-1, True, 1.5):
        with pytest.raises(InputError, match="limit"):
            json_dataset(path, limit=limit)


def test_a_seeded_order_is_that_of_random(write):
    path = write("a.jsonl", lines(100))
    order = list(range(100))
    random.Random(7).shuffle(order)
    for options in ({"shuffle": True, "seed": 7}, {"shuffle": 7}):
        dataset = json_dataset(path, **options)
        assert [s.id for s in dataset] == order
        assert dataset.shuffled
        assert [s.id for s in json_dataset(path, limit=9, **options)] == order[:9]
    numbered = json_dataset(path, auto_id=True, shuffle=True, seed=7)
    assert [s.id for s in numbered] == [n + 1 for n in order]
    assert [s.id for s in json_dataset(path, seed=7)] == list(range(100))  # a seed alone
    with pytest.raises(InputError, match="seed"):
        json_dataset(path, shuffle=7, seed=7)
    random.seed(7)
    expected = list(range(100))
    random.shuffle(expected)
    random.seed(7)
    assert [s.id for s in json_dataset(path, shuffle=True)] == expected


def test_records_that_do_not_fit_can_be_skipped(write):
    path = write("a.jsonl", '{"input": "x"}\nbroken\n{"input": ""}\n{"input": "y"}\n')
    dataset = json_dataset(path, on_error="skip")
    assert [s.input for s in dataset] == ["x", "y"]
    assert [(r.record, r.line) for r in dataset.skipped] == [(2, 2), (3, 3)]
    assert "2 skipped" in repr(dataset)
    with pytest.raises(InputError, match="on_error"):
        json_dataset(path, on_error="ignore")


def test_repeated_ids_are_found_when_asked_for(write):
    path = write("a.jsonl", '{"input": "x", "id": 1}\n{"input": "y", "id": "1"}\n')
    assert len(json_dataset(path)) == 2
    with pytest.raises(InputError, match="share an id: '1'"):
        json_dataset(path, check=True)


def test_relative_files_are_found_beside_the_dataset(write, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("a")
    (tmp_path / "run.sh").write_text("echo")
    image = {"type": "image", "image": "files/a.txt"}
    record = {
        "input": [{"role": "user", "content": [image]}, {"role": "assistant", "content": [image]}],
        "files": {"a": "files/a.txt", "b": "inline", "c": "", "d": "../nothing", "e": "x\0y"},
        "setup": "run.sh",
        "sandbox": ["docker", "files"],
    }
    (sample,) = json_dataset(write("a.jsonl", json.dumps(record)))
    found = str(tmp_path / "files" / "a.txt")
    assert sample.files == {"a": found, "b": "inline", "c": "", "d": "../nothing", "e": "x\0y"}
    assert sample.setup == str(tmp_path / "run.sh")
    assert sample.sandbox.config == str(tmp_path / "files")
    assert sample.input[0].content[0].image == found
    assert sample.input[1].content[0].image == "files/a.txt"
    (made,) = json_dataset(tmp_path / "a.jsonl", lambda record: Sample("q", setup="run.sh"))
    assert made.setup == sample.setup


def test_whole_numbers_of_numpy_are_numbers(write):
    path = write("a.jsonl", lines(30))
    expected = json_dataset(path, shuffle=7, limit=5)
    found = json_dataset(path, shuffle=np.int64(7), limit=np.uint8(5))
    assert [sample.id for sample in found] == [sample.id for sample in expected]
    whole = json_dataset(path)
    whole.shuffle(np.int64(7))
    assert [sample.id for sample in whole[:5]] == [sample.id for sample in expected]
    again = json_dataset(path, shuffle=True, seed=np.int32(7), limit=5)
    assert [sample.id for sample in again] == [sample.id for sample in expected]
    with pytest.raises(InputError, match=r"limit must be .* found 2\.0"):
        json_dataset(path, limit=2.0)
    for options in ({"shuffle": "yes"}, {"shuffle_choices": "yes"}, {"limit": "3"}):
        with pytest.raises(InputError, match=f"{next(iter(options))} must be .* found '"):
            json_dataset(path, **options)


def test_choices_are_shuffled_by_a_seed_and_a_wrong_target_names_the_file_and_the_sample(write):
    record = {"input": "x", "id": "s7", "choices": ["p", "q"], "target": "B"}
    path = write("a.jsonl", json.dumps(record))
    by_reader, by_method = json_dataset(path, shuffle_choices=0), json_dataset(path)
    by_method.shuffle_choices(0)
    assert list(by_reader) == list(by_method)
    wrong = write("b.jsonl", json.dumps({**record, "target": "Z"}))
    with pytest.raises(InputError, match=r"b\.jsonl.*'s7'"):
        json_dataset(wrong, shuffle_choices=42)


def test_nan_in_a_list_of_metadata_is_none(write):
    class Scores(BaseModel, frozen=True):
        scores: list[float | None]

    path = write("a.jsonl", '{"input": "q", "scores": [1.0, NaN], "metadata": {"s": [NaN]}}\n')
    assert json_dataset(path)[0].metadata == {"s": [None]}
    named = json_dataset(path, FieldSpec(metadata=["scores"]))[0]
    assert named.metadata == {"scores": [1.0, None]}
    path = write("b.jsonl", '{"input": "q", "scores": [1.0, NaN]}\n')
    modelled = json_dataset(path, FieldSpec(metadata=Scores))[0]
    assert modelled.metadata == {"scores": [1.0, None]}


def test_samples_of_a_file_leave_a_programs_own_garbage_collection_as_it_is(write):
    path = write("a.jsonl", lines(5000))
    gc.disable()
    try:
        assert len(list(json_dataset(path))) == 5000
        assert not gc.isenabled()
    finally:
        gc.enable()
    gc.freeze()
    frozen = gc.get_freeze_count()
    try:
        assert len(list(json_dataset(path))) == 5000
        assert gc.get_freeze_count() > frozen / 2
        assert gc.isenabled()
    finally:
        gc.unfreeze()
