"""The examples in the docstrings of the statistics give the figures that they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import rubricate.stats

MODULES = [module.name for module in pkgutil.iter_modules(rubricate.stats.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_give_the_figures_that_they_show(name: str):
    module = importlib.import_module(f"rubricate.stats.{name}")
    assert doctest.testmod(module).failed == 0
