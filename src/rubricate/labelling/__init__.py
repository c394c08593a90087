"""Labelling a dataset by hand: who labels what next, what is shown when, and the page for it.

A `LabelSession` is one labelling by any number of annotators. Their labels are blind: what the
judge and the others say is shown once an item is labelled; an annotator who then disagrees
adjudicates. `label_order` says which items come first. A `LabelServer` serves the page, to this
machine alone; each label is on disk (`rubricate.dataset.LabelFile`) before it counts as given.
"""

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
