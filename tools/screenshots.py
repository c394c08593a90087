"""Create the pictures of the pages of runs and of the labelling page in `docs/images`.

    python tools/screenshots.py

Needs Chromium (`apt-get install chromium`), the extra `dev`, and `pip install pillow`. The pages
show a run of the built-in judge on `examples/physics.json`, and of the scripted model in
`examples/model.yaml` on `examples/returns.csv`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from rubricate.testing import ScriptedEndpoint, load_rules

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
COMMAND = str(Path(sys.executable).with_name("rubricate"))
SIZE: ViewportSize = {"width": 1200, "height": 780}
SHEET = 585
"""The width in pixels of a wide page on the sheet of all pages."""


def rubricate(folder: Path, *arguments: str) -> None:
    """Run the command in a folder."""
    subprocess.run([COMMAND, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def opened(browser: Browser, url: str, scheme: str, size: ViewportSize = SIZE) -> Page:
    """Open the page at an address in light or dark mode."""
    dark: Literal["light", "dark"] = "dark" if scheme == "dark" else "light"
    page = browser.new_page(viewport=size, color_scheme=dark)
    page.goto(url)
    page.wait_for_selector("body[data-ready]")
    page.wait_for_timeout(300)
    return page


def keep(page: Page, name: str) -> None:
    """Write a screenshot of the page to `docs/images`."""
    save(picture_of(page), name)


def picture_of(page: Page) -> Image.Image:
    """Take a screenshot of the page, and close it."""
    page.wait_for_timeout(300)
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
    page.close()
    return picture


def save(picture: Image.Image, name: str, colours: int = 128) -> None:
    """Write a picture to `docs/images` with as few colours as possible."""
    small = picture.quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(IMAGES / f"{name}.png", optimize=True)


def report(browser: Browser, folder: Path) -> None:
    """The page of a run: the whole page, and an item."""
    url = (folder / "report.html").as_uri()
    keep(opened(browser, url, "light"), "report")
    page = opened(browser, f"{url}#/items?only=differs&item=physics-q1-16", "dark")
    page.keyboard.press("n")
    keep(page, "report-dark")


def item(browser: Browser, folder: Path) -> None:
    """An answer of the README's example with verdicts, reasons and quotes."""
    page = opened(browser, f"{(folder / 'returns.html').as_uri()}#/items?item=r2", "light")
    page.set_viewport_size({"width": 1000, "height": 680})
    keep(page, "item")


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[str]:
    """Serve a page by a command, and return its address."""
    process = subprocess.Popen(
        [COMMAND, *arguments, "--no-browser"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
    finally:
        process.terminate()
        process.wait()


def view(browser: Browser, folder: Path) -> None:
    """The pages of `rubricate view`: the list of runs, the grid, two runs, a narrow screen."""
    with served(folder, "view", ".", "--annotator", "ada") as url:
        keep(opened(browser, url, "light"), "view-runs")
        keep(opened(browser, f"{url}run?run=run#/items", "light"), "view")
        keep(opened(browser, f"{url}run?run=run&compare=half#/changes", "dark"), "view-changes")
        page = opened(browser, f"{url}run?run=run#/items?item=physics-q1-16", "light")
        page.set_viewport_size({"width": 390, "height": 780})
        page.keyboard.press("n")
        keep(page, "view-narrow")
        save(sheet(browser, url), "view-all", 256)


def sheet(browser: Browser, url: str) -> Image.Image:
    """All pages in a row each: light, dark, and on a narrow screen."""
    both = "run?run=run&compare=half#/"
    item = f"{both}items?item=physics-q1-16"
    pages = ("", "run?run=run", "run?run=run#/items", item, f"{both}changes")
    whole = Image.new("RGB", (SHEET * 7 // 3, len(pages) * SHEET * 2 // 3), "#888888")
    for row, page in enumerate(pages):
        left = 0
        for scheme, width in (("light", 1170), ("dark", 1170), ("light", 390)):
            window = opened(browser, url + page, scheme, {"width": width, "height": 780})
            picture = picture_of(window)
            picture = picture.resize((SHEET * width // 1170, SHEET * 2 // 3))
            whole.paste(picture, (left, row * SHEET * 2 // 3))
            left += picture.width
    return whole


def label(browser: Browser, folder: Path) -> None:
    """The labelling page: blind, and then with the judge's labels."""
    with served(folder, "label", "blind.json", "--run", "run", "--annotator", "ada") as url:
        page = opened(browser, url, "light")
        page.keyboard.press("m")
        keep(page, "label")
        page = opened(browser, url, "dark")
        for key in ("m", "m", "Enter"):
            page.keyboard.press(key)
            page.wait_for_timeout(300)
        keep(page, "label-dark")


def main() -> None:
    """Create all pictures."""
    IMAGES.mkdir(exist_ok=True)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))))
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        data = json.loads((ROOT / "examples" / "physics.json").read_text("utf-8"))
        (folder / "physics.json").write_text(json.dumps(data))
        rubricate(folder, "grade", "physics.json", "--run-dir", "run", "--quiet")
        rubricate(folder, "report", "run", "-o", "report.html")
        half = [
            {**one, "submission": one["submission"][: len(one["submission"]) // 2]}
            for one in data["items"]
        ]
        (folder / "half.json").write_text(json.dumps({**data, "items": half}))
        rubricate(folder, "grade", "half.json", "--run-dir", "half", "--quiet")
        for one in data["items"]:
            one["ground_truth"] = None
        (folder / "blind.json").write_text(json.dumps(data))
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        returns = str(ROOT / "examples" / "returns")
        with ScriptedEndpoint(load_rules(ROOT / "examples" / "model.yaml")) as endpoint:
            options = ("--judge", "scripted-model", "--base-url", endpoint.url, "--quiet")
            files = (f"{returns}.csv", "--rubric", f"{returns}.yaml", "--run-dir", "returns")
            rubricate(folder, "grade", *files, *options)
        rubricate(folder, "report", "returns", "-o", "returns.html")
        report(browser, folder)
        view(browser, folder)
        item(browser, folder)
        label(browser, folder)
        browser.close()


if __name__ == "__main__":
    main()
