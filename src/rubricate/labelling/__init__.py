"""Labelling a dataset by hand: the order of items, blind labels, and the page for it.

A `LabelSession` is used by any number of annotators. Their labels are blind: the labels of the
judge and of others are shown only after an item is labelled, and an annotator who changes their
mind then adjudicates. `label_order` determines which items come first. A `LabelServer` serves the
page to this machine only; each label is on disk (`rubricate.dataset.LabelFile`) before it is
confirmed."""

from rubricate.labelling._order import (
    Order as Order,
    chances as chances,
    label_order as label_order,
)
from rubricate.labelling._server import LabelServer as LabelServer
from rubricate.labelling._session import (
    LabelSession as LabelSession,
    checked_label as checked_label,
    checked_name as checked_name,
)
