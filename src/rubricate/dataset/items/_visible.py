"""What a reader of an HTML page sees of its text: what the page hides is left out.

Style attributes, attributes such as `hidden`, and the page's own `<style>` are read as a browser
1,280 pixels wide would, as far as they decide whether text is seen: `display`, `visibility`,
`opacity`, sizes of 0, clipping, positions off the page, and text in the colour of its background.
Style sheets of other files are not fetched, and scripts not run.
"""

from __future__ import annotations

import colorsys
import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

__all__ = ["leave_out_hidden"]

WIDTH = 1280
"""Pixels of the page's width, for media queries."""
NEVER_SHOWN = (
    "head", "title", "script", "style", "noscript", "datalist", "iframe", "noframes", "noembed",
    "canvas", "audio", "video", "defs", "metadata", "desc",
)  # fmt: skip
"""Elements of which nothing is shown as text, whatever their style: no text of the page."""
SMALLEST_FONT = 2.0
"""Pixels below which nobody can read."""
LEAST_CONTRAST = 1.1
"""The contrast ratio (WCAG 2) below which text and background count as one colour."""
FAR_OFF = -500.0
"""Pixels to the left or above from which nothing is on the page."""
_KEPT = frozenset((
    "display", "visibility", "opacity", "font", "font-size", "color", "background",
    "background-color", "position", "left", "top", "text-indent", "clip", "clip-path", "transform",
    "width", "height", "max-width", "max-height", "overflow", "overflow-x", "overflow-y",
    "margin-left", "margin-top",
))  # fmt: skip
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\r\n\f]?|([^\r\n\f]))")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)([a-z%]*)")
_FUNCTION = re.compile(r"(rgba?|hsla?)\(([^()]*)\)")
_QUERY = re.compile(r"\((min|max)-width:([\d.]+)px\)")
_ID, _CLASS = re.compile(r"#[\w-]+"), re.compile(r"\.[\w-]+")
_OTHERS = re.compile(r"\[[^\]]*\]|(?<!:):[\w-]+")
_WITHIN = re.compile(r"\([^()]*\)")
_TAG = re.compile(r"(?:^|[\s>+~(])([a-z][\w-]*)")
COLORS = {
    "white": 0xFFFFFF, "snow": 0xFFFAFA, "ivory": 0xFFFFF0, "ghostwhite": 0xF8F8FF,
    "floralwhite": 0xFFFAF0, "mintcream": 0xF5FFFA, "azure": 0xF0FFFF, "whitesmoke": 0xF5F5F5,
    "seashell": 0xFFF5EE, "aliceblue": 0xF0F8FF, "honeydew": 0xF0FFF0, "lightyellow": 0xFFFFE0,
    "lavenderblush": 0xFFF0F5, "gainsboro": 0xDCDCDC, "lightgray": 0xD3D3D3, "lightgrey": 0xD3D3D3,
    "silver": 0xC0C0C0, "darkgray": 0xA9A9A9, "darkgrey": 0xA9A9A9, "gray": 0x808080,
    "grey": 0x808080, "dimgray": 0x696969, "black": 0x000000, "red": 0xFF0000, "maroon": 0x800000,
    "yellow": 0xFFFF00, "olive": 0x808000, "lime": 0x00FF00, "green": 0x008000, "aqua": 0x00FFFF,
    "cyan": 0x00FFFF, "teal": 0x008080, "blue": 0x0000FF, "navy": 0x000080, "fuchsia": 0xFF00FF,
    "magenta": 0xFF00FF, "purple": 0x800080, "orange": 0xFFA500, "pink": 0xFFC0CB,
}  # fmt: skip
"""Colours by name, as 0xRRGGBB; one that is not here is no known colour."""
Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, each from 0 to 1."""
Place = tuple[bool, int, int, int, int]
"""What decides between declarations: important, the element's own, specificity, order, place."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What an element's text inherits. A colour that is not known is None."""

    seen: bool = True
    font: float = 16.0
    color: Color | None = (0.0, 0.0, 0.0, 1.0)
    background: Color | None = (1.0, 1.0, 1.0, 1.0)

    @property
    def shows(self) -> bool:
        """Whether text that looks so can be read."""
        if not self.seen or self.font < SMALLEST_FONT:
            return False
        if self.color is None:
            return True
        if self.color[3] < 0.05:
            return False
        return self.background is None or _contrast(self.color, self.background) >= LEAST_CONTRAST


@dataclass(slots=True)
class _Styles:
    """Every element's declarations: the winning value of each property, by the element's place."""

    values: dict[int, dict[str, tuple[Place, str]]] = field(default_factory=dict)

    def add(self, element: Tag, place: tuple[int, int, int], css: str) -> None:
        """Add a block of declarations; `place` is own, specificity and order."""
        own = self.values.setdefault(id(element), {})
        for name, value, important in _declarations(css):
            ranked: Place = (important, place[0], place[1], place[2], len(own))
            if name not in own or own[name][0][:4] <= ranked[:4]:
                own[name] = ranked, value

    def of(self, element: Tag) -> dict[str, str]:
        """The values that hold for an element."""
        return {name: value for name, (_, value) in self.values.get(id(element), {}).items()}


def leave_out_hidden(soup: BeautifulSoup) -> int:
    """Take out of a page what it does not show; gives how many characters of text it hides.

    What no page shows (scripts, its head) is not counted.
    """
    from bs4.element import NavigableString, PreformattedString, Tag

    styles = _styles(soup)
    for element in soup(list(NEVER_SHOWN)):
        if not element.decomposed:
            element.decompose()
    hidden = 0
    waiting: list[tuple[Any, _Look]] = [(soup, _Look())]
    while waiting:
        element, look = waiting.pop()
        for child in list(element.contents):
            if isinstance(child, Tag):
                css = styles.of(child)
                if _is_gone(child, css):
                    hidden += len("".join(child.get_text().split()))
                    child.decompose()
                else:
                    waiting.append((child, _look(child, css, look)))
            elif (
                isinstance(child, NavigableString)
                and not isinstance(child, PreformattedString)
                and not look.shows
                and child.strip()
            ):
                hidden += len("".join(child.split()))
                child.extract()
    return hidden


def _styles(soup: BeautifulSoup) -> _Styles:
    """The declarations of a page: of its style sheets, and of its elements."""
    from soupsieve import SelectorSyntaxError

    styles, words = _Styles(), set()
    for element in soup(True):
        words |= {element.name, *(f".{one}" for one in element.get_attribute_list("class") if one)}
        words.add(f"#{element.get('id')}")
    sheet = "\n".join(element.get_text() for element in soup("style"))
    for order, (selectors, block) in enumerate(_rules(sheet)):
        for selector in _split(selectors, ","):
            plain = _STRING.sub("", selector)
            while "(" in plain and plain != (without := _WITHIN.sub("", plain)):
                plain = without
            ids, classes = _ID.findall(plain), _CLASS.findall(plain)
            tags = _TAG.findall(plain)
            if "::" in plain or not {*ids, *classes, *tags} <= words:
                continue  # about no element that is here
            weight = 10_000 * len(ids) + len(tags)
            weight += 100 * (len(classes) + len(_OTHERS.findall(plain)))
            with contextlib.suppress(SelectorSyntaxError, NotImplementedError, ValueError):
                for element in soup.select(selector):
                    styles.add(element, (0, weight, order), block)
    for element in soup(True):
        if given := element.get("style"):
            styles.add(element, (1, 0, 0), str(given))
    return styles


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """The rules of a style sheet that concern what is seen on a screen, in their order."""
    text = _COMMENT.sub(" ", sheet)
    place, start = 0, 0
    blocks: list[bool] = []  # whether each at-rule that is open counts
    while place < len(text):
        mark = text[place]
        if mark in "\"'" and (string := _STRING.match(text, place)):
            place = string.end()
            continue
        if mark == ";" and text[start:place].lstrip().startswith("@"):
            start = place + 1  # @import and its kin
        elif mark == "}":
            if blocks:
                blocks.pop()
            start = place + 1
        elif mark == "{":
            head = text[start:place].strip()
            if head.startswith("@"):
                blocks.append(_counts(head))
                start = place + 1
            else:
                end = text.find("}", place)
                end = len(text) if end < 0 else end
                block = text[place + 1 : end]
                if all(blocks) and any(one in block.lower() for one in _WORDS):
                    yield _unescaped(head), block
                place, start = end, end + 1
        place += 1


_WORDS = (
    "display", "visib", "opacity", "font", "color", "background", "position", "left", "top",
    "indent", "clip", "transform", "width", "height", "\\",
)  # fmt: skip
"""One of these stands in every block that matters."""


def _counts(head: str) -> bool:
    """Whether what stands in an at-rule holds for a screen of the usual width."""
    name, _, query = head.lower().partition(" ")
    if name in ("@layer", "@supports", "@scope", "@container"):
        return True
    if name != "@media":
        return False
    for one in query.split(","):
        plain = "".join(one.split())
        bounds = _QUERY.findall(plain)
        left = re.sub(r"only|screen|all|and", "", _QUERY.sub("", plain))
        if not left and all(
            float(size) <= WIDTH if bound == "min" else float(size) >= WIDTH
            for bound, size in bounds
        ):
            return True
    return False


def _declarations(css: str) -> Iterator[tuple[str, str, bool]]:
    """Property, value and whether it is important."""
    for one in _split(_COMMENT.sub(" ", css), ";"):
        name, colon, value = one.partition(":")
        name = _unescaped(name).strip().lower()
        if not colon or name not in _KEPT:
            continue
        value = " ".join(_unescaped(value).lower().split())
        value, important, _ = value.replace("! important", "!important").partition("!important")
        yield name, value.strip(), bool(important)


def _split(text: str, mark: str) -> list[str]:
    """Text cut at a mark, but not within parentheses or quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for place, one in enumerate(text):
        if quote:
            quote = "" if one == quote else quote
        elif one in "\"'":
            quote = one
        elif one in "([":
            depth += 1
        elif one in ")]":
            depth = max(0, depth - 1)
        elif one == mark and not depth:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        code = int(found[1], 16) if found[1] else 0
        return (chr(code) if 0 < code < 0x110000 else "\ufffd") if found[1] else found[2]

    return _ESCAPE.sub(plain, text)


