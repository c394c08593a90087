"""`ragas.run_config`: timeouts, retries and concurrency."""

from __future__ import annotations

from dataclasses import dataclass

from rubricate.errors import InputError


@dataclass
class RunConfig:
    """How requests are sent.

    Attributes:
        timeout: the timeout of a request in seconds, for an `llm` by name or client.
        max_retries: the maximum number of attempts while the endpoint has temporary problems.
        max_wait: has no effect, because rubricate decides how long to wait between attempts.
        max_workers: the number of samples that are judged concurrently.
        exception_types, log_tenacity, seed: have no effect.

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
