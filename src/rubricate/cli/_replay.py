"""`rubricate replay`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rubricate._documents import suggestion
from rubricate.dataset import RubricDataset
from rubricate.errors import InputError
from rubricate.grading import grade
from rubricate.judge import Panel, RecordedJudge, recorded_judges
from rubricate.report import Summary, replay_figures, replay_view

__all__ = ["replay_command"]


def replay_command(data: str, judges: Sequence[str], *, json_output: bool) -> int:
    """Put the verdicts that a dataset has together, and print how they agree with people."""
    dataset = RubricDataset.from_file(data)
    try:
        chosen = _chosen(recorded_judges(dataset), judges)
        majority = _summary(dataset, Panel(chosen))
        weighted = _summary(dataset, Panel(chosen, weights="reliability"))
    except InputError as error:
        raise error.within(file=data) from None
    if json_output:
        print(json.dumps(replay_figures(majority, weighted), indent=2, ensure_ascii=False))
        return 0
    from rich.console import Console

    Console().print(replay_view(majority, weighted))
    return 0


def _chosen(found: list[RecordedJudge], names: Sequence[str]) -> list[RecordedJudge]:
    known = {judge.name: judge for judge in found}
    for name in names:
        if name not in known:
            near = suggestion(name, known)
            hint = f"; did you mean '{near}'?" if near else ""
            raise InputError(
                f"no verdicts of '{name}' are recorded (those of: {', '.join(known)}){hint}"
            )
    return [known[name] for name in dict.fromkeys(names)] or found


def _summary(dataset: RubricDataset, panel: Panel) -> Summary:
    return grade(dataset, panel).summary()