def _is_gone(element: Tag, css: dict[str, str]) -> bool:
    """Whether nothing of an element is seen, whatever its own elements are like."""
    display = css.get("display")
    if display == "none" or element.name == "template":
        return True
    if display is None and (
        (element.has_attr("hidden")) or (element.name == "dialog" and not element.has_attr("open"))
    ):
        return True
    opacity = _number(css.get("opacity", ""))
    if opacity is not None and opacity < 0.05:
        return True
    if element.name == "img" and {element.get("width"), element.get("height")} & {"0", "1"}:
        return True
    return _is_clipped(css) or _is_far_off(css)


def _is_clipped(css: dict[str, str]) -> bool:
    overflow = css.get("overflow", "") + css.get("overflow-x", "") + css.get("overflow-y", "")
    if "hidden" in overflow or "clip" in overflow:
        sizes = (
            _length(css.get(name, "")) for name in ("width", "height", "max-width", "max-height")
        )
        if any(size is not None and size <= 1 for size in sizes):
            return True
    clip = css.get("clip", "").replace(",", " ")
    if clip.startswith("rect(") and css.get("position") in ("absolute", "fixed"):
        edges = [_length(one) for one in clip[5:].rstrip(")").split()]
        if len(edges) == 4 and None not in edges:
            top, right, bottom, left = (edge or 0.0 for edge in edges)
            if right - left <= 1 or bottom - top <= 1:
                return True
    path = css.get("clip-path", "")
    inset = re.match(r"inset\(([\d.]+)%", path)
    return bool(inset and float(inset[1]) >= 50) or bool(re.match(r"circle\(0\D", path))


