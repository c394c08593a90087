"""Compare rubricate with bare clients and other libraries, by the judge-endpoint ruler.

    python benchmarks/judge/compare.py RULER [options of its run.py]

RULER is the ruler's folder (or the environment variable JUDGE_BENCH). Without options it runs
every scenario that benchmarks/README.md shows, then prints the ruler's tables. The other
projects' environments are those that the ruler's setup.sh makes below BENCH_ROOT; what is not
installed there is left out. rubricate runs in the Python that runs this file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCENARIOS = (
    "--peers rubricate,bare-aiohttp --scenario speed --submissions 2000 --concurrency 100 --reps 5",
    "--peers autorubric --scenario speed --submissions 200 --concurrency 100 --reps 2",
    "--peers rubricate,bare-aiohttp --submissions 400 --concurrency 100 --latency 50,500 --reps 2",
    "--peers rubricate --scenario import,cache,resume,errors,ratelimit,outage,hang"
    " --concurrency 100 --reps 1",
)


def main() -> None:
    """Run the comparison; the results stay in `bench-results/` of the working folder."""
    given = sys.argv[1:]
    if given and not given[0].startswith("-"):
        ruler = Path(given.pop(0))
    elif "JUDGE_BENCH" in os.environ:
        ruler = Path(os.environ["JUDGE_BENCH"])
    else:
        sys.exit(__doc__)
    ruler = ruler.resolve()
    results = Path("bench-results").resolve()
    results.mkdir(exist_ok=True)
    out = results / "judge.jsonl"
    with tempfile.TemporaryDirectory() as folder:
        peers = json.loads((HERE / "peers.json").read_text())
        for peer in peers.values():
            peer |= {"python": sys.executable, "driver": str(HERE / peer["driver"])}
        filled = Path(folder) / "peers.json"
        filled.write_text(json.dumps(peers))
        common = ["--peers-file", filled, "--responders", HERE / "responders.py", "--out", out]
        for options in [given] if given else [line.split() for line in SCENARIOS]:
            subprocess.run([sys.executable, ruler / "run.py", *common, *options], check=True)
    subprocess.run([sys.executable, ruler / "report.py", out], check=True)


if __name__ == "__main__":
    main()
