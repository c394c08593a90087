"""What an HTML page hides is left out, and what it shows is kept."""

from __future__ import annotations

import pytest

pytest.importorskip("markdownify", reason="needs the extra documents")

from bs4 import BeautifulSoup

from rubricate.dataset.items._visible import leave_out_hidden

HIDDEN = [
    '<div style="display:none">H</div>',
    '<div style="d\\69splay:/**/none">H</div>',
    '<div STYLE="DISPLAY: NONE !important">H</div>',
    '<div style="visibility:hidden">H</div>',
    "<p hidden>H</p>",
    '<p hidden="until-found">H</p>',
    '<p style="opacity:0">H</p>',
    '<p style="opacity:0%">H</p>',
    '<p style="font-size:0">H</p>',
    '<p style="font-size:1px">H</p>',
    '<div style="font-size:0.01em"><b>H</b></div>',
    '<p style="font:0/0 a">H</p>',
    '<p style="color:white">H</p>',
    '<p style="color:#fffffe">H</p>',
    '<p style="color:rgb(255 255 255)">H</p>',
    '<p style="color:rgba(0,0,0,0)">H</p>',
    '<p style="color:hsl(0,0%,100%)">H</p>',
    '<p style="color:transparent">H</p>',
    "<font color=white>H</font>",
    '<div style="background:#000">H</div>',
    '<p style="position:absolute;left:-9999px">H</p>',
    '<p style="text-indent:-9999px">H</p>',
    '<p style="transform: translateX(-9999px)">H</p>',
    '<p style="transform:scale(0)">H</p>',
    '<p style="position:absolute;width:1px;height:1px;overflow:hidden">H</p>',
    '<p style="position:absolute;clip:rect(0,0,0,0)">H</p>',
    '<p style="clip-path: inset(100%)">H</p>',
    '<p style="max-height:0;overflow:hidden">H</p>',
    "<style>.x{display:none}</style><p class=x>H</p>",
    "<style>@media screen{.x{display:none}}</style><p class=x>H</p>",
    "<style>@media (min-width:1px){.x{display:none}}</style><p class=x>H</p>",
    "<style>@import url(a.css); /* } */ .x{/*;*/display:none}</style><p class=x>H</p>",
    '<style>p::before{content:"}"} .x{display:none</style><p class=x>H</p>',
    '<style>.x{display:none!important}</style><p class=x style="display:block">H</p>',
    '<style>[data-x="1,2"]{display:none}</style><p data-x="1,2">H</p>',
    "<style>@layer a{@supports (x:y){.x > p{color:#fff}}}</style><div class=x><p>H</p></div>",
    "<template><p>H</p></template>",
    "<dialog>H</dialog>",
    '<img width=1 height=1 alt="H">',
]
SHOWN = [
    '<p hidden style="display:block">V</p>',
    '<div style="visibility:hidden"><b style="visibility:visible">V</b></div>',
    '<div style="background:#000"><p style="color:#fff">V</p></div>',
    '<div style="background:url(x.png)"><p style="color:#fff">V</p></div>',
    '<div style="background:linear-gradient(#fff,#000);color:white">V</div>',
    '<table bgcolor="black"><tr><td><font color="#ffffff">V</font></td></tr></table>',
    "<style>body{background:#111;color:#eee}</style><body><p>V</p></body>",
    '<div style="color:white"><a href=x>V</a></div>',
    '<p style="opacity:.5">V</p>',
    '<p style="font:bold 12px/1.5 Arial">V</p>',
    '<div style="font-size:0"><p style="font-size:16px">V</p></div>',
    '<p style="color:#fff;color:#000">V</p>',
    '<p style="height:0">V</p>',
    "<style>#a{display:block} .x{display:none}</style><p class=x id=a>V</p>",
    '<style>.x{display:none}.x.y{display:block}</style><p class="x y">V</p>',
    "<style>@media print{.x{display:none}}</style><p class=x>V</p>",
    "<style>@media (max-width:600px){.x{display:none}}</style><p class=x>V</p>",
    "<style>p:not(.v){display:none} a:hover{display:none}</style><p class=v>V</p>",
    "<style>p::before{display:none}</style><p>V</p>",
    "<p aria-hidden=true>V</p>",
    "<details><summary>V</summary></details>",
    "<dialog open>V</dialog>",
]


@pytest.mark.parametrize("page", HIDDEN)
def test_what_a_page_hides_is_left_out_and_counted(page):
    soup = BeautifulSoup(f"<p>Seen.</p>{page}<p>And seen.</p>", "html.parser")
    hidden = leave_out_hidden(soup)
    assert "H" not in str(soup)
    assert hidden == ("<img" not in page)
    assert soup.get_text() == "Seen.And seen."


@pytest.mark.parametrize("page", SHOWN)
def test_what_a_page_shows_is_kept(page):
    soup = BeautifulSoup(page, "html.parser")
    assert leave_out_hidden(soup) == 0
    assert soup.get_text().strip() == "V"


@pytest.mark.parametrize(
    "page",
    ["<script>x</script>", "<!-- x -->", "<noscript>x</noscript>", "<svg><title>x</title></svg>"],
)
def test_what_no_page_shows_is_no_hidden_text(page):
    soup = BeautifulSoup(f"<head><title>x</title></head><p>Seen.</p>{page}", "html.parser")
    assert leave_out_hidden(soup) == 0
    assert soup.get_text() in ("Seen.", "Seen. x ")
