"""Options that several commands have, each said once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, get_args

import typer

from rubricate.errors import InputError

if TYPE_CHECKING:
    from rubricate.stats import Undecided as UndecidedPolicy

__all__ = [
    "Attempts",
    "BaseUrl",
    "Cache",
    "Concurrency",
    "Deadline",
    "DryRun",
    "Fresh",
    "Groups",
    "JsonFigures",
    "JsonOutput",
    "JudgePrompt",
    "MaxCost",
    "MaxOutage",
    "MaxTime",
    "MaxTokens",
    "MinVotes",
    "NoCache",
    "Nominal",
    "Prices",
    "Quiet",
    "Replicates",
    "RequestsPerMinute",
    "RetryFailed",
    "Temperature",
    "Timeout",
    "TokensPerMinute",
    "Undecided",
    "Weights",
    "undecided_policy",
]

JsonOutput = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
JsonFigures = Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors (and --json).")
]

Groups = Annotated[
    str | None,
    typer.Option(
        help="Metadata that says which items belong together: intervals are by it. [each by itself]"
    ),
]
Undecided = Annotated[
    str,
    typer.Option(
        help="A pair in which one did not decide: exclude, label (an abstention is a label) or "
        "wrong."
    ),
]


def undecided_policy(given: str) -> UndecidedPolicy:
    """What `--undecided` says.

    Raises:
        InputError: there is no such policy.
    """
    from rubricate.stats import Undecided

    for policy in get_args(Undecided):
        if policy == given:
            return policy  # type: ignore[no-any-return]
    raise InputError(f"--undecided must be exclude, label or wrong, found '{given}'")


BaseUrl = Annotated[
    str | None, typer.Option(help="The address of an OpenAI-compatible server, up to /v1.")
]
JudgePrompt = Annotated[
    str | None,
    typer.Option(help="A file with a prompt for the judge, in place of the usual one."),
]
Replicates = Annotated[
    int | None, typer.Option(help="How often each judge is asked, a vote each time. [1]")
]
Temperature = Annotated[float | None, typer.Option(help="Sampling temperature. [0]")]
MaxTokens = Annotated[
    int | None, typer.Option(help="The most tokens of a reply. [the endpoint's own limit]")
]
Timeout = Annotated[float | None, typer.Option(help="Seconds that one request may take. [120]")]
Concurrency = Annotated[int | None, typer.Option(help="The most requests in flight at once. [32]")]
Weights = Annotated[
    str | None,
    typer.Option(
        help="What each judge's vote counts: reliability, numbers such as 2,1,1, or by name: "
        "gpt=0.7,claude=0.3."
    ),
]
Nominal = Annotated[
    str | None,
    typer.Option(help="Votes on options without order: mode, weighted_mode, unanimous."),
]
MinVotes = Annotated[
    int | None, typer.Option(help="With fewer votes that decide, a verdict is failed. [1]")
]
RequestsPerMinute = Annotated[
    float | None, typer.Option(help="What the endpoint may be sent. [as its answers tell]")
]
TokensPerMinute = Annotated[
    float | None, typer.Option(help="What the endpoint may be asked for. [as above]")
]
Attempts = Annotated[
    int | None, typer.Option(help="How often a failing request is sent, at most. [6]")
]
Deadline = Annotated[
    float | None, typer.Option(help="Seconds that one judgement may take in all. [600]")
]
MaxOutage = Annotated[
    float | None,
    typer.Option(help="Seconds without any answer after which a run is stopped. [120]"),
]
MaxTime = Annotated[float | None, typer.Option(help="End after so many seconds.")]
MaxCost = Annotated[
    float | None, typer.Option(help="End before more US dollars than these are spent.")
]
Prices = Annotated[
    str | None, typer.Option(help="A file of prices by model, before the built-in ones.")
]
Cache = Annotated[
    str | None,
    typer.Option(help="A folder with answers that runs share. [the user's cache folder]"),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Share no answers with other runs.")]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Ask everything anew; an earlier journal is moved aside."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would take, and send nothing.")
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Ask for nothing but what failed before.")
]
