"""What the reference leaves out of docstrings, because another page has it.

`mkdocs.yml` names this extension of griffe, which reads the package by importing it.
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
    """A docstring without the options that docs/options.md has, if it lists many of them."""
    options = [found for found in ARGUMENT.finditer(text + "\n") if found[1] in OPTIONS]
    if len(options) < MANY:
        return text
    for found in reversed(options):
        text = text[: found.start()] + text[found.end() :]
    before, arguments, rest = text.partition("Args:\n")
    return before.rstrip() + ELSEWHERE + arguments + rest


class OwnDocstrings(griffe.Extension):
    """Leaves out of the reference what Python says of the type of an attribute, and options."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **others: Any) -> None:
        """Called for every attribute of every module and class."""
        if attr.docstring is not None and attr.docstring.value in OF_PYTHON:
            attr.docstring = None

    def on_function_instance(self, *, func: griffe.Function, **others: Any) -> None:
        """Called for every function."""
        if func.docstring is not None:
            func.docstring.value = without_options(func.docstring.value)
