"""`rubricate report`, looked at in a browser."""

from __future__ import annotations

import csv
import json
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

import rubricate
from rubricate import Criterion, DataItem, Rubric, RubricDataset, ScaleCriterion
from rubricate.analysis import read_run
from rubricate.report import write_report
from rubricate.run.results import Conversations
from rubricate.stats import Bootstrap
from rubricate.testing import Rule, ScriptedEndpoint

HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    '<a href="javascript:window.hacked = 3">x</a> <!-- data --> \u2028 </textarea>{{ 7 * 7 }}'
)
QUOTE = "light is fast"
TEXTS = {
    "right": f"Roughly 300000 kilometres a second 🚀: {QUOTE}, indeed.",
    "wrong": "Slow as a snail, says the unicorn.",
    "hostile": HOSTILE,
    "failing": "Answer that breaks the judge.",
}
RULES = [
    Rule(submission="breaks", criterion="kilometres", reply="?"),
    Rule(
        submission="Roughly",
        criterion="kilometres",
        verdict="MET",
        reason="It says so",
        evidence=[QUOTE, "never said at all"],
    ),
    Rule(submission="onerror", verdict="MET", reason=HOSTILE, evidence=["{{ 7 * 7 }}"]),
    Rule(criterion="shamelessly", verdict="UNMET", reason="No praise"),
    Rule(verdict="UNMET", reason="Not there"),
]


def dataset() -> dict[str, Any]:
    labels = {"right": ["MET", "UNMET"], "wrong": ["MET", "UNMET"], "hostile": ["MET", None]}
    reasons = {"wrong": ["Fast enough for it", None], "hostile": [HOSTILE, None]}
    return {
        "name": f"light {HOSTILE}",
        "prompt": "How fast is light?",
        "rubric": [
            {"name": "speed", "weight": 2.0, "requirement": "Gives roughly 300000 kilometres"},
            {"name": f"boast {HOSTILE}", "weight": -1.0, "requirement": "Praises shamelessly"},
        ],
        "items": [
            {
                "id": f"{name}-1",
                "submission": text,
                "description": HOSTILE if name == "hostile" else name,
                "ground_truth": labels.get(name),
                "ground_truth_reasons": reasons.get(name),
                "context": [{"title": "Optics", "text": "A passage"}],
                "metadata": {"source": "wiki" if name == "right" else HOSTILE},
            }
            for name, text in TEXTS.items()
        ],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, run_command: Any) -> Path:
    """Two runs by an endpoint, and the page of the first against the second."""
    path = tmp_path_factory.mktemp("report")
    (path / "data.json").write_text(json.dumps(dataset()))
    changed = [Rule(submission="Slow", criterion="kilometres", verdict="MET", reason="Now it is")]
    for name, rules in (("run", RULES), ("after", [*changed, *RULES])):
        with ScriptedEndpoint(rules) as endpoint:
            run_command(
                path,
                *("grade", "data.json", "--judge", "openai/m", "--base-url", endpoint.url),
                *("--run-dir", name, "--no-cache", "--quiet"),
            )
    run_command(path, "report", "run", "-o", "page.html", "--compare", "after")
    return path


@pytest.fixture
def show(folder: Path, new_page: Any) -> Any:
    return lambda view="#/", **options: new_page((folder / "page.html").as_uri() + view, **options)


def becomes(page: Any, selector: str, count: int) -> bool:
    """Whether there are so many, once the page is done. (Its policy lets no waiting script in.)"""
    page.locator(f"{selector} >> nth={count}").wait_for(state="detached")
    return page.locator(selector).count() == count


def names(page: Any) -> list[str]:
    page.wait_for_timeout(50)
    rows = page.locator("#grid tbody tr[data-id]").all()
    return [row.get_attribute("data-id").split("-")[0] for row in rows]


