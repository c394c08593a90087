"""The options of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rubricate.errors import InputError
from rubricate.rubric import Scoring
from rubricate.run._progress import Progress
from rubricate.run._shards import Shard
from rubricate.run.journal import check_address
from rubricate.run.sending import Budget, Limits, Retries
from rubricate.settings import Settings, option


class Planning(Settings):
    """What may be asked about a dataset, and in which order."""

    leader_first: bool | None = option(
        None,
        "Send an item's first request before its others, so that these can use the endpoint's "
        "cache.",
        group="How they are asked",
        default_text="if the endpoint is known to have one",
        applies_to="language models",
    )
    allow_code: bool = option(
        False,
        "Run code that the rubric names (function: package.module:name).",
        more="Python callables are always allowed.",
        group="What is graded",
    )


class SharedAnswers(Settings):
    """Where answers are stored that runs share."""

    cache: str | Path | None = option(
        None,
        "A folder or a database (postgresql://...) of answers that runs share; stored answers "
        "cost nothing.",
        default_text="none; in the shell the user's cache folder, but not with --journal",
        is_path=True,
        may_have_password=True,
    )


class Storage(SharedAnswers):
    """Where a run is stored, and which stored answers it uses.

    Raises:
        InputError: two options exclude each other.
    """

    run_dir: str | Path | None = option(
        None,
        "The run folder, for journal and results; resumed if it exists.",
        is_path=True,
        common=True,
    )
    fresh: bool = option(
        False,
        "Ask everything again: moves an earlier journal aside, and does not read the cache.",
    )
    journal: str | None = option(
        None,
        "The database that keeps the answers: postgresql://USER@HOST/DATABASE?run=NAME.",
        more="Several processes and machines may then grade one run. The run folder notes the "
        "address, without its password.",
        default_text="a file in the run folder",
        may_have_password=True,
    )
    retry_failed: bool = option(False, "Retry only the verdicts that failed in the earlier run.")

    def check(self) -> None:
        if self.journal is not None:
            check_address("journal", self.journal)
        if self.fresh and self.retry_failed:
            raise InputError("fresh and retry_failed exclude each other: give one of them")


class Processes(Settings):
    """Which processes judge: workers, or shards started separately with a common journal.

    Raises:
        InputError: a value has an unknown form, or excludes another option.
    """

    workers: int | str | None = option(
        None,
        "Judge in several processes with Ray: 8 (on this machine), ray://head:10001 (on a "
        "cluster), auto (the cluster of this machine, else one process for each core), 8@auto "
        "(eight of these).",
        more="The limit on requests in flight applies to each of them.",
        default_text="none: this process judges",
    )
    worker_resources: str | None = option(
        None,
        "Resources of each worker, separated by commas: num_gpus=1, num_cpus=0.5, or custom ones.",
        default_text="num_cpus=1",
    )
    worker_env: str | Path | Mapping[str, Any] | None = option(
        None,
        "A file with Ray's runtime_env for the workers: modules and packages that they need "
        "(working_dir, py_modules, pip) and env_vars.",
        is_path=True,
    )
    shard: str | None = option(
        None,
        "Judge only part K of N, written K/N; other processes judge the rest.",
        more="They share the journal: a database, or on one machine the file in the run folder. "
        "Afterwards, the same call without this option combines all results.",
    )

    def check(self) -> None:
        if self.shard is not None:
            Shard.parse(self.shard)
            if self.workers is not None:
                raise InputError(
                    "workers and shard exclude each other, because the process that starts workers "
                    "assigns their parts; give one of them"
                )
            return
        from rubricate.run.workers import Fleet, resources_of

        if self.workers is not None:
            Fleet.parse(self.workers)
        elif self.worker_resources is not None:
            raise InputError("worker_resources says what each worker takes: give workers, too")
        elif self.worker_env is not None:
            raise InputError("worker_env says what workers need: give workers, too")
        resources_of(self.worker_resources)

    @property
    def part(self) -> Shard | None:
        """The part; None for the whole run."""
        return None if self.shard is None else Shard.parse(self.shard)


class Listening(Settings):
    """How a run reports its progress."""

    on_progress: Callable[[Progress], None] | None = option(
        None, "Called after every verdict.", group="Output"
    )

    def report_progress(self, progress: Progress) -> None:
        """Call `on_progress`, if it is set."""
        if self.on_progress is not None:
            self.on_progress(progress)


class RunOptions(Planning, Scoring, Retries, Limits, Budget, Storage, Processes, Listening):
    """All options of a run.

    Raises:
        InputError: two of the options exclude each other.
    """

    limit: int | None = option(
        None,
        "Grade only the first N items.",
        group="What is graded",
        unit="items",
        common=True,
        ge=1,
    )
    results: Literal["jsonl", "parquet"] = option(
        "jsonl",
        "Format of the verdicts in the run folder: jsonl, or parquet, which also writes "
        "results.parquet.",
        more="Its columns are those of `rubricate export`.",
    )
    by: Sequence[str] | str = option(
        (),
        "Break scores down by tags, or by a field of criteria or items, such as axis or domain.",
        group="Scores",
        input_type=list[str],
    )
    author_key: str | None = option(
        None,
        "The metadata field that names the model that wrote the text; warns if judge and "
        "author are of one family.",
        group="What is graded",
        default_text="model, system",
    )

    def check(self) -> None:
        if self.shard is not None and self.fresh:
            raise InputError(
                "fresh and shard exclude each other, because several processes cannot all restart "
                "the run; choose another run folder, or run it once with fresh and without shard"
            )
