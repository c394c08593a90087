"""The options of `rubricate grade`, from the command line and from a YAML file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from rubricate._documents import read_document, suggestion, validate
from rubricate._files import user_path
from rubricate.errors import InputError
from rubricate.judge import LABEL_SUFFIXES

__all__ = ["GradeSettings", "load_settings"]

_ADDRESS = re.compile(r"(?:https?|s3)://[^:]")
_PATHS = (
    "data",
    "rubric",
    "run_dir",
    "examples",
    "judge_prompt",
    "cache",
    "prices",
    "calibration",
    "certificate",
)


class GradeSettings(BaseModel):
    """Everything that `rubricate grade` can be told. The file's keys have the same names."""

    model_config = ConfigDict(extra="forbid", strict=True)

    data: str | None = None
    """A dataset (.json, .jsonl, .yaml, .yml), or a table: .csv, .json, .jsonl, .parquet, an address
    (`https://`, `s3://`) of one, or hf:NAME@SPLIT."""
    map: str | dict[str, str] | None = None
    """Which column of a table is what: submission=COLUMN,prompt=COLUMN,label.CRITERION=COLUMN."""
    on_error: Literal["raise", "skip"] = "raise"
    """What rows of a table that do not fit are: an error, or left out and listed."""
    rubric: str | None = None
    """A rubric file, used in place of the dataset's own."""
    judge: str | list[str] | None = None
    """Who grades, one or several; see `rubricate judges`. Default: the embedded judge."""
    base_url: str | None = None
    """The address of an OpenAI-compatible server that has the judge."""
    examples: str | None = None
    """A labelled dataset: its items are shown to a language model, and refit the embedded judge."""
    examples_count: int = 4
    """How many of them a language model is shown."""
    examples_pick: Literal["balanced", "nearest"] = "balanced"
    """Which: spread over the labels, or those most like the graded text."""
    judge_prompt: str | None = None
    """A prompt for language models in place of the usual one: a Jinja template whose header
    declares its variables."""
    leader_first: bool | None = None
    """Whether an item's first request goes before its others. Default: where the endpoint is known
    to keep the beginning of prompts."""
    criteria_per_call: int | Literal["all"] = 1
    """How many criteria of an item a language model is asked about in one request."""
    mode: str = "explained"
    """How a language model answers: explained (reason, quotes, verdict) or probability."""
    permutations: int | None = None
    """In how many orders of the answers it is asked. Default: 1; 2 in probability mode."""
    shuffle: int | None = None
    """A seed that draws the order of the answers, and of the criteria of one call."""
    require_evidence: bool | None = None
    """Whether verdicts whose quotes are not in the submission are asked again, then abstain.
    Default: only of metric criteria."""
    correct_prior: bool = True
    """Whether probabilities are corrected by those of a question without content."""
    samples: int | None = None
    """Replies drawn where a model gives no probabilities, in each order. Default: 5."""
    chunk_tokens: int | None = None
    """Submissions of more tokens are read by a language model in parts. Default: all whole."""
    strategy: str | None = None
    """How votes on binary criteria are counted: majority, weighted, unanimous or any."""
    ordinal: str | None = None
    """On ordered options and scales: mean, median, weighted_mean, mode, min or max."""
    nominal: str | None = None
    """On options without order: mode, weighted_mode or unanimous."""
    numeric: str | None = None
    """On metric criteria: mean, median or weighted_mean."""
    weights: str | list[float] | dict[str, float] | None = None
    """What each judge's vote counts: `reliability`, numbers in the judges' order, or by name."""
    min_votes: int = 1
    """With fewer votes that decide, a verdict is failed."""
    replicates: int = 1
    """How often each judge is asked; every answer is a vote."""
    escalate_to: str | list[str] | None = None
    """Who is asked next where the judge's confidence is below the threshold: another judge, or a
    dataset file (.json, .jsonl, .yaml, .yml) for people; several are asked one after the other."""
    threshold: float | list[float] | None = None
    """The least confidence with which a verdict stands; one for all, or one for each stage but the
    last."""
    run_dir: str | None = None
    """The run folder. Default: runs/DATA-JUDGE."""
    fresh: bool = False
    """Ask everything anew: an earlier journal is moved aside, and the cache is not read."""
    retry_failed: bool = False
    """Ask for nothing but what failed before."""
    cache: str | None = None
    """A folder with answers that runs share. Default: the user's cache folder."""
    no_cache: bool = False
    """Share no answers with other runs."""
    dry_run: bool = False
    """Say what the run would take, and send nothing."""
    prices: str | None = None
    """A file of prices by model, which go before the built-in ones."""
    max_cost: float | None = None
    """US dollars that this run may spend."""
    max_time: float | None = None
    """Seconds that this run may take."""
    limit: int | None = None
    """Grade only so many items, from the first."""
    concurrency: int = 32
    """The most requests in flight at once."""
    requests_per_minute: float | None = None
    """The requests that the endpoint may be sent in a minute."""
    tokens_per_minute: float | None = None
    """The tokens, of prompts and replies, that the endpoint may be asked for in a minute."""
    temperature: float | None = 0.0
    """Sampling temperature; null leaves it to the endpoint."""
    max_tokens: int | None = None
    """The most tokens that a reply may have. Default: the endpoint's own limit."""
    timeout: float = 120.0
    """Seconds that one request may take."""
    attempts: int = 6
    """How often a request that fails while others get through is sent, at most."""
    deadline: float = 600.0
    """Seconds that one judgement may take with all its requests."""
    max_outage: float = 120.0
    """Seconds that an endpoint may stay without any answer before the run is stopped."""
    cannot_assess: str = "skip"
    """What an abstention does to the score: skip, zero, partial or fail."""
    partial: float = 0.5
    """The fraction of a positive weight that `partial` gives."""
    length_penalty: str | dict[str, Any] | None = None
    """What length costs: free_budget, max_cap, penalty_at_cap, exponent, penalty_type."""
    author_key: str | None = None
    """Where metadata says which model wrote the text. Default: model, else system."""
    allow_code: bool = False
    """Run the code that the rubric names (function: package.module:name)."""
    calibration: str | None = None
    """A file of `rubricate trust calibrate`: maps the judge's probabilities, and labels by them."""
    certificate: str | None = None
    """A certificate that the summary says whether it holds for this run."""
    json_output: bool = False
    """Print the summary as JSON."""
    quiet: bool = False
    """Print nothing but errors, and JSON if asked for."""


