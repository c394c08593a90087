"""tools/real_model.py, with a script in place of the model."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from rubricate.testing import ScriptedEndpoint

TOOL = Path(__file__).parents[2] / "tools" / "real_model.py"


def test_a_server_is_tried_in_every_way_and_one_prompt_too_long(monkeypatch, capsys):
    with ScriptedEndpoint(context_tokens=4000) as endpoint:
        monkeypatch.setattr(sys, "argv", ["real_model", endpoint.url, "m", "--items", "2"])
        runpy.run_path(str(TOOL), run_name="__main__")
    printed = capsys.readouterr().out
    assert "| each criterion by itself | 6 | 0 | 0 |" in printed
    assert "| all criteria in one request | 6 | 0 | 0 |" in printed
    assert "A prompt that does not fit: context_length: HTTP 400" in printed
    assert "verdicts that changed with the order: 0 of 6" in printed
