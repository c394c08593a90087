"""`rubricate label`, worked with in a browser."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rubricate import RubricDataset
from rubricate.testing import Rule, ScriptedEndpoint

RUBRIC = [
    {"name": "speed", "weight": 2.0, "requirement": "Gives roughly 300000 kilometres"},
    {
        "name": "tone",
        "requirement": "What is its tone?",
        "options": [{"label": "cold", "value": 0}, {"label": "warm", "value": 1}],
    },
    {"name": "depth", "kind": "scale", "requirement": "How deep is it?"},
    {
        "name": "organs",
        "kind": "metric",
        "requirement": "Names organs",
        "tp_instructions": ["heart", "lung"],
    },
]
REASON = "The judge's secret reason"
Serve = Callable[..., "tuple[subprocess.Popen[str], str]"]


def write(path: Path, count: int, rubric: list[dict[str, Any]] = RUBRIC) -> Path:
    items = [
        {
            "id": f"item-{n}",
            "submission": f"Answer {n} <script>window.hacked = 1</script>",
            "description": f"answer {n}",
            "ground_truth": None,
            "of the owner": n,
        }
        for n in range(count)
    ]
    data = {"name": "light", "prompt": "How fast is light?", "rubric": rubric, "items": items}
    path.write_text(json.dumps(data))
    return path


@pytest.fixture
def serve(serve_page: Serve) -> Serve:
    return partial(serve_page, "label")


def items(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["items"]


def saved(page: Any) -> None:
    page.locator("#saved >> text=/^saved$/").wait_for()


def labelled(page: Any, count: int) -> None:
    page.locator(f"#progress >> text=/^{count} of /").wait_for()


def test_ten_items_labelled_by_keyboard_are_in_the_file(tmp_path, serve, new_page):
    path = write(tmp_path / "data.json", 10)
    process, url = serve(path, "--annotator", "ann")
    page = new_page(url)
    for number in range(10):
        for key in ("u" if number % 2 else "m", "2", "4"):
            page.keyboard.press(key)
        page.keyboard.type("0.5")
        page.keyboard.press("Enter")  # of the number
        labelled(page, number + 1)
        page.keyboard.press("Enter")  # on to the next item
        if number < 9:
            page.locator(f"#material >> text=/^{number + 2} of 10/").wait_for()
    page.locator("text=All items are labelled").wait_for()
    saved(page)
    assert page.evaluate("window.hacked") is None
    process.send_signal(signal.SIGINT)
    assert "10 of 10 items have all labels" in process.communicate(timeout=20)[0]
    found = items(path)
    given = [item["annotations"]["ann"] for item in found]
    assert sorted(labels["speed"] for labels in given) == ["MET"] * 5 + ["UNMET"] * 5
    rest = {"tone": "warm", "depth": "4", "organs": "0.5"}
    assert all({**labels, **rest} == labels for labels in given)
    assert [item["of the owner"] for item in found] == list(range(10))
    assert all(len(entry.labels()) == 4 for entry in RubricDataset.from_file(path).to_grade())


def test_labels_are_blind_and_then_decided_on_with_a_reason(tmp_path, serve, new_page, run_command):
    path = write(tmp_path / "data.json", 2, RUBRIC[:2])
    data = json.loads(path.read_text())
    told = {"ground_truth": ["UNMET", None], "ground_truth_reasons": ["Somebody's why", None]}
    data["items"] = [{**item, **told} for item in data["items"]]
    path.write_text(json.dumps(data))
    rules = [
        Rule(criterion="kilometres", verdict="UNMET", reason=REASON),
        Rule(verdict="warm", reason=REASON),
    ]
    with ScriptedEndpoint(rules) as endpoint:
        run_command(
            tmp_path,
            *("grade", path, "--judge", "openai/m", "--base-url", endpoint.url),
            *("--run-dir", "run", "--no-cache", "--quiet"),
        )
    _, url = serve(path, "--run", "run", "--annotator", "ann")
    page = new_page(url)
    came: list[str] = []
    page.on("response", lambda response: came.append(response.text()))
    page.reload()
    page.wait_for_selector("body[data-ready]")
    page.keyboard.press("m")
    page.keyboard.press("2")
    labelled(page, 1)
    assert not any(REASON in text or "Somebody's why" in text for text in came)
    page.keyboard.press("Enter")
    page.locator("text=1 of 2 differs").wait_for()
    assert REASON in page.inner_text("#panel")
    assert "Somebody's why" in page.inner_text("#panel")
    page.keyboard.press("c")
    page.locator("text=Decided by ann: CANNOT_ASSESS").wait_for()
    page.keyboard.press("r")
    page.keyboard.type("nobody can tell")
    page.keyboard.press("Enter")
    page.locator(".review textarea >> visible=true").wait_for()
    saved(page)
    page.keyboard.press("Enter")
    page.locator("#material >> text=/^2 of 2/").wait_for()
    item = next(item for item in items(path) if item.get("annotations"))
    assert item["annotations"] == {"ann": {"speed": "MET", "tone": "warm"}}
    assert item["ground_truth"] == ["CANNOT_ASSESS", None]
    assert item["ground_truth_reasons"] == ["nobody can tell", None]
    decided = {"annotator": "ann", "label": "CANNOT_ASSESS", "reason": "nobody can tell"}
    assert item["adjudications"] == {"speed": decided}
    assert RubricDataset.from_file(path).items[items(path).index(item)].adjudications


def test_two_annotators_at_once_do_not_overwrite_each_other(tmp_path, serve, new_page):
    path = write(tmp_path / "data.json", 2, RUBRIC[:1])
    pages = {}
    for name in ("ann", "bea"):  # a server each
        pages[name] = new_page(serve(path, "--annotator", name)[1])
    pages["cas"] = new_page(pages["bea"].url)  # another tab of a server, with a name of its own
    pages["cas"].click("#who")
    pages["cas"].fill("#annotator", "cas")
    pages["cas"].keyboard.press("Enter")
    pages["cas"].locator("#who >> text=cas").wait_for()
    for gone_on in ("#material >> text=2 of 2", "text=All items are labelled"):
        for name, page in pages.items():
            page.keyboard.press("u" if name == "bea" else "m")
        for page in pages.values():
            saved(page)
            while not page.locator(gone_on).count():  # an item that others labelled is shown again
                page.keyboard.press("Enter")
                page.wait_for_timeout(50)
    for item in items(path):
        assert item["annotations"] == {
            "ann": {"speed": "MET"},
            "bea": {"speed": "UNMET"},
            "cas": {"speed": "MET"},
        }


def test_keys_pressed_while_the_next_item_is_fetched_label_that_item(tmp_path, serve, new_page):
    path = write(tmp_path / "data.json", 3, RUBRIC[:1])
    page = new_page(serve(path, "--annotator", "ann")[1])

    def slowly(route: Any) -> None:
        time.sleep(0.2)
        route.continue_()

    page.route("**/item?*", slowly)
    for key in ("m", "Enter", "u", "Enter", "m"):
        page.keyboard.press(key)
    page.locator("text=3 of 3 items labelled").wait_for()
    saved(page)
    labels = [item["annotations"]["ann"]["speed"] for item in items(path)]
    assert sorted(labels) == ["MET", "MET", "UNMET"]  # each annotator has an order of their own


def test_a_killed_server_loses_nothing_that_was_saved(tmp_path, serve, new_page):
    path = write(tmp_path / "data.json", 3, RUBRIC[:2])
    process, url = serve(path, "--annotator", "ann")
    page = new_page(url)
    page.keyboard.press("m")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.locator("#material >> text=/^2 of 3/").wait_for()
    page.keyboard.press("u")
    saved(page)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    given = [item.get("annotations", {}).get("ann") for item in items(path)]
    assert sorted(map(str, filter(None, given))) == [
        "{'speed': 'MET', 'tone': 'cold'}",
        "{'speed': 'UNMET'}",
    ]
    page = new_page(serve(path, "--annotator", "ann")[1])  # goes on where it was
    page.locator("#material >> text=/^2 of 3/").wait_for()
    assert page.inner_text("#panel h2") == "tone"


def test_a_key_is_undone(tmp_path, serve, new_page):
    path = write(tmp_path / "data.json", 1, RUBRIC[:2])
    page = new_page(serve(path, "--annotator", "ann")[1])
    page.keyboard.press("u")
    page.keyboard.press("1")
    page.keyboard.press("z")
    page.keyboard.press("z")
    page.locator("#panel h2 >> text=speed").wait_for()
    page.keyboard.press("m")
    page.locator("#panel h2 >> text=tone").wait_for()
    saved(page)
    assert items(path)[0]["annotations"] == {"ann": {"speed": "MET"}}


def test_what_is_no_answer_is_said_and_not_kept(tmp_path, serve, new_page):
    path = write(tmp_path / "data.json", 1, RUBRIC[3:])
    page = new_page(serve(path, "--annotator", "ann")[1])
    page.keyboard.type("1.5")
    page.keyboard.press("Enter")
    page.locator("#saved >> text=not saved: 'organs' has no label").wait_for()
    assert "annotations" not in items(path)[0]
    labelled(page, 0)


def test_all_criteria_at_once_on_a_phone_in_the_dark(tmp_path, serve, new_page):
    path = write(tmp_path / "data.json", 1)
    url = serve(path, "--annotator", "ann")[1]
    page = new_page(url, viewport={"width": 360, "height": 740}, color_scheme="dark")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 360
    assert page.locator(".question").count() == 1
    page.keyboard.press("v")
    assert page.locator(".question").count() == 4
    page.click("text=UNMET")
    page.keyboard.press("2")  # on the next criterion
    saved(page)
    assert items(path)[0]["annotations"]["ann"] == {"speed": "UNMET", "tone": "warm"}
