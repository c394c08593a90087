"""The providers of judges by prefix: their addresses and the variables of their keys."""

from __future__ import annotations

import io
import logging
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from rubricate._files import is_this_machine
from rubricate._spelling import suggestion
from rubricate.errors import InputError, MissingKeyError

logger = logging.getLogger("rubricate")


@dataclass(frozen=True, slots=True)
class Provider:
    """One row of the table.

    Attributes:
        prefix: the part of a judge's name before the slash. A suffix after '-' names another API of
            the same company.
        base_url: the address of its API.
        key_required: False for servers on your own machine.
        url_variable: the environment variable that changes the address, if there is a usual one.
        caches_prefixes: whether it caches the beginning of prompts by default, so that the part
            that an item's prompts share is cheaper after the first of them.
        gives_logprobs: False if its API is known to have no logprobs. If only some models have
            them, requests find out which.
        wire: the module of its API.
    """

    prefix: str
    base_url: str
    key_required: bool = True
    url_variable: str | None = None
    caches_prefixes: bool = False
    gives_logprobs: bool = True
    wire: str = "_openai"

    @property
    def company(self) -> str:
        """The company, such as `openai`."""
        return self.prefix.partition("-")[0]

    @property
    def key_variable(self) -> str:
        """The environment variable of its API key, such as `OPENAI_API_KEY`."""
        return f"{self.company.upper().removesuffix('_PROXY')}_API_KEY"


_ROWS = (
    Provider(
        "openai", "https://api.openai.com/v1", url_variable="OPENAI_BASE_URL", caches_prefixes=True
    ),
    Provider(
        "openai-responses",
        "https://api.openai.com/v1",
        url_variable="OPENAI_BASE_URL",
        caches_prefixes=True,
        gives_logprobs=False,
        wire="_openai_responses",
    ),
    Provider(
        "anthropic",
        "https://api.anthropic.com/v1",
        url_variable="ANTHROPIC_BASE_URL",
        caches_prefixes=True,
        gives_logprobs=False,
        wire="_anthropic",
    ),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        url_variable="GEMINI_BASE_URL",
        caches_prefixes=True,
    ),
    Provider("openrouter", "https://openrouter.ai/api/v1", caches_prefixes=True),
    Provider("groq", "https://api.groq.com/openai/v1", gives_logprobs=False),
    Provider("mistral", "https://api.mistral.ai/v1", gives_logprobs=False),
    Provider("deepseek", "https://api.deepseek.com/v1", caches_prefixes=True),
    Provider("together", "https://api.together.xyz/v1"),
    Provider("litellm_proxy", "http://localhost:4000/v1", url_variable="API_BASE_URL"),
    Provider(
        "ollama", "http://localhost:11434/v1", key_required=False, url_variable="OLLAMA_BASE_URL"
    ),
    Provider(
        "vllm",
        "http://localhost:8000/v1",
        key_required=False,
        url_variable="VLLM_BASE_URL",
        caches_prefixes=True,
    ),
)
PROVIDERS: dict[str, Provider] = {row.prefix: row for row in _ROWS}

_MAKERS = {
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "gemini": "gemini",
    "mistral": "mistral",
    "deepseek": "deepseek",
}
"""Beginnings of model names without a provider, and the provider of each."""

GENERIC_KEY = "RUBRICATE_API_KEY"
"""The variable of the key for a server that is given only by its address."""


def split_name(name: str) -> tuple[Provider | None, str]:
    """Split `prefix/model`; the provider is None if the prefix is not in the table."""
    prefix, slash, model = name.partition("/")
    provider = PROVIDERS.get(prefix) if slash else None
    return (provider, model) if provider else (None, name)


@dataclass(frozen=True, slots=True)
class Access:
    """The address of a judge, and its key.

    Attributes:
        url: the address of its API.
        model: the model's own name.
        key: the key to send, if any.
        key_variable: the variable that was searched for the key.
    """

    url: str
    model: str
    key: str | None = field(repr=False)
    key_variable: str


def access(name: str, address: str | None, needs_key: bool = True) -> Access:
    """Return the address and the key for the judge with this name.

    A provider's key is only sent to the provider's own host, or to the address in its variable
    (`OPENAI_BASE_URL`) if both are set in the same place: the environment, or `.env` in the working
    folder. Any other address gets the key in `RUBRICATE_API_KEY`, if any.

    Args:
        name: the judge's name.
        address: the address, if the user set one; a key is then optional.
        needs_key: False where nothing will be sent.

    Raises:
        MissingKeyError: the provider needs a key and the variable is not set.
        InputError: the prefix is unknown and there is no address, address and key are from two
            places, or one of them is invalid.
    """
    provider, model = split_name(name)
    if not model.strip():
        raise InputError(f"the judge '{name}' names no model: write {name.rstrip('/')}/MODEL")
    if address is not None:
        _check_address("the base URL", address)
        if provider is not None and not _is_at(provider, address):
            provider = None
        variable = provider.key_variable if provider else GENERIC_KEY
        key = find_setting(variable)
        return Access(address.rstrip("/"), model, _usable(key, variable), variable)
    if provider is None:
        known = ", ".join(f"{known}/..." for known in PROVIDERS)
        raise InputError(
            f"unknown judge '{name}'{_meant(name)} (known: builtin, {known}; for another "
            "OpenAI-compatible server, name its model, and its address as base_url or --base-url)"
        )
    key, moved = settings_of(provider)
    variable = provider.key_variable
    if key is None and provider.key_required and needs_key:
        raise MissingKeyError(
            f"the judge '{name}' needs an API key: set the environment variable {variable}, or "
            f"write it into {ENV_FILE} in the working folder"
        )
    url = moved.value if moved else provider.base_url
    if moved and moved.place == ENV_FILE:
        logger.warning("%s is at %s, as %s says", name, url, ENV_FILE)
    return Access(url.rstrip("/"), model, _usable(key, variable), variable)