def _is_far_off(css: dict[str, str]) -> bool:
    moved = [css.get(name, "") for name in ("text-indent", "margin-left", "margin-top")]
    if css.get("position") in ("absolute", "fixed", "relative"):
        moved += [css.get("left", ""), css.get("top", "")]
    transform = css.get("transform", "")
    if re.search(r"scale[xy]?\(0(\.0*)?[,)]", transform.replace(" ", "")):
        return True
    moved += re.findall(r"translate[xy3d]*\(([^,)]*)", transform)
    return any((_length(one) or 0.0) <= FAR_OFF for one in moved)


def _look(element: Tag, css: dict[str, str], around: _Look) -> _Look:
    """How an element's own text looks, within what is around it."""
    look = around
    if (visibility := css.get("visibility")) in ("hidden", "collapse", "visible"):
        look = replace(look, seen=visibility == "visible")
    size = css.get("font-size")
    if size is None and (found := re.search(r"(\S+?)(?:/\S+)? \S", css.get("font", ""))):
        sizes = [one for one in css.get("font", "").split() if _NUMBER.fullmatch(one.split("/")[0])]
        size = sizes[-1].split("/")[0] if sizes and found else None
    if size is not None:
        number = _NUMBER.fullmatch(size)
        if number:
            scale = {"em": look.font, "%": look.font / 100, "rem": 16.0, "pt": 4 / 3, "ex": 8.0}
            look = replace(look, font=float(number[1]) * scale.get(number[2], 1.0))
        else:
            look = replace(look, font=max(look.font, 16.0))
    shade = css.get("background-color") or css.get("background") or _attribute(element, "bgcolor")
    if element.name in ("button", "input", "select", "textarea", "mark"):
        look = replace(look, color=None, background=None)
    elif element.name == "a" and element.has_attr("href"):
        look = replace(look, color=None)  # links have a colour of their own
    if shade and shade not in ("inherit", "initial", "unset", "none", "transparent"):
        look = replace(look, background=_shade(shade, look.background))
    color = css.get("color") or (_attribute(element, "color") if element.name == "font" else None)
    if color and color not in ("inherit", "unset", "currentcolor"):
        look = replace(look, color=_color(color))
    return look


