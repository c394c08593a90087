"""The options of judges: the endpoint, the way of asking, and the counting of votes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rubricate._spelling import unknown_word
from rubricate.errors import InputError
from rubricate.judge.models import TEMPERATURE, TIMEOUT
from rubricate.settings import Settings, option, options_of, options_set

if TYPE_CHECKING:
    from rubricate.judge.asking import CriteriaPerCall, Examples, Prompting, PromptTemplate

Weights = Sequence[float] | Mapping[str, float] | Literal["reliability"]
"""The weight of each judge's vote: in the judges' order, or by name, or `reliability`, estimated
from their votes on the whole dataset (Dawid and Skene 1979)."""

NAMED = "models given by name"
MODELS = "language models"
MODELS_AND_BUILTIN = "language models and the built-in judge"
SEVERAL = "several judges, or one several times"


class Endpoint(Settings, group="Who judges", applies_to=NAMED):
    """The options of the endpoint of a model given by name, and of its requests."""

    dry_run: ClassVar[bool] = False  # an estimate needs no API key

    base_url: str | None = option(
        None, "The address of an OpenAI-compatible server, up to /v1.", common=True
    )
    temperature: float | None = option(
        TEMPERATURE, "Sampling temperature; None (null in a file) leaves it to the endpoint.", ge=0
    )
    max_tokens: int | None = option(
        None,
        "Maximum tokens of a reply.",
        more="It bounds a model that does not stop writing.",
        default_text="the endpoint's own limit",
        unit="tokens",
        ge=1,
    )
    model_options: Mapping[str, Any] | None = option(
        None,
        "Further fields of each request, by the provider's names: reasoning_effort=high, or a "
        "JSON object.",
        more="Such as the effort or the thinking of a model that reasons: a dict of JSON values.",
        input_type=str | dict[str, Any] | None,
    )
    headers: Mapping[str, str] | None = option(
        None,
        "HTTP headers to send with each request: anthropic-beta=NAME, or a JSON object.",
        more="Keys are read from the environment instead.",
        input_type=str | dict[str, str] | None,
    )
    timeout: float = option(
        TIMEOUT, "Seconds that one request may take.", group="Limits", unit="seconds", gt=0
    )
    structured: Literal["auto", "schema", "json", "text"] = option(
        "auto",
        "The form of a model's replies: schema (structured output), json (JSON mode), text, or "
        "auto, the best that the endpoint supports.",
        more="Stored answers stay valid. See the guide 'Judges'.",
        group="How they are asked",
    )
    prices: str | Path | None = option(
        None,
        "A file of prices by model, which override the built-in ones.",
        more="See the guide 'Running'.",
        group="Limits",
        is_path=True,
    )


class Batching(Settings, group="Who judges", applies_to=NAMED):
    """Whether to ask a model given by name in batches, which cost half and take hours.

    Raises:
        InputError: an option is about batches without `batch`.
    """

    batch: bool = option(
        False,
        "Ask in the provider's batches, at half the price: answers take minutes to a day.",
        more="Of OpenAI, Anthropic, Gemini, Groq, and servers with OpenAI's interface of batches. "
        "It needs a run folder; see the guide 'Batches'.",
    )
    then_live: bool = option(
        False,
        "Ask live, at the full price, what a batch leaves unanswered, instead of in the next "
        "batch.",
    )
    wait: bool = option(
        True,
        "Wait for batches. Without it, the run ends when all requests are out, and the same "
        "command collects the answers.",
    )
    batch_interval: float = option(
        30.0, "Seconds between checks of pending batches.", unit="seconds", gt=0
    )

    def check(self) -> None:
        for name in options_set(Batching, self):
            if not self.batch:
                raise InputError(f"{name} is about batches: give batch, too")


SAMPLING = ("temperature", "max_tokens", "model_options", "headers")
"""The options of `Endpoint` that change a model's answers."""


class OwnPrompt(Settings):
    """A custom prompt."""

    judge_prompt: str | Path | PromptTemplate | None = option(
        None,
        "A file with a prompt for language models, instead of the usual one.",
        more="A Jinja template whose header declares its variables, or a `PromptTemplate`.",
        group="Who judges",
        applies_to=MODELS,
        input_type=str | None,
        is_path=True,
    )


