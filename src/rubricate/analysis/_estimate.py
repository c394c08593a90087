"""What a run would take, as text and as data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rubricate._terminal import one_line
from rubricate.run import Range, RunEstimate

__all__ = ["estimate_figures", "estimate_text"]


def estimate_figures(estimate: RunEstimate) -> dict[str, Any]:
    """The estimate as JSON values; ranges are objects with `low` and `high`."""
    figures = asdict(estimate)
    for name in ("input_tokens", "output_tokens", "cost"):
        found: Range | None = getattr(estimate, name)
        figures[name] = None if found is None else found._asdict()
    return figures


def estimate_text(estimate: RunEstimate) -> str:
    """The estimate in four lines, five with long documents."""
    models = ", ".join(f"{count} of {name}" for name, count in estimate.models.items())
    requests = f"{estimate.requests}"
    if estimate.most_requests > estimate.requests:
        requests += f" to {estimate.most_requests}"
        models += " at most"
    cost = "unknown (no price for this model; give --prices)"
    if estimate.cost is not None:
        cost = f"${estimate.cost.low:.4f} to ${estimate.cost.high:.4f}"
    documents = f"documents {estimate.documents}"
    return "\n".join(
        one_line(line)
        for line in (
            f"verdicts  {estimate.verdicts} of {estimate.items} items, "
            f"{estimate.known} of them known already",
            f"requests  {requests}" + (f": {models}" if models else ""),
            f"tokens    {estimate.input_tokens.low:.0f} to {estimate.input_tokens.high:.0f} in, "
            f"{estimate.output_tokens.low:.0f} to {estimate.output_tokens.high:.0f} out",
            f"cost      {cost}",
            *((documents,) if estimate.documents.verdicts else ()),
        )
    )
