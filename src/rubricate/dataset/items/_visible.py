"""What a reader of an HTML page sees of its text: what the page hides is left out.

Attributes, inline styles and the rules of the page's own `<style>` elements are read as a screen
1,280 pixels wide would, as far as `HIDING` and `_look` know them. Style sheets of other files are
not fetched, scripts are not run, and nothing is laid out: text behind a picture, or hidden by an
animation or a CSS variable, is kept. A rule nested in another is read without its parent.
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

NEVER_SHOWN = [
    "head", "title", "script", "style", "noscript", "datalist", "iframe", "noframes", "noembed",
    "canvas", "audio", "video", "defs", "metadata", "desc",
]  # fmt: skip
"""Elements whose content no page shows: no text of the page, so it is not counted as hidden."""
# 500 pixels and more to the left or above. At half of it, wide hanging indents would be taken for
# hidden; pages that hide use 999 and more. -50% and -50vw are how pages centre an element.
_FAR = r".*-\s*(\d{4}|[5-9]\d\d|\d{3}[.\d]*(v[wh]|ch|ex)|([3-9]\d|\d{3})[.\d]*(r?em|in|cm)).*"
_PERCENT = r"|.*-\s*\d{3,}[.\d]*%.*"
_NOTHING = r"0*\.?0*%?|[\d.]+e-.*|0*\.0[0-4].*|[0-4](\.\d*)?%"
_TINY = r"(?=.*\d)(?:0*[01]?(\.\d*)?(px|pt|%)?|0*\.?0*[a-z]+|0*\.0\d*[a-z]+)"
HIDING = {
    "display": "none",
    "content-visibility": "hidden",
    "opacity": rf"-.*|{_NOTHING}",
    "filter": rf".*opacity\(({_NOTHING})\).*",
    "scale": rf"({_NOTHING})( .*)?",
    "transform": rf".*(scale[xyz3d]*\(0*(\.0\d*)?[,)]|matrix\(0,0|translate.*\({_FAR}\)).*"
    r"|.*rotate[xy]\(90deg\).*",
    "clip-path": r"inset\((100|[5-9]\d)[.%].*|(circle|ellipse)\(0+(\D.*)?|polygon\([0px%, ]*\)",
    "clip": r"rect\([01px, ]*\)",
    **dict.fromkeys(("left", "top", "inset", "margin", "margin-left"), _FAR + _PERCENT),
    **dict.fromkeys(("margin-top", "text-indent"), _FAR + _PERCENT),
    **dict.fromkeys(("letter-spacing", "translate"), _FAR),
    **dict.fromkeys(("right", "bottom"), r"\d{4,}[.\d]*(px|pt)?|\d{3,}[.\d]*r?em"),
}
"""By property: the values that hide an element with all that it holds."""
_WHEN_POSITIONED = {"left", "top", "right", "bottom", "inset", "clip"}
_DISPLAYS = r"none|.*(block|inline|flex|grid|table|item|box|contents|revert|init|inherit).*"
_WHITE = (
    "white|snow|ivory|ghostwhite|floralwhite|mintcream|azure|whitesmoke|seashell|aliceblue|canvas|"
    "lightyellow|lavenderblush|honeydew"
)
_QUOTED = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->|\"[^\"\n]*\"|'[^'\n]*'", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_AT_RULE = re.compile(
    r"@(?:media([^{]*)|supports\s+not[^{]*)\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*(?:\}|\Z)", re.I
)
_UP_TO_1280 = r"\s*(?:(?:\d{1,3}|1[01]\d\d|12[0-7]\d|1280)(?:\.\d*)?px|\d\d(?:\.\d*)?r?em)\s*"
_SCREEN = re.compile(
    rf"(.*,)?(only|screen|all|and|\(\s*min-width\s*:{_UP_TO_1280}\)"
    rf"|\(\s*max-width\s*:(?!{_UP_TO_1280})\s*[\d.]+px\s*\)|\s)*(,.*)?", re.IGNORECASE | re.DOTALL,
)  # fmt: skip


class _Look(NamedTuple):
    """How the text of an element looks, as far as elements within it inherit that.

    A colour is (red, green, blue), or its text where that is all that is known of it.
    """

    visible: bool = True
    tiny: bool = False
    color: tuple[float, ...] | str = (0, 0, 0)
    background: tuple[float, ...] | str = (255, 255, 255)

    @property
    def shows(self) -> bool:
        """Whether text that looks so can be read."""
        if isinstance(self.color, tuple) and isinstance(self.background, tuple):
            # Brightness, of 255: at half, #eee on white stays; at double, #d0d0d0 of notes goes.
            parts = zip((0.30, 0.59, 0.11), self.color, self.background, strict=True)
            apart = sum(weight * abs(text - behind) for weight, text, behind in parts) > 25
        else:
            apart = self.color not in (self.background, "transparent")
        return self.visible and not self.tiny and apart


def leave_out_hidden(soup: BeautifulSoup) -> int:
    """Take out of a page what it does not show; returns how many characters of text it hides.

    What no page shows (comments, scripts, its head) is not counted.
    """
    from bs4.element import PreformattedString, Tag

    styles = _styles(soup)
    for part in [*soup(NEVER_SHOWN), *soup.find_all(string=True)]:
        if isinstance(part, Tag | PreformattedString):
            part.extract()
    hidden = 0
    waiting: list[tuple[Any, _Look]] = [(soup, _Look())]
    while waiting:
        parent, look = waiting.pop()
        for child in list(parent.contents):
            if isinstance(child, Tag):
                css = {name: value for name, (_, value) in styles[id(child)].items()}
                if not _is_gone(child, css):
                    waiting.append((child, _look(child, css, look)))
                    continue
            elif look.shows or not child.strip():
                continue
            hidden += len("".join(child.get_text().split()))
            child.extract()
    return hidden


def _styles(soup: BeautifulSoup) -> dict[int, dict[str, tuple[bool, str]]]:
    """The declarations that win, by the id of their element: whether important, and the value."""
    from soupsieve import SelectorSyntaxError

    elements = soup(True)
    styles: dict[int, dict[str, tuple[bool, str]]] = {id(element): {} for element in elements}

    def add(element: Tag, block: str) -> None:
        for name, value in _declarations(block):
            plain, important, _ = value.partition("!")
            if important or not styles[id(element)].get(name, (False,))[0]:
                styles[id(element)][name] = bool(important), plain.strip()

    names = {f"#{element.get('id')}" for element in elements}
    names.update(f".{name}" for one in elements for name in one.get_attribute_list("class"))
    for selector, block in sorted(_rules(soup), key=lambda rule: _specificity(rule[0])):
        plain = re.sub(r"\(.*?\)|\[.*?\]", "", selector)
        if "\\" in plain or names.issuperset(re.findall(r"[#.][\w-]+", plain)):  # `select` is slow
            with suppress(SelectorSyntaxError, NotImplementedError, ValueError):
                for element in soup.select(selector):
                    add(element, block)
    for element in elements:
        add(element, str(element.get("style", "")))
    return styles


def _rules(soup: BeautifulSoup) -> Iterator[tuple[str, str]]:
    """Selectors and declarations of the rules that apply on a screen, in their order."""
    for style in soup("style"):
        css = _plain(style.get_text()) if _SCREEN.fullmatch(str(style.get("media", ""))) else ""
        css = _AT_RULE.sub(
            lambda rule: rule[0] if rule[1] is not None and _SCREEN.fullmatch(rule[1]) else "", css
        )
        parts = re.split(r"([{}])", css)
        for head, mark, block in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
            if mark == "{" and "@" not in (selectors := head.rpartition(";")[2]):
                for selector in re.split(r",(?![^(\[]*[)\]])", selectors):
                    yield selector.replace("&", "").strip(), block


def _specificity(selector: str) -> tuple[int, int, int]:
    plain = re.sub(r"\[.*?\]", ".x", selector)
    return (
        plain.count("#"),
        len(re.findall(r"\.|(?<!:):", plain)),
        len(re.findall(r"(?<![\w.#:-])[a-zA-Z]", plain)),
    )


def _plain(css: str) -> str:
    """CSS without comments, and without the marks in its strings that separate rules elsewhere."""
    return _QUOTED.sub(
        lambda part: " " if part[0][0] in "/<-" else re.sub("[{};]", "", part[0]), css
    )


def _declarations(css: str) -> Iterator[tuple[str, str]]:
    """Properties and values, in small letters and without escapes."""
    for declaration in _plain(css).split(";"):
        plain = _ESCAPE.sub(
            lambda escape: chr(int(escape[1], 16) % 0x110000) if escape[1] else escape[2],
            declaration,
        )
        name, _, value = (" ".join(part.lower().split()) for part in plain.partition(":"))
        if name != "display" or re.match(_DISPLAYS, value):  # browsers ignore what they do not know
            yield name, re.sub(r"\s*,\s*", ",", re.sub(r"calc\(([^()]*)\)", r"\1", value))


def _is_gone(element: Tag, css: dict[str, str]) -> bool:
    """Whether nothing of an element is seen, whatever the elements within it are like."""
    name, has = element.name, element.has_attr
    closed = has("hidden") or has("popover") or (name == "dialog" and not has("open"))
    if name == "template" or (closed and "display" not in css):
        return True
    if name == "img" and {element.get("width"), element.get("height")} & {"0", "1"}:
        return True
    cut = any(css.get(f"overflow{axis}", "visible") != "visible" for axis in ("", "-x", "-y"))
    sizes = [css.get(size, "auto") for size in ("width", "height", "max-width", "max-height")]
    if cut and (
        any(re.fullmatch(_TINY, size) for size in sizes)
        or css.get("line-height") in ("0", "0px")
        or css.get("text-indent") == "100%"
    ):
        return True
    positioned = css.get("position", "static") != "static"
    return any(
        re.fullmatch(HIDING[name], value)
        for name, value in css.items()
        if name in HIDING and (positioned or name not in _WHEN_POSITIONED)
    )


def _look(element: Tag, css: dict[str, str], around: _Look) -> _Look:
    """How an element's own text looks, within what is around it."""
    visible, tiny, color, background = around
    if (visibility := css.get("visibility")) in ("hidden", "collapse", "visible"):
        visible = visibility == "visible"
    sizes = re.findall(r"(?<!\S)([\d.]+(?:[a-z]+|%)|0)(?:/\S+)? ", css.get("font", ""))
    if size := css.get("font-size", sizes[0] if sizes else ""):
        tiny = bool(re.fullmatch(_TINY, size)) or (tiny and size.endswith(("em", "%")))
    if element.name in ("button", "input", "select", "textarea", "mark"):
        color, background = "of a control", "of its background"
    elif element.name == "a" and element.has_attr("href"):
        color = "of a link"
    shade = css.get("background-color", css.get("background", _attribute(element, "bgcolor")))
    if shade not in ("", "inherit", "initial", "unset", "none", "transparent"):
        background = next((one for one in map(_color, [shade, *shade.split()])
                           if isinstance(one, tuple) and "url(" not in shade), shade)  # fmt: skip
    shade = css.get("color", _attribute(element, "text" if element.name == "body" else "color"))
    shade = css.get("-webkit-text-fill-color", shade)
    if shade not in ("", "inherit", "unset", "currentcolor"):
        color = _color(shade)
    return _Look(visible, tiny, color, background)


