"""Programs that it runs inside: notebooks, and event loops that are not asyncio's.

`tools/real_hosts.py` runs it inside the real ones.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from types import ModuleType
from typing import Any

import pytest

import rubricate
from rubricate import Criterion, Rubric, RubricateError, RubricDataset
from rubricate.testing import Rule, ScriptedEndpoint


def test_a_stream_that_is_interrupted_ends_its_requests_and_then_says_so(make_dataset):
    """The notebook's stop button while the next result is waited for."""
    ended = []

    async def judge(messages: Any) -> str:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)
        return ""

    with pytest.raises(KeyboardInterrupt):
        next(iter(rubricate.grade_stream(make_dataset(), judge, concurrency=1)))
    assert ended == [True]


def test_the_figures_are_text_in_a_notebook_too(make_dataset, endpoint, monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    summary = rubricate.grade(make_dataset(), "m", base_url=endpoint.url).summary()
    assert "judged by m" in str(summary)


def test_a_notebook_shows_the_figures_and_an_items_verdicts_escaped():
    rubric = Rubric(
        [Criterion(name="a <b>", requirement="Is right"), Criterion(name="x", requirement="broken")]
    )
    rules = [
        Rule(criterion="broken", status=400, message="<script>"),
        Rule(verdict="MET", reason="it says 1 < 2"),
    ]
    dataset = RubricDataset("How fast is light?", rubric)
    dataset.add_item("1 < 2", "an answer")
    with ScriptedEndpoint(rules) as endpoint:
        result = rubricate.grade(dataset, "m", base_url=endpoint.url)
    assert "judged by m" in result._repr_html_()
    assert "<b>" not in result._repr_html_()
    shown = result.items[0]._repr_html_()
    assert "score 1.00 (between 0.50 and 1.00)" in shown
    assert "a &lt;b&gt;</td>" in shown
    assert "it says 1 &lt; 2</td>" in shown
    assert "failed: bad_request: " in shown
    assert "<script>" not in shown


@pytest.mark.parametrize("by_name", [True, False])
def test_without_asyncios_loop_it_says_what_to_do(make_dataset, monkeypatch, by_name):
    monkeypatch.setitem(sys.modules, "trio", ModuleType("trio"))
    with ScriptedEndpoint() as endpoint:
        judge: Any = {"judge": "m", "base_url": endpoint.url} if by_name else {}
        with pytest.raises(RubricateError, match="call the plain form in a thread: await trio"):
            rubricate.agrade(make_dataset(), **judge).send(None)
        assert not endpoint.requests
