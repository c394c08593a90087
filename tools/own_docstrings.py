"""Leave out of the reference what Python says of the type of an attribute (`bool(x) -> bool`).

`mkdocs.yml` names this extension of griffe, which reads the package by importing it.
"""

from __future__ import annotations

import builtins
import inspect
from typing import Any

import griffe

OF_PYTHON = {inspect.getdoc(one) for one in vars(builtins).values() if isinstance(one, type)}


class OwnDocstrings(griffe.Extension):
    """Takes a type's docstring from its instances."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **others: Any) -> None:
        """Called for every attribute of every module and class."""
        if attr.docstring is not None and attr.docstring.value in OF_PYTHON:
            attr.docstring = None
