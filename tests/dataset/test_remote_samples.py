"""Datasets at addresses: a real HTTP server and a real S3 server, both on loopback."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rubricate import InputError, csv_dataset, json_dataset, parquet_dataset
from rubricate.errors import MissingFileError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def record(number: int) -> dict[str, Any]:
    return {
        "input": f"q{number}",
        "setup": "run.sh" if number % 2 else "echo inline",
        "files": {"a": "f/a.txt", "b": "inline text", "c": "nosuch.txt"},
    }


LINES = "".join(json.dumps(record(number)) + "\n" for number in range(20))


class Server:
    """Serves a folder and remembers what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *arguments: Any) -> None:
                pass

            def send_head(self) -> Any:
                asked.append(f"{self.command} {self.path}")
                return super().send_head()

        handler = functools.partial(Handler, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a.txt").write_text("a")
    (tmp_path / "run.sh").write_text("echo")
    (tmp_path / "a.jsonl").write_text(LINES)
    (tmp_path / "a.csv").write_text("input,target\nq,t\n")
    server = Server(tmp_path)
    thread = threading.Thread(target=server.server.serve_forever)
    thread.start()
    yield server
    server.server.shutdown()
    thread.join()
    server.server.server_close()


def test_a_signed_address_is_read_by_its_path_and_its_folders_are_listed_once(web):
    dataset = json_dataset(f"{web.url}/a.jsonl?sig=secret")
    assert len(dataset) == 20
    assert dataset.name == "a"
    assert dataset.location == f"{web.url}/a.jsonl?sig=secret"
    assert "secret" not in repr(dataset)
    assert dataset[1].setup == f"{web.url}/run.sh"
    assert dataset[0].setup == "echo inline"
    assert dataset[0].files == {
        "a": f"{web.url}/f/a.txt",
        "b": "inline text",
        "c": "nosuch.txt",
    }
    assert sorted(web.asked) == [
        "GET /",
        "GET /a.jsonl?sig=secret",
        "GET /f/",
        "HEAD /a.jsonl?sig=secret",
    ]


def test_a_dataset_without_files_is_one_file_to_its_server(web):
    assert csv_dataset(f"{web.url}/a.csv")[0].target == "t"
    assert web.asked == ["HEAD /a.csv", "GET /a.csv"]


def test_errors_of_addresses_show_no_signature(web):
    with pytest.raises(MissingFileError, match=r"none\.jsonl: file not found") as info:
        json_dataset(f"{web.url}/none.jsonl?sig=secret")
    assert "secret" not in str(info.value)
    with pytest.raises(InputError, match="cannot be reached") as refused:
        json_dataset("http://127.0.0.1:9/a.jsonl?sig=secret")
    assert "secret" not in str(refused.value)
    with pytest.raises(InputError, match="nope"):
        json_dataset("nope://host/a.jsonl")


@pytest.fixture(scope="module")
def bucket() -> Iterator[dict[str, Any]]:
    pytest.importorskip("s3fs")
    server_module = pytest.importorskip("moto.server")
    import s3fs

    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = {"endpoint_url": f"http://{host}:{port}", "key": "k", "secret": "s"}
    files = s3fs.S3FileSystem(**options)
    files.mkdir("bucket")
    for name, content in (("a.jsonl", LINES), ("run.sh", "echo"), ("f/a.txt", "a")):
        files.pipe(f"bucket/d/{name}", content.encode())
    yield options
    server.stop()


def test_a_dataset_in_a_bucket_is_read_with_the_given_options(bucket):
    dataset = json_dataset("s3://bucket/d/a.jsonl", fs_options=bucket)
    assert len(dataset) == 20
    assert dataset.location == "s3://bucket/d/a.jsonl"
    assert dataset[1].setup == "s3://bucket/d/run.sh"
    assert dataset[1].files["a"] == "s3://bucket/d/f/a.txt"
    assert dataset[0].setup == "echo inline"
    with pytest.raises(MissingFileError, match=r"s3://bucket/d/none\.jsonl"):
        json_dataset("s3://bucket/d/none.jsonl", fs_options=bucket)


def test_a_changed_object_is_read_anew(bucket):
    import s3fs

    files = s3fs.S3FileSystem(**bucket)
    for count in (2, 3):
        text = "".join(json.dumps({"input": "q", "setup": "run.sh"}) + "\n" for _ in range(count))
        files.pipe("bucket/d/changing.jsonl", text.encode())
        assert len(json_dataset("s3://bucket/d/changing.jsonl", fs_options=bucket)) == count


def test_parquet_is_read_from_a_server(web, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"input": ["a", "b"]}), tmp_path / "a.parquet")
    assert [s.input for s in parquet_dataset(f"{web.url}/a.parquet")] == ["a", "b"]
