"""The options of `rubricate grade`, from the command line and from a YAML file."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from rubricate._files import is_address, is_this_machine, user_path
from rubricate._spelling import suggestion
from rubricate.cli._commands import Raw, read
from rubricate.cli._judging import Shell
from rubricate.cli._thresholds import THRESHOLDS, ThresholdOptions
from rubricate.errors import InputError
from rubricate.options import GradingOptions
from rubricate.settings import check_value, option, options_of, written_types

OWN_WORD = {
    "allow_code": "code",
    "follow_links": "links to be followed",
    "fresh": "results to be replaced",
    "worker_env": "packages and variables for workers",
}
"""What only the command line may allow, in words, by option."""
_ADDRESS = re.compile(r"(?:https?|s3)://[^:]")


class GradeSettings(Shell, GradingOptions, ThresholdOptions, group="What is graded"):
    """The options of `rubricate grade`. A settings file has the same names."""

    data: str | None = option(
        None,
        "A dataset (.json, .jsonl, .yaml, .yml) or a table (.csv, .json, .jsonl, .parquet, an "
        "https:// or s3:// address, hf:NAME@SPLIT).",
        is_argument=True,
        is_path=True,
        common=True,
    )
    submissions: str | None = option(
        None,
        "The texts to be graded, where DATA has a benchmark's tasks and no texts: a file with an "
        "id and a text in each record, or a folder with a file for each task.",
        is_path=True,
        common=True,
    )
    references: str | None = option(
        None,
        "The reference texts of a benchmark that scores against them, in the same form as "
        "--submissions.",
        is_path=True,
    )
    criteria_map: str | dict[str, str] | None = option(
        None,
        "The fields of a benchmark's criteria, if their names are not the usual ones: "
        "requirement=point,weight=importance; also name.",
    )
    format: str | None = option(
        None,
        "The format of a benchmark's tasks: healthbench, paperbench, race, profbench or records.",
        default_text="that which DATA's records fit",
    )
    follow_links: bool = option(
        False,
        "Follow links that lead out of a folder of submissions: what they lead to is judged, sent "
        "and stored.",
    )
    on_error: Literal["raise", "skip"] = option(
        "raise",
        "Rows of a table that do not fit: raise, or skip (left out, and listed). Documents of "
        "--submissions that cannot be read: raise, or skip (their verdicts are failed).",
    )
    judge: str | list[str] | None = option(
        None,
        "The judge: builtin, openai/gpt-6-luna, ... (rubricate judges lists them). Several "
        "judges vote.",
        group="Who judges",
        default_text="builtin",
        common=True,
    )
    examples_count: int = option(
        4, "Number of examples that a model is shown.", group="Who judges", unit="examples", ge=1
    )
    examples_pick: Literal["balanced", "nearest"] = option(
        "balanced",
        "Which examples: balanced over the labels, or those nearest to the graded text.",
        group="Who judges",
    )
    escalate_to: str | list[str] | None = option(
        None,
        "Who decides if the judge is not sure: another judge, or a dataset file for people "
        "(people.jsonl). Several are asked one after the other.",
        group="Who judges",
    )
    threshold: float | list[float] | None = option(
        None,
        "Minimum confidence of a verdict that is kept: one number, or one for each stage; see "
        "trust cascade.",
        group="Who judges",
    )
    confirm: int | None = option(
        None,
        "With --fail-under: before failing, ask N more times about the verdicts that keep a "
        "figure below, and fail only if it stays below. compare asks about the verdicts that "
        "differ, in both runs.",
        group="Scores",
        ge=1,
    )
    certificate: str | None = option(
        None,
        "A certificate (see trust certify): exit with 5 if it does not hold.",
        group="Scores",
        is_path=True,
    )

    def check(self) -> None:
        for name in ("certificate", *THRESHOLDS):
            if self.shard is not None and getattr(self, name) is not None:
                raise InputError(
                    f"--{name.replace('_', '-')} is about all items: give it without --shard, when "
                    "the shards are put together"
                )


def load_settings(options: Raw, config: str | None = None) -> GradeSettings:
    """Combine the command line, which has priority, with a settings file.

    Paths in the file are relative to its folder. Some options are accepted from the command line
    only: running code, following links, replacing results, the address that receives a key, a
    database server, and data from anywhere but https, s3 and the Hugging Face Hub.

    Raises:
        InputError: the file cannot be read, or has a key or value that is not allowed.
    """
    values = {} if config is None else _from_file(Path(config))
    for name, what in OWN_WORD.items():
        if values.pop(name, False) and not options.get(name):
            shown = f"--{name.replace('_', '-')}"
            raise InputError(f"{name}: only the command line allows {what} ({shown})", file=config)
    try:
        types, declared = written_types(GradeSettings), options_of(GradeSettings)
        raw, own = {**values, **options}, values.keys() - options.keys()
        for name in own:
            check_value(name, declared[name], values[name], types[name])
        if config is not None and "base_url" in own:
            _check_no_key_goes_there(raw)
            _check_no_file_goes_there(Path(config), {name: values[name] for name in own})
        for name in own:
            if declared[name].may_have_password and is_address(values[name]):
                _check_is_named(name, values[name])
        if "workers" in own and re.search(r"://|@", str(values["workers"])):
            raise InputError(
                "workers: code is given to a cluster, and taken from it, so only the command line "
                f"names its address (--workers {values['workers']})"
            )
    except InputError as error:
        raise error.within(file=config) from None
    return read(GradeSettings, raw)


def _check_no_key_goes_there(raw: Raw) -> None:
    """Raise `InputError` if a key would be sent to an address from a file."""
    from rubricate.judge.models import PROVIDERS, access

    own = {provider.key_variable for provider in PROVIDERS.values()}
    for name in (*listed(raw.get("judge")), *listed(raw.get("escalate_to"))):
        if name == "builtin" or is_label_file(name):
            continue
        reached = access(name, raw["base_url"])
        if reached.key is not None and reached.key_variable not in own:
            raise InputError(
                f"base_url: the key in {reached.key_variable} goes only to an address that you "
                f"name yourself: repeat it on the command line (--base-url {reached.url}), or "
                f"unset {reached.key_variable}"
            )


def _check_no_file_goes_there(config: Path, values: Raw) -> None:
    """Raise `InputError` if data from elsewhere would be sent to an address from a settings file.

    The author of the file could otherwise have any file of the user sent to their own server, even
    from a bucket or network that only the user can reach. Servers on this machine are allowed.
    """
    if is_this_machine(urlsplit(values["base_url"]).hostname or ""):
        return
    folder = user_path(config).parent.resolve()
    for name, value in values.items():
        is_read = options_of(GradeSettings)[name].is_path and name not in ("run_dir", "cache")
        if not (is_read and isinstance(value, str)):
            continue
        is_remote = name == "data" and _is_no_path(value)
        if is_remote or not user_path(value).resolve().is_relative_to(folder):
            raise InputError(
                f"{name}: this is outside the folder of the settings, and would be sent to an "
                f"address that only they name: if you trust it, repeat it on the command line "
                f"(--base-url {shlex.quote(values['base_url'])})"
            )


def _check_is_named(option: str, address: str) -> None:
    """Raise `InputError` for the address of a database that comes only from the file."""
    from rubricate.run.journal import Database, Origin, vouched

    try:
        vouched(Database.shared(address, origin=Origin.SETTINGS), option)
    except InputError as error:
        raise error.within((option,)) from None


def _from_file(config: Path) -> dict[str, Any]:
    from rubricate._documents import read_document

    values = read_document(config)
    if not isinstance(values, dict) or "items" in values or "criteria" in values:
        raise InputError(
            "is no configuration, which has keys such as data, judge, run_dir; give a dataset as "
            "DATA, and a rubric by --rubric",
            file=config,
        )
    all_options = options_of(GradeSettings)
    names = {all_options[name].key(name): name for name in written_types(GradeSettings)}
    for key in values:
        if key not in names:
            near = suggestion(str(key), names)
            hint = f": did you mean '{near}'?" if near else f"; known: {', '.join(names)}"
            if str(key).endswith("key"):
                hint = ": keys come from the environment or .env, such as OPENAI_API_KEY"
            raise InputError(f"unknown key '{key}'{hint}", file=config)
    values = {names[key]: value for key, value in values.items()}
    for key, value in values.items():
        is_path = isinstance(value, str) and all_options[key].is_path
        if is_path and not (key in ("data", "cache") and _is_no_path(value)):
            values[key] = _beside(config, value)
    data = values.get("data")
    if isinstance(data, str) and "://" in data and not _ADDRESS.match(data):
        raise InputError(
            "data: a file may name addresses of the kinds https:// and s3://, and hf:NAME@SPLIT; "
            f"give '{data.partition('?')[0]}' on the command line",
            file=config,
        )
    if "escalate_to" in values:
        stages = values["escalate_to"]
        values["escalate_to"] = [
            _beside(config, name) if isinstance(name, str) and is_label_file(name) else name
            for name in (stages if isinstance(stages, list) else [stages])
        ]
    return values


def listed(judges: str | list[str] | None) -> list[str]:
    """The judges of an option that accepts one or several."""
    return [judges] if isinstance(judges, str) else judges or []


def is_label_file(judge: str) -> bool:
    """Whether a judge is a file with labels from people."""
    from rubricate.judge import LABEL_SUFFIXES

    return Path(judge).suffix.lower() in LABEL_SUFFIXES


def _beside(config: Path, path: str) -> str:
    """Resolve a path in a settings file relative to its folder."""
    return str(user_path(config).parent / user_path(path))


def _is_no_path(data: str) -> bool:
    return "://" in data or data.startswith("hf:")
