"""From the values of a data source to an item: the rows of a table, and samples.

Both are mapped in the same way. The parts of an item are selected by name (`submission`, `prompt`,
`reference`, `context`, `id` and `label.CRITERION`), each value is read by its reader, and the rest
is metadata.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal, get_args

from rubricate._spelling import common_prefix, did_you_mean, suggestion, unknown_word
from rubricate.dataset.items._data_item import ContextDocument, DataItem, GroundTruth, read_context
from rubricate.dataset.items._transcript import (
    AnswerList,
    PromptText,
    Transcript,
    is_conversation,
    render_turns,
    turn_of,
)
from rubricate.dataset.samples import (
    ChatMessage,
    Dataset,
    Sample,
    is_missing,
    other_delimiter,
    read_input,
)
from rubricate.errors import InputError, shown
from rubricate.rubric import Criterion, CriterionVerdict, Rubric

logger = logging.getLogger(__name__)
LABEL = "label."
OWN_NAMES = {
    "submission": ("submission",),
    "prompt": ("prompt", "input"),
    "reference": ("reference", "target"),
    "context": ("context",),
    "id": ("id",),
}
"""The roles of a column, and the names by which each is recognised without a mapping."""
OF_TASKS = "rubric"
"""An additional role of a field of a benchmark's tasks: their own rubrics."""
_IGNORE = "ignore"
_LIKE_LABEL = re.compile(r"labels?[\W_]+(.+)", re.IGNORECASE | re.DOTALL)
"""Column names that look like labels of a criterion, and of an unknown one."""
_LABEL_ALONE = re.compile(r"(?:human[\W_]?)?labels?", re.IGNORECASE)
_LIKE_TEXT = re.compile(r".* .* .*|.*[.?!]|[\d.]+", re.DOTALL)
"""Column names that look like cells: several words, a sentence, a number."""
SHOWN = 30
"""The number of characters of a garbled text in its warning."""

TargetUse = Literal["reference", "ground_truth", "ignore"]
"""The use of a sample's target: an exemplary response, the human labels, or none."""

TRUE = frozenset({"true", "yes", "1", "1.0", "y", "met"})
FALSE = frozenset({"false", "no", "0", "0.0", "n", "unmet"})


def item_of(
    values: Mapping[str, Any],
    rubric: Rubric,
    metadata: dict[str, Any],
    columns: Mapping[str, str] | None = None,
) -> DataItem:
    """Create an item from the values of a data source.

    Args:
        values: values by role: `submission`, `prompt`, `reference`, `context`, `id` and
            `label.CRITERION`. An item without any label has no ground truth.
        rubric: the rubric of the labels.
        metadata: the other values.
        columns: the column of each value, for errors.

    Raises:
        InputError: there is no submission, or a value cannot be read; the error names its column.
    """

    def read(what: str, reader: Callable[[Any], Any]) -> Any:
        try:
            return reader(values.get(what))
        except InputError as error:
            if columns and what in columns:
                raise InputError(f"column '{columns[what]}': {error}") from None
            raise

    labels: GroundTruth | None = None
    if any(what.startswith(LABEL) for what in values):
        labels = [
            read(f"{LABEL}{criterion.name}", partial(_label, criterion)) for criterion in rubric
        ]
    return DataItem(
        read("submission", _submission),
        ground_truth=labels,
        reference_submission=read("reference", _reference),
        id=read("id", lambda value: "" if is_missing(value) else str(value)),
        prompt=read("prompt", _prompt),
        context=read("context", _context),
        metadata=metadata,
    )


# Tables


def parse_pairs(
    text: str | Mapping[str, str], known: Collection[str], option: str
) -> dict[str, str]:
    """Read `submission=answer,prompt=question`: the fields by role.

    Args:
        text: such pairs, or a dict of them.
        known: the possible roles; `label.CRITERION` means any criterion.
        option: the name of the option, for errors.

    Raises:
        InputError: a pair has another form, a role is mapped twice, or is unknown.
    """
    pairs: list[tuple[str, str]] = []
    if isinstance(text, str):
        for part in filter(None, (part.strip() for part in text.split(","))):
            what, equals, column = (piece.strip() for piece in part.partition("="))
            if not (what and equals and column) or re.search(r"; *\w+ *=", column):
                example = f"{next(iter(known))}=COLUMN, with commas between several"
                raise InputError(f"{option}: '{part}' is not of the form {example}")
            pairs.append((what, column))
    elif isinstance(text, Mapping):
        for what, column in text.items():
            if isinstance(column, list | tuple | None):
                raise InputError(f"{option}: '{what}' needs one column, found {shown(column)}")
            pairs.append((str(what), str(column)))
    else:
        raise InputError(f"{option} must be a dict such as {{'submission': 'answer'}}")
    labelled = f"{LABEL}CRITERION" in known
    for what, column in pairs:
        if what not in known and not (labelled and what.startswith(LABEL) and what != LABEL):
            if column in known and not suggestion(what, known):
                raise InputError(
                    f"{option}: '{what}' is no field: the other way round, {column}={what}"
                )
            raise InputError(f"{option}: {unknown_word('field', what, known)}")
    for side, kind in ((0, ""), (1, "column ")):
        names = [pair[side] for pair in pairs]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            twice = ", ".join(f"{kind}'{name}'" for name in repeated)
            both = ", ".join("=".join(pair) for pair in pairs if pair[side] in repeated)
            raise InputError(f"{option}: {twice} is mapped twice: {both}")
    return dict(pairs)


