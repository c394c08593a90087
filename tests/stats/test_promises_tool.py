"""The tool that counts kept promises on real labels: its populations, draws and verdicts."""

from __future__ import annotations

import json
import random
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "check_promises.py"))


@pytest.fixture
def population(tmp_path: Path) -> Any:
    """Eighty records of two binary criteria, with the verdicts of three published judges."""
    chance = random.Random(3)
    with (tmp_path / "made.jsonl").open("w") as lines:
        for number in range(80):
            criteria = []
            for name in ("a", "b"):
                truth = chance.random() < 0.6
                judges = {f"j{at}": truth == (chance.random() < 0.85) for at in range(3)}
                human = [truth, truth, not truth]
                criteria.append(
                    {"name": name, "requirement": f"Says {name}", "kind": "binary"}
                    | {"human": human, "judges": judges, "options": None}
                )
            record = {"id": f"r{number}", "group": "g", "prompt": "?", "submission": f"a {number}"}
            lines.write(json.dumps({**record, "criteria": criteria}) + "\n")
    found = {one.name: one for one in TOOL["read_populations"](tmp_path, frozenset())}
    assert "made, panel" in found
    assert found["made, j0"].human.shape == (160,)
    return found["made, panel"]


def test_records_with_several_criteria_are_clusters_and_majorities_are_labels(population: Any):
    assert len(population.members) == 80
    assert 0.5 < population.human.mean() < 0.7
    assert 0.66 < population.sure.min() < 0.67


def test_promises_are_kept_on_them_and_every_one_is_looked_at(population: Any):
    for design in TOOL["DESIGNS"]:
        found = TOOL["check"](population, design, 50, 30)
        assert {*TOOL["INTERVALS"], "cascade, 80%", "cascade, 90%"} <= found.keys()
        assert not [name for name, tally in found.items() if TOOL["is_broken"](name, tally, 30)]


def test_without_replacement_no_pair_is_drawn_twice(population: Any):
    for design in TOOL["DESIGNS"]:
        drawn, rest, _ = design.draw(population, 50, np.random.default_rng(1))
        places = [*drawn.tolist(), *rest.tolist()]
        assert (len(set(places)) == len(places) == 160) is not design.replaced


def test_a_promise_that_is_kept_too_seldom_is_told():
    tally, broken = TOOL["Tally"], TOOL["is_broken"]
    assert broken("kappa", tally(made=200, kept=160), 1000)
    assert not broken("kappa", tally(made=200, kept=180), 1000)
    assert broken("cascade, 90%", tally(made=200, kept=170), 1000)
    assert broken("calibration map", tally(made=200, kept=170), 1000)
    assert not broken(TOOL["ACCEPTED"], tally(made=20, kept=0), 1000)
