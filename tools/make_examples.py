"""Create the datasets in `examples/` from the human-labelled source data.

    python tools/make_examples.py --data ../shared/data/human-labelled

Each criterion gets one label from its annotators. For yes/no labels, it is the label of two of
three annotators, or of both of two, who get none if they differ. For a scale from 1 to N (converted
to N ordered options), it is the median, rounded half down. Published verdicts of language models
are kept in `metadata.votes` of each item, null if the model gave none.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from rubricate import Criterion, CriterionOption, DataItem, Rubric, RubricDataset

NAMES = {"item_1": "energy principle", "item_2": "no other work", "item_3": "energy converted"}
"""Names for the physics criteria, which the source only numbers."""


def read(path: Path) -> list[dict[str, Any]]:
    """Read the records of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def rubric(record: dict[str, Any], name: str) -> Rubric:
    """Build the rubric of a record's criteria."""
    criteria = []
    for raw in record["criteria"]:
        options = None
        if raw["kind"] == "score":
            low, high = raw["scale"]["min"], raw["scale"]["max"]
            anchors = raw.get("anchors", {})
            options = [
                CriterionOption(
                    label=str(level),
                    value=(level - low) / (high - low),
                    description=anchors.get(str(level)),
                )
                for level in range(low, high + 1)
            ]
        criteria.append(
            Criterion(
                name=NAMES.get(raw["name"], raw["name"]),
                weight=raw["weight"],
                requirement=raw["requirement"].strip(),
                scale_type="ordinal" if options else None,
                options=options,
            )
        )
    return Rubric(criteria, name=name)


def label(raw: dict[str, Any]) -> str | None:
    """Return one label for all annotators; None for a tie."""
    if raw["kind"] == "score":
        return str(statistics.median_low(raw["human"]))
    met, count = sum(raw["human"]), len(raw["human"])
    return None if 2 * met == count else "MET" if 2 * met > count else "UNMET"


def votes(record: dict[str, Any]) -> dict[str, dict[str, str | None]]:
    """Return the published verdicts by judge and criterion."""
    found: dict[str, dict[str, str | None]] = {}
    for raw in record["criteria"]:
        for judge, given in raw.get("judges", {}).items():
            if not isinstance(given, list):  # repeated runs of one judge
                labels = found.setdefault(judge, {})
                name = NAMES.get(raw["name"], raw["name"])
                labels[name] = None if given is None else "MET" if given else "UNMET"
    return found


def item(record: dict[str, Any], *, own_prompt: bool) -> DataItem:
    """Convert a record to an item."""
    given = {NAMES.get(raw["name"], raw["name"]): raw["human"] for raw in record["criteria"]}
    published, system = votes(record), (record.get("meta") or {}).get("system")
    return DataItem(
        record["submission"],
        record["group"],
        [label(raw) for raw in record["criteria"]],
        id=record["id"],
        prompt=record["prompt"] if own_prompt else None,
        metadata={
            **({"system": system} if system else {}),
            "human": given,
            **({"votes": published} if published else {}),
        },
    )


def main() -> None:
    """Write the example datasets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/human-labelled"))
    parser.add_argument("--output", type=Path, default=Path("examples"))
    arguments = parser.parse_args()
    physics = read(arguments.data / "physics.jsonl")
    recipes = read(arguments.data / "recipes.jsonl")
    stories = read(arguments.data / "ttcw.jsonl")
    arguments.output.mkdir(exist_ok=True)
    RubricDataset(
        physics[0]["prompt"],
        rubric(physics[0], "physics"),
        [item(record, own_prompt=False) for record in physics],
        "physics",
    ).to_file(arguments.output / "physics.json")
    RubricDataset(
        "Write the preparation steps of a cooking recipe.",
        rubric(recipes[0], "recipes"),
        [item(record, own_prompt=True) for record in recipes],
        "recipes",
    ).to_file(arguments.output / "recipes.json")
    RubricDataset(
        "Write a short story for a plot.",
        rubric(stories[0], "ttcw"),
        [item(record, own_prompt=True) for record in stories],
        "ttcw",
    ).to_file(arguments.output / "ttcw.json")


if __name__ == "__main__":
    main()
