"""Write docs/published-agreement.md: how well people and published judges agree on labelled data.

    python tools/agreement_tables.py FOLDER > docs/published-agreement.md

FOLDER holds physics.jsonl, physics_judge_outputs.jsonl, recipes.jsonl, summeval_op.jsonl and
ttcw.jsonl: one record per line with `id` and `criteria`, each with `name`, `human` (one label per
annotator), `annotators` and, if judges were published with the data, `judges`.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rubricate.stats import Level, annotator_agreement, krippendorff_alpha, stratified_agreement

HEAD = """# Published agreement

How far people agree with each other, and published judges with people, on real data. It shows
what can be expected of a judge. `python tools/agreement_tables.py FOLDER` writes this page from
data that is not in this repository: physics (exam answers; MIT), ttcw (short stories; BSD
3-Clause), recipes (Apache-2.0, CC BY 4.0) and summeval_op (summaries of reviews; MIT).

Intervals are 95 %, by whole texts; [statistics](statistics.md) says how each is made.
Krippendorff's alpha is nominal for yes and no, and interval for scales. Alpha, kappa and
correlation are means over the criteria, weighted by n.

## People among themselves

"One against the others" is the mean over annotators of Cohen's kappa (yes and no) or Pearson's
correlation (scales) between one of them and the majority, or mean, of the others. It is the
ceiling for a judge. Annotators of different texts are not compared.

For ttcw the data's notes give an alpha of 0.14. None of these ways gives it: all 84 verdicts
together (-0.009), the mean over criteria (-0.02) or over stories (-0.06), counts of criteria met
by story (-0.08) or by story and dimension (0.10), one dimension alone (-0.23 to 0.19), or any two
of the three people (-0.18 to 0.25). The published set also has stories by professional writers,
which this file lacks.

| data | criteria | texts | people a text | alpha | one against the others |
|---|---:|---:|---:|---:|---:|
"""
JUDGES = """
## Published judges against people

Against the label that most annotators gave; where they are evenly split there is none. Verdicts
of one text are resampled together. ttcw has six texts a criterion: its kappas say little.

| data | judge | n | accuracy | stratified kappa |
|---|---|---:|---:|---:|
"""


def read(path: Path) -> list[dict[str, Any]]:
    """Read the records of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


class Labels:
    """All labels of a file, with a place for each text and criterion."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self.texts: list[str] = []
        self.names: list[str] = []
        self.people: list[int] = []
        self._given: dict[str, dict[int, Any]] = defaultdict(dict)
        self._judged: dict[str, dict[int, Any]] = defaultdict(dict)
        for record in records:
            for criterion in record["criteria"]:
                place = len(self.texts)
                self.texts.append(record["id"])
                self.names.append(criterion["name"])
                self.people.append(len(criterion["human"]))
                for name, label in zip(criterion["annotators"], criterion["human"], strict=True):
                    self._given[name].setdefault(place, _label(label))
                for name, label in (criterion.get("judges") or {}).items():
                    if not isinstance(label, list):  # runs, which have their own file
                        self._judged[name][place] = _label(label)

    def judge(self, name: str, place: int, label: Any) -> None:
        """Add a judge's label."""
        self._judged[name][place] = _label(label)

    def of_criteria(self) -> dict[str, list[int]]:
        """Return the places of each criterion."""
        places: dict[str, list[int]] = defaultdict(list)
        for place, name in enumerate(self.names):
            places[name].append(place)
        return dict(places)

    def annotators(self) -> dict[str, list[Any]]:
        """Return the labels of each annotator; None for missing ones."""
        return dict(self._spread(self._given))

    def judges(self) -> dict[str, list[Any]]:
        """Return the labels of each judge; None for missing ones."""
        return dict(self._spread(self._judged))

    def _spread(self, given: Mapping[str, Mapping[int, Any]]) -> Iterator[tuple[str, list[Any]]]:
        for name in sorted(given):
            yield name, [given[name].get(place) for place in range(len(self.texts))]


def _label(given: Any) -> Any:
    if isinstance(given, bool):
        return "MET" if given else "UNMET"
    return given


def majority(annotators: Mapping[str, list[Any]]) -> list[Any]:
    """Return the most frequent label; None for a tie."""
    found = []
    for row in zip(*annotators.values(), strict=True):
        met, unmet = row.count("MET"), row.count("UNMET")
        found.append(None if met == unmet else "MET" if met > unmet else "UNMET")
    return found


def people_row(name: str, labels: Labels, level: Level) -> str:
    """Return the row of a file in the first table."""
    annotators = labels.annotators()
    places = labels.of_criteria()
    alpha = krippendorff_alpha(
        list(zip(*annotators.values(), strict=True)),
        level=level,
        strata=labels.names,
        groups=labels.texts,
    )
    ceilings = []
    for own in places.values():
        given = {name: [said[at] for at in own] for name, said in annotators.items()}
        given = {name: said for name, said in given.items() if any(one is not None for one in said)}
        found = annotator_agreement([None] * len(own), given, level=level, bootstrap=None)
        value = found.ceiling["pearson" if level == "interval" else "cohen_kappa"]
        if value is not None:
            ceilings.append((len(own), value))
    ceiling = None
    if ceilings:
        ceiling = sum(n * value for n, value in ceilings) / sum(n for n, _ in ceilings)
    fewest, most = min(labels.people), max(labels.people)
    count = str(fewest) if fewest == most else f"{fewest} to {most}"
    shown = "–" if ceiling is None else f"{ceiling:.2f}"
    return (
        f"| {name} | {len(set(labels.names))} | {len(set(labels.texts))} | {count} "
        f"| {alpha} | {shown} |"
    )


def judge_rows(name: str, labels: Labels) -> Iterator[str]:
    """Return the rows of a file in the second table."""
    truth = majority(labels.annotators())
    for judge, given in labels.judges().items():
        kept = [at for at, pair in enumerate(zip(given, truth, strict=True)) if None not in pair]
        found = stratified_agreement(
            [given[at] for at in kept],
            [truth[at] for at in kept],
            [labels.names[at] for at in kept],
            groups=[labels.texts[at] for at in kept],
        )
        yield f"| {name} | {judge} | {found.n} | {found.accuracy} | {found.kappa} |"


def main(folder: Path) -> None:
    """Print the page."""
    files = {name: Labels(read(folder / f"{name}.jsonl")) for name in ("physics", "ttcw")}
    physics = files["physics"]
    places = {text: place for place, text in reversed(list(enumerate(physics.texts)))}
    for record in read(folder / "physics_judge_outputs.jsonl"):
        run = f" run {record['run']}" if record["judge"].endswith("/runs") else ""
        for offset, verdict in enumerate(record["verdicts"]):
            physics.judge(f"{record['judge']}{run}", places[record["id"]] + offset, verdict)
    print(HEAD, end="")
    for name, labels in files.items():
        print(people_row(name, labels, "nominal"))
    for name in ("recipes", "summeval_op"):
        print(people_row(name, Labels(read(folder / f"{name}.jsonl")), "interval"))
    print(JUDGES, end="")
    for name, labels in files.items():
        for row in judge_rows(name, labels):
            print(row)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
