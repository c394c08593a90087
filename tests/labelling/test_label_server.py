"""Who may ask the labelling page's server, and what it tells before an item is labelled."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from rubricate.dataset import LabelFile
from rubricate.errors import InputError
from rubricate.labelling import LabelServer, LabelSession


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    items = [
        {"id": "a", "submission": "one", "description": ""},
        {"id": "b", "submission": "two", "description": "", "ground_truth": ["UNMET", None]},
    ]
    items[1]["ground_truth_reasons"] = ["too slow", None]  # type: ignore[assignment]
    items[0]["annotations"] = {"bea": {"speed": "UNMET"}}  # type: ignore[assignment]
    rubric = [{"name": "speed", "requirement": "x"}, {"name": "tone", "requirement": "y"}]
    path = tmp_path / "data.json"
    path.write_text(json.dumps({"prompt": "p", "rubric": rubric, "items": items}))
    with serving(LabelSession(LabelFile(path))) as url:
        yield url


@contextmanager
def serving(session: LabelSession) -> Iterator[str]:
    """A server in a thread of its own."""
    began, stop, urls = threading.Event(), threading.Event(), []

    async def serve() -> None:
        async with LabelServer(session) as server:
            urls.append(server.url)
            began.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    began.wait(10)
    yield urls[0]
    stop.set()
    thread.join(10)


def ask(
    url: str, method: str = "GET", path: str = "", body: Any = None, **headers: str | None
) -> tuple[int, Any]:
    """Send a request as a page of `url` would, but for what `headers` say."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    given: dict[str, str | None] = {"Host": parts.netloc}
    if method == "POST":
        given |= {"Origin": f"http://{parts.netloc}", "Content-Type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, parts.path + path, skip_host=True)
    data = json.dumps(body).encode()
    for name, value in {**given, "Content-Length": str(len(data))}.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(data)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    found = response.headers.get("Content-Type", "").startswith("application/json")
    return response.status, json.loads(text) if found else text


LABEL = {"item": "a", "annotator": "ann", "criterion": "speed", "label": "MET"}


def test_the_page_has_a_policy_and_every_request_needs_the_token(address):
    status, page = ask(address)
    assert status == 200
    assert "labelling" in page
    port = urlsplit(address).port
    for wrong in (f"http://127.0.0.1:{port}/", f"http://127.0.0.1:{port}/guess/"):
        assert ask(wrong)[0] == 404
        assert ask(wrong, path="overview?annotator=ann")[0] == 404
        assert ask(wrong, "POST", "labels", LABEL)[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:80", ""])
def test_a_name_that_was_made_to_point_here_reaches_nothing(address, host):
    assert ask(address, Host=host)[0] in (400, 403)
    assert ask(address, "POST", "labels", LABEL, Host=host)[0] in (400, 403)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Sec_Fetch_Site": "cross-site"},
        {"Content_Type": "text/plain"},
    ],
)
def test_another_page_cannot_label(address, headers):
    assert ask(address, "POST", "labels", LABEL, **headers)[0] in (403, 415)
    assert ask(address, path="item?id=a&annotator=ann")[1]["labels"] == {}


def test_the_list_says_how_a_text_begins_where_descriptions_do_not_tell_items_apart(address):
    items = ask(address, path="overview?annotator=ann")[1]["items"]
    assert {one["id"]: one["opening"] for one in items} == {"a": "one", "b": "two"}
    assert "opening" not in ask(address, path="item?id=a&annotator=ann")[1]


def test_others_are_shown_when_all_is_labelled_and_own_labels_then_stay(address):
    before = json.dumps(ask(address, path="item?id=a&annotator=ann")[1])
    assert "bea" not in before
    review = {"item": "a", "annotator": "ann"}
    assert ask(address, "POST", "review", review)[0] == 409
    assert ask(address, "POST", "labels", LABEL) == (200, {"label": "MET"})
    assert ask(address, "POST", "review", review)[0] == 409
    assert ask(address, "POST", "labels", {**LABEL, "criterion": "tone"})[0] == 200
    status, shown = ask(address, "POST", "review", review)
    assert (status, shown["criteria"]["speed"]["others"]) == (200, {"bea": "UNMET"})
    status, refused = ask(address, "POST", "labels", {**LABEL, "label": "UNMET"})
    assert status == 409
    assert "decide instead" in refused["error"]
    decision = {**LABEL, "label": "UNMET", "reason": "bea is right"}
    assert ask(address, "POST", "adjudications", decision)[0] == 200
    shown = ask(address, "POST", "review", review)[1]["criteria"]["speed"]
    assert shown["decided"]["reason"] == "bea is right"


def test_why_a_label_holds_is_shown_with_it_and_not_before(address):
    assert "too slow" not in json.dumps(ask(address, path="item?id=b&annotator=ann")[1])
    for criterion in ("speed", "tone"):
        ask(address, "POST", "labels", {**LABEL, "item": "b", "criterion": criterion})
    shown = ask(address, "POST", "review", {"item": "b", "annotator": "ann"})[1]["criteria"]
    assert (shown["speed"]["label"], shown["speed"]["why"]) == ("UNMET", "too slow")
    assert shown["tone"]["why"] is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": "YES"}, "has no label 'YES'"),
        ({"criterion": "sped"}, "has no criterion 'sped'"),
        ({"item": "c"}, "there is no item 'c'"),
        ({"annotator": " "}, "an annotator's name"),
        ({"annotator": "x" * 61}, "an annotator's name"),
    ],
)
def test_what_does_not_fit_is_said_in_a_line(address, change, said):
    status, answer = ask(address, "POST", "labels", {**LABEL, **change})
    assert status == 409
    assert said in answer["error"]


def test_what_is_no_object_or_too_large_is_refused(address):
    assert ask(address, "POST", "labels", ["a"])[0] == 400
    assert ask(address, "POST", "labels", {**LABEL, "label": "x" * 70_000})[0] == 413


def test_it_listens_on_the_loopback_interface_only(address):
    assert urlsplit(address).hostname == "127.0.0.1"


def test_a_port_that_is_taken_is_one_line(address, tmp_path):
    session = LabelSession(LabelFile(tmp_path / "data.json"))

    async def serve() -> None:
        async with LabelServer(session, port=urlsplit(address).port or 0):
            pass

    with pytest.raises(InputError, match="cannot be listened on"):
        asyncio.run(serve())


def test_after_a_restart_what_was_shown_still_counts_as_shown(address, tmp_path):
    for criterion in ("speed", "tone"):
        assert ask(address, "POST", "labels", {**LABEL, "criterion": criterion})[0] == 200
    again = LabelSession(LabelFile(tmp_path / "data.json"))
    with pytest.raises(InputError, match="decide instead"):
        again.label("a", "ann", "speed", "UNMET")
    assert again.label("b", "ann", "speed", "UNMET").label == "UNMET"  # not labelled yet