def column(page: Any, title: str) -> list[str]:
    """The cells of a column of the grid."""
    titles = [text.split(" ")[0] for text in page.locator("#grid thead th").all_inner_texts()]
    place = titles.index(title) + 1
    return page.locator(f"#grid tbody tr[data-id] > :nth-child({place})").all_inner_texts()


def test_it_opens_without_errors_and_shows_the_figures_of_the_run(folder, show):
    summary = json.loads((folder / "run" / "summary.json").read_text())
    page = show()
    assert page.inner_text(".hero .big") == f"{summary['score']['mean']:.2f}"
    rows = page.locator("#overview table.criteria >> nth=0 >> tbody tr")
    assert rows.count() == 2
    assert "MET: 2×; UNMET: 1×" in rows.nth(0).inner_text()
    card = page.inner_text(".failed-edge")  # one for all that failed, without options of a shell
    assert "1 verdict failed" in card
    assert "unreadable reply (1)" in card
    assert "--" not in card
    assert "First failure" not in page.inner_text("#overview")
    assert "Gives roughly 300000" in rows.nth(0).inner_text()
    assert page.locator("#overview figure svg").count() >= 3
    page.click("text=speed")
    assert page.input_value("#criterion") == "speed"


def test_it_loads_nothing_and_runs_no_other_script(folder, browser):
    asked: list[str] = []
    page = browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((folder / "page.html").as_uri() + "#/items?item=right-1")
    page.wait_for_selector("#item mark")
    page.evaluate(  # even a script that got in would not run
        "const script = document.createElement('script');"
        "script.textContent = 'window.hacked = 4'; document.body.append(script);"
    )
    assert page.evaluate("window.hacked") is None
    page.close()
    assert all(url.startswith(("file:", "blob:")) for url in asked)
    assert "http" not in (folder / "page.html").read_text().partition("<script type")[0].replace(
        "http-equiv", ""
    )


def test_the_overview_links_to_the_items_to_read(show):
    page = show("#/")
    lines = page.locator("#reading li:visible")
    assert "differs from the human label (1)" in page.inner_text("#reading")
    for place in range(lines.count() - 1):  # the last one sorts
        count = lines.nth(place).inner_text().rpartition("(")[2]
        lines.nth(place).locator("a").click()
        assert f"{len(names(page))})" == count
        page.keyboard.press("1")
        page.wait_for_selector("#reading")


def test_on_paper_nothing_is_folded_to_the_screen(tmp_path, new_page, run_command):
    items = [{"id": "a", "submission": "word " * 2000}]
    data = {"prompt": "?", "rubric": ["Says word"], "items": items}
    (tmp_path / "data.json").write_text(json.dumps(data))
    run_command(tmp_path, "grade", "data.json", "--run-dir", "run", "--quiet")
    run_command(tmp_path, "report", "run", "-o", "page.html")
    page = new_page((tmp_path / "page.html").as_uri() + "#/items?item=a")
    hidden = "(text) => text.scrollHeight > text.clientHeight + 1"
    page.wait_for_selector("#submission")
    assert page.locator("#submission").evaluate(hidden)
    page.emulate_media(media="print")
    assert not page.locator("#submission").evaluate(hidden)


