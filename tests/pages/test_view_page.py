"""`rubricate view`, in a browser, and who may ask its server."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from rubricate.testing import Rule, ScriptedEndpoint

HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    '<a href="javascript:window.hacked = 3">x</a> <!-- data --> " onfocus="window.hacked = 4'
)
Command = Callable[..., Any]


def dataset(count: int = 4) -> dict[str, Any]:
    """Items that the rules below judge; people say MET of all, but for the last."""
    return {
        "name": f"light {HOSTILE}",
        "prompt": "How fast is light?",
        "rubric": [
            {"name": "speed", "requirement": "Gives a number"},
            {
                "name": f"tone {HOSTILE}",
                "requirement": "What is its tone?",
                "options": [{"label": "cold", "value": 0}, {"label": HOSTILE[:80], "value": 1}],
            },
        ],
        "items": [
            {
                "id": f"item-{number}",
                "submission": f"Answer {number} {HOSTILE}",
                "ground_truth": ["MET", None],
                "metadata": {"field": HOSTILE, HOSTILE[:60]: number},
                "tags": [HOSTILE[:50]],
            }
            for number in range(count)
        ],
    }


RULES = [
    Rule(criterion="tone", verdict=HOSTILE[:80], reason=HOSTILE),
    Rule(submission="Answer 1", verdict="UNMET", reason="None there"),
    Rule(verdict="MET", reason="There it is"),
]


def grade(run_command: Command, folder: Path, name: str, rules: list[Rule], *options: str) -> None:
    (folder / "data.json").write_text(json.dumps(dataset()))
    with ScriptedEndpoint(rules) as endpoint:
        run_command(
            folder,
            *("grade", "data.json", "--judge", "openai/m", "--base-url", endpoint.url),
            *("--run-dir", f"runs/{name}", "--no-cache", "--quiet", *options),
        )


def agreement(page: Any) -> str:
    """The figures in the page's head, when what was given is saved and counted."""
    page.locator("#saved >> text=/^saved$/").wait_for()
    page.locator("#agreement-now >> text=/accuracy/").wait_for()
    return page.inner_text("#agreement-now")


