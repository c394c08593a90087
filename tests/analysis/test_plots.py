"""Plots: what they show, that nothing is cut off, and what they say where there is nothing."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

import rubricate
from rubricate import Criterion, InputError, Result, Rubric, RubricDataset, ScaleCriterion
from rubricate.analysis import Plots
from rubricate.errors import MissingExtraError
from rubricate.views import Picture


def judge(messages: Any) -> Any:
    return {"reason": "r", "verdict": "MET"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the built-in judge with labels of two kinds, and a criterion with a long name."""
    rubric = Rubric(
        [
            Criterion(name="says what " * 12, requirement="Says that light is fast"),
            ScaleCriterion(name="depth", requirement="How deep it is", low=1, high=5),
        ]
    )
    dataset = RubricDataset("How fast is light?", rubric, name="light")
    for number in range(12):
        words = "Light is fast." if number % 3 else "I do not know."
        label = "MET" if number % 4 else "UNMET"
        dataset.add_item(f"{words} {number}", "d", [label, 1 + number % 5])
    path = tmp_path_factory.mktemp("plots") / "run"
    rubricate.grade(dataset, run_dir=path)
    return path


def words(picture: Picture) -> str:
    """All text of a picture."""
    return "\n".join(map(html.unescape, re.findall(r"<text[^>]*>([^<]*)", picture.to_svg())))


def is_whole(picture: Picture) -> bool:
    """Whether all that is drawn lies inside the sheet: to cut off the rest changes nothing."""
    from resvg_py import svg_to_bytes

    found = re.fullmatch(r"<svg ([^>]*)>(.*)</svg>\n", picture.to_svg(), re.DOTALL)
    assert found is not None
    width, height = (float(one) for one in re.findall(r' (?:width|height)="([\d.]+)"', found[1]))
    wide, high, shapes = f"{width + 100:g}", f"{height + 100:g}", found[2]
    head = f'viewBox="-50 -50 {wide} {high}" width="{wide}" height="{high}"'
    head = f'class="picture" xmlns="http://www.w3.org/2000/svg" {head}'
    frame = f'<rect x="-1" y="-1" width="{width + 2:g}" height="{height + 2:g}"/>'
    cut = f'<clipPath id="sheet">{frame}</clipPath><g clip-path="url(#sheet)">{shapes}</g>'
    whole, inside = (svg_to_bytes(svg_string=f"<svg {head}>{one}</svg>") for one in (shapes, cut))
    return whole == inside


def test_every_plot_names_the_run_shows_n_and_cuts_nothing_off(folder):
    plots = Plots(rubricate.read_run(folder))
    for kind in ("scores", "agreement", "calibration"):
        figure = getattr(plots, kind)()
        assert "light, judged by builtin" in words(figure), kind
        assert re.search(r"n \d|\d+ items", words(figure)), kind
        assert is_whole(figure), kind


def test_plots_show_the_figures_of_the_reports(folder):
    from rubricate.analysis import agreement_report

    run = rubricate.read_run(folder)
    accuracy = agreement_report(run).criteria[0].agreement.figures["accuracy"].value
    assert f"accuracy {accuracy:.2f}" in words(Plots(run).agreement())
    mean = run.summary["score"]["mean"]
    assert f"judge's mean {mean:.2f} [" in words(Plots(run).scores())


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_picture_is_saved_where_a_path_is_given(folder, suffix, tmp_path):
    path = tmp_path / f"scores.{suffix}"
    Plots(rubricate.read_run(folder)).scores(path)
    begin = {"png": b"\x89PNG", "svg": b"<svg "}[suffix]
    assert path.read_bytes().startswith(begin)


def test_cost_is_dollars_where_prices_are_known_and_else_tokens(make_priced, endpoint, tmp_path):
    cheap = make_priced({"input": 1.0, "output": 2.0})
    figure = cheap.plot.cost(tmp_path / "cost.svg")
    assert f"cost ${cheap.usage.cost:.4f}, n 4 verdicts" in words(figure)
    assert is_whole(figure)
    unknown = make_priced(None)
    assert "tokens (no price is known), n 4 verdicts" in words(unknown.plot.cost())
    assert is_whole(unknown.plot.cost())


def test_what_was_paid_is_plotted_however_fast_the_answers_came(make_priced, monkeypatch):
    at_once = SimpleNamespace(perf_counter=lambda: 0.0)
    monkeypatch.setattr("rubricate.judge.models._http.time", at_once)
    figure = make_priced({"input": 1.0, "output": 2.0}).plot.cost()
    assert "n 4 verdicts" in words(figure)
    assert "Latency" not in words(figure)


@pytest.fixture
def make_priced(endpoint, write_dataset, tmp_path):
    """A result of a scripted model with, or without, a price."""

    def make(price: dict[str, float] | None) -> Result:
        import yaml

        dataset = RubricDataset.from_file(write_dataset())
        prices = tmp_path / "prices.yaml"
        prices.write_text(
            yaml.safe_dump({"m": price} if price else {"other": {"input": 1.0, "output": 1.0}})
        )
        return rubricate.grade(dataset, "m", base_url=endpoint.url, prices=prices)

    return make


def test_what_cannot_be_plotted_is_said_in_one_line(tmp_path):
    dataset = RubricDataset("p", Rubric([Criterion(name="a", requirement="r")]))
    dataset.add_item("right")
    plots = rubricate.grade(dataset, judge).plot
    for kind, said in (
        ("agreement", "no human labels"),
        ("calibration", "no human labels"),
    ):
        with pytest.raises(InputError, match=said):
            getattr(plots, kind)()
    with pytest.raises(InputError, match=r"must end in \.svg or \.png"):
        plots.scores(tmp_path / "scores.jpeg")


def test_without_what_makes_png_it_is_one_line_that_says_how_to_install(
    folder, monkeypatch, tmp_path
):
    plots = Plots(rubricate.read_run(folder))
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[png\]"):
        plots.scores(tmp_path / "scores.png")
    assert not list(tmp_path.iterdir())
    plots.scores(tmp_path / "scores.svg")


def test_a_system_without_fonts_makes_no_picture_without_words(folder, monkeypatch, tmp_path):
    import resvg_py

    whole = resvg_py.svg_to_bytes
    monkeypatch.setattr(
        resvg_py, "svg_to_bytes", lambda **given: whole(**given, skip_system_fonts=True)
    )
    with pytest.raises(InputError, match="no font to write with: save the plot as SVG"):
        Plots(rubricate.read_run(folder)).scores(tmp_path / "scores.png")


def test_a_notebook_shows_a_picture_with_text_of_others_as_text(tmp_path):
    hostile = "<script>alert(1)</script>"
    dataset = RubricDataset("p", Rubric([Criterion(name=hostile, requirement="r")]), name=hostile)
    dataset.add_item("right", ground_truth=["MET"])
    shown = rubricate.grade(dataset, judge).plot.agreement()._repr_svg_()
    assert "<script>" not in shown
    assert "var(" not in shown
    assert ElementTree.fromstring(shown).tag == "{http://www.w3.org/2000/svg}svg"
