"""Removes from docstrings in the reference what another page has.

This is an extension of griffe in `mkdocs.yml`; griffe reads the package by importing it.
"""

from __future__ import annotations

import builtins
import inspect
import re
from typing import Any

import griffe

from rubricate.options import GradingOptions
from rubricate.settings import options_of

OF_PYTHON = {inspect.getdoc(one) for one in vars(builtins).values() if isinstance(one, type)}
OPTIONS = frozenset(options_of(GradingOptions)) - {"rubric", "map", "limit"}
ARGUMENT = re.compile(r"^    (\w+): .*\n(?:(?:        .*)?\n)*", re.MULTILINE)
MANY = 5
ELSEWHERE = "\n\nFurther arguments are options: see the page [Options](../options.md).\n\n"


def without_options(text: str) -> str:
    """Return a docstring without the options in docs/options.md, if it lists many of them."""
    options = [found for found in ARGUMENT.finditer(text + "\n") if found[1] in OPTIONS]
    if len(options) < MANY:
        return text
    for found in reversed(options):
        text = text[: found.start()] + text[found.end() :]
    before, arguments, rest = text.partition("Args:\n")
    return before.rstrip() + ELSEWHERE + arguments + rest


class OwnDocstrings(griffe.Extension):
    """Removes Python's text about the type of an attribute, and options, from the reference."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **others: Any) -> None:
        """Called for each attribute of each module and class."""
        if attr.docstring is not None and attr.docstring.value in OF_PYTHON:
            attr.docstring = None

    def on_function_instance(self, *, func: griffe.Function, **others: Any) -> None:
        """Called for each function."""
        if func.docstring is not None:
            func.docstring.value = without_options(func.docstring.value)
