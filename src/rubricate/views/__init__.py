"""Presentation: a report has `sections()`, and every medium renders them.

A `Report` is data with `sections()`: paragraphs, tables, facts, changes. Terminal, Markdown, HTML
and JSON are implemented once for all reports, and so is the format of each kind of figure
(`figure`, `percent`, `dollars`, `estimate_text`). This package knows nothing about runs, judges and
rubrics.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door
from rubricate.views._format import (
    NONE as NONE,
    dollars as dollars,
    ends as ends,
    estimate_text as estimate_text,
    figure as figure,
    opening as opening,
    p_text as p_text,
    percent as percent,
    stratified_text as stratified_text,
    tell_apart as tell_apart,
    unit_prices as unit_prices,
    weight_text as weight_text,
)
from rubricate.views._report import Report as Report

if TYPE_CHECKING:
    from rubricate.views._charts import (
        Drawing as Drawing,
        answers_bar as answers_bar,
        bars as bars,
        confusion_grid as confusion_grid,
        histogram as histogram,
        items_address as items_address,
        pairs_plot as pairs_plot,
        reliability_plot as reliability_plot,
        score_range as score_range,
        timeline as timeline,
        value_bar as value_bar,
    )
    from rubricate.views._html import as_html as as_html, number_help as number_help
    from rubricate.views._page_parts import (
        page_part as page_part,
        page_policy as page_policy,
        page_templates as page_templates,
    )
    from rubricate.views._page_server import (
        PageServer as PageServer,
        json_fields as json_fields,
        json_response as json_response,
        page_response as page_response,
    )
    from rubricate.views._picture import Picture as Picture, Plot as Plot
    from rubricate.views._sections import (
        GAP as GAP,
        STATUSES as STATUSES,
        Cell as Cell,
        Change as Change,
        Changes as Changes,
        Column as Column,
        Facts as Facts,
        Paragraph as Paragraph,
        Passage as Passage,
        Row as Row,
        Section as Section,
        Table as Table,
        Tone as Tone,
        Words as Words,
        count_cell as count_cell,
        notes as notes,
        numbers as numbers,
        say as say,
        status_counts as status_counts,
        without_value as without_value,
    )
    from rubricate.views._terminal import OnTerminal as OnTerminal, as_text as as_text
else:
    __getattr__, __dir__ = lazy_door(__name__)
