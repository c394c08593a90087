"""Text that only a machine sees, and text that could pass for a part of the prompt.

Loaded only for texts that may contain any of it; see `_neutral.py`.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache

HIDDEN = "□"
"""Shown in place of an invisible character."""
OPENING, CLOSING = "<‹＜﹤〈《⟨❮❰˂ᐸ", ">›＞﹥〉》⟩❯❱˃ᐳ"
"""Brackets that could pass for those of a tag."""
SHOWN = {
    **dict.fromkeys(OPENING, "‹"),
    **dict.fromkeys(CLOSING, "›"),
    "◁": "‹",
    "▷": "›",
    **dict.fromkeys("[［【", "⟦"),
    **dict.fromkeys("]］】", "⟧"),
    **dict.fromkeys("|｜", "¦"),
    ":": "∶",
    "&": "＆",
}
"""The replacements of the characters that mark a token or tag."""
MEANT = {"‹": "<", "›": ">", "⟦": "[", "⟧": "]", "¦": "|", "∶": ":", "＆": "&"}
"""The original characters of the replacements."""
NOTE = (
    "Some characters of the material are shown in another form, one for one, so that they remain "
    "text: ‹ › ⟦ ⟧ ¦ ∶ for < > [ ] | : in what could pass for a control token or a tag of this "
    f"message, and {HIDDEN} for a character that cannot be seen. Judge what they stand for.\n\n"
)
"""The note sent before material in which characters were replaced."""

FENCES = frozenset(
    {
        *("submission", "first", "second", "task", "context", "reference", "example"),
        *("place", "findings", "outline"),  # of long documents
    }
)
"""The names of the tags around material."""
_MACHINERY = (
    r"(?:bos|eos|eot|eom|eod|eoh|eoa|sop|eop|pad|unk|cls|sep|mask|im|fim|turn|tools?|toolcalls?"
    r"|think|cot|jupyter)"
)
"""Words of which the control tokens of most models contain at least one: `<eos>`, `<tool_call>`,
`<seed:think>`, `<end_of_turn>`. Placeholders in documentation (`<file_name>`, `<access_token>`) and
types (`<size_t>`) contain none of them."""
_NAMED = (
    rf"/?(?:s|role|image|IMG|(?i:{_MACHINERY})|(?:\[(?=[^\]<>]{{0,64}}[▁_])[\w▁]{{2,64}}\]))"
    rf"|/?(?:(?i:(?:\w{{1,40}}[_:▁])?{_MACHINERY}(?:[_:▁]\w{{1,40}})?)"
    r"|(?i:start|end|begin|beginning)_of_\w{1,40}|(?:seed|minimax|dsml|antml):\w{1,40}"
    r"|(?i:extra_id|unused|reserved|special|ctrl|tokens_unused)_?(?:[a-z]{1,20}_)?\d{1,6}"
    r"|(?:start_|end_)?function_(?:calls?|response|declaration)|arg_(?:key|value)|scratch_pad"
    r"|(?:image|audio|video)_(?:soft_)?(?:token|placeholder)|IMG_CONTEXT|[BC]_(?:[QA]|SYS|APE)"
    r"|file_sep|repo_?name|gh_stars|empty_output|(?:issue|commit)_(?:start|closed|before|msg|after)"
    r")(?:\s[^<>]{0,80})?"
    r"|/?(?:function=|parameter=|invoke\s+name=|co:\s?\d)[^<>]{0,80}"
)
_BARRED = (
    r" ?/? ?[|｜] ?[^\s<>|＜＞｜]{1,64} ?[|｜](?: ?|\w[^<>＜＞\n]{0,80})[>＞]"
    r"|[|｜][\w/▁:-]{1,64}[>＞]|[\w/▁:-]{1,64}[|｜][>＞]"
)
"""<|user|>, <｜DSML｜invoke>, <|turn>, <turn|>"""
_ANGLE = re.compile(
    rf"<(?:{_BARRED}|(?:{_NAMED})>|</?SYS>>)|>>[A-Z]{{3,20}}<<"
    r"|\]<\][^\[\]<>\n]{1,40}\[>\["
)
"""<|im_start|>, <｜User｜>, <start_of_turn>, </s>, <<SYS>>, >>QUESTION<<, ]<]image[>[."""
_OTHER_BARRED = re.compile(rf"[{OPENING[1:]}](?:{_BARRED})|◁/?\w{{1,32}}▷")
_SQUARE = re.compile(
    r"\[(?:\|?/?(?i:INST|SYS)\|?|\|[a-z_]{1,32}\||[gs]MASK|@?(?:BOS|EOS|EOT|PAD|UNK|CLS|SEP|MASK)@?"
    r"|/?(?:SYSTEM_PROMPT|MODEL_SETTINGS|AVAILABLE_TOOLS|TOOL_[A-Z]{1,20}|CALL_ID|ARGS|THINK|PREFIX"
    r"|MIDDLE|SUFFIX|IMG(?:_[A-Z]{1,20})?|(?:BEGIN_)?AUDIO|TRANSCRIBE)|UNUSED_TOKEN_\d{1,6}"
    r"|(?:unused|PAD|control_|REFERENCE_DOC_)\d{1,6}|multimodal)[\]］】]"
    r"|\]~[a-z]\]|\]~![a-z]\[|\]![a-z]~\[|\[[a-z]~\["
)
"""[INST], [|user|], [gMASK], [THINK]; and MiniMax's reversed brackets, ]~b]."""
_SLASHES = "/／⁄∕╱⧸"
_LT = r"&(?:amp;)*(?:lt|LT|\#0*60|\#[xX]0*3[cC]);?"
_GT = r"&(?:amp;)*(?:gt|GT|\#0*62|\#[xX]0*3[eE]);?"
_INNER = f"[^{OPENING}{CLOSING}]"
_TAG = re.compile(
    rf"(?:[{OPENING}]|{_LT})(?=(?P<tag>{_INNER}{{3,80}}?)(?P<end>[{CLOSING}]|{_GT})"
    rf"|(?P<opening>[\s\\!?-]*[{_SLASHES}]{_INNER}{{3,80}}))"
    rf"|[\[［【](?=(?P<square>[{_SLASHES}][^\]］】\[]{{3,80}})(?P<last>[\]］】]))"
)
"""The beginning of anything that looks like a tag, or of an unterminated closing tag."""
_OTHER_BRACKETS = f"{OPENING[1:]}［【◁"
_TURN = re.compile(
    r"(?<=\n)(?P<turn>[ \t\r]*\n(?:Human|Assistant)):"
    r"|(?:^|(?<=\n))(?P<head>\#\#\# (?:Instruction|Response|User|Assistant|Human|System)):"
)
_NAME = re.compile(r"(?P<slash>[\W_]*)(?P<name>[^\W\d_]+)(?P<suffix>.*)", re.DOTALL)
_LOOKING_LIKE = str.maketrans(
    "асԁеѕорі ıӏјкмтхуυνοαειкρτσμɡɑєᴏ⁄∕╱⧸／—–−‐‑_01$5@43",
    "acdesopi iljkmtxyuvoaeikptsmgaeo/////------oissaae",
)
"""Letters of other scripts, and other signs, that look like those of a tag."""
_EXCLAMATION = re.compile(r"(?<=\w)!(?=\w)")
_CODE = re.compile("-[0-9a-fiols]{8,}/?")  # with letters for 0, 1 and 5
_MAY_BE_OURS = re.compile(
    r"[\W_]*(?:[s5$][\W_]*u|f[\W_]*[i1!]|[s5$][\W_]*[e3]|t[\W_]*[a@4]|c[\W_]*[o0]|r[\W_]*[e3]"
    r"|[e3][\W_]*x|p[\W_]*l|[o0][\W_]*u)",
    re.IGNORECASE,
)
"""How the names of our tags begin: a quick test that skips most HTML tags."""
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
"""Their first bytes in UTF-8: a quick test for texts that have none."""
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


@lru_cache(maxsize=16)
def undisguised(text: str) -> str:
    """Return the text with all of that replaced, character for character; the same object if it has
    none."""
    shown = text
    if "<" in text:
        shown = _ANGLE.sub(_marked, shown)
    if "[" in text or "]" in text:
        shown = _SQUARE.sub(_marked, shown)
    shown = _without_our_tags(shown)
    shown = _TURN.sub(lambda turn: f"{turn.group()[:-1]}{SHOWN[':']}", shown)
    if not text.isascii():
        if any(bracket in text for bracket in _OTHER_BRACKETS):
            shown = _OTHER_BARRED.sub(_marked, shown)
        encoded = text.encode("utf-8", "surrogatepass")
        if any(letters in encoded for letters in _MAY_BE_UNSEEN):
            shown = _UNSEEN.sub(_seen, shown)
    return text if shown == text else shown


_AS_WRITTEN = str.maketrans(MEANT)


def as_written(text: str) -> str:
    """Return a text shown to a judge as its author wrote it, except for invisible characters."""
    return text.translate(_AS_WRITTEN)


def _marked(match: re.Match[str]) -> str:
    """Replace the marks of a control token."""
    return "".join([SHOWN.get(letter, letter) for letter in match.group()])


def _without_our_tags(text: str) -> str:
    """Replace the brackets of tags that could pass for those of the prompt."""
    letters: list[str] | None = None
    for begin in _TAG.finditer(text):
        inner = begin["tag"] or begin["opening"] or begin["square"]
        end = "end" if begin["end"] else "last" if begin["last"] else None
        whole = text[begin.start() : begin.end(end) if end else begin.end("opening")]
        if not _passes_for_ours(inner, whole):
            continue
        letters = letters or list(text)
        for at in (begin.start(), *([begin.start(end)] if end else ())):
            letters[at] = SHOWN[text[at]]
    return text if letters is None else "".join(letters)


def _passes_for_ours(inner: str, whole: str) -> bool:
    """Whether the text between two brackets looks like the name of one of our tags, with any
    suffix."""
    if whole.isascii() and "&" not in inner and not _MAY_BE_OURS.match(inner):
        return False
    skeleton = _skeleton(inner)
    squeezed = "".join(skeleton.split())
    for written in (skeleton, squeezed):
        read = _NAME.match(written)
        if read is None:
            continue
        suffix, closes = read["suffix"], "/" in read["slash"]
        if _CODE.fullmatch(suffix) and not whole.isascii():  # of a fence of another name
            return True
        if closes and _fence(read["name"][: len("submission")]) == "submission":
            return True
        name = _fence(read["name"])
        if not name:
            continue
        if not suffix.strip(" /"):
            return name == "submission" or not _PLAIN_TAG.fullmatch(whole)  # XML of the text's
        is_path = suffix[0] == "/"  # of a link: </reference/page>
        is_ours = suffix[0] == "-" and whole[0] != "&"  # else a placeholder: &lt;task-name&gt;
        if is_ours or name == "submission" or (closes and not is_path):
            return True
    letters = "".join([letter for letter in squeezed if letter.isalpha()])
    return letters == "submission" or (squeezed[:1] == "/" and letters in FENCES)


def _fence(name: str) -> str:
    """Return the tag whose name this resembles, or "". Letters of other scripts match any
    letter."""
    if name.isascii():
        return name if name in FENCES else ""
    for fence in FENCES:
        same = sum([letter == other for letter, other in zip(name, fence, strict=False)])
        odd = sum([not letter.isascii() for letter in name])
        if len(name) == len(fence) == same + odd and same >= odd:
            return fence
    return ""


def _skeleton(text: str) -> str:
    """Return the small Latin letters and signs that a text resembles."""
    if "&" in text:
        text = html.unescape(text)
    text = _EXCLAMATION.sub("i", text.replace("\\", ""))
    if text.isascii():
        return text.casefold().translate(_LOOKING_LIKE)
    shown = re.sub(f"[{_FORMAT}]", "", text)
    parts = unicodedata.normalize("NFKD", shown).casefold().translate(_LOOKING_LIKE)
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def _seen(match: re.Match[str]) -> str:
    """Replace an invisible character, unless its script is written with it."""
    character, text, at = match.group(), match.string, match.start()
    before, after = text[at - 1 : at] or " ", text[at + 1 : at + 2] or " "
    meant: object = False
    if _UNSEEN.match(before) and not _PICTURE.match(before):
        pass  # a single one can be intended; several may hide text
    elif character in "\u200c\u200d":
        between = _PICTURE.match(before) and _PICTURE.match(after)
        meant = _JOINING.match(before) or (character == "\u200d" and between)
    elif character in "\u061c\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069":
        meant = _runs_both_ways(text)
    elif character == "\u200b":
        meant = _UNSPACED.match(before) and _UNSPACED.match(after)
    elif "\ufe00" <= character <= "\ufe0f":
        written = _PICTURE.match(before) or _JOINING.match(before) or _IDEOGRAPH.match(before)
        meant = written or before in "0123456789#*"
    elif "\U000e0100" <= character <= "\U000e01ef":
        meant = _IDEOGRAPH.match(before)
    elif character in "\u034f\u115f\u1160\u180b\u180c\u180d\u180e":
        meant = _JOINING.match(before) or "\u1100" <= after <= "\u11ff"
    return character if meant or match[1] else HIDDEN


@lru_cache(maxsize=4)
def _runs_both_ways(text: str) -> bool:
    """Whether a text has letters of a right-to-left script."""
    return _RIGHT_TO_LEFT.search(text) is not None