def test_items_are_filtered_searched_and_sorted(show):
    page = show("#/items")
    assert names(page) == ["right", "wrong", "hostile", "failing"]
    for field, value, expected in (
        ("only", "failed", ["failing"]),
        ("only", "differs", ["wrong"]),
        ("only", "flipped", ["wrong"]),
        ("verdict", "MET", ["right", "hostile"]),
    ):
        page.select_option(f"#{field}", value)
        assert names(page) == expected, (field, value)
        page.click("#clear")
    assert page.locator("#only option[value=unsure]:disabled").count() == 1  # no item is like that
    page.select_option("#criterion", "speed")
    page.select_option("#verdict", "UNMET")
    assert names(page) == ["wrong"]
    page.click("#clear")
    page.fill("#search", "UNICORN")  # only in the text
    assert becomes(page, "#grid tr[data-id]", 1)
    assert names(page) == ["wrong"]
    page.fill("#search", "no such words")
    page.click("text=Show all items")
    page.select_option("#field", label="source: wiki")
    assert names(page) == ["right"]
    page.click("#clear")
    assert column(page, "speed") == ["MET", "UNMET ≠⇄", "MET", "failed"]
    for order, expected in (("ascending", "failing"), ("descending", "right")):
        page.click("#grid thead >> text=score")
        assert names(page)[0 if order == "descending" else -1] == expected, order
    listed = page.locator("#verdict option").all_inner_texts()
    assert listed[1:] == sorted(listed[1:], key=str.lower)
    page.click("#columns summary")
    page.click("#choose >> text=source")
    assert "source" not in page.inner_text("#grid thead")


def test_each_bar_and_point_opens_the_items_that_it_counts(tmp_path, new_page):
    rules = [
        Rule(submission=f"text {n}", criterion="deep", verdict=n % 4 * 33 + 1) for n in range(9)
    ]
    rules += [Rule(submission=f"text {n}", probabilities={"MET": n / 9}) for n in range(1, 9)]
    items = [
        DataItem(f"text {n}", id=f"i{n}", ground_truth=[n % 3 * 50, ["MET", "UNMET"][n % 2]])
        for n in range(9)
    ]
    rubric = Rubric(
        [
            ScaleCriterion(name="depth", requirement="How deep?", low=0, high=100),
            Criterion(requirement="Is so"),
        ]
    )
    with ScriptedEndpoint([*rules, Rule(verdict="MET")]) as endpoint:
        rubricate.grade(
            RubricDataset("?", rubric, items),
            "m",
            base_url=endpoint.url,
            run_dir=tmp_path / "run",
            cache=None,
            mode="probability",
        )
    write_report(tmp_path / "run", tmp_path / "page.html", bootstrap=Bootstrap(resamples=20))
    page = new_page((tmp_path / "page.html").as_uri())
    links = page.eval_on_selector_all(
        "svg a", "links => links.map((a) => [a.getAttribute('href'), a.getAttribute('aria-label')])"
    )
    by_filter = {name for href, _ in links for name, _ in parse_qsl(href.partition("?")[2])}
    assert by_filter == {
        *("criterion", "verdict", "score", "human_score", "value", "human_value", "human"),
        *("only", "probability_met", "seconds"),
    }
    for href, label in links:
        page.evaluate("href => { location.hash = href; }", href)
        count = int(re.findall(r"\d+", label)[-1])
        if "seconds" in href:  # counts judgements, and an item has two
            assert names(page)
        else:
            assert len(names(page)) == count, (href, label)
    page.locator("#behind button").first.click()
    assert page.locator("#behind button").all_inner_texts() == ["score: 0.51 ✕"]
    page.click("#clear")
    assert len(names(page)) == 9


def test_a_bar_opens_what_it_counts_and_an_item_s_labels_go_to_their_verdicts(tmp_path, new_page):
    options = [("good", 1.0, False), ("bad", 0.0, False), ("does not apply", 0.0, True)]
    choice = [{"label": label, "value": value, "na": na} for label, value, na in options]
    rubric = Rubric([Criterion(name=f"c{n}", requirement="?", options=choice) for n in range(14)])
    answers = ["good", "CANNOT_ASSESS", "does not apply"] * 3
    rules = [Rule(submission=f"text {n}", verdict=answers[n]) for n in range(9)]
    with ScriptedEndpoint(rules) as endpoint:
        rubricate.grade(
            RubricDataset("?", rubric, [DataItem(f"text {n}", id=f"i{n}") for n in range(9)]),
            "m",
            base_url=endpoint.url,
            run_dir=tmp_path / "run",
            cache=None,
        )
    write_report(tmp_path / "run", tmp_path / "page.html", bootstrap=Bootstrap(resamples=20))
    page = new_page((tmp_path / "page.html").as_uri())
    page.locator("td svg a[aria-label='abstained: 3']").first.click()
    assert names(page) == ["i1", "i4", "i7"]
    page.click("#grid >> text=i7")
    page.wait_for_selector("#verdict-8")
    for _ in range(2):  # the next one with the label
        page.click("#item >> text=CANNOT_ASSESS: 14×")
    assert page.locator(".verdict.on").get_attribute("id") == "verdict-1"
    page.go_back()
    page.wait_for_selector("#grid a:focus")  # back at its row, whatever the way back
    assert page.inner_text("#grid a:focus") == "i7"
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")  # 14 columns are too wide
    assert column(page, "verdicts")[0] == "CANNOT_ASSESS: 14×"
    assert page.locator("#grid thead th").count() == 4


