"""Sending: how a run's requests reach models.

A `Sender` takes a request and gives its answer. An adaptive rate limiter lets it through
(one an endpoint, for all runs in the process), a late request is hedged, a failed one is
retried, and a circuit breaker stops what has no point. A budget bounds what it costs.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.run.sending._bills import most_tokens as most_tokens
    from rubricate.run.sending._budget import (
        Expense as Expense,
        RunEnds as RunEnds,
        Spending as Spending,
    )
    from rubricate.run.sending._circuit_breaker import RAISED as RAISED
    from rubricate.run.sending._judgement import (
        Claim as Claim,
        Judgement as Judgement,
        SendFor as SendFor,
        Settle as Settle,
    )
    from rubricate.run.sending._options import (
        Budget as Budget,
        Limits as Limits,
        Retries as Retries,
    )
    from rubricate.run.sending._sender import ModelKey as ModelKey, Sender as Sender
else:
    __getattr__, __dir__ = lazy_door(__name__)