@dataclass(frozen=True)
class TableColumns:
    """The roles of a table's columns.

    Attributes:
        columns: the column of each of `submission`, `prompt`, `reference`, `context`, `id` and
            `label.CRITERION`. Other roles use a column with the same name (`input` and `target`
            serve as prompt and reference too).
        ignore: a pattern such as `label.*`: unused columns that do not become metadata either; ""
            for none.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    ignore: str = ""

    @classmethod
    def parse(cls, text: str | Mapping[str, str]) -> TableColumns:
        """Read `submission=answer,prompt=question,label.accuracy=human_accuracy`.

        Args:
            text: such pairs, or a dict of them. `ignore=label.*` leaves out unused columns with
                such names: they do not become metadata.

        Raises:
            InputError: a pair has another form, a role is mapped twice, or is unknown.
        """
        known = (*OWN_NAMES, OF_TASKS, _IGNORE, f"{LABEL}CRITERION")
        columns = parse_pairs(text, known, "map")
        return cls(columns, columns.pop(_IGNORE, ""))

    def ignored_in(self, names: Iterable[str]) -> set[str]:
        """The columns that are ignored unless they are used, in a table with these columns.

        Args:
            names: the table's columns.
        """
        if not self.ignore:  # "" would match a column without a name
            return set()
        return {name for name in names if fnmatchcase(name, self.ignore)}

    def found_in(self, names: Sequence[str], criteria: Sequence[str]) -> dict[str, str]:
        """The columns by role, in a table with these column names.

        Args:
            names: the table's columns.
            criteria: names of criteria, whose labels are expected in `label.CRITERION`.

        Returns:
            The name of the column by role: `submission`, `prompt`, `label.accuracy`.
        """
        by_use = dict(self.columns)
        own = {**OWN_NAMES, **{f"{LABEL}{name}": (f"{LABEL}{name}",) for name in criteria}}
        for what, candidates in own.items():
            if what not in by_use:
                for name in candidates:
                    if name in names and name not in by_use.values():
                        by_use[what] = name
                        break
        return by_use


class RowReader:
    """Creates items from the rows of one table, from its first row on, and remembers its columns.

    Raises:
        InputError: the mapping names a criterion outside the rubric.
    """

    def __init__(self, columns: TableColumns, rubric: Rubric) -> None:
        self._columns = columns
        self._rubric = rubric
        self._names: dict[str, None] = {}
        self._found: dict[str, str] = dict(columns.columns)
        self._no_metadata: set[str] = set()
        self._rows = self._rows_with_text = 0
        self._garbled = ""
        if OF_TASKS in self._found:
            raise InputError(
                "map: 'rubric' is for records with their own rubrics: leave out --rubric"
            )
        unknown = [
            what.removeprefix(LABEL)
            for what in self._found
            if what.startswith(LABEL) and what.removeprefix(LABEL) not in rubric.names
        ]
        if unknown:
            raise InputError(
                f"map: the rubric has no criterion {', '.join(map(repr, unknown))}"
                f"{did_you_mean(unknown[0], rubric.names)} (it has {', '.join(rubric.names)})"
            )

    def __call__(self, row: dict[str, Any]) -> DataItem:
        """Create the item of a row.

        Raises:
            InputError: the row has no submission, or a label is invalid for its criterion.
        """
        if not row.keys() <= self._names.keys():
            self._names.update(dict.fromkeys(row))
            self._found = self._columns.found_in(list(self._names), self._rubric.names)
            self._no_metadata = {*self._found.values(), *self._columns.ignored_in(self._names)}
            problem = self._label_problem() or self._verdict_problem(row) or self._role_problem()
            if problem is not None:
                raise problem
        by_use = self._found
        if by_use.get("submission") not in row:
            raise self._problem(row) or InputError("has no submission")
        values = {what: row.get(column) for what, column in by_use.items()}
        values["submission"] = _parsed_chat(values["submission"])
        rest = {name: value for name, value in row.items() if name not in self._no_metadata}
        nested = rest.get("metadata")
        if isinstance(nested, dict) and nested.keys().isdisjoint(rest):
            rest = {name: value for name, value in rest.items() if name != "metadata"} | nested
        item = item_of(values, self._rubric, rest, by_use)
        self._rows += 1
        self._rows_with_text += bool(item.submission.strip())
        self._garbled = self._garbled or _garbled_in(item.submission)
        return item

    def check(self) -> None:
        """Raise `InputError` if the mapping did not match the rows so far, or all are empty while
        another column may have the texts."""
        if self._names and (problem := self._problem(self._names) or self._label_problem()):
            raise problem
        if self._rows and self._found["submission"] == "id":
            names = ", ".join(repr(name) for name in self._names if name != "id")
            raise InputError(f"map: column 'id' has no texts to grade: the others are {names}")
        others = [repr(name) for name in self._names if name not in self._found.values()]
        if self._rows > 1 and others and not self._rows_with_text:
            raise InputError(
                f"column {self._found['submission']!r}, the submission, is empty in all rows read "
                f"({self._rows}): map the column that has the texts, with --map submission=COLUMN "
                f"(in Python, map={{'submission': 'COLUMN'}}); the others are {', '.join(others)}"
            )
        other_names = ("question", "query", "instruction", "user_query", "user_input", "problem")
        question = next((name for name in other_names if name in self._names), None)
        if question and "prompt" not in self._found and question not in self._no_metadata:
            logger.warning(
                "no column is mapped to prompt, so the judge sees the texts alone: if %r has the "
                "questions, --map prompt=%s (in Python, map={'prompt': %r}); if not, map it to "
                "'ignore'",
                *(question, question, question),
            )
        if self._garbled:
            logger.warning(
                "column %r: %r looks like UTF-8 that was read in another encoding: read the file "
                "with encoding='utf-8'",
                *(self._found["submission"], self._garbled[:SHOWN]),
            )

    def _label_problem(self) -> InputError | None:
        """The problem of a label column: it names no criterion, or only looks like a label."""
        names = self._rubric.names
        for column in (name for name in self._names if name not in self._no_metadata):
            name = column.removeprefix(LABEL)
            if name not in (column, *names):
                return InputError(
                    f"column {column!r}: the rubric has no criterion {name!r}"
                    f"{did_you_mean(name, names)} (it has {', '.join(names)}); to leave out "
                    f"columns that name none: --map '{_IGNORE}={LABEL}*' (in Python, "
                    f"map={{'{_IGNORE}': '{LABEL}*'}})"
                )
            if (near := self._labelled_by(column)) is not None:
                return InputError(
                    f"column {column!r} looks like labels of the criterion {near!r}, whose column "
                    f"is '{LABEL}{near}': rename it, or --map '{LABEL}{near}={column}'; to leave "
                    f"it out: --map '{_IGNORE}={column}'"
                )
        return None

    def _verdict_problem(self, row: Mapping[str, Any]) -> InputError | None:
        """A column such as `label` with verdicts, whose name says of no criterion."""
        for column in row.keys() - self._no_metadata:
            if _LABEL_ALONE.fullmatch(column) and str(row[column]) in CriterionVerdict.__members__:
                near = self._rubric.names[0]
                return InputError(
                    f"column {column!r} has the label {row[column]}, and does not say of which "
                    f"criterion: --map '{LABEL}{near}={column}', or leave it out: "
                    f"--map '{_IGNORE}={column}'"
                )
        return None

    def _role_problem(self) -> InputError | None:
        """A column that looks like a context or a reference that a criterion needs."""
        other_names = (
            ("context", ("contexts", "retrieved_contexts", "retrieval_context", "chunks")),
            ("reference", ("reference_answer", "expected_output", "expected", "gold_answer")),
        )  # the names in other tools
        for role, others in other_names:
            column = next((name for name in others if name in self._names), None)
            if column is None or role in self._found or column in self._no_metadata:
                continue
            for criterion in self._rubric:
                if re.search(rf"\b{role}\b", criterion.requirement, re.IGNORECASE):
                    return InputError(
                        f"column {column!r} is not mapped, and the criterion '{criterion.name}' "
                        f"speaks of the {role}: --map {role}={column}, or leave it out: "
                        f"--map ignore={column}"
                    )
        return None

    def _labelled_by(self, column: str) -> str | None:
        """The criterion without labels that a column such as `Label.x` or `labels_x` names."""
        if (match := _LIKE_LABEL.fullmatch(column)) is None:
            return None
        name = match[1].strip().casefold()
        unlabelled = {
            criterion.casefold(): criterion
            for criterion in self._rubric.names
            if f"{LABEL}{criterion}" not in self._found
        }
        return unlabelled.get(name) or unlabelled.get(suggestion(name, unlabelled) or "")

    def _problem(self, names: Mapping[str, Any]) -> InputError | None:
        """The problem of the mapping in a table with these columns, if any."""
        missing = [column for column in self._columns.columns.values() if column not in names]
        unmapped = [name for name in names if name not in self._found.values()]
        (only,) = names if len(names) == 1 else ("",)
        if only and (delimiter := other_delimiter(names)):
            return InputError(delimiter)
        if missing:
            merged = [name for name in names if name in (f"{missing[0]}_x", f"{missing[0]}_y")]
            near = merged or [*filter(None, [suggestion(missing[0], list(names))])]
            what = f"there is no column {', '.join(map(repr, missing))}"
            if near:
                what += f" (did you mean {' or '.join(map(repr, near))}?)"
            elif missing[0].partition(".")[0] in names:
                what += " (nested fields cannot be mapped: make columns of them first)"
            elif isinstance(names.get(only), list):
                what += f" (the rows seem to be under {only!r}: take them out of it)"
        elif "submission" not in self._found:
            what = (
                "no column is mapped to submission: say which has the texts, with --map "
                "submission=COLUMN (in Python, map={'submission': 'COLUMN'})"
            )
        else:
            return None
        if not what.endswith("?)") and any(map(_LIKE_TEXT.fullmatch, names)):
            what += " (is the first line the columns' names?)"
        others = "; not mapped are " + (", ".join(map(repr, unmapped)) or "(none)")
        return InputError(
            f"{what}; the columns are {', '.join(map(repr, names)) or '(none)'}"
            + (others if len(unmapped) < len(names) else "")
        )


def _garbled_in(text: str) -> str:
    """The part of a text that is UTF-8 read as Latin-1 or CP1252 (`GrÃ¼n`), or ""."""
    if not text.isascii():
        for encoding in ("cp1252", "latin-1"):
            with contextlib.suppress(UnicodeError):
                read = text.encode(encoding).decode("utf-8")
                return text[text.rfind(" ", 0, common_prefix(text, read)) + 1 :]
    return ""


def submission_of(value: Any) -> str | None:
    """Read a cell as a submission; None if it is not one."""
    with contextlib.suppress(InputError):
        return _submission(_parsed_chat(value))
    return None


def _parsed_chat(value: Any) -> Any:
    """A value, or the chat messages in its JSON text, as in CSV files."""
    if isinstance(value, str) and value.lstrip().startswith("[") and '"role"' in value:
        with contextlib.suppress(ValueError):
            if is_conversation(parsed := json.loads(value)):
                return parsed
    return value


# Samples


def items_of(
    dataset: Iterable[Sample],
    rubric: Rubric,
    *,
    submission: str | Callable[[Sample], str],
    target: TargetUse,
    labels: Mapping[str, str],
    context: str | None,
) -> list[DataItem]:
    """Create one item per sample; the arguments are those of `RubricDataset.from_samples`.

    Raises:
        InputError: samples share an id, one has no submission, or a label is invalid for its
            criterion; the error names the sample.
    """
    if target not in get_args(TargetUse):
        raise InputError(f"target must be {' or '.join(get_args(TargetUse))}, found {target!r}")
    if unknown := [name for name in labels if name not in rubric.names]:
        raise InputError(
            f"labels for {', '.join(map(repr, unknown))}, which the rubric does not have; its "
            f"criteria are {', '.join(rubric.names)}"
        )
    if isinstance(dataset, Dataset):
        dataset.check_ids()
    items: list[DataItem] = []
    for index, sample in enumerate(dataset, start=1):
        try:
            metadata = dict(sample.metadata or {})
            text = _picked(sample, submission, metadata)
            own = {name: metadata.pop(key, None) for name, key in labels.items()}
            values = _values_of(sample, rubric, target, own) | {"submission": text}
            if context is not None:
                values["context"] = metadata.pop(context, None)
            items.append(item_of(values, rubric, metadata))
        except InputError as error:
            which = f"sample {index}" + ("" if sample.id is None else f" ({sample.id})")
            raise error.within((which,), file=getattr(dataset, "location", None)) from None
    return items


def _picked(
    sample: Sample, submission: str | Callable[[Sample], str], metadata: dict[str, Any]
) -> Any:
    """A sample's submission, taken from its metadata or made by a function."""
    if callable(submission):
        return submission(sample)
    if submission not in metadata:
        has = ", ".join(map(repr, metadata)) or "(none)"
        raise InputError(
            f"there is no submission: metadata has no '{submission}'; it has {has}. Name the "
            "key with submission="
        )
    return metadata.pop(submission)


