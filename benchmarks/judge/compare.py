"""Compare rubricate with bare clients and other libraries, by the judge-endpoint ruler.

    python benchmarks/judge/compare.py RULER [options of its run.py]

RULER is the ruler's folder (or the environment variable JUDGE_BENCH). Without options it runs
every scenario that benchmarks/README.md shows; then it prints the ruler's tables. Results go to
bench-results/judge.jsonl, or to the file given with `--out`, in place of what was there. The other
projects' environments are those that the ruler's setup.sh makes below BENCH_ROOT; what is not
installed there is left out. rubricate runs in the Python that runs this file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCENARIOS = (
    "--peers rubricate,bare-aiohttp --submissions 2000 --concurrency 100 --reps 3",
    "--peers rubricate,bare-aiohttp,autorubric --submissions 100 --concurrency 100 --reps 3",
    "--peers rubricate,bare-aiohttp --submissions 400 --concurrency 100 --latency 50 --reps 3",
    "--peers rubricate,bare-aiohttp --submissions 400 --concurrency 100 --latency 500 --reps 1",
    "--peers rubricate --scenario cache --submissions 2000 --concurrency 100 --reps 1",
    "--peers rubricate --scenario import,resume,errors,ratelimit,outage,hang --submissions 100"
    " --concurrency 20 --reps 1",
)


def main() -> None:
    """Run the comparison and print its tables."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--out", type=Path, default=Path("bench-results/judge.jsonl"))
    chosen, given = options.parse_known_args()
    if given and not given[0].startswith("-"):
        ruler = Path(given.pop(0))
    elif "JUDGE_BENCH" in os.environ:
        ruler = Path(os.environ["JUDGE_BENCH"])
    else:
        sys.exit(__doc__)
    ruler = ruler.resolve()
    out = chosen.out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        peers = json.loads((HERE / "peers.json").read_text())
        for peer in peers.values():
            peer |= {"python": sys.executable, "driver": str(HERE / peer["driver"])}
        filled = Path(folder) / "peers.json"
        filled.write_text(json.dumps(peers))
        common = ["--peers-file", filled, "--responders", HERE / "responders.py", "--out", out]
        for scenario in [given] if given else [line.split() for line in SCENARIOS]:
            subprocess.run([sys.executable, ruler / "run.py", *common, *scenario], check=True)
    subprocess.run([sys.executable, ruler / "report.py", out], check=True)


if __name__ == "__main__":
    main()