def test_the_rows_that_the_filter_leaves_are_a_csv_file_without_formulas(tmp_path, new_page):
    texts = ["=1+1", "+1+1", "@SUM(1)", "-cmd", "\t=1", 'a "b", c\nd', "-5", "left out"]
    items = [
        DataItem(text, id=f"{text[:1].strip()}i{n}", metadata={"=field": text, "n": -n})
        for n, text in enumerate(texts)
    ]
    dataset = RubricDataset("=1+1", Rubric([Criterion(name="=c", requirement="Is so")]), items)
    reason = "=HYPERLINK(0)"
    rules = [Rule(submission="left out", verdict="UNMET"), Rule(verdict="MET", reason=reason)]
    with ScriptedEndpoint(rules) as endpoint:
        run = tmp_path / "run"
        rubricate.grade(dataset, "m", base_url=endpoint.url, run_dir=run, cache=None)
    write_report(run, tmp_path / "page.html", bootstrap=Bootstrap(resamples=20))
    page = new_page((tmp_path / "page.html").as_uri() + "#/items?verdict=MET&sort=-item")
    with page.expect_download() as download:
        page.click("#csv")
    download.value.save_as(tmp_path / "page.csv")
    read_run(run).to_csv(tmp_path / "export.csv", by="item")
    saved, exported = (
        list(csv.DictReader((tmp_path / name).read_text("utf-8-sig").splitlines(keepends=True)))
        for name in ("page.csv", "export.csv")
    )
    by_item = {row["item"]: row for row in exported}
    assert len(saved) == 7
    assert [row["item"] for row in saved] != sorted(row["item"] for row in saved)
    for row in saved:
        assert row.pop("reason.=c") == f"'{reason}"
        row["item_score.value"] = str(float(row["item_score.value"]))
        assert row == {name: by_item[row["item"]][name] for name in row}


def test_quotes_are_marked_where_they_stand_and_invented_ones_are_not(show):
    page = show("#/items?item=right-1")
    assert page.locator("#submission mark").all_inner_texts() == [QUOTE]
    assert page.inner_text("#submission") == TEXTS["right"]
    assert "not in the text" in page.inner_text("blockquote.lost")
    page.keyboard.press("n")
    assert page.locator("mark.on").count() == 1
    assert page.locator(".verdict.on").get_attribute("id") == "verdict-0"


def test_an_item_shows_verdict_reason_label_and_error(show):
    page = show("#/items?item=wrong-1")
    shown = page.inner_text("#item")
    assert "human: MET ≠" in shown
    assert "Not there" in shown
    assert "human: Fast enough for it" in shown
    assert "A passage" in page.inner_text("#item details:has-text('Context: Optics')")
    page.goto(page.url.replace("wrong-1", "failing-1"))
    page.wait_for_selector("#item .failed-text")
    shown = page.inner_text("#item .pair >> nth=0")  # as it failed in the other run
    assert shown.startswith("A and B: failed\n\nunreadable reply: ")