def _attribute(element: Tag, name: str) -> str:
    """The colour that an attribute sets, as CSS writes it."""
    value = str(element.get(name, "")).strip().lower()
    return f"#{value}" if re.fullmatch("[0-9a-f]{6}", value) else value


def _color(value: str) -> tuple[float, ...] | str:
    """Red, green and blue; "transparent"; or the value itself where it is not one plain colour."""
    value = "#fff" if re.fullmatch(_WHITE, value) else "#000" if value == "black" else value
    if re.fullmatch(r"#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})", value):
        digits = value[1:] if len(value) > 5 else re.sub("(.)", r"\1\1", value[1:])
        parts = [*bytes.fromhex(digits)]
    elif match := re.fullmatch(r"(rgb|hsl)a?\(([^()]*)\)", value):
        numbers = re.findall(r"(\d*\.?\d+)(%?)", match[2])
        parts = [float(number) * (2.55 if percent else 1.0) for number, percent in numbers]
        if len(parts) not in (3, 4):
            return value
        if match[1] == "hsl":
            hue, saturation, light = (float(number) for number, _ in numbers[:3])
            rgb = colorsys.hls_to_rgb(hue / 360, light / 100, saturation / 100)
            parts[:3] = (255 * part for part in rgb)
        parts[3:] = [parts[3] * (1 if numbers[3][1] else 255)] if parts[3:] else []
    else:
        return value
    opacity = parts[3] if parts[3:] else 255.0
    return "transparent" if opacity < 13 else tuple(parts[:3]) if opacity > 242 else value