def test_two_runs_of_the_list_are_compared(tmp_path, run_command, serve_page, new_page):
    grade(run_command, tmp_path, "before", RULES)
    changed = Rule(submission="Answer 1", criterion="number", verdict="MET", reason="Now there")
    grade(run_command, tmp_path, f"after {HOSTILE[9:25]}", [changed, *RULES])
    os.utime(tmp_path / "runs" / "before" / "summary.json", (1e9, 1e9))
    page = new_page(serve_page("view", "runs")[1])
    rows = page.locator("tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == ["after", "before"]
    named = page.locator("figure svg a, figure li a").all()  # over time: points and names
    assert len({link.get_attribute("href") for link in named}) == 2
    assert len(named) == 4
    page.fill("#search", "BEFORE")
    assert page.locator("tbody:visible").count() == 1
    page.fill("#search", "")
    for box in page.locator("tbody input").all():
        box.check()
    page.wait_for_selector("#compare:enabled")
    page.click("#compare")
    page.wait_for_selector("#flips li")
    shown = page.inner_text("#changes")
    assert "runs/before" in shown
    assert "runs/after" in shown
    assert "UNMET → MET" in page.inner_text("#flip-kind")
    assert "Now there" in page.inner_text("#flips li")
    page.click("nav >> text=Runs")
    page.locator("tbody a >> text=before").click()
    page.wait_for_selector(".hero .big")
    page.wait_for_selector("body[data-ready]")
    page.keyboard.press("2")
    assert page.locator("#grid tr[data-id]").count() == 4
    assert page.evaluate("window.hacked") is None


def test_runs_without_an_item_in_common_are_not_compared(
    tmp_path, run_command, serve_page, new_page
):
    for name in ("one", "other"):
        rows = [{"id": f"{name}-{number}", "submission": HOSTILE} for number in range(2)]
        data = {"prompt": "?", "rubric": dataset()["rubric"][:1], "items": rows}
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
        run_command(tmp_path, "grade", f"{name}.json", "--run-dir", f"runs/{name}", "--quiet")
    page = new_page(serve_page("view", "runs")[1])
    for box in page.locator("tbody input").all():
        box.check()
    page.locator("#chosen >> text=no item in common").wait_for()
    assert page.is_disabled("#compare")
    assert page.locator("tbody input").count() == 2  # the list is still there


def test_labels_given_on_the_page_are_kept_and_move_the_agreement(
    tmp_path, run_command, serve_page, new_page
):
    grade(run_command, tmp_path, "run", RULES)
    run = tmp_path / "runs" / "run"
    process, url = serve_page("view", "runs/run", "--annotator", "ann")
    page = new_page(url)
    before = page.inner_text(".facts dd")
    page.goto(f"{page.url}#/items?item=item-1")
    page.wait_for_selector("#verdict-0")
    assert not (run / "labelled.json").exists()  # looking at a run writes nothing
    page.keyboard.press("n")
    page.keyboard.press("a")  # UNMET, as the judge says, and not MET any more
    assert "accuracy 1.00" in agreement(page)
    page.keyboard.press("a")  # once more takes nothing back
    page.fill("#verdict-0 .comment", HOSTILE)
    page.keyboard.press("Tab")
    page.locator("#verdict-0 .reason >> text=human: </script>").wait_for()
    page.locator("#verdict-1 .label >> text=cold").click()  # a correction
    page.locator("#verdict-1 >> text=human: cold ≠").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "cold"
    agreement(page)
    other = new_page(page.url)
    assert other.locator(".label [aria-pressed=true]").all_inner_texts() == ["Agree: UNMET", "cold"]
    other.locator("#verdict-1 .label >> text=CANNOT_ASSESS").click()
    agreement(other)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    page.locator("#verdict-1 >> text=human: CANNOT_ASSESS").wait_for()
    page.locator("#verdict-1 .label >> text=cold").click()
    page.locator("#verdict-1 >> text=human: cold ≠").wait_for()
    agreement(page)
    page.keyboard.press("Escape")
    page.select_option("#only", "differs")
    assert page.locator("#grid tr[data-id]").count() == 1
    page.keyboard.press("1")  # the overview is made anew
    page.locator(".hero").wait_for()
    assert page.inner_text(".facts dd") != before
    page.wait_for_selector("body[data-ready]")
    (item,) = [item for item in items(run) if item.get("adjudications")]
    assert item["ground_truth"] == ["UNMET", "cold"]
    assert [*item["selection"].values()] == [{"how": "by_hand"}]  # of tone, that had no label
    assert item["adjudications"]["speed"] == {
        "annotator": "ann",
        "label": "UNMET",
        "reason": HOSTILE,
    }
    assert [item["id"] for item in items(run)] == ["item-1"]
    shown = run_command(tmp_path, "show", "runs/run").stdout
    assert "2 labels were given on the run's page" in shown

    process.kill()  # nothing is lost, and a label is taken back by pressing it again
    page = new_page(serve_page("view", "runs/run", "--annotator", "ann")[1] + "#/items?item=item-1")
    page.locator("#verdict-1 .label >> text=cold").click()
    page.locator("#verdict-1 >> text=human: cold").wait_for(state="detached")
    agreement(page)
    (item,) = [item for item in items(run) if item.get("adjudications")]
    assert item["ground_truth"] == ["UNMET", None]
    assert page.evaluate("window.hacked") is None


def test_what_is_wrong_with_a_run_is_above_the_list_of_runs(
    tmp_path, run_command, serve_page, new_page
):
    grade(run_command, tmp_path, "run", RULES)
    results = tmp_path / "runs" / "run" / "results.jsonl"
    results.write_bytes(results.read_bytes()[:-9])
    url = serve_page("view", "runs")[1]
    page = new_page(f"{url}run?{urlencode({'run': 'run'})}")
    assert "is incomplete" in page.inner_text(".notice")
    assert "unreadable" in page.inner_text("tbody")
    page = new_page(f"{url}run?{urlencode({'run': HOSTILE})}")
    assert "there is no run" in page.inner_text(".notice")
    assert page.evaluate("window.hacked") is None


def items(run: Path) -> list[dict[str, Any]]:
    return json.loads((run / "labelled.json").read_text())["items"]


def test_a_run_that_continues_is_followed_until_it_has_ended(
    tmp_path, run_command, serve_page, new_page
):
    (tmp_path / "data.json").write_text(json.dumps(dataset()))
    stuck = [Rule(submission=f"Answer {number}", verdict="MET", delay=600) for number in (1, 2, 3)]
    with ScriptedEndpoint([*RULES[:1], *stuck, *RULES]) as endpoint:
        running = subprocess.Popen(
            [
                *(Path(sys.executable).with_name("rubricate"), "grade", "data.json"),
                *("--judge", "openai/m", "--base-url", endpoint.url, "--run-dir", "runs/run"),
                *("--no-cache", "--quiet"),
            ],
            cwd=tmp_path,
            env={**os.environ, "OPENAI_API_KEY": "none"},
        )
        try:
            results = tmp_path / "runs" / "run" / "results.jsonl"
            while not results.exists() or results.read_bytes().count(b"\n") < 2:
                assert running.poll() is None
            page = new_page(serve_page("view", "runs/run")[1])
            assert "has not ended" in page.inner_text("#items")
            assert page.inner_text("#found") == "1 of 1 items"
        finally:
            running.kill()
            running.wait()
    grade(run_command, tmp_path, "run", RULES, "--fresh")
    page.locator(".hero .big").wait_for()
    page.wait_for_selector("body[data-ready]")
    page.keyboard.press("2")
    assert page.inner_text("#found") == "4 of 4 items"


def ask(url: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    """Send a request as the page does, but for what `headers` say."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    own = {"Host": parts.netloc}
    if body is not None:
        own |= {"Origin": f"http://{parts.netloc}", "Content-Type": "application/json"}
    own |= {name.replace("_", "-"): value for name, value in headers.items()}
    method = "GET" if body is None else "POST"
    connection.request(method, parts.path + path, json.dumps(body) if body else None, own)
    response = connection.getresponse()
    data = response.read()
    connection.close()
    return response.status, data


@pytest.fixture
def view_url(tmp_path, run_command, serve_page) -> str:
    grade(run_command, tmp_path, "run", RULES)
    (tmp_path / "other").mkdir()
    (tmp_path / "runs" / "run").rename(tmp_path / "other" / "secret")
    grade(run_command, tmp_path, "run", RULES)
    return serve_page("view", "runs", "--annotator", "ann")[1]


def test_only_the_page_itself_is_answered(view_url, tmp_path):
    query = urlencode({"run": "run"})
    label = {
        **{"run": "run", "item": "item-0", "criterion": "speed", "label": "MET"},
        **{"reason": "", "annotator": "ann"},
    }
    paths = ["", f"run?{query}", f"data?{query}&name=index&version=1", f"state?{query}"]
    for path in (*paths, f"agreement?{query}"):
        assert ask(view_url, path)[0] in (200, 409), path
        assert ask(view_url, path, Host="evil.example")[0] == 403
        assert ask(view_url, path, Sec_Fetch_Site="cross-site")[0] == 403
        wrong = f"http://{urlsplit(view_url).netloc}/guess/"
        assert ask(wrong, path)[0] == 404
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Content_Type": "text/plain"},
        {"Host": "evil.example"},
    ):
        assert ask(view_url, "label", label, **headers)[0] in (403, 415), headers
    assert not (tmp_path / "runs" / "run" / "labelled.json").exists()
    assert ask(view_url, "label", label)[0] == 200


def test_no_other_folder_is_read_and_no_wrong_label_is_written(view_url, tmp_path):
    for name in ("../other/secret", str(tmp_path / "other" / "secret"), "run/..", "", "."):
        for path in ("run", "state", "agreement"):
            status, data = ask(view_url, f"{path}?{urlencode({'run': name})}")
            assert (status, b"there is no run" in data) == (409, True)
        assert ask(view_url, f"run?{urlencode({'run': 'run', 'compare': name or 'x'})}")[0] == 409
    good = {"run": "run", "item": "item-0", "criterion": "speed", "label": "MET"}
    good |= {"reason": "", "annotator": "ann"}
    for change, words in (
        ({"item": "item-9"}, "no item"),
        ({"criterion": "sped"}, "no criterion"),
        ({"label": "YES"}, "no label"),
        ({"annotator": " "}, "an annotator's name"),
        ({"run": "../other/secret"}, "no run"),
    ):
        status, data = ask(view_url, "label", {**good, **change})
        assert (status, words in data.decode()) == (409, True), (change, data)
    assert ask(view_url, "label", {**good, "item": 3})[0] == 400
    assert ask(view_url, "label", {**good, "reason": "x" * 70_000})[0] == 413
    assert not (tmp_path / "other" / "secret" / "labelled.json").exists()


def test_what_cannot_be_shown_is_one_line(rubricate, tmp_path):
    for arguments, words in (
        (("nowhere",), "no such folder"),
        ((".", "--compare", "x"), "are of one run"),
    ):
        done = rubricate("view", *arguments, "--no-browser")
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert words in done.stderr
