"""Text of strangers as a judge is shown it: what is meant for a machine's eyes is made visible.

A model's server may take `<|im_start|>` in a text for the beginning of a message, a reader does not
see zero-width or tag characters, and a tag of other brackets or letters can look like the end of
the fence around the text. Each such character is shown as another one, **letter for letter**, so
that every offset into what is shown is one into the text. Whatever has none of that is shown as it
stands.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from functools import lru_cache
from typing import Any

from rubricate.dataset import ContextDocument, Item

__all__ = ["MEANT", "NOTE", "SHOWN", "as_written", "neutral", "neutral_item"]

HIDDEN = "□"
"""What is shown for a character that nobody sees."""
OPENING, CLOSING = "<‹＜﹤〈《⟨❮❰˂ᐸ", ">›＞﹥〉》⟩❯❱˃ᐳ"
"""Brackets that may pass for those of a tag."""
SHOWN = {
    **dict.fromkeys(OPENING, "‹"),
    **dict.fromkeys(CLOSING, "›"),
    **dict.fromkeys("[［【", "⟦"),
    **dict.fromkeys("]］】", "⟧"),
    **dict.fromkeys("|｜", "¦"),
    ":": "∶",
}
"""What is shown for the marks of a token or tag."""
MEANT = {"‹": "<", "›": ">", "⟦": "[", "⟧": "]", "¦": "|", "∶": ":"}
"""What the marks that are shown stand for."""
NOTE = (
    "Some characters of the material are shown in another form, one for one, so that they remain "
    "text: ‹ › ⟦ ⟧ ¦ ∶ for < > [ ] | : in what could pass for a control token or a tag of this "
    f"message, and {HIDDEN} for a character that cannot be seen. Judge what they stand for.\n\n"
)
"""What the judge is told before material of which anything is shown in another form."""

FENCES = frozenset(
    {
        *("submission", "first", "second", "task", "context", "reference", "example"),
        *("place", "findings", "outline"),  # of long documents
    }
)
"""What the tags around material are called."""
_NAMED = (
    r"/?(?:bos|eos|pad|unk|cls|sep|mask|sop|eop|eot|eom|eod|s|im_start|im_end"
    r"|(?:start|end)_of_\w+|(?:unused|reserved_|extra_id_|ctrl)\d+)"
)
_BARRED = r" ?[|｜] ?[^\s<>|＜＞｜]{1,64} ?[|｜] ?[>＞]"
_TAG = f"[^{OPENING}{CLOSING}]{{3,80}}[{CLOSING}]"
_ANGLE = re.compile(rf"<(?:{_BARRED}|{_NAMED}>|</?SYS>>|(?P<tag>{_TAG}))")
"""<|im_start|>, <｜User｜>, <start_of_turn>, </s>, <<SYS>>; and whatever looks like a tag."""
_SQUARE = re.compile(
    r"\[(?:\|?/?(?i:INST|SYS)\|?|\|[a-z_]{1,32}\||[gs]MASK|/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS"
    r"|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|ARGS)|(?P<tag>[/／][^\]］】\[]{3,80}))[\]］】]"
)
_OTHER_OPENING = re.compile(
    rf"[{OPENING[1:]}](?:{_BARRED}|(?P<tag>{_TAG}))|[［【](?P<square>[/／][^\]］】\[]{{3,80}}[\]］】])"
)
_OTHER_BRACKETS = f"{OPENING[1:]}［【"
_TURN = re.compile(
    r"(?<=\n)(?P<turn>[ \t\r]*\n(?:Human|Assistant)):"
    r"|(?:^|(?<=\n))(?P<head>\#\#\# (?:Instruction|Response)):"
)
_MAYBE_TURN = re.compile(r"\n(?:Human|Assistant|\#\#\# (?:Instruction|Response)):")
_NAME = re.compile(r"/?([a-z]+)(-[0-9a-z-]*)?/?")
_LOOKING_LIKE = str.maketrans(
    "асԁеѕорі ıӏјкмтхуυνοαειкρτσμ⁄∕╱⧸—–−‐‑_01",
    "acdesopi iljkmtxyuvoaeikptsm////------oi",
)
"""Letters of other scripts, and other signs, that look like those of a tag."""
_CODE = re.compile("-[0-9a-fiol]{8,}")  # with letters for 0 and 1
_PLAIN_TAG = re.compile(r"</?[A-Za-z]+ ?/?>")
_FORMAT = (
    "\u034f\u115f\u1160\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef"
)
_UNSEEN = re.compile(
    "(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f)"  # a region's flag
    f"|[{_FORMAT}]"
)
_MAY_BE_UNSEEN = (
    *(bytes((0xE2, 0x80, last)) for last in (*range(0x8B, 0x90), *range(0xAA, 0xAF))),
    *(b"\xcd\x8f", b"\xe1\x85", b"\xe1\xa0", b"\xe2\x81", b"\xe3\x85", b"\xef\xb8", b"\xef\xbb"),
    *(b"\xef\xbe", b"\xef\xbf", b"\xf3\xa0"),
)
"""How these begin in UTF-8: to be looked for quickly where there are none."""
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_JOINING = re.compile(
    "[\u0590-\u1cff\ua840-\ua8ff\uaa00-\uabff\ufb1d-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff]"
)
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_IDEOGRAPH = re.compile("[\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_PICTURE = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\ufe0f\U0001f000-\U0001faff]"
)


def neutral(text: str) -> str:
    """The text as a judge is shown it, of the same length; the text itself where all is visible.

    Shown in another form are control tokens of chat templates, tags that could pass for those
    around the material, and characters that nobody sees: but not the joiners, marks of direction
    and variants of emoji, Arabic, Hebrew, Indic and other scripts that are written with them.
    """
    plain = text.isascii() and "<" not in text and "[" not in text
    return text if plain and not _may_have_turns(text) else _neutral(text)


def _may_have_turns(text: str) -> bool:
    return text.startswith("###") or _MAYBE_TURN.search(text) is not None


@lru_cache(maxsize=16)
def _neutral(text: str) -> str:
    shown = text
    if "<" in text:
        shown = _ANGLE.sub(_marked, shown)
    if "[" in text:
        shown = _SQUARE.sub(_marked, shown)
    if _may_have_turns(text):
        shown = _TURN.sub(lambda turn: f"{turn.group()[:-1]}{SHOWN[':']}", shown)
    if not text.isascii():
        if any(bracket in text for bracket in _OTHER_BRACKETS):
            shown = _OTHER_OPENING.sub(_marked, shown)
        encoded = text.encode("utf-8", "surrogatepass")
        if any(letters in encoded for letters in _MAY_BE_UNSEEN):
            shown = _UNSEEN.sub(_seen, shown)
    return text if shown == text else shown


def neutral_item(item: Item) -> Item:
    """The item with its material as a judge is shown it; the item itself if that is the same."""
    changed = _changed(item.submission, item.prompt, item.reference, item.context)
    return replace(item, **changed) if changed else item


@lru_cache(maxsize=64)
def _changed(
    submission: str, prompt: str, reference: str | None, context: tuple[ContextDocument, ...]
) -> dict[str, Any]:
    """What of an item is shown in another form, by its name."""
    given = {"submission": submission, "prompt": prompt, "reference": reference or ""}
    found: dict[str, Any] = {
        name: shown for name, text in given.items() if (shown := neutral(text)) != text
    }
    documents = tuple(
        replace(one, text=neutral(one.text), title=one.title and neutral(one.title))
        for one in context
    )
    return found if documents == context else {**found, "context": documents}


def as_written(text: str) -> str:
    """A text that was shown as its author wrote it, but for what nobody sees."""
    return text.translate(_AS_WRITTEN)


_AS_WRITTEN = str.maketrans(MEANT)


def _marked(match: re.Match[str]) -> str:
    """A control token, or a tag that could pass for one of the prompt's, with other marks."""
    found = match.group()
    if not any(match.groups()):
        return "".join(SHOWN.get(letter, letter) for letter in found)
    name = _NAME.fullmatch(_skeleton(found[1:-1]))
    if name is None:
        return found
    coded = _CODE.fullmatch(name[2] or "") and not found.isascii()  # of a fence of another name
    if not (name[1] in FENCES or coded):
        return found
    if _PLAIN_TAG.fullmatch(found) and name[1] != "submission":  # XML of its own
        return found
    return f"{SHOWN[found[0]]}{found[1:-1]}{SHOWN[found[-1]]}"


