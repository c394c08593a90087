"""`autorubric.rubric`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from rubricate.dialects import names_elsewhere
from rubricate import rubric as core
from rubricate._documents import parse_json, parse_yaml, read_document, read_text, validate
from rubricate.dialects.autorubric._documents import DEFAULT_WEIGHT, criteria_of, unique_names
from rubricate.dialects.autorubric._criteria import Criterion, CriterionVerdict, as_given
from rubricate.errors import InputError, errors_within

if TYPE_CHECKING:
    from rubricate.dialects.autorubric._reports import EnsembleEvaluationReport


class Grader(Protocol):
    """A grader, such as `CriterionGrader`."""

    async def grade(
        self,
        to_grade: str | Mapping[str, str],
        rubric: core.Rubric,
        query: str | None = None,
        reference_submission: str | None = None,
    ) -> EnsembleEvaluationReport: ...


PARSERS = {".json": parse_json, ".yaml": parse_yaml, ".yml": parse_yaml}
"""The parsers of files, by suffix."""


class Rubric(core.Rubric):
    """A list of criteria, with AutoRubric's defaults and file formats.

    Repeated names get a suffix and cause a warning.

    Args:
        rubric: the criteria; may also be the first argument.
        guidelines: guidelines for all criteria; blank text counts as none.
    """

    def __init__(
        self, rubric: Iterable[core.Criterion | Mapping[str, Any]] = (), /, **data: Any
    ) -> None:
        given_criteria = data.pop("rubric", data.pop("criteria", rubric))
        criteria = [
            _criterion(criterion, ("criteria", index))
            for index, criterion in enumerate(given_criteria)
        ]
        guidelines = data.get("guidelines")
        if isinstance(guidelines, str) and not guidelines.strip():
            data["guidelines"] = None
        beside = {key: data.pop(key) for key in data.keys() - {*type(self).model_fields, "extra"}}
        super().__init__(unique_names(criteria), **{"extra": beside, **data})

    @property
    def rubric(self) -> tuple[core.Criterion, ...]:
        """The criteria as passed: without a name, the name is None."""
        return tuple(map(as_given, self.criteria))

    @classmethod
    def from_dict(cls, data: Any) -> Rubric:
        """Build a rubric from loaded JSON or YAML, in any of AutoRubric's forms.

        Raises:
            InputError: the document is invalid; the message has the path inside it.
        """
        if isinstance(data, Rubric):
            return data
        if isinstance(data, core.Rubric):
            if data.groups:
                raise InputError("only rubricate.Rubric supports nested criteria: use that")
            data = data.to_dict()
        try:
            placed, beside = criteria_of(data)
        except RecursionError:
            raise InputError("sections are nested too deeply") from None
        criteria = tuple(_criterion(raw, path) for path, raw in placed)
        return validate(cls, {**beside, "criteria": criteria})

    @classmethod
    def from_file(cls, path: str | Path | IO[str] | IO[bytes]) -> Rubric:
        """Load a rubric from a .json, .yaml, .yml or .txt file, or an open file with a name."""
        if not isinstance(path, str | Path):
            return cls._from_open_file(path)
        with errors_within(file=path):
            if Path(path).suffix.lower() in PARSERS:
                return cls.from_dict(read_document(path))
            return cls.from_dict(_of_any_format(Path(path), read_text(path)))

    @classmethod
    def _from_open_file(cls, file: IO[str] | IO[bytes]) -> Rubric:
        name = getattr(file, "name", None)
        place = Path(name) if isinstance(name, str) else Path("file")
        with errors_within(file=place):
            try:
                text = file.read()
                text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
            except UnicodeDecodeError:
                raise InputError("is not UTF-8 text; save it as UTF-8") from None
            parse = PARSERS.get(place.suffix.lower())
            return cls.from_dict(parse(text) if parse else _of_any_format(place, text))

    async def grade(
        self,
        to_grade: str | Mapping[str, str],
        grader: Grader,
        query: str | None = None,
        reference_submission: str | None = None,
    ) -> EnsembleEvaluationReport:
        """Grade a text by this rubric; see `CriterionGrader.grade`."""
        if not hasattr(grader, "grade"):
            raise InputError(f"grader must be a CriterionGrader, found {type(grader).__name__}")
        return await grader.grade(to_grade, self, query, reference_submission)

    def compute_score(
        self,
        verdicts: Sequence[CriterionVerdict | str],
        normalize: bool = True,
        cannot_assess_strategy: str = "skip",
        partial_credit: float = 0.5,
    ) -> float | None:
        """Compute the score of labels, one per criterion; None if no criterion can be scored."""
        if len(verdicts) != len(self):
            raise InputError(f"{len(verdicts)} verdicts for a rubric of {len(self)} criteria")
        judged = [criterion.verdict(label) for criterion, label in zip(self, verdicts, strict=True)]
        strategy = core.check_cannot_assess(cannot_assess_strategy, partial_credit)
        score = core.score(self.tree, judged, core.ScoringRules(strategy, partial_credit))
        return score.value if normalize or score.value is None else score.raw

    @staticmethod
    def validate_and_create_criteria(data: Any) -> list[core.Criterion]:
        """Return only the criteria of `from_dict`."""
        return list(Rubric.from_dict(data).criteria)


def _criterion(data: Any, path: Sequence[str | int]) -> core.Criterion:
    """Build a criterion of AutoRubric, or of a kind that only the core has."""
    if isinstance(data, core.Criterion):
        return data
    if isinstance(data, Mapping) and data.get("kind") not in (None, "binary", "multi_choice"):
        try:
            [criterion] = core.Rubric.from_dict([data])
        except InputError as error:
            raise InputError(error.message, path=(*path, *error.path[1:])) from None
        is_weighted = "weight" in criterion.model_fields_set
        return criterion if is_weighted else criterion.model_copy(update={"weight": DEFAULT_WEIGHT})
    return validate(Criterion, data, path)


def _of_any_format(path: Path, text: str) -> Any:
    """Parse a file with another suffix as JSON or YAML, if that gives an object or a list."""
    data = None
    for parse in (parse_json, parse_yaml):
        try:
            data = parse(text)
        except InputError:
            continue
        if isinstance(data, Mapping | list):
            return data
    raise InputError(
        f"Unsupported file format '{path.suffix}': it has no rubric as JSON or YAML; write one "
        "to a .json, .yaml or .yml file"
    )


names_elsewhere(__name__)
