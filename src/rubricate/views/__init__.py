"""How things are shown: numbers as text, tables of a terminal, drawings, parts of pages.

Each kind of figure is written in one way, in every medium: `figure`, `percent`, `dollars`,
`estimate_text`. This room knows nothing of runs, judges and rubrics; those that have something to
show use it.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door
from rubricate.views._format import (
    NONE,
    dollars,
    ends,
    estimate_text,
    figure,
    p_text,
    percent,
    stratified_text,
    weight_text,
)

if TYPE_CHECKING:
    from rubricate.views._charts import (
        answers_bar,
        confusion_grid,
        histogram,
        pairs_plot,
        reliability_plot,
        score_range,
        value_bar,
    )
    from rubricate.views._page_parts import page_part, page_policy, page_templates
    from rubricate.views._plain_table import plain_table
else:
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "NONE",
    "answers_bar",
    "confusion_grid",
    "dollars",
    "ends",
    "estimate_text",
    "figure",
    "histogram",
    "p_text",
    "page_part",
    "page_policy",
    "page_templates",
    "pairs_plot",
    "percent",
    "plain_table",
    "reliability_plot",
    "score_range",
    "stratified_text",
    "value_bar",
    "weight_text",
]
