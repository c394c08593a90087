"""JUnit XML as pytest writes it, in which a text that could not be judged is no failed test."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

NOT_JUDGED = ("rubricate.errors.JudgementError:", "rubricate.errors.MissingKeyError:")
"""How the message of a test begins whose text could not be judged."""


def mark_errors(path: str) -> None:
    """Make `<error>` of each `<failure>` that says nothing of the text, and count it so.

    Args:
        path: the file, as pytest's option has it; unchanged if no text failed to be judged.
    """
    file = Path(os.path.expandvars(path)).expanduser()
    if not file.is_file() or b"rubricate.errors." not in file.read_bytes():
        return
    tree = ElementTree.parse(file)
    for suite in tree.iter("testsuite"):
        failures = [
            failure
            for failure in suite.iterfind("testcase/failure")
            if failure.get("message", "").startswith(NOT_JUDGED)
        ]
        for failure in failures:
            failure.tag = "error"
        for name, change in (("failures", -len(failures)), ("errors", len(failures))):
            suite.set(name, str(int(suite.get(name, "0")) + change))
    tree.write(file, encoding="utf-8", xml_declaration=True)