def test_what_was_sent_and_received_is_folded_behind_each_verdict(folder, show):
    page = show("#/items?item=failing-1")
    told = page.locator("#verdict-0 details.sent")
    assert told.locator(".exchange").count() == 0
    told.locator("summary").first.click()
    page.locator("#verdict-0 .exchange >> nth=2").wait_for(state="attached")
    assert told.locator("pre.reply").all_text_contents() == [RULES[0].reply] * 3
    assert page.locator("#item pre:not([tabindex])").count() == 0  # scrolled by keyboard, too
    with Conversations(folder / "run") as kept:
        rows = next(
            item.rows for item in read_run(folder / "run").items if item.item == "failing-1"
        )
        for place, row in enumerate(rows):
            if place:
                page.locator(f"#verdict-{place} details.sent summary").first.click()
                page.wait_for_selector(f"#verdict-{place} .exchange")
            box = page.locator(f"#verdict-{place} .exchange")
            ((exchange, *_),) = [one.exchanges for one in kept.of(row)]
            sent = box.first.locator("details pre").all_text_contents()
            assert sent == [message["content"] for message in exchange.messages]


def test_a_page_holds_so_much_of_what_was_sent_and_says_where_the_rest_is(
    folder, tmp_path, monkeypatch, new_page
):
    monkeypatch.setattr("rubricate.report._sent.LEAST", 0)
    monkeypatch.setattr("rubricate.report._sent.MOST", 9_000)
    write_report(folder / "run", tmp_path / "page.html", bootstrap=Bootstrap(resamples=20))
    left_out = []
    for name in TEXTS:
        page = new_page(f"{(tmp_path / 'page.html').as_uri()}#/items?item={name}-1")
        page.click("#verdict-0 .sent summary")
        page.wait_for_selector("#verdict-0 .sent > :nth-child(2)")
        left_out.append("rubricate show" in page.inner_text("#verdict-0 .sent"))
    assert left_out[0] is False
    assert left_out[-1] is True


def test_hostile_texts_are_shown_and_run_nothing(show):
    page = show("#/items?item=hostile-1")
    assert page.text_content("#submission") == HOSTILE
    assert HOSTILE in page.locator("#item .reason").first.text_content()
    page.keyboard.press("3")
    page.keyboard.press("1")
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("a[href^=javascript]").count() == 0
    assert page.title().startswith("light </script>")
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_it_is_used_by_keyboard(show):
    page = show()
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.keyboard.press("j")
    page.wait_for_selector("#item h2 >> text=right")
    page.keyboard.press("j")
    page.wait_for_selector("#item h2 >> text=wrong")
    page.keyboard.press("k")
    page.wait_for_selector("#item h2 >> text=right")
    page.keyboard.press("Escape")
    page.wait_for_selector("#item", state="hidden")
    page.keyboard.press("/")
    page.keyboard.type("snail")
    assert becomes(page, "#grid tr[data-id]", 1)


def test_what_changed_in_another_run_stands_side_by_side(show):
    page = show("#/changes")
    card = page.inner_text("#flips li")
    assert "wrong-1, speed" in card
    for words in ("A: UNMET", "Not there", "B: MET", "Now it is", "human label: MET"):
        assert words in card
    page.click("#flips a")
    page.wait_for_selector("#item .pair")
    assert "B: MET" in page.inner_text("#verdict-0 .pair")
    equal = page.inner_text("#verdict-1 .pair")  # also where verdicts are equal, and reasons too
    assert equal == "A and B: UNMET\n\nNo praise"
    page.keyboard.press("3")
    page.select_option("#flip-kind", label="UNMET → MET (1)")
    assert page.locator("#flips > li").count() == 1


