"""`ragas.run_config`: how long, how often and how many at once."""

from __future__ import annotations

from dataclasses import dataclass

from rubricate.errors import InputError


@dataclass
class RunConfig:
    """How requests are sent.

    Attributes:
        timeout: seconds that one request may take, for an `llm` given by name or as a client.
        max_retries: how often a request is sent at most, while the endpoint is in passing trouble.
        max_wait: kept; how long is waited between attempts is rubricate's own rule.
        max_workers: how many samples are judged at once.
        exception_types, log_tenacity, seed: kept; nothing here depends on them.

    Raises:
        InputError: a number is not positive.
    """

    timeout: float = 180
    max_retries: int = 10
    max_wait: float = 60
    max_workers: int = 16
    exception_types: type[BaseException] | tuple[type[BaseException], ...] = (Exception,)
    log_tenacity: bool = False
    seed: int = 42

    def __post_init__(self) -> None:
        for name in ("timeout", "max_retries", "max_workers"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InputError(f"RunConfig: {name} must be more than 0, found {value!r}")
