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
    *(
        f'<p style="{style}">H</p>'
        for style in (
            "content-visibility:hidden", "filter:blur(2px) opacity(0%)", "opacity:1e-9",
            "-webkit-text-fill-color:transparent", "font-size:calc(0px)", "font-size:.5pt",
            "position:absolute;right:9999px", "position:absolute;inset:-9999px auto auto -9999px",
            "position:absolute;left:calc(0px - 9999px)", "margin:0 0 0 -9999px", "scale:0",
            "translate:-9999px", "transform:matrix(0,0,0,0,0,0)", "transform:rotateY(90deg)",
            "clip-path:polygon(0 0, 0 0, 0 0)", "text-indent:100%;overflow:hidden",
            "line-height:0;overflow:hidden", "color:#fff0", "background:tomato;color:tomato",
            "display:none;display:bogus", "x:';';display:none", "background:url(a;b);display:none",
        )
    ),
    "<p popover>H</p>",
    "<style media=screen>.x{display:none}</style><p class=x>H</p>",
    "<style>@media print,screen{.x{display:none}}</style><p class=x>H</p>",
    "<style><!-- .x{display:none} --></style><p class=x>H</p>",
    "<style>.a{color:red;&.b{display:none}}</style><p class='a b'>H</p>",
    '<style>.sm\\:x{display:none}</style><p class="sm:x">H</p>',
]  # fmt: skip
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
    *(
        f'<p style="{style}">V</p>'
        for style in (
            "position:absolute;left:50%;transform:translate(-50%,-100%)", "margin-left:-50vw",
            "transform:scale(-1,1)", "opacity:.09", "font-size:1vw", "overflow:hidden;width:1em",
            "left:-9999px", "background:rgba(0,0,0,.1)", "background:rebeccapurple;color:#fff",
        )
    ),
    "<body bgcolor=black text=white><p>V</p></body>",
    "<style media=print>.x{display:none}</style><p class=x>V</p>",
    "<style>@media (min-width:1400px){.x{display:none}}</style><p class=x>V</p>",
    "<style>@supports not (x:y){.x{display:none}}</style><p class=x>V</p>",
    "<style>@media print{@supports (x:y){.x{display:none}}}</style><p class=x>V</p>",
]  # fmt: skip


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
    [
        "<script>x</script>",
        "<!-- x -->",
        "<![CDATA[x]]>",
        "<noscript>x</noscript>",
        "<svg><title>x</title></svg>",
    ],
)
def test_what_no_page_shows_is_no_hidden_text(page):
    soup = BeautifulSoup(f"<head><title>x</title></head><p>Seen.</p>{page}", "html.parser")
    assert leave_out_hidden(soup) == 0
    assert soup.get_text() in ("Seen.", "Seen. x ")
