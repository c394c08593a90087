"""Addresses: of databases, which may have a password in them, and of this machine."""

from __future__ import annotations

import ipaddress
from typing import TypeGuard

SCHEMES = ("postgresql://", "postgres://")
NOT_SHOWN = ("password=", "sslpassword=", "run=", "connect_timeout=", "tcp_user_timeout=")
"""What of an address's query is not shown, is not part of the address, or matters to nobody."""


def is_address(place: object) -> TypeGuard[str]:
    """Whether this is the address of a database, and no path."""
    return isinstance(place, str) and place.startswith(SCHEMES)


def shown_address(address: str) -> str:
    """An address without passwords, for people."""
    scheme, _, rest = address.partition("://")
    account, at, place = rest.rpartition("@")  # a password may have any character in it
    user = account.partition(":")[0]
    place, _, query = place.partition("?")
    kept = [part for part in query.split("&") if part and not part.startswith(NOT_SHOWN)]
    return f"{scheme}://{user}{at}{place}{'?' if kept else ''}{'&'.join(kept)}"


def is_this_machine(host: str) -> bool:
    """Whether a host of an address is the machine itself, so that it is another on each machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