@pytest.fixture(scope="module")
def two_texts(tmp_path_factory: pytest.TempPathFactory, run_command: Any) -> Path:
    """A page of two runs on answers of two systems, one of which is the same in both."""
    path = tmp_path_factory.mktemp("two")
    rubric = [{"name": "speed", "weight": 1.0, "requirement": "Gives a number"}]
    for name, texts in (
        ("a", ["300000 km/s says A", "the same"]),
        ("b", [f"Slow, says B {HOSTILE}", "the same"]),
    ):
        items = [
            {"submission": text, "id": f"q{place}", "description": "Q1"}
            for place, text in enumerate(texts)
        ]
        data = {"name": name, "prompt": "How fast is light?", "rubric": rubric, "items": items}
        (path / f"{name}.json").write_text(json.dumps(data))
        run_command(path, "grade", f"{name}.json", "--run-dir", name, "--no-cache", "--quiet")
    run_command(path, "report", "a", "-o", "page.html", "--compare", "b")
    return path / "page.html"


def test_texts_that_differ_between_two_runs_stand_side_by_side(two_texts: Path, new_page: Any):
    page = new_page(two_texts.as_uri() + "#/items?item=q0")
    page.wait_for_selector("#differences .text")
    assert "says A" in page.inner_text("#submission")
    page.click("text=Submission of B")
    other = page.locator("details:has-text('Submission of B') .text")
    assert other.inner_text() == f"Slow, says B {HOSTILE}"
    assert other.locator("*").count() == 0  # text, never markup
    assert page.locator("#differences del").all_inner_texts()[0] == "300000"
    gone, new = (
        "".join(page.locator(f"#differences .text {kind}").all_text_contents())
        for kind in ("del", "ins")
    )
    assert "snail" not in gone
    assert "window.hacked" in new
    assert page.locator("#differences .text *:not(del, ins)").count() == 0
    page.goto(two_texts.as_uri() + "#/items?item=q1")
    page.wait_for_selector("text=Submission, the same in A and B")
    assert page.locator("#differences").count() == 0
    page = new_page(two_texts.as_uri() + "#/items?item=q0", viewport={"width": 360, "height": 740})
    page.wait_for_selector("#differences .text")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_items_have_their_ids_where_descriptions_repeat(two_texts: Path, new_page: Any, show: Any):
    page = new_page(two_texts.as_uri() + "#/items")
    assert column(page, "item") == ["q0", "q1"]
    assert column(page, "submission") == ["300000 km/s says A", "the same"]
    page = show("#/items")  # descriptions that tell items apart are enough
    assert column(page, "item")[:2] == ["right", "wrong"]


MARKDOWN = """# Speed

Light is **very fast**, `c` is its name:

- first, see [here](javascript:window.hacked=5) ![x](http://evil.example/x.png)
- second
  1. inner <img src=x onerror="window.hacked = 6">

> quoted
> twice

| a | b |
|---|---|
| 1 | light is fast |

```
code **as it is**
```
"""


def test_markdown_is_rendered_from_the_text_itself_and_loads_nothing(tmp_path, new_page):
    long = "\n\n".join(f"Paragraph {number} of **many**." for number in range(2_000))
    texts = {"short": MARKDOWN, "long": long, "deep": "> " * 5_000 + "- " * 5_000 + "**a " * 5_000}
    rubric = Rubric([Criterion(name="speed", requirement="Says it")])
    items = [DataItem(text, id=name) for name, text in texts.items()]
    rule = Rule(verdict="MET", reason="So it is", evidence=["light is fast", "very fast"])
    with ScriptedEndpoint([rule]) as endpoint:
        rubricate.grade(
            *(RubricDataset("?", rubric, items), "m"),
            base_url=endpoint.url,
            run_dir=tmp_path / "run",
            cache=None,
        )
    asked: list[str] = []
    write_report(tmp_path / "run", tmp_path / "page.html", bootstrap=Bootstrap(resamples=20))
    url = (tmp_path / "page.html").as_uri()
    page = new_page(f"{url}#/items?item=short")
    page.on("request", lambda request: asked.append(request.url))
    box = page.locator("#submission")
    for inside, words in (
        (".heading", "Speed"),
        ("strong", "very fast"),
        ("li li", 'inner <img src=x onerror="window.hacked = 6">'),
        ("blockquote", "quoted\ntwice"),
        ("td >> nth=1", "light is fast"),
        ("pre", "code **as it is**"),
    ):
        assert box.locator(inside).first.inner_text().strip() == words
    assert page.locator("#submission mark").all_inner_texts() == ["very fast", "light is fast"]
    assert page.locator("#submission a, #submission img").count() == 0
    page.click("#item >> text=Raw")
    assert page.text_content("#submission") == MARKDOWN
    assert page.locator("#submission mark").count() == 2
    page.goto(f"{url}#/items?item=long")
    page.wait_for_selector("#item h2 >> text=long")
    boxes = [page.locator(one).bounding_box() for one in ("#submission", "#verdict-0")]
    assert boxes[0]["height"] < 860  # a long text is folded, and the verdicts are beside it
    assert abs(boxes[1]["y"] - boxes[0]["y"]) < 200
    page.goto(f"{url}#/items?item=deep")
    page.wait_for_selector("#item h2 >> text=deep")
    assert page.evaluate("window.hacked") is None
    assert not [one for one in asked if not one.startswith(("file:", "blob:"))]


