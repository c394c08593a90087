"""Make the benchmark's files: N records of about 500 bytes each as JSON Lines and as CSV.

    python make_files.py FOLDER N [N ...]

A record is an identifier, a question with a comma in it, an answer, and three metadata values:
nested in JSON, columns in CSV. The same N gives the same bytes.
"""

from __future__ import annotations

import csv
import json
import random
import string
import sys
from pathlib import Path


def make_files(folder: Path, count: int) -> None:
    """Write `COUNT.jsonl` and `COUNT.csv` unless they are there."""
    lines, table = folder / f"{count}.jsonl", folder / f"{count}.csv"
    if lines.exists() and table.exists():
        return
    chance = random.Random(count)
    words = [
        "".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 10)))
        for _ in range(2000)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    with lines.open("w", encoding="utf-8") as one, table.open("w", newline="") as other:
        rows = csv.writer(other)
        rows.writerow(["id", "input", "target", "topic", "level", "note"])
        for number in range(count):
            question = " ".join(chance.choices(words, k=38)) + ", really?"
            answer = " ".join(chance.choices(words, k=15)) + "."
            metadata = {
                "topic": chance.choice(words),
                "level": chance.randint(1, 5),
                "note": " ".join(chance.choices(words, k=6)),
            }
            name = f"q{number:07d}"
            record = {"id": name, "input": question, "target": answer, "metadata": metadata}
            one.write(json.dumps(record) + "\n")
            rows.writerow([name, question, answer, *metadata.values()])


if __name__ == "__main__":
    for given in sys.argv[2:]:
        make_files(Path(sys.argv[1]), int(given))
