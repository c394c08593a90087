"""What the package index and GitHub are given: the README, the addresses, the workflows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from postgres import tool

from rubricate.errors import MissingExtraError

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = SETTINGS["project"]
REPOSITORY = SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONS = {
    "actions/checkout@v4",
    "actions/download-artifact@v4",
    "actions/setup-python@v5",
    "actions/upload-artifact@v4",
    "actions/upload-pages-artifact@v3",
    "actions/deploy-pages@v4",
    "pypa/gh-action-pypi-publish@release/v1",
}


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    import hatch_build

    yield hatch_build
    sys.modules.pop("hatch_build", None)


def test_no_lower_bound_and_nothing_installed_has_a_known_vulnerability() -> None:
    audit = tool("audit")
    declared = audit.floors()
    assert {"aiohttp", "filelock", "jinja2", "pypdf"} <= {*declared}
    assert [*audit.known(declared)] == []
    assert [*audit.known(audit.installed(iter(declared)))] == []
    (line,) = audit.known({"jinja2": "3.1.5", "orjson": "3.11.6", "unknown": "1"})
    assert line == "jinja2 3.1.5: CVE-2025-27516: a template leaves its sandbox; fixed in 3.1.6"


def test_a_database_that_cannot_be_asked_is_no_failure_and_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = tool("audit")
    program = tmp_path / "pip-audit"
    answers = {
        "exit 1": (0, "no answer"),
        """echo '{"dependencies": [{"name": "a", "skip_reason": "b"}]}'""": (0, "1 of 1 packages"),
        """echo '{"dependencies": [{"name": "a", "version": "1", "vulns": """
        """[{"id": "CVE", "fix_versions": ["2"]}]}]}'; exit 1""": (1, "a 1: CVE; fixed in 2"),
    }
    for answer, (code, said) in answers.items():
        program.write_text(f"#!/bin/sh\n{answer}\n")
        program.chmod(0o700)
        assert audit.main([str(program)]) == code
        assert said in capsys.readouterr().out


def test_every_link_of_the_readme_leads_to_a_file(build: Any) -> None:
    found = [path.partition("#")[0] for _, _, path in build.LINK.findall(README)]
    assert "docs/start.md" in found or len(found) > 5
    assert [path for path in found if not (ROOT / path).exists()] == []


def test_on_the_index_the_readme_has_whole_addresses(build: Any) -> None:
    repository = REPOSITORY
    text = build.with_addresses(README, repository)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert targets
    assert all(re.match(r"https?://|#", target) for target in targets)
    assert f"![x]({repository}/raw/main/docs/x.png)" == build.with_addresses(
        "![x](docs/x.png)", repository
    )
    assert build.with_addresses("[a](https://a.example) [b](#b)", repository) == (
        "[a](https://a.example) [b](#b)"
    )


def test_the_repositorys_address_stands_in_one_place() -> None:
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    address = REPOSITORY
    assert "urls" in PROJECT["dynamic"]
    found = [
        name
        for name in files
        if name and (ROOT / name).is_file() and address.encode() in (ROOT / name).read_bytes()
    ]
    assert found == ["pyproject.toml"]


@pytest.mark.parametrize(
    ("tag", "told"),
    [("v0", "set the repository's address"), ("", "set the repository's")],
)
def test_a_release_is_refused_until_the_owner_has_set_the_address(
    tmp_path: Path, tag: str, told: str
) -> None:
    done = subprocess.run(
        ["bash", str(ROOT / ".ci" / "packages"), str(tmp_path)],
        env={"RELEASE": "1", "TAG": tag, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert told in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_citation_is_of_this_version() -> None:
    from rubricate import __version__

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == __version__
    assert citation["license"] == PROJECT["license"]


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, "'rubricate[ray]'"),
        ({"url": "file:///a%20b/clone", "dir_info": {"editable": True}}, "-e '/a b/clone[ray]'"),
        ({"url": "file:///clone", "dir_info": {}}, "'rubricate[ray] @ file:///clone'"),
        ({"url": "https://h/x.whl"}, "'rubricate[ray] @ https://h/x.whl'"),
    ],
)
def test_an_extra_is_installed_from_where_the_package_came_from(
    monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any] | None, requirement: str
) -> None:
    text = None if origin is None else json.dumps(origin)
    installed = SimpleNamespace(read_text=lambda name: text)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: installed)
    assert str(MissingExtraError("x", "ray")) == f"x needs an extra: pip install {requirement}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_no_text_from_outside(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text("utf-8"))
    events = workflow[True]  # YAML 1.1 reads `on` as that
    assert "pull_request_target" not in events
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert all("${{" not in step.get("run", "") for step in steps)
    assert {step["uses"] for step in steps if "uses" in step} <= ACTIONS


def test_only_the_jobs_that_publish_may_ask_for_a_token() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    allowed = {name: job.get("permissions") for name, job in workflow["jobs"].items()}
    assert allowed == {"build": None, "publish": {"id-token": "write"}}
    assert workflow["jobs"]["publish"]["environment"] == "pypi"
    site = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text("utf-8"))
    allowed = {name: job.get("permissions") for name, job in site["jobs"].items()}
    assert allowed == {"build": None, "publish": {"pages": "write", "id-token": "write"}}


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")))
def test_an_issue_form_has_what_github_asks_for(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    assert all(one["attributes"]["label"] for one in form["body"])