def _values_of(
    sample: Sample, rubric: Rubric, target: TargetUse, labels: Mapping[str, Any]
) -> dict[str, Any]:
    """The values of an item in a sample itself; `labels` take precedence over its target's."""
    by_target: Mapping[str, Any] = {}
    reference = None
    texts = [sample.target] if isinstance(sample.target, str) else sample.target
    if target == "ground_truth" and sample.target:
        if len(texts) != len(rubric):
            raise InputError(
                f"target has {len(texts)} labels, and the rubric {len(rubric)} criteria: "
                f"{', '.join(rubric.names)}"
            )
        by_target = dict(zip(rubric.names, texts, strict=True))
    elif target == "reference" and sample.target:
        reference = "\n\n".join(texts)
    return {
        "prompt": _input_text(sample.input),
        "reference": reference,
        "id": sample.id,
        **{f"{LABEL}{name}": label for name, label in (labels or by_target).items()},
    }


# Readers of values


def _submission(value: Any) -> str:
    """A submission as text: also numbers, and chat messages as a `Transcript`.

    A list of texts becomes an `AnswerList`. Empty text is a valid submission.

    Raises:
        InputError: it is missing (None, NaN or an empty list), or is not text: most likely the
            wrong column.
    """
    if is_missing(value) or value == []:
        what = "list is empty" if value == [] else "value is missing"
        raise InputError(
            f"there is no submission: the {what}; is it the right column? Leave out such rows "
            "(--on-error skip of a file, dropna of a data frame)"
        )
    if isinstance(value, str):
        return value
    if is_conversation(value):
        return Transcript(value)
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return AnswerList(value)
    if isinstance(value, bool | bytes | Mapping | list | tuple):
        raise InputError(
            f"a submission is text, a number or a list of chat messages, found {shown(value)}: is "
            "it the right column? JSON that is to be graded goes in as text"
        )
    return json.dumps(value, ensure_ascii=False, default=str)


