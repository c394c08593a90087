"""`rubricate label`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rubricate.cli._commands import command
from rubricate.cli._ending import print_next
from rubricate.cli._pages import PageOptions, serve
from rubricate.settings import option

if TYPE_CHECKING:
    from rubricate.labelling import LabelSession


class LabelSettings(PageOptions):
    """The options of `rubricate label`."""

    data: str = option(
        "", "A dataset, or a table; its labels go into NAME.labelled.json.", is_argument=True
    )
    run: str | None = option(None, "A run on it: its verdicts are shown once an item is labelled.")
    rubric: str | None = option(None, "A rubric file to use instead of the dataset's own.")
    map: str | None = option(None, "Which column of a table is what; see grade.")
    item: Sequence[str] = option(
        (), "Label only this item, such as one of trust ppi --next; can be given several times."
    )
    order: Literal["random", "active", "uncertainty"] | None = option(
        None,
        "random; active (prefers items that the judge is unsure of, and records their chances "
        "so that figures stay unbiased); or uncertainty (the least sure first, to find "
        "errors). [random]",
        input_type=str | None,
    )
    seed: int = option(0, "Random seed of the order.", ge=0)


@command(LabelSettings)
def label(settings: LabelSettings) -> None:
    """Label a dataset by hand, blind, in your browser."""
    from rubricate.dataset import TableColumns, open_label_file
    from rubricate.labelling import LabelServer, LabelSession
    from rubricate.rubric import Rubric

    file = open_label_file(
        settings.data,
        None if settings.rubric is None else Rubric.from_file(settings.rubric),
        None if settings.map is None else TableColumns.parse(settings.map),
    )
    run = None if settings.run is None else Path(settings.run)
    session = LabelSession(
        file, run=run, order=settings.order, seed=settings.seed, items=settings.item
    )
    server = LabelServer(session, annotator=settings.labeller, port=settings.port)
    serve(server, settings, _notes(session))
    complete, items = session.progress()
    print(f"{complete} of {items} items have all labels; they are in {file.path}")
    print_next(
        "Next, to compare a judge with them: rubricate grade {file} --judge JUDGE",
        settings,
        file=file.path,
    )


def _notes(session: LabelSession) -> Iterator[str]:
    path = session.file.path
    yield f"Each label is saved in {path} at once. Ctrl-C stops the server."
    if session.file.loses_comments:
        yield (
            f"Comments of {path} cannot be kept: the file as it was will be beside it, as "
            "NAME.before-labels."
        )
    if session.how == "uncertainty":
        yield (
            "The least sure items come first: good for finding errors. Their labels are no sample: "
            "trust ppi, certify, cascade and calibrate refuse them (see --order active)."
        )
