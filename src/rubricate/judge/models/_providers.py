"""The providers that a judge's prefix names: where they are and which variable has their key."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from rubricate._documents import suggestion
from rubricate.errors import InputError, MissingKeyError

__all__ = ["GENERIC_KEY", "PROVIDERS", "Provider", "api_key", "base_url", "split_name"]


@dataclass(frozen=True, slots=True)
class Provider:
    """One row of the table.

    Attributes:
        prefix: what stands before the slash in a judge's name.
        base_url: the address of its OpenAI-compatible interface.
        key_variable: the environment variable of its API key.
        key_required: False for servers on one's own machine.
        url_variable: the environment variable that moves it elsewhere, if there is a usual one.
        caches_prefixes: whether it keeps the beginning of prompts by itself, so that what an
            item's prompts have in common is cheaper after the first of them.
        gives_logprobs: False where its interface is known to give no logprobs. Where some of its
            models give them and others do not, that is found out by asking.
    """

    prefix: str
    base_url: str
    key_variable: str
    key_required: bool = True
    url_variable: str | None = None
    caches_prefixes: bool = False
    gives_logprobs: bool = True


_ROWS = (
    Provider(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        url_variable="OPENAI_BASE_URL",
        caches_prefixes=True,
    ),
    Provider(
        "anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", gives_logprobs=False
    ),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        caches_prefixes=True,
    ),
    Provider(
        "openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", caches_prefixes=True
    ),
    Provider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", gives_logprobs=False),
    Provider("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", gives_logprobs=False),
    Provider("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", caches_prefixes=True),
    Provider("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    Provider(
        "litellm_proxy",
        "http://localhost:4000/v1",
        "LITELLM_API_KEY",
        url_variable="API_BASE_URL",
    ),
    Provider(
        "ollama",
        "http://localhost:11434/v1",
        "OLLAMA_API_KEY",
        key_required=False,
        url_variable="OLLAMA_BASE_URL",
    ),
    Provider(
        "vllm",
        "http://localhost:8000/v1",
        "VLLM_API_KEY",
        key_required=False,
        url_variable="VLLM_BASE_URL",
        caches_prefixes=True,
    ),
)
PROVIDERS: dict[str, Provider] = {row.prefix: row for row in _ROWS}

_MAKERS = {
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "gemini": "gemini",
    "mistral": "mistral",
    "deepseek": "deepseek",
}
"""How a model's name begins that is given without its provider, and whose it is."""

GENERIC_KEY = "RUBRICATE_API_KEY"
"""The key's variable for a server that is named by its address alone."""


def split_name(name: str) -> tuple[Provider | None, str]:
    """Split `prefix/model`; the provider is None where the prefix is not in the table."""
    prefix, slash, model = name.partition("/")
    provider = PROVIDERS.get(prefix) if slash else None
    return (provider, model) if provider else (None, name)


def base_url(name: str, given: str | None) -> tuple[str, str]:
    """The address and the model's own name for a judge's name.

    Raises:
        InputError: the prefix is unknown and no address is given.
    """
    provider, model = split_name(name)
    if not model.strip():
        raise InputError(f"the judge '{name}' names no model: write {name.rstrip('/')}/MODEL")
    if given is not None:
        if not given.startswith(("http://", "https://")):
            raise InputError(f"the base URL must start with http:// or https://, found '{given}'")
        return given.rstrip("/"), model
    if provider is None:
        known = ", ".join(f"{known}/..." for known in PROVIDERS)
        raise InputError(
            f"unknown judge '{name}'{_meant(name)} (known: builtin, {known}; for another "
            "OpenAI-compatible server give its address as the base URL)"
        )
    moved = os.environ.get(provider.url_variable) if provider.url_variable else None
    if moved and not moved.startswith(("http://", "https://")):
        raise InputError(
            f"{provider.url_variable} must start with http:// or https://, found '{moved}'"
        )
    return (moved or provider.base_url).rstrip("/"), model


def _meant(name: str) -> str:
    """What somebody who writes this name most likely wants, as a question."""
    prefix, _, model = name.partition("/")
    near = suggestion(prefix, [*PROVIDERS, "builtin"])
    if near == "builtin" or (near and not model):
        near = near if near == "builtin" else f"{near}/MODEL"
    elif near:
        near = f"{near}/{model}"
    else:
        near = next(
            (f"{maker}/{name}" for start, maker in _MAKERS.items() if name.startswith(start)), None
        )
    return f"; did you mean '{near}'?" if near else ""


def api_key(name: str, given: str | None) -> tuple[str | None, str]:
    """The key for a judge's name and the variable it is in.

    A provider's key goes to the provider's own host, or where its address variable
    (`OPENAI_BASE_URL`) points. To any other address goes the key in `RUBRICATE_API_KEY`, if any.

    Args:
        name: the judge's name.
        given: the address that was given, if one was; a key is then optional.

    Raises:
        MissingKeyError: the provider needs a key and the variable is not set.
        InputError: the key cannot be sent.
    """
    provider, _ = split_name(name)
    if provider is not None and given is not None and not _is_at(provider, given):
        provider = None
    variable = provider.key_variable if provider else GENERIC_KEY
    key = os.environ.get(variable, "").strip() or None
    if key is None and provider is not None and provider.key_required and given is None:
        raise MissingKeyError(
            f"the judge '{name}' needs an API key: set the environment variable {variable}"
        )
    if key is not None and not (key.isascii() and key.isprintable()):
        raise InputError(f"the API key in {variable} has characters that no key can have")
    return key, variable


def _is_at(provider: Provider, url: str) -> bool:
    """Whether an address is the provider's own: the same scheme, host and port."""
    try:
        theirs, asked = urlsplit(provider.base_url), urlsplit(url)
        return (theirs.scheme, theirs.hostname, theirs.port) == (
            asked.scheme,
            asked.hostname,
            asked.port,
        )
    except ValueError:
        return False
