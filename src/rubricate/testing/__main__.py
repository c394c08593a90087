"""`python -m rubricate.testing`: a scripted judge endpoint as a process."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from rubricate.errors import RubricateError
from rubricate.testing import BatchScript, ScriptedEndpoint, load_rules


def main() -> None:
    """Serve until interrupted. The first line of output is the base URL."""
    parser = argparse.ArgumentParser(prog="python -m rubricate.testing", description=__doc__)
    parser.add_argument("--rules", help="a YAML or JSON file with rules")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument(
        "--batch-seconds", type=float, default=0.0, help="how long a batch takes (default: 0)"
    )
    arguments = parser.parse_args()
    try:
        rules = load_rules(arguments.rules) if arguments.rules else []
    except RubricateError as error:
        parser.error(str(error))
    endpoint = ScriptedEndpoint(
        rules,
        host=arguments.host,
        port=arguments.port,
        batches=BatchScript(seconds=arguments.batch_seconds),
    )
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(endpoint.serve(lambda: print(endpoint.url, flush=True)))
    except OSError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