def address_of(name: str, address: str | None) -> str | None:
    """The address of the judge with this name; None if there is none, or it is an error."""
    provider, _ = split_name(name)
    if address is not None or provider is None:
        return address and address.rstrip("/")
    try:
        _, moved = settings_of(provider)
    except InputError:
        return None
    return (moved.value if moved else provider.base_url).rstrip("/")


def settings_of(provider: Provider) -> tuple[Setting | None, Setting | None]:
    """Return a provider's key and, if set, its changed address.

    Raises:
        InputError: they are from two places, or the address is invalid.
    """
    key = find_setting(provider.key_variable)
    moved = find_setting(provider.url_variable) if provider.url_variable else None
    if moved is not None:
        _check_address(str(provider.url_variable), moved.value)
        if provider.wire == "_anthropic" and not moved.value.rstrip("/").endswith("/v1"):
            # Anthropic's own clients take the address without the version.
            moved = replace(moved, value=f"{moved.value.rstrip('/')}/v1")
        if key is not None and key.place != moved.place:
            raise InputError(
                f"{provider.url_variable} is set in {moved.place} and {provider.key_variable} in "
                f"{key.place}: an address gets a key only from its own place. Set both in one of "
                f"them, or name the address yourself (--base-url; its key is {GENERIC_KEY})"
            )
    return key, moved


_PATHS = ("/chat/completions", "/completions", "/messages", "/responses")
"""The paths of APIs after their address."""


def _check_address(what: str, url: str) -> None:
    """Raise `InputError` for an invalid address of an HTTP API, without repeating secrets."""
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{what} must start with http:// or https://, found {url!r}")
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"{what} is not a usable address")
    if parts.query or parts.fragment:
        raise InputError(f"{what} must be an address up to /v1, without '?' or '#'")
    if parts.path.rstrip("/").endswith(_PATHS):
        shown = url.rstrip("/")
        for path in _PATHS:
            shown = shown.removesuffix(path)
        raise InputError(
            f"{what} is the address up to /v1, to which the rest is added: write {shown}"
        )
    if parts.username or parts.password:
        raise InputError(f"{what} must not contain a user name or password")


def _usable(key: Setting | None, variable: str) -> str | None:
    if key is None:
        return None
    if not (key.value.isascii() and key.value.isprintable()):
        raise InputError(f"the API key in {variable} has characters that no key can have")
    return key.value


def _meant(name: str) -> str:
    """Suggest what a user who writes this name most likely wants."""
    if name.endswith((".csv", ".tsv", ".txt")):
        return "; people who judge have a file of labels: .json, .yaml or .jsonl"
    if ".py" in name:
        return "; a judge of your own is given to rubricate.grade in Python"
    prefix, _, model = name.replace(":", "/", "/" not in name).partition("/")
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


def _is_at(provider: Provider, url: str) -> bool:
    """Whether an address is the provider's own: the same scheme, host and port."""
    try:
        theirs, other = urlsplit(provider.base_url), urlsplit(url)
        return (theirs.scheme, theirs.hostname, theirs.port) == (
            other.scheme,
            other.hostname,
            other.port,
        )
    except ValueError:
        return False


# Settings: from the environment, else from `.env` in the working folder. Only the requested
# variable is read from the file, so that a third-party `.env` cannot set a proxy, certificates
# or options of this program.

ENVIRONMENT = "the environment"
ENV_FILE = ".env"
MOST_READ = 1 << 16
"""The maximum number of bytes of the file that are read."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of a variable and its source: `ENVIRONMENT` or `ENV_FILE`."""

    value: str
    place: str


def find_setting(variable: str) -> Setting | None:
    """Return a variable that is set and not blank; the environment takes precedence over the file.

    The file is read again each time, because it belongs to the working folder, which may change. An
    unreadable file counts as empty.
    """
    if value := os.environ.get(variable, "").strip():
        return Setting(value, ENVIRONMENT)
    file = Path(ENV_FILE)
    try:
        if not file.is_file():
            return None
        with file.open("rb") as stream:
            text = stream.read(MOST_READ).decode("utf-8-sig", "replace")
    except OSError:
        return None
    if variable not in text:
        return None
    from dotenv import dotenv_values

    value_found = dotenv_values(stream=io.StringIO(text), interpolate=False).get(variable)
    return Setting(value_found.strip(), ENV_FILE) if value_found and value_found.strip() else None


# The proxy of requests: `HTTPS_PROXY` and the like are read as in `urllib.request`. Addresses of
# this machine never go through a proxy.


def proxy_for(address: str) -> str | None:
    """The URL of the proxy for an http or https address; None for a direct connection.

    Raises:
        InputError: the environment names a proxy that is not an HTTP proxy. The message does not
            contain the proxy's user and password.
    """
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(address)
    host = parts.hostname or ""
    if is_this_machine(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named:
        return None
    proxy = named if "://" in named else f"http://{named}"
    scheme = urlsplit(proxy).scheme
    if scheme not in ("http", "https"):
        raise InputError(
            f"the environment names a proxy of the kind '{scheme}', and only HTTP proxies are "
            f"supported; set {parts.scheme.upper()}_PROXY to one, or NO_PROXY={host}"
        )
    return proxy


def password(url: str | None) -> str | None:
    """The password in a proxy's URL, if there is one."""
    return urlsplit(url).password if url else None
