#!/usr/bin/env bash
# Two environments beside this script: inspect_ai by itself, and polars by itself.
set -euo pipefail
cd "$(dirname "$0")"
for name in inspect polars; do
    [ -d ".venv-$name" ] || python3 -m venv ".venv-$name"
done
.venv-inspect/bin/pip install --quiet 'inspect_ai>=0.3.285'
.venv-polars/bin/pip install --quiet 'polars>=1.0'