def _attribute(element: Tag, name: str) -> str | None:
    value = element.get(name)
    return str(value).strip().lower() if value else None


def _shade(given: str, behind: Color | None) -> Color | None:
    """A background; None where it is an image, or of no known colour."""
    if "url(" in given or "gradient(" in given or "var(" in given:
        return None
    for one in [given, *_split(given, " ")]:
        if (color := _color(one)) is not None:
            if color[3] < 0.05:
                return behind
            return color if color[3] > 0.95 else None
    return None


def _color(given: str) -> Color | None:
    """A colour; None where it is none that is known."""
    if given == "transparent":
        return (0.0, 0.0, 0.0, 0.0)
    if given in COLORS:
        return _of_bytes(COLORS[given])
    digits = given.removeprefix("#")
    if given.startswith("#") and re.fullmatch(r"[0-9a-f]+", digits):
        if len(digits) in (3, 4):
            digits = "".join(2 * one for one in digits)
        if len(digits) in (6, 8):
            alpha = int(digits[6:], 16) / 255 if len(digits) == 8 else 1.0
            return (*_of_bytes(int(digits[:6], 16))[:3], alpha)
    found = _FUNCTION.fullmatch(given)
    return _of_function(found[1], found[2]) if found else None


def _of_function(name: str, arguments: str) -> Color | None:
    """The colour of `rgb(...)` or `hsl(...)`."""
    parts = _NUMBER.findall(arguments.replace("/", " "))
    if len(parts) not in (3, 4):
        return None
    numbers = [float(number) / (100 if unit == "%" else 1) for number, unit in parts]
    alpha = numbers[3] if len(numbers) == 4 else 1.0
    if name.startswith("hsl"):
        return (*colorsys.hls_to_rgb(numbers[0] / 360 % 1, numbers[2], numbers[1]), alpha)
    red, green, blue = (
        number if unit == "%" else number / 255
        for number, (_, unit) in zip(numbers[:3], parts, strict=False)
    )
    return (red, green, blue, alpha)


def _of_bytes(value: int) -> Color:
    return (value >> 16) / 255, (value >> 8 & 255) / 255, (value & 255) / 255, 1.0


def _contrast(one: Color, other: Color) -> float:
    """The contrast ratio of two colours (WCAG 2.1, 1 to 21)."""
    lights = sorted(
        sum(
            weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
            for weight, part in zip((0.2126, 0.7152, 0.0722), color, strict=False)
        )
        for color in (one, other)
    )
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _number(given: str) -> float | None:
    found = _NUMBER.fullmatch(given)
    return None if not found else float(found[1]) / (100 if found[2] == "%" else 1)


def _length(given: str) -> float | None:
    """Pixels, as far as that can be told."""
    found = _NUMBER.fullmatch(given)
    if not found:
        return None
    scale = {"em": 16.0, "rem": 16.0, "vw": WIDTH / 100, "vh": 8.0, "%": WIDTH / 100, "pt": 4 / 3}
    return float(found[1]) * scale.get(found[2], 1.0)
