"""The proxy that requests go through, as the environment says.

`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` are read as everywhere (`urllib.request`).
Addresses of this machine are never asked for through a proxy.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from rubricate._addresses import is_this_machine
from rubricate.errors import InputError


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
    found = proxies.get(parts.scheme) or proxies.get("all")
    if not found:
        return None
    proxy = found if "://" in found else f"http://{found}"
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
