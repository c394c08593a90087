"""The command line."""

from rubricate.cli._app import main

__all__ = ["main"]
