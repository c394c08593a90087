"""Text that the attributes of an HTML page hide is left out, and all other text is kept."""

from __future__ import annotations

import pytest

pytest.importorskip("markdownify", reason="needs the extra documents")

from bs4 import BeautifulSoup

from rubricate.dataset.items._conversion import leave_out_hidden

HIDDEN = [
    "<p hidden>H</p>",
    '<p hidden="until-found">H</p>',
    "<p aria-hidden=true>H</p>",
    '<div style="display:none">H</div>',
    '<div STYLE="DISPLAY: NONE !important">H</div>',
    '<p style="color:red;display:none">H</p>',
    '<div style="visibility:hidden">H</div>',
    '<div style="visibility:hidden"><b>H</b></div>',
    '<p style="font-size:0">H</p>',
    '<div style="font-size: 0.0em"><b>H</b></div>',
]
SHOWN = [
    '<p hidden style="display:block">V</p>',
    '<div style="visibility:hidden"><b style="visibility:visible">V</b></div>',
    '<div style="font-size:0"><p style="font-size:16px">V</p></div>',
    '<p style="font-size:0.5em">V</p>',
    '<p style="color:white">V</p>',
    "<p aria-hidden=false>V</p>",
    "<style>.x{display:none}</style><p class=x>V</p>",
    "<details><summary>V</summary></details>",
]
NO_TEXT = ["<script>x</script>", "<!-- x -->", "<noscript>x</noscript>", "<template>x</template>"]


@pytest.mark.parametrize("page", HIDDEN)
def test_what_attributes_hide_is_left_out_and_counted(page):
    soup = BeautifulSoup(f"<p>Seen.</p>{page}<p>And seen.</p>", "html.parser")
    assert leave_out_hidden(soup) == 1
    assert soup.get_text() == "Seen.And seen."


@pytest.mark.parametrize("page", SHOWN)
def test_what_attributes_do_not_hide_is_kept(page):
    soup = BeautifulSoup(page, "html.parser")
    assert leave_out_hidden(soup) == 0
    assert soup.get_text().strip() == "V"


@pytest.mark.parametrize("page", NO_TEXT)
def test_what_no_page_shows_is_no_hidden_text(page):
    soup = BeautifulSoup(f"<head><title>x</title></head><p>Seen.</p>{page}", "html.parser")
    assert leave_out_hidden(soup) == 0
    assert soup.get_text() == "Seen."
