"""How things are shown: a report says `sections()`, and each medium shows them.

A `Report` is data with `sections()`: paragraphs, tables, facts, changes. The terminal, Markdown,
HTML and JSON are written once, for all reports; so is each kind of figure (`figure`, `percent`,
`dollars`, `estimate_text`). This room knows nothing of runs, judges and rubrics.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door
from rubricate.views._format import (
    NONE,
    cost_text,
    dollars,
    ends,
    estimate_text,
    figure,
    opening,
    p_text,
    percent,
    stratified_text,
    tell_apart,
    weight_text,
)
from rubricate.views._report import Report

if TYPE_CHECKING:
    from rubricate.views._charts import (
        Drawing,
        answers_bar,
        bars,
        confusion_grid,
        histogram,
        pairs_plot,
        reliability_plot,
        score_range,
        value_bar,
    )
    from rubricate.views._html import as_html
    from rubricate.views._page_parts import page_part, page_policy, page_templates
    from rubricate.views._picture import Picture, Plot
    from rubricate.views._sections import (
        GAP,
        Apart,
        Cell,
        Change,
        Changes,
        Column,
        Facts,
        Paragraph,
        Passage,
        Row,
        Section,
        Table,
        Tone,
        Words,
        notes,
        numbers,
        say,
    )
    from rubricate.views._terminal import OnTerminal, as_text
else:
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "GAP",
    "NONE",
    "Apart",
    "Cell",
    "Change",
    "Changes",
    "Column",
    "Drawing",
    "Facts",
    "OnTerminal",
    "Paragraph",
    "Passage",
    "Picture",
    "Plot",
    "Report",
    "Row",
    "Section",
    "Table",
    "Tone",
    "Words",
    "answers_bar",
    "as_html",
    "as_text",
    "bars",
    "confusion_grid",
    "cost_text",
    "dollars",
    "ends",
    "estimate_text",
    "figure",
    "histogram",
    "notes",
    "numbers",
    "opening",
    "p_text",
    "page_part",
    "page_policy",
    "page_templates",
    "pairs_plot",
    "percent",
    "reliability_plot",
    "say",
    "score_range",
    "stratified_text",
    "tell_apart",
    "value_bar",
    "weight_text",
]
