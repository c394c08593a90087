"""Text of strangers as a judge is shown it: what only a machine can see is made visible.

A model's server may take `<|im_start|>` in a text for the beginning of a message, a reader does not
see zero-width or tag characters, and a tag of other brackets or letters can look like the end of
the fence around the text. Each such character is shown as another one, **letter for letter**, so
that every offset into what is shown is one into the text. Whatever has none of that is shown
unchanged.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any

from rubricate.dataset import ContextDocument, Item

_MAYBE_TURN = re.compile(
    r"\n(?:Human|Assistant|\#\#\# (?:Instruction|Response|User|Assistant|Human|System)):"
)


def neutral(text: str) -> str:
    """The text as a judge is shown it, of the same length; the text itself where all is visible.

    Shown in another form are control tokens of chat templates, tags that could pass for those
    around the material, and characters that nobody sees: but not the joiners, marks of direction
    and variants of emoji, Arabic, Hebrew, Indic and other scripts that are written with them.
    """
    plain = text.isascii() and not ("<" in text or "[" in text or "]" in text or "&" in text)
    if plain and not _may_have_turns(text):
        return text
    from rubricate.judge.asking._disguises import undisguised  # few texts need its tables

    return undisguised(text)


def _may_have_turns(text: str) -> bool:
    return text.startswith("###") or _MAYBE_TURN.search(text) is not None


def neutral_item(item: Item) -> Item:
    """The item with its material as a judge is shown it; the item itself if that is the same."""
    changed = _changed(item.submission, item.prompt, item.reference, item.context)
    return replace(item, **changed) if changed else item


@lru_cache(maxsize=64)
def _changed(
    submission: str, prompt: str, reference: str | None, context: tuple[ContextDocument, ...]
) -> dict[str, Any]:
    """What of an item is shown in another form, by its name."""
    texts = {"submission": submission, "prompt": prompt, "reference": reference or ""}
    changed: dict[str, Any] = {
        name: shown for name, text in texts.items() if (shown := neutral(text)) != text
    }
    documents = tuple(
        replace(
            document, text=neutral(document.text), title=document.title and neutral(document.title)
        )
        for document in context
    )
    return changed if documents == context else {**changed, "context": documents}
