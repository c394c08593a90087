"""The providers that a judge's prefix names: where they are and which variable has their key."""

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
        prefix: what comes before the slash in a judge's name. What follows a '-' in it names
            another interface of the same company.
        base_url: the address of its interface.
        key_required: False for servers on one's own machine.
        url_variable: the environment variable that moves it elsewhere, if there is a usual one.
        caches_prefixes: whether it keeps the beginning of prompts by itself, so that what an
            item's prompts have in common is cheaper after the first of them.
        gives_logprobs: False where its interface is known to give no logprobs. Where some of its
            models give them and others do not, that is found out by asking.
        wire: the file of its interface.
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
        """Whose it is, such as `openai`."""
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


@dataclass(frozen=True, slots=True)
class Access:
    """Where a judge is, and how to get in.

    Attributes:
        url: the address of its interface.
        model: the model's own name.
        key: the key that is sent there, if any.
        key_variable: the variable that the key is looked for in.
    """

    url: str
    model: str
    key: str | None = field(repr=False)
    key_variable: str


def access(name: str, address: str | None) -> Access:
    """Where the judge of this name is, and the key that it gets.

    A provider's key goes to the provider's own host, or where its address variable
    (`OPENAI_BASE_URL`) points, if both are set in the same place: the environment, or `.env` in
    the working folder. To any other address goes the key in `RUBRICATE_API_KEY`, if any.

    Args:
        name: the judge's name.
        address: the address, if the user named one; a key is then optional.

    Raises:
        MissingKeyError: the provider needs a key and the variable is not set.
        InputError: the prefix is unknown and no address is given, address and key are from two
            places, or one of them cannot be used.
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
            "OpenAI-compatible server give its address as the base URL)"
        )
    key, moved = settings_of(provider)
    variable = provider.key_variable
    if key is None and provider.key_required:
        raise MissingKeyError(
            f"the judge '{name}' needs an API key: set the environment variable {variable}, or "
            f"write it into {ENV_FILE} in the working folder"
        )
    url = moved.value if moved else provider.base_url
    if moved and moved.place == ENV_FILE:
        logger.warning("%s is at %s, as %s says", name, url, ENV_FILE)
    return Access(url.rstrip("/"), model, _usable(key, variable), variable)


def address_of(name: str, address: str | None) -> str | None:
    """The address of the judge of this name; None where that is an error or there is none."""
    provider, _ = split_name(name)
    if address is not None or provider is None:
        return address and address.rstrip("/")
    try:
        _, moved = settings_of(provider)
    except InputError:
        return None
    return (moved.value if moved else provider.base_url).rstrip("/")


def settings_of(provider: Provider) -> tuple[Setting | None, Setting | None]:
    """A provider's key and, where it is moved elsewhere, its address.

    Raises:
        InputError: they are from two places, or the address is none.
    """
    key = find_setting(provider.key_variable)
    moved = find_setting(provider.url_variable) if provider.url_variable else None
    if moved is not None:
        _check_address(str(provider.url_variable), moved.value)
        if provider.wire == "_anthropic" and not moved.value.rstrip("/").endswith("/v1"):
            # Anthropic's own clients take the address without it.
            moved = replace(moved, value=f"{moved.value.rstrip('/')}/v1")
        if key is not None and key.place != moved.place:
            raise InputError(
                f"{provider.url_variable} is set in {moved.place} and {provider.key_variable} in "
                f"{key.place}: an address gets a key only from its own place. Set both in one of "
                f"them, or name the address yourself (--base-url; its key is {GENERIC_KEY})"
            )
    return key, moved


_PATHS = ("/chat/completions", "/completions", "/messages", "/responses")
"""What interfaces have behind their address."""


def _check_address(what: str, url: str) -> None:
    """Raise `InputError` for what is no address of an HTTP interface, without repeating secrets."""
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
    """What somebody who writes this name most likely wants."""
    if ".py" in name:
        return "; a judge of your own is given to rubricate.grade in Python"
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


# Settings: from the environment, else from `.env` in the working folder. Nothing but the variable
# that is asked for is taken from the file, so that a stranger's `.env` can set no proxy, no
# certificates and no switch of this program.

ENVIRONMENT = "the environment"
ENV_FILE = ".env"
MOST_READ = 1 << 16
"""Bytes of the file that are looked at."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable's value, and the place that it is from: `ENVIRONMENT` or `ENV_FILE`."""

    value: str
    place: str


def find_setting(variable: str) -> Setting | None:
    """A variable that is set and not blank; what the environment has goes before the file.

    The file is read anew each time: it belongs to the working folder, which may change. One that
    cannot be read has nothing.
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


# The proxy that requests go through: `HTTPS_PROXY` and the like are read as `urllib.request` does.
# Addresses of this machine are never asked for through a proxy.


def proxy_for(address: str) -> str | None:
    """The URL of the proxy for an http or https address; None where it is asked for directly.

    Raises:
        InputError: the environment names a proxy that is not an HTTP proxy. The proxy's user and
            password are not in the message.
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
