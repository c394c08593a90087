"""What the tests of this room share: a dataset, and retries without long waits."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubricate import Criterion, Rubric, RubricDataset
from rubricate.run import Retries
from rubricate.run.sending import _sender

CRITERIA = (
    Criterion(name="speed", weight=2.0, requirement="Gives roughly 300000 kilometres"),
    Criterion(name="boasting", weight=-1.0, requirement="Praises itself shamelessly"),
)


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-off in hundredths of a second."""
    monkeypatch.setattr(Retries, "first_wait", 0.01)
    monkeypatch.setattr(Retries, "longest_wait", 0.02)


class Clock:
    """The clock of the limits and deadlines of requests, which a test can put forward."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that a test puts forward by minutes, so that no busy machine comes near a limit."""
    found = Clock()
    for name, module in list(sys.modules.items()):
        if name.startswith(_sender.__package__) and getattr(module, "time", None) is time:
            monkeypatch.setattr(module, "time", found)
    return found


@pytest.fixture
def make_dataset() -> Callable[..., RubricDataset]:
    """A dataset of `n` different items by two criteria; the first item meets both."""

    def make(n: int = 3, **changes: Any) -> RubricDataset:
        dataset = RubricDataset("How fast is light?", Rubric(CRITERIA), name="light")
        for index in range(n):
            text = "Roughly 300000 kilometres, praises itself shamelessly." if index == 0 else "?"
            dataset.add_item(f"Answer {index}: {text}", f"answer {index}", **changes)
        return dataset

    return make


@pytest.fixture
def rows() -> Callable[[Path], list[dict[str, Any]]]:
    """The lines of a run folder's results."""
    return lambda folder: [
        json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()
    ]
