"""Doors that load a name when somebody first asks for it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rubricate

SOURCE = Path(rubricate.__file__).parent
DOORS = sorted(
    ".".join(("rubricate", *path.relative_to(SOURCE).parts[:-1]))
    for path in SOURCE.rglob("__init__.py")
    if "lazy_door(" in path.read_text("utf-8")
)


def test_a_lazy_door_has_every_name_that_it_lists():
    for module in map(import_module, DOORS):
        for name in module.__all__:
            assert getattr(module, name) is not None
        assert dir(module) == sorted(module.__all__)


def test_a_lazy_door_loads_a_name_when_it_is_asked_for():
    program = (
        "import sys, rubricate.stats as door\n"
        "module = 'rubricate.stats._dawid_skene'\n"
        "print(module in sys.modules, 'dawid_skene' in vars(door))\n"
        "from rubricate.stats import dawid_skene\n"
        "print(module in sys.modules, vars(door)['dawid_skene'] is dawid_skene)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False", "True", "True"]


def test_a_name_that_a_lazy_door_does_not_have_is_told():
    with pytest.raises(AttributeError, match=r"module 'rubricate' has no attribute 'grada'"):
        rubricate.grada  # noqa: B018
    with pytest.raises(ImportError, match=r"cannot import name 'Nothing' from 'rubricate.stats'"):
        exec("from rubricate.stats import Nothing")


def test_what_is_wrong_in_a_module_is_not_taken_for_a_name_that_is_not_there(monkeypatch):
    def broken(home: str) -> None:
        raise AttributeError("no attribute 'x'")

    monkeypatch.delattr("rubricate.stats.dawid_skene", raising=False)  # this loads it first
    monkeypatch.setattr("rubricate._lazy.import_module", broken)
    with pytest.raises(ImportError, match=r"_dawid_skene cannot be loaded: no attribute 'x'"):
        exec("from rubricate.stats import dawid_skene")