def load_settings(given: dict[str, Any], config: Path | None) -> GradeSettings:
    """Put the settings together; what is given on the command line wins over the file.

    Paths in the file are relative to the file's own folder. In the file, `json_output` is written
    `json`. Some things are the user's own word only, given on the command line: that code may run,
    an address that a key goes to, and data from other than https, s3 and the Hub.

    Raises:
        InputError: the file cannot be read, or has a key or value that is not allowed.
    """
    values: dict[str, Any] = {}
    if config is not None:
        values = _from_file(config)
    told = {key: value for key, value in given.items() if value is not None}
    if values.pop("allow_code", False) and not told.get("allow_code"):
        raise InputError(
            "allow_code: only the command line allows code (--allow-code)", file=config
        )
    try:
        settings = validate(GradeSettings, values | told)
        if "base_url" in values and "base_url" not in told:
            _check_no_key_goes_there(settings)
    except InputError as error:
        raise error.within(file=config) from None
    return settings


def _check_no_key_goes_there(settings: GradeSettings) -> None:
    """Raise `InputError` where a key would go to an address that a file names."""
    from rubricate.judge.models import PROVIDERS, access

    own = {one.key_variable for one in PROVIDERS.values()}
    for given in (settings.judge, settings.escalate_to):
        for name in [given] if isinstance(given, str) else given or []:
            if name == "builtin" or Path(name).suffix.lower() in LABEL_SUFFIXES:
                continue
            found = access(name, settings.base_url)
            if found.key is not None and found.key_variable not in own:
                raise InputError(
                    f"base_url: the key in {found.key_variable} goes only to an address that you "
                    f"name yourself: repeat it on the command line (--base-url {found.url}), or "
                    f"unset {found.key_variable}"
                )


def _from_file(config: Path) -> dict[str, Any]:
    values = read_document(config)
    if not isinstance(values, dict):
        raise InputError("expected keys such as data, judge, run_dir", file=config)
    known = [_key(name) for name in GradeSettings.model_fields]
    for key in values:
        if key not in known:
            near = suggestion(str(key), known)
            hint = f": did you mean '{near}'?" if near else f"; known: {', '.join(known)}"
            raise InputError(f"unknown key '{key}'{hint}", file=config)
    if "json" in values:
        values["json_output"] = values.pop("json")
    for key in _PATHS:
        given = values.get(key)
        if isinstance(given, str) and not (key == "data" and _is_no_path(given)):
            values[key] = _beside(config, given)
    data = values.get("data")
    if isinstance(data, str) and "://" in data and not _ADDRESS.match(data):
        raise InputError(
            "data: a file may name addresses of the kinds https:// and s3://, and hf:NAME@SPLIT; "
            f"give '{data.partition('?')[0]}' on the command line",
            file=config,
        )
    if "escalate_to" in values:
        given = values["escalate_to"]
        listed = given if isinstance(given, list) else [given]
        values["escalate_to"] = [_label_file(one, config) for one in listed]
    return values


def _label_file(given: Any, config: Path) -> Any:
    """A file that verdicts are escalated to, relative to the configuration; a judge as it is."""
    if isinstance(given, str) and Path(given).suffix.lower() in LABEL_SUFFIXES:
        return _beside(config, given)
    return given


def _beside(config: Path, path: str) -> str:
    """A path that the configuration names, relative to its folder."""
    return str(user_path(config).parent / user_path(path))


def _is_no_path(data: str) -> bool:
    return "://" in data or data.startswith("hf:")


def _key(name: str) -> str:
    return "json" if name == "json_output" else name