def _prompt(value: Any) -> str | None:
    return None if is_missing(value) or value == "" else _input_text(read_input(value)) or None


def _reference(value: Any) -> str | None:
    return None if is_missing(value) or value == "" else str(value)


def _context(value: Any) -> list[ContextDocument]:
    """Read context documents: texts or {title, text}, or a JSON list of them.

    Other structured data becomes JSON text.
    """
    if is_missing(value) or value == "":
        return []
    if isinstance(value, str) and value.lstrip().startswith("["):
        with contextlib.suppress(ValueError):
            value = json.loads(value)
    values = value if isinstance(value, list | tuple) else [value]
    documents: list[ContextDocument] = []
    for value in values:
        try:
            documents += read_context(value)
        except InputError:
            documents.append(ContextDocument(json.dumps(value, ensure_ascii=False, default=str)))
    return documents


def _input_text(messages: str | list[ChatMessage]) -> str:
    """An input as text; several messages each follow their role."""
    if isinstance(messages, str):
        return messages
    text = messages[0].text if len(messages) == 1 else render_turns(map(turn_of, messages))
    return PromptText.of(text, messages)


def _label(criterion: Criterion, value: Any) -> CriterionVerdict | str | None:
    """The criterion's label for a value: the label in any letter case, or yes and no."""
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    binary = criterion.is_binary
    folded = str(value).strip().casefold().replace(" ", "_")
    if binary and folded in TRUE | FALSE:
        return CriterionVerdict.MET if folded in TRUE else CriterionVerdict.UNMET
    exact = [label for label in criterion.labels if label == str(value).strip()]
    near = [label for label in criterion.labels if label.casefold().replace(" ", "_") == folded]
    for label in exact or near:
        return CriterionVerdict(label) if binary else label
    try:
        return criterion.label_of(value if isinstance(value, int | float) else str(value))
    except InputError as error:
        also = ", yes, no, 1 or 0" if binary else ""
        raise InputError(
            f"criterion '{criterion.name}' {error.message}{also}; leave the cell empty where there "
            "is no label"
        ) from None
