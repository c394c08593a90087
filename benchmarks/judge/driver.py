"""How the ruler drives rubricate: prompts rendered, replies checked, journal on disk, progress on.

The run folder lies in the job's working folder, so that the rulers' reruns (`cache`, `resume`)
find the journal of the run before.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any


def setup(job: dict[str, Any]) -> Any:
    """Import and build everything; timed apart from the run."""
    # The first call would import these.
    import httptools  # noqa: F401
    import jinja2  # noqa: F401
    import yaml  # noqa: F401

    import rubricate
    import rubricate.grading  # loaded when it is first used, too
    from rubricate import Criterion, Rubric, RubricDataset
    from rubricate.judge import ModelJudge
    from rubricate.judge.models import HTTPModel

    os.environ["RUBRICATE_API_KEY"] = job["api_key"]
    rubric = Rubric(
        [Criterion(name=f"c{index}", requirement=text) for index, text in enumerate(job["_crits"])]
    )
    dataset = RubricDataset(job["_query"], rubric, name="bench")
    for index, submission in enumerate(job["_subs"]):
        dataset.add_item(submission, f"item {index}")
    judge = ModelJudge(HTTPModel(job["model"], base_url=job["base_url"]))
    return rubricate, dataset, judge


def run(ready: Any, job: dict[str, Any]) -> list[list[bool | None]]:
    """Grade; S rows of C verdicts: True, False, or None for a lost one."""
    rubricate, dataset, judge = ready
    told = 0

    def on_progress(progress: Any) -> None:
        nonlocal told
        told = progress.done

    try:
        result = rubricate.grade(
            dataset,
            judge,
            concurrency=job["concurrency"],
            run_dir=Path(job["workdir"]) / "run",
            on_progress=on_progress,
        )
    except rubricate.RunStopped as stopped:
        result = stopped.result
        job["_extra"] = {"stopped": str(stopped)}
    worth = {"MET": True, "UNMET": False}
    return [[worth.get(found.label) for found in item.criteria.values()] for item in result.items]


def versions() -> dict[str, str]:
    """The versions that count."""
    return {name: version(name) for name in ("rubricate", "httptools", "orjson")}
