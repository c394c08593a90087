"""Datasets at addresses: a real HTTP server and a real S3 server, both on loopback."""

from __future__ import annotations

import datetime
import functools
import http.server
import ipaddress
import json
import ssl
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
    """Serves a folder, but for what is `refused`, and remembers what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        self.refused: set[str] = set()
        asked, refused = self.asked, self.refused

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *arguments: Any) -> None:
                pass

            def send_head(self) -> Any:
                asked.append(f"{self.command} {self.path}")
                if self.path in refused:
                    self.send_error(403)
                    return None
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
    thread = threading.Thread(target=server.server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.server.shutdown()
    thread.join()
    server.server.server_close()


def test_a_signed_address_is_read_by_its_path_and_paths_beside_it_stay(web):
    dataset = json_dataset(f"{web.url}/a.jsonl?sig=secret")
    assert len(dataset) == 20
    assert dataset.name == "a"
    assert dataset.location == f"{web.url}/a.jsonl?sig=secret"
    assert "secret" not in repr(dataset)
    assert dataset[1].setup == "run.sh"
    assert sorted(web.asked) == ["GET /a.jsonl?sig=secret", "HEAD /a.jsonl?sig=secret"]


def test_a_dataset_without_files_is_one_file_to_its_server(web):
    assert csv_dataset(f"{web.url}/a.csv")[0].target == "t"
    assert web.asked == ["HEAD /a.csv", "GET /a.csv"]


def test_errors_of_addresses_show_no_signature(web, tmp_path):
    with pytest.raises(MissingFileError, match=r"none\.jsonl: file not found") as info:
        json_dataset(f"{web.url}/none.jsonl?sig=secret")
    assert "secret" not in str(info.value)
    with pytest.raises(InputError, match="cannot be reached") as refused:
        json_dataset("http://127.0.0.1:9/a.jsonl?sig=secret")
    assert "secret" not in str(refused.value)
    (tmp_path / "bad.jsonl").write_text('{"target": "x"}\n')
    with pytest.raises(InputError, match=r"bad\.jsonl") as bad:
        json_dataset(f"{web.url}/bad.jsonl?sig=secret")
    assert "secret" not in str(bad.value)
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


def test_what_a_bucket_gives_to_anybody_is_read_without_credentials(bucket):
    import s3fs

    files = s3fs.S3FileSystem(**bucket)
    files.pipe("bucket/public.jsonl", b'{"input": "q"}\n')
    files.chmod("bucket/public.jsonl", "public-read")
    options = {"anon": True, "endpoint_url": bucket["endpoint_url"]}
    assert json_dataset("s3://bucket/public.jsonl", fs_options=options)[0].input == "q"
    with pytest.raises(InputError, match=r"s3://bucket/d/a\.jsonl.*permission denied"):
        json_dataset("s3://bucket/d/a.jsonl", fs_options=options)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A key and a certificate for 127.0.0.1, signed by itself, in one file."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "loopback.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


def test_a_server_with_a_certificate_of_its_own_is_read_where_that_is_trusted(web, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    web.server.socket = context.wrap_socket(web.server.socket, server_side=True)
    address = f"https://127.0.0.1:{web.server.server_port}/a.jsonl"
    trusting = ssl.create_default_context(cafile=str(certificate))
    dataset = json_dataset(address, fs_options={"ssl": trusting})
    assert len(dataset) == 20
    with pytest.raises(InputError, match="certificate"):
        json_dataset(address)
