"""`karenina.adapters`: where answers come from that no model is asked for."""

from typing import TYPE_CHECKING

from rubricate.dialects._missing import missing

if not TYPE_CHECKING:  # for type checkers what is not here is an error of its own
    __getattr__ = missing(__name__)
