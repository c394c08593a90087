"""A name that is imported from the wrong module of a dialect: the error has the right line."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import pytest

import rubricate.dialects


@pytest.mark.parametrize(
    ("module", "name", "home"),
    [
        (
            "researchrubrics.evaluate_single_report",
            "evaluate_reports_batch",
            "researchrubrics",
        ),
        ("autorubric.metrics", "EvalResult", "autorubric"),
        ("karenina", "Rubric", "karenina.schemas"),
        ("inspect_ai", "Sample", "inspect_ai.dataset"),
        ("ragas.metrics", "evaluate", "ragas"),
    ],
)
def test_the_error_has_the_line_that_imports_the_name(module, name, home):
    line = f"from rubricate.dialects.{home} import {name}"
    with pytest.raises(ImportError, match=f"{name} is not in .*: {line}$"):
        exec(f"from rubricate.dialects.{module} import {name}")
    exec(line)


def test_a_name_that_no_dialect_has_is_missing_as_from_any_module():
    for found in walk_packages(rubricate.dialects.__path__, "rubricate.dialects."):
        if not found.ispkg or "inspect" in found.name:
            continue
        module = import_module(found.name)
        assert not hasattr(module, "no_such_name")
        with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
            exec(f"from {found.name} import no_such_name")
