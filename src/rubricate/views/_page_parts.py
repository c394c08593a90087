"""What pages consist of: files of a package, templates, and a policy for what may run."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from rubricate.stats import Estimate
from rubricate.views._format import (
    dollars,
    ends,
    estimate_text,
    figure,
    p_text,
    percent,
    weight_text,
)

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def page_part(name: str, room: str = "rubricate.views") -> str:
    """Read a file from the folder `page` of a package."""
    return (files(room) / "page" / name).read_text("utf-8")


def page_policy(script: str, style: str, connect: str = "'none'") -> str:
    """Return a Content-Security-Policy that allows this script and style, and nothing else.

    Args:
        script, style: the text of the page's only script and only style sheet.
        connect: the addresses to which the script may send requests.
    """
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def page_templates(room: str) -> Environment:
    """Load the templates in the folder `page` of a package, with escaping."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(room, "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        figure=figure,
        estimate=estimate_text,
        interval=_interval,
        percent=percent,
        p_value=p_text,
        dollars=_dollars,
        weight=weight_text,
        duration=_duration,
    )
    return environment


def _interval(estimate: Estimate, digits: int = 2, sign: bool = False) -> str:
    return ends(estimate.low, estimate.high, digits, sign)


def _dollars(cost: float | None, estimated: float = 0.0) -> str:
    return dollars(cost, estimated, 4 if cost is None or 0 < cost < 1 else 2)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    if seconds < 60:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest:.0f} s"
