"""Labelling a dataset by hand: who labels what next, what is shown when, and the page for it."""

from rubricate.labelling._server import LabelServer
from rubricate.labelling._session import LabelSession
from rubricate.labelling._worth import Order, label_order

__all__ = ["LabelServer", "LabelSession", "Order", "label_order"]
