"""Model families by name: judges tend to favour texts of their own family."""

from __future__ import annotations

import re

_FAMILIES = {
    "anthropic": ("anthropic", "claude"),
    "cohere": ("cohere", "command-r", "command-a", "aya"),
    "deepseek": ("deepseek",),
    "google": ("google", "gemini", "gemma", "palm", "bard"),
    "meta": ("meta", "llama", "codellama"),
    "microsoft": ("microsoft", "phi"),
    "mistral": ("mistral", "mistralai", "mixtral", "ministral", "codestral", "magistral"),
    "moonshot": ("moonshot", "moonshotai", "kimi"),
    "openai": ("openai", "gpt", "chatgpt", "o1", "o3", "o4", "davinci"),
    "qwen": ("qwen", "qwq", "alibaba"),
    "xai": ("xai", "x-ai", "grok"),
    "zhipu": ("zhipu", "zai-org", "glm", "chatglm"),
}
_FAMILY_OF = {word: family for family, words in _FAMILIES.items() for word in words}
_WORD = re.compile(
    rf"(?<![a-z0-9])({'|'.join(sorted(map(re.escape, _FAMILY_OF), key=len, reverse=True))})"
    r"(?!(?!v\d)[a-z])"
)


def model_family(name: str) -> str | None:
    """Return the family of a model by its name, such as `openai` for `openai/gpt-6-luna`.

    The model's own name takes precedence over its prefix: a Llama served at `groq/llama-3.3-70b` or
    an address has the family `meta`. None if nothing is recognised.
    """
    for part in reversed(name.casefold().split("/")):
        if match := _WORD.search(part):
            return _FAMILY_OF[match.group(1)]
    return None