@pytest.mark.parametrize("view", ["#/", "#/items", "#/items?item=hostile-1", "#/changes"])
def test_it_fits_a_phone(show, view):
    page = show(view, viewport={"width": 360, "height": 740})
    page.wait_for_timeout(100)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 360
    clipped = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
    assert page.evaluate(f"{clipped}.length") == 0
    assert page.locator(".scroll td:empty >> visible=true").count() == 0


def test_it_is_light_or_dark_as_the_system_is_and_as_one_chooses(show):
    def background(page: Any) -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = background(show(color_scheme="light")), background(show(color_scheme="dark"))
    assert light != dark
    page = show(color_scheme="light")
    page.click("#theme")  # light
    page.keyboard.press("t")
    assert background(page) == dark
    for _ in range(20):  # what a page stores, another process of the browser writes down, in time
        page.wait_for_timeout(300)
        page.reload()
        page.wait_for_selector("body[data-ready]")
        if background(page) == dark:
            break
    assert background(page) == dark


def test_every_control_has_a_name_and_headings_follow_each_other(show):
    page = show("#/items?item=right-1")
    unnamed = """[...document.querySelectorAll('button, input, select, textarea')].filter(
        (e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length))"""
    assert page.evaluate(f"{unnamed}.length") == 0
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].filter((e) => e.offsetParent)"
        ".map((e) => Number(e.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


# Without a browser


def test_without_an_output_it_goes_into_the_run_folder(folder, run_command):
    done = run_command(folder, "report", "after")
    assert done.stdout.startswith("after/report.html: 4 items, ")
    assert (folder / "after" / "report.html").exists()