class Asking(OwnPrompt, group="How they are asked", applies_to=MODELS):
    """The options of asking a judge."""

    mode: Literal["explained", "probability"] = option(
        "explained",
        "How a language model answers: explained (reason, quotes, verdict) or probability (the "
        "verdict alone, with the probability of each answer).",
        more="See the guide 'How an LLM judge is asked'.",
        input_type=str,
        has_other_words=True,
        applies_to=MODELS_AND_BUILTIN,
        common=True,
    )
    permutations: int | None = option(
        None,
        "Ask in N orders of the answers.",
        more="At most 6. In explained mode each is a vote; in probability mode their probabilities "
        "are averaged.",
        default_text="1; 2 in probability mode",
        unit="orders",
        ge=1,
    )
    shuffle: int | None = option(
        None,
        "Random seed of the order of the answers for each item, and of the criteria in one "
        "request.",
        default_text="the rubric's order",
    )
    require_evidence: bool | None = option(
        None,
        "Ask again if a verdict's quotes are not in the submission, then abstain.",
        more="For explained mode; see the guide 'How an LLM judge is asked'.",
        default_text="only metric criteria",
    )
    correct_prior: bool = option(
        True,
        "Correct probabilities by those of a content-free question (contextual calibration).",
        more="For probability mode.",
    )
    samples: int | None = option(
        None,
        "Replies sampled in each order if a model gives no probabilities.",
        more="For probability mode.",
        default_text="5",
        unit="replies",
        ge=1,
    )
    criteria_per_call: CriteriaPerCall = option(
        1,
        "Number of criteria in one request, or all.",
        more="More than one is cheaper, and judges them less apart.",
        unit="criteria",
        input_type=int | Literal["all"],
    )
    chunk_tokens: int | None = option(
        None,
        "Read submissions of more tokens in parts of at most N.",
        more="See the guide 'Long documents'.",
        default_text="whole",
        unit="tokens",
    )
    examples: Examples | None = option(
        None,
        "Labelled items to show to a language model, or to refit the built-in judge on.",
        group="Who judges",
        applies_to=MODELS_AND_BUILTIN,
        input_type=str | None,
        is_path=True,
    )

    def check(self) -> None:
        """Reject options that cannot be combined."""
        from rubricate.judge.asking import Examples, check_criteria_per_call

        if not isinstance(self.examples, Examples | None):
            raise InputError(f"examples must be Examples or None, found {self.examples!r}")
        way_of(self.mode)
        if self.chunk_tokens is not None:
            from rubricate.judge.documents import check_chunk_tokens

            check_chunk_tokens(self.chunk_tokens)
        several = check_criteria_per_call(self.criteria_per_call) != 1
        fits = options_of_mode(self.mode) | {"permutations"}
        for name in options_set(Asking, self):
            if name in fits:
                continue
            from rubricate.judge.asking import MODES

            if modes := [mode for mode in MODES if name in options_of_mode(mode)]:
                raise InputError(f"{name} is for {' and '.join(modes)} mode, not {self.mode}")
        if self.judge_prompt is None:
            return
        if self.mode != "explained" or self.shuffle is not None:
            raise InputError("a judge prompt has its own form: leave out mode and shuffle")
        if self.chunk_tokens is not None:
            raise InputError(
                "long submissions are read with the usual prompt: leave out chunk tokens"
            )
        if several:
            raise InputError("a judge prompt asks about one criterion: leave out criteria per call")


@cache
def options_of_mode(mode: str) -> frozenset[str]:
    """The options of `Asking` that a way of asking accepts: those of its constructor."""
    return frozenset(inspect.signature(way_of(mode)).parameters) & options_of(Asking).keys()


@cache
def way_of(mode: str) -> type[Prompting]:
    """The way of asking of a mode, imported only when needed.

    Raises:
        InputError: there is no such mode.
    """
    from rubricate.judge.asking import Explained

    if mode == "explained":
        return Explained
    from rubricate.judge.asking import MODES

    if mode not in MODES:
        raise InputError(unknown_word("mode", mode, MODES))
    return MODES[mode]


class PairVoting(Settings, group="Several judges, or one several times", applies_to=SEVERAL):
    """How to count the votes of several judges that compare two submissions."""

    nominal: Literal["mode", "weighted_mode", "unanimous"] | None = option(
        None,
        "How votes on unordered options are combined: mode, weighted_mode, unanimous.",
        input_type=str | None,
        has_other_words=True,
    )
    weights: Weights | None = option(
        None,
        "Weight of each judge's vote: reliability, numbers in the judges' order (2,1,1), or "
        "by name (openai/gpt-6-luna=2,builtin=0.5).",
        more="`reliability` is what the votes on the whole dataset show; see `Panel`.",
        input_type=str | list[float] | dict[str, float] | None,
    )
    min_votes: int = option(
        1, "Minimum number of votes; with fewer, the verdict is failed.", unit="votes", ge=1
    )
    replicates: int = option(
        1, "Number of times that each judge is asked; each answer is a vote.", ge=1
    )


class Voting(PairVoting, group="Several judges, or one several times", applies_to=SEVERAL):
    """How to count the votes of several judges, or of one that is asked several times."""

    strategy: Literal["majority", "weighted", "unanimous", "any"] | None = option(
        None,
        "How votes on binary criteria are combined: majority, weighted, unanimous, any.",
        input_type=str | None,
        has_other_words=True,
    )
    ordinal: Literal["mean", "median", "weighted_mean", "mode", "min", "max"] | None = option(
        None,
        "How votes on ordered options and scales are combined: mean, median, weighted_mean, mode, "
        "min, max.",
        input_type=str | None,
        has_other_words=True,
    )
    numeric: Literal["mean", "median", "weighted_mean"] | None = option(
        None,
        "How votes on metric criteria are combined: mean, median, weighted_mean.",
        input_type=str | None,
        has_other_words=True,
    )
