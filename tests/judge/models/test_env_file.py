"""Keys and addresses: from the environment or from `.env`, never one from each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate.errors import InputError, MissingKeyError
from rubricate.judge.models import PROVIDERS, HTTPModel, access

KEYED = [row for row in PROVIDERS.values() if row.url_variable]
ELSEWHERE = "https://elsewhere.example/v1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def env_file(folder: Path) -> Any:
    def write(**values: str) -> None:
        (folder / ".env").write_text("".join(f"{key}={value}\n" for key, value in values.items()))

    return write


@pytest.mark.parametrize("provider", KEYED, ids=lambda row: row.prefix)
@pytest.mark.parametrize("also_key", [False, True])
def test_an_address_of_the_file_never_gets_a_key_of_the_shell(
    provider, also_key, env_file, monkeypatch
):
    monkeypatch.setenv(provider.key_variable, "of-the-shell")
    env_file(
        **{provider.url_variable: ELSEWHERE},
        **({provider.key_variable: "of-the-file"} if also_key else {}),
    )
    with pytest.raises(InputError, match=f"{provider.url_variable} is set in .env") as caught:
        HTTPModel(f"{provider.prefix}/m")
    assert "of-the" not in str(caught.value)
    assert "--base-url" in str(caught.value)


@pytest.mark.parametrize("provider", KEYED, ids=lambda row: row.prefix)
def test_an_address_of_the_shell_never_gets_a_key_of_the_file(provider, env_file, monkeypatch):
    monkeypatch.setenv(provider.url_variable, ELSEWHERE)
    env_file(**{provider.key_variable: "of-the-file"})
    with pytest.raises(InputError, match=f"{provider.key_variable} in .env"):
        HTTPModel(f"{provider.prefix}/m")


@pytest.mark.parametrize("provider", KEYED, ids=lambda row: row.prefix)
def test_address_and_key_of_one_place_go_together(provider, env_file, monkeypatch, caplog):
    env_file(**{provider.key_variable: "of-the-file", provider.url_variable: ELSEWHERE})
    found = access(f"{provider.prefix}/m", None)
    assert (found.url, found.key) == (ELSEWHERE, "of-the-file")
    assert caplog.messages == [f"{provider.prefix}/m is at {ELSEWHERE}, as .env says"]
    monkeypatch.setenv(provider.key_variable, "of-the-shell")
    monkeypatch.setenv(provider.url_variable, "https://mine.example/v1")
    found = access(f"{provider.prefix}/m", None)
    assert (found.url, found.key) == ("https://mine.example/v1", "of-the-shell")
    assert len(caplog.messages) == 1


def test_a_key_of_the_file_goes_to_the_providers_own_host(env_file, monkeypatch):
    env_file(MISTRAL_API_KEY="of-the-file", MISTRAL_BASE_URL=ELSEWHERE)
    found = access("mistral/m", None)
    assert (found.url, found.key) == ("https://api.mistral.ai/v1", "of-the-file")
    monkeypatch.setenv("MISTRAL_API_KEY", "of-the-shell")
    assert access("mistral/m", None).key == "of-the-shell"


def test_an_address_that_the_user_names_gets_its_own_key_from_either_place(env_file, monkeypatch):
    env_file(RUBRICATE_API_KEY="of-the-file", OPENAI_API_KEY="other")
    assert access("openai/m", ELSEWHERE).key == "of-the-file"
    monkeypatch.setenv("RUBRICATE_API_KEY", "of-the-shell")
    assert access("openai/m", ELSEWHERE).key == "of-the-shell"


def test_the_file_sets_nothing_but_what_is_asked_for(env_file):
    before = dict(os.environ)
    env_file(
        OPENAI_API_KEY="k" * 20,
        HTTPS_PROXY="http://elsewhere.example:1",
        SSL_CERT_FILE="/nowhere",
        PYTHONPATH="/nowhere",
        RUBRICATE_JUDGE="openai/other",
        OPENAI_ORG="${HOME}",
    )
    model = HTTPModel("openai/m")
    assert model._proxy is None
    assert dict(os.environ) == before
    assert "k" * 20 not in repr(access("openai/m", None))


def test_a_file_of_a_folder_above_is_not_read(env_file, folder, monkeypatch):
    env_file(OPENAI_API_KEY="of-the-file")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    with pytest.raises(MissingKeyError, match=r"OPENAI_API_KEY, or write it into \.env"):
        HTTPModel("openai/m")


@pytest.mark.parametrize(
    "content",
    [
        b"OPENAI_API_KEY=\xff\xfe\n",
        b"\x00" * 2**20 + b"\nOPENAI_API_KEY=k",
        b"",
        b"OPENAI_API_KEY\n",
    ],
    ids=["not text", "too long", "empty", "no value"],
)
def test_a_file_that_is_no_such_file_has_no_key(folder, content):
    (folder / ".env").write_bytes(content)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        HTTPModel("openai/m")


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to nothing", "link to a device"])
def test_what_is_no_file_is_not_read(folder, kind):
    path = folder / ".env"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if "device" in kind else "nowhere")
    with pytest.raises(MissingKeyError):
        HTTPModel("openai/m")


def test_python_programs_and_commands_read_the_same_file(
    rubricate_command, endpoint, env_file, folder, write_dataset
):
    data = write_dataset()
    env_file(OPENAI_API_KEY="any-key-at-all-0", OPENAI_BASE_URL=endpoint.url)
    graded = rubricate_command("grade", data, "--judge", "openai/m", "--no-cache")
    assert graded.returncode == 0, graded.stderr
    asked = len(endpoint.requests)
    assert asked
    dataset = rubricate.RubricDataset.from_file(data)
    result = rubricate.grade(dataset, "openai/m", cache=None)
    assert result.summary().verdicts["judged"] == asked == len(endpoint.requests) - asked
    listed = rubricate_command("judges", "--json")
    assert f'"base_url": "{endpoint.url}"' in listed.stdout


def test_a_mixed_pair_sends_nothing_and_is_told_by_every_command(
    rubricate_command, endpoint, env_file, write_dataset
):
    data = write_dataset()
    env_file(OPENAI_BASE_URL=endpoint.url)
    for command in (
        ("grade", data, "--judge", "openai/m"),
        ("redteam", "--judge", "openai/m"),
        ("compare-pair", data, data, "--judge", "openai/m"),
    ):
        done = rubricate_command(*command, OPENAI_API_KEY="of-the-shell")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("Error: OPENAI_BASE_URL is set in .env and OPENAI_API_KEY in")
        assert done.stderr.count("\n") == 1
    listed = rubricate_command("judges", OPENAI_API_KEY="of-the-shell")
    assert "openai/MODEL: OPENAI_BASE_URL is set in .env" in listed.stdout
    assert endpoint.requests == []


@pytest.fixture
def rubricate_command(rubricate: Any) -> Any:
    return rubricate
