"""Check the declared lower bounds and the installed packages for known vulnerabilities.

python tools/audit.py [PIP-AUDIT]

The table below is checked without a network, also by the tests. With the path of a `pip-audit`, its
database is also queried for the lower bounds and for this environment. If it cannot be reached,
this is printed, but is not a failure.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIXED = {
    "aiohttp": ("3.14.5", "GHSA-2g87-pp6c-29x5, and those before it"),
    "filelock": (
        "3.20.3",
        "CVE-2025-68146, CVE-2026-22701: a lock that is a link is written through",
    ),
    "flask": ("3.1.3", "CVE-2026-27205"),
    "flask-cors": ("6.0.0", "CVE-2024-6866, CVE-2024-6839, CVE-2024-6844"),
    "h11": ("0.16.0", "CVE-2025-43859"),
    "jinja2": ("3.1.6", "CVE-2025-27516: a template leaves its sandbox"),
    "mammoth": ("1.11.0", "CVE-2025-11849: a document reads files of the machine"),
    "markdown-it-py": ("2.2.0", "CVE-2023-26303"),
    "markdownify": ("0.14.1", "CVE-2025-46656"),
    "numpy": ("1.22.0", "CVE-2021-34141"),
    "orjson": ("3.11.6", "CVE-2025-67221: nested JSON overflows the stack"),
    "pyarrow": ("23.0.1", "CVE-2026-25087"),
    "pydantic": ("2.4.0", "CVE-2024-3772"),
    "pypdf": ("6.15.0", "CVE-2026-71852, CVE-2026-71870, and those before them"),
    "pytest": ("9.0.3", "CVE-2025-71176"),
    "python-dotenv": ("1.2.2", "CVE-2026-28684"),
    "pyyaml": ("5.4", "CVE-2020-14343"),
    "ray": ("2.55.0", "CVE-2026-32981, CVE-2026-27482, CVE-2025-62593"),
    "scikit-learn": ("1.5.0", "CVE-2024-5206"),
    "scipy": ("1.10.0", "CVE-2023-25399"),
}
"""The first version of each package without vulnerabilities known at the last change here."""


def floors() -> dict[str, str]:
    """Return the lower bound of each direct dependency in pyproject.toml, including extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    found: dict[str, str] = {}
    for requirement in (one for group in groups for one in group):
        match = re.match(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)", requirement)
        if match is not None:
            found[match[1].lower().replace("_", "-")] = match[2]
    return found


def known(versions: dict[str, str]) -> Iterator[str]:
    """Return the known vulnerabilities of these versions, one per line."""
    for name, found in versions.items():
        fixed, advisories = FIXED.get(name, ("0", ""))
        if _parts(found) < _parts(fixed):
            yield f"{name} {found}: {advisories}; fixed in {fixed}"


def _parts(version: str) -> tuple[int, ...]:
    parts = [int(re.match(r"\d*", part)[0] or 0) for part in version.split(".")]  # type: ignore[index]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def installed(names: Iterator[str]) -> dict[str, str]:
    """Return the installed versions of packages."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def pip_audit_findings(program: str, *arguments: str) -> tuple[list[str], str]:
    """Return the findings of `pip-audit`, one per line, and what it could not check."""
    done = subprocess.run(
        [program, *arguments, "--format", "json", "--progress-spinner", "off"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = done.stderr.strip().splitlines()[-1:] or ["no answer"]
        return [], last[0]
    found = [
        f"{one['name']} {one['version']}: {vulnerability['id']}; fixed in "
        f"{', '.join(vulnerability['fix_versions']) or 'no version yet'}"
        for one in packages
        for vulnerability in one.get("vulns", ())
    ]
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    unchecked = [name for name in skipped if name != "rubricate"]
    return found, f"{len(unchecked)} of {len(packages)} packages are not in it" if unchecked else ""


def main(programs: list[str]) -> int:
    """Print the findings; returns 1 if there are any."""
    declared = floors()
    found = [f"lower bound: {line}" for line in known(declared)]
    found += [f"installed: {line}" for line in known(installed(iter(declared)))]
    for program in programs:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.writelines(f"{name}=={lowest}\n" for name, lowest in declared.items())
            file.flush()
            ways = {
                "lower bound": ("--requirement", file.name, "--no-deps", "--disable-pip"),
                "installed": ("--path", str(next(p for p in sys.path if "site-packages" in p))),
            }
            for what, way in ways.items():
                lines, unchecked = pip_audit_findings(program, *way)
                found += [f"{what}: {line}" for line in lines]
                if unchecked:
                    print(f"The database could not check everything ({what}): {unchecked}")
    print("\n".join(found) or "No known vulnerabilities.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
