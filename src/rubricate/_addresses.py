"""Addresses of databases, which may have a password in them."""

from __future__ import annotations

from typing import TypeGuard

__all__ = ["is_address", "shown_address"]

SCHEMES = ("postgresql://", "postgres://")
NOT_SHOWN = ("password=", "sslpassword=", "run=")
"""What of an address's query is not shown, or not part of the address."""


def is_address(place: object) -> TypeGuard[str]:
    """Whether this is the address of a database, and no path."""
    return isinstance(place, str) and place.startswith(SCHEMES)


def shown_address(address: str) -> str:
    """An address without passwords, for people."""
    scheme, _, rest = address.partition("://")
    account, at, place = rest.rpartition("@")  # a password may have any character in it
    user = account.partition(":")[0]
    place, _, query = place.partition("?")
    kept = [one for one in query.split("&") if one and not one.startswith(NOT_SHOWN)]
    return f"{scheme}://{user}{at}{place}{'?' if kept else ''}{'&'.join(kept)}"
