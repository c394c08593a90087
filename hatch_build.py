"""The package's description: the README, whose links are whole addresses.

The index shows the README by itself, where `docs/trust.md` leads nowhere. A wheel is built from the
source distribution, where this is not called again: what it sets has to be dynamic.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)\s]+)\)")
BRANCH = "main"


def with_addresses(text: str, repository: str) -> str:
    """A README whose links into the repository are addresses; pictures are those of the files."""

    def whole(found: re.Match[str]) -> str:
        mark, words, path = found.groups()
        kind = "raw" if mark else "blob"
        return f"{mark}[{words}]({repository}/{kind}/{BRANCH}/{path})"

    return LINK.sub(whole, text)


class CustomMetadataHook(MetadataHookInterface):
    """Gives what `pyproject.toml` says is dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme, and the addresses that are made of the repository's."""
        repository = self.config["repository"]
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_addresses(text, repository),
        }
        metadata["urls"] = {
            "Repository": repository,
            "Changelog": f"{repository}/blob/{BRANCH}/CHANGELOG.md",
            "Documentation": f"{repository}/blob/{BRANCH}/docs/index.md",
            "Issues": f"{repository}/issues",
        }