def test_a_run_of_an_earlier_version_has_no_texts_and_says_so(folder, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    for name in ("results.jsonl", "summary.json", "rubric.yaml"):
        (run / name).write_bytes((folder / "run" / name).read_bytes())
    assert not write_report(run, bootstrap=Bootstrap(resamples=20)).has_texts
    assert "does not have the texts" in (run / "report.html").read_text()


def test_what_is_no_run_is_one_line(rubricate):
    done = rubricate("report", "nowhere")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: nowhere: no such run folder; ")
    assert len(done.stderr.splitlines()) == 1


def test_five_hundred_items_by_ten_criteria_are_below_three_megabytes(tmp_path):
    some = random.Random(7)
    words = [f"{some.choice('bcdfglmnprst')}{some.choice('aeiou')}{n:x}" for n in range(4000)]

    def text(count: int) -> str:
        return " ".join(some.choices(words, k=count))

    folder = tmp_path / "run"
    folder.mkdir()
    names = [f"criterion {n}" for n in range(10)]
    rubric = [{"name": name, "requirement": text(20)} for name in names]
    (folder / "rubric.yaml").write_text(json.dumps(rubric))
    usage = {"requests": 1, "input_tokens": 900, "output_tokens": 60, "cost": 0.001, "seconds": 1.0}
    with (folder / "results.jsonl").open("w") as rows, (folder / "items.jsonl").open("w") as items:
        for number in range(500):
            item = {"item": f"item-{number}", "prompt": "p", "submission": text(400)}
            items.write(json.dumps({**item, "description": "", "reference": None}) + "\n")
            for name in names:
                label = some.choice(["MET", "UNMET"])
                value = float(label == "MET")
                quote = item["submission"][:60]
                row = {
                    **{"item": item["item"], "criterion": name, "weight": 1.0, "status": "judged"},
                    **{"label": label, "value": value, "human_label": label, "human_value": value},
                    **{"reason": text(25), "probability": 0.9, "judge": "m", "error": None},
                    "evidence": [{"quote": quote, "start": 0, "end": 60}],
                    "usage": usage,
                    "item_score": {"value": 0.5, "lowest": 0.5, "highest": 0.5},
                }
                rows.write(json.dumps(row) + "\n")
    (folder / "summary.json").write_text(json.dumps(empty_summary()))
    page = write_report(folder, bootstrap=Bootstrap(resamples=20))
    assert page.items == 500
    assert page.size < 3_000_000


def empty_summary() -> dict[str, Any]:
    counts = {"judged": 5000, "abstained": 0, "not_applicable": 0, "failed": 0}
    score = {"mean": 0.5, "lowest": 0.5, "highest": 0.5, "scored": 500, "coverage": 1.0}
    usage = {"calls": 5000, "resumed": 0, "requests": 5000, "input_tokens": 1, "cached_tokens": 0}
    return {
        **{"version": "0", "dataset": "d", "judge": "m", "note": None, "items": 500},
        **{"verdicts": counts, "not_run": 0, "errors": {}, "first_error": None, "criteria": []},
        "score": {**score, "human_mean": None},
        "agreement": None,
        **{"cannot_assess": "skip", "partial": 0.5, "run_dir": None, "stopped": None},
        "usage": {**usage, "output_tokens": 1, "cost": 5.0, "seconds": 10.0},
    }


def test_a_score_that_is_not_quite_1_or_0_is_not_shown_as_such(tmp_path: Path, new_page: Any):
    criteria = [
        Criterion(name="most", weight=999.0, requirement="Says light"),
        Criterion(name="least", weight=1.0, requirement="Says giraffe"),
    ]
    dataset = RubricDataset("?", Rubric(criteria), [DataItem("light", id="a")])
    with ScriptedEndpoint([Rule(criterion="light", verdict="MET"), Rule(verdict="UNMET")]) as end:
        rubricate.grade(dataset, "m", base_url=end.url, run_dir=tmp_path / "run", cache=None)
    write_report(tmp_path / "run", tmp_path / "page.html")
    page = new_page((tmp_path / "page.html").as_uri() + "#/items?item=a")
    assert page.inner_text("#item .big") == "score 0.999"
    page.keyboard.press("Escape")
    assert column(page, "score") == ["0.999"]


def test_a_link_to_the_items_fills_the_window_with_rows(tmp_path: Path, new_page: Any):
    rows = [{"submission": f"text {number}"} for number in range(60)]
    met = {"reason": "r", "evidence": [], "verdict": "MET"}
    rubricate.grade(rows, lambda _: met, rubric=["Is text"], run_dir=tmp_path / "run")
    write_report(tmp_path / "run", tmp_path / "page.html", bootstrap=Bootstrap(resamples=20))
    tall = {"width": 1280, "height": 1800}
    page = new_page((tmp_path / "page.html").as_uri() + "#/items", viewport=tall)
    page.wait_for_function("document.querySelectorAll('#grid tr[data-id]').length * 36 > 1200")