def _skeleton(text: str) -> str:
    """The small Latin letters and signs that a text looks like."""
    shown = re.sub(f"[{_FORMAT}\\s]", "", text)
    parts = unicodedata.normalize("NFKD", shown).casefold().translate(_LOOKING_LIKE)
    return "".join(letter for letter in parts if not unicodedata.combining(letter)).replace(
        "／", "/"
    )


def _seen(match: re.Match[str]) -> str:
    """A character that nobody sees, shown; as it is where its script is written with it."""
    found, text, at = match.group(), match.string, match.start()
    before, after = text[at - 1 : at] or " ", text[at + 1 : at + 2] or " "
    meant: object = False
    if _UNSEEN.match(before) and not _PICTURE.match(before):
        pass  # one alone can be meant; more of them hold what is hidden
    elif found in "\u200c\u200d":
        between = _PICTURE.match(before) and _PICTURE.match(after)
        meant = _JOINING.match(before) or (found == "\u200d" and between)
    elif found in "\u061c\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069":
        meant = _runs_both_ways(text)
    elif found == "\u200b":
        meant = _UNSPACED.match(before) and _UNSPACED.match(after)
    elif "\ufe00" <= found <= "\ufe0f":
        written = _PICTURE.match(before) or _JOINING.match(before) or _IDEOGRAPH.match(before)
        meant = written or before in "0123456789#*"
    elif "\U000e0100" <= found <= "\U000e01ef":
        meant = _IDEOGRAPH.match(before)
    elif found in "\u034f\u115f\u1160\u180b\u180c\u180d\u180e":
        meant = _JOINING.match(before) or "\u1100" <= after <= "\u11ff"
    return found if meant or match[1] else HIDDEN


@lru_cache(maxsize=4)
def _runs_both_ways(text: str) -> bool:
    """Whether a text has letters that are written from right to left."""
    return _RIGHT_TO_LEFT.search(text) is not None
