"""JSON Schemas of the files that rubricate writes and reads, generated from their classes.

Schemas of written files allow further keys unless they say otherwise, because a later version may
add some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NotRequired, get_type_hints

from pydantic import BaseModel, TypeAdapter, create_model
from pydantic.json_schema import models_json_schema
from typing_extensions import TypedDict

from rubricate.analysis import (
    AgreementReport,
    CascadeReport,
    Certificate,
    FittedCalibration,
    PairReport,
    PlanReport,
    PPIReport,
    RedTeamReport,
    RunComparison,
    RunList,
    VarianceReport,
)
from rubricate.cli._judges import CheckedJudge
from rubricate.dataset import RubricDataset
from rubricate.dialects.researchrubrics import Figures
from rubricate.judge import UnknownVote
from rubricate.report import ReportPage
from rubricate.rubric import (
    Criterion,
    DeclaredScoring,
    Group,
    kinds,
)
from rubricate.run import RunEstimate
from rubricate.run.results import ROWS, TEXTS, Summary, line_schema
from rubricate.stats import BoundTest, Estimate, LabelAgreement, PairedComparison

Schema = dict[str, Any]
TEXT: Schema = {"type": ["string", "null"]}
NAMES: Schema = {"type": "array", "items": {"type": "string"}}
FOR_TYPES = {
    kind.__name__: kind for kind in (BoundTest, Estimate, LabelAgreement, PairedComparison)
}
"""Names that classes of other packages import for type checking only."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"


class SelectedItem(TypedDict):
    """An item of `rubricate show RUN --item ... --json`."""

    item: str
    verdicts: list[dict[str, Any]]


class ReplayedJudge(TypedDict):
    """A recorded judge."""

    name: str
    weight: float | None
    votes: dict[str, int]
    n: int
    accuracy: float | None
    kappa: float | None
    undefined: NotRequired[str | None]


class ReplayedPanel(TypedDict):
    """A panel of recorded judges."""

    name: Literal["majority", "reliability"]
    verdicts: dict[str, int]
    tied: int
    n: int
    accuracy: float | None
    kappa: float | None
    undefined: NotRequired[str | None]


class Replayed(TypedDict):
    """The output of `rubricate trust replay --json`."""

    dataset: str | None
    stratified: dict[str, Any] | None
    judges: list[ReplayedJudge]
    panels: list[ReplayedPanel]
    unknown: list[UnknownVote]


def _reports() -> type[BaseModel]:
    """The output of `rubricate researchrubrics --json`; with `--rescore` only the figures."""
    names = {**FOR_TYPES, "AgreementReport": AgreementReport}
    fields: dict[str, Any] = {
        "results": (str, ""),
        "summary": (Summary | None, None),
        "without_report": (dict[str, list[str]], {}),
        "without_task": (list[str], []),
        "unreadable": (dict[str, str], {}),
        "hidden_characters": (dict[str, int], {}),
        **{name: (kind, ...) for name, kind in get_type_hints(Figures, localns=names).items()},
    }
    return create_model("ReportsGraded", **fields)


class ListedBatch(TypedDict):
    """A batch that is out."""

    run: str
    """The run folder."""
    model: str
    requests: int
    since: str
    """When it was written, in UTC."""
    id: str | None
    """Null as long as it is not known if it was sent."""
    cancelled: NotRequired[str]
    """What came of cancelling it, in words."""


class ListedJudge(TypedDict):
    """A provider of judges."""

    judge: str
    base_url: str
    key_variable: str
    key_required: bool
    gives_logprobs: bool
    key_set: bool
    error: str | None


def _written(kind: Any, **more: Schema) -> Callable[[], Schema]:
    """The schema of what a class writes, and of further keys beside its fields."""
    return lambda: _schema(kind, "serialization", more)


def _read(kind: Any, **more: Schema) -> Callable[[], Schema]:
    """The schema of what a class reads, or writes without fields that have their defaults."""
    return lambda: _schema(kind, "validation", more)


def _object(**fields: Any) -> Callable[[], Schema]:
    """The schema of an object with these fields."""
    return _written(TypedDict("Object", fields))  # type: ignore[operator]


def _schema(kind: Any, mode: Literal["serialization", "validation"], more: Schema) -> Schema:
    adapter = TypeAdapter[Any](kind)
    adapter.rebuild(_types_namespace=FOR_TYPES)
    made = adapter.json_schema(mode=mode)
    made["properties"] |= more
    return made


def _rubric() -> Schema:
    """The schema of a rubric file: a list of criteria, or an object with criteria and more."""
    classes: list[type[Criterion]] = list(dict.fromkeys([Criterion, *kinds().values()]))
    every: list[type[BaseModel]] = [*classes, Group]
    _, made = models_json_schema([(kind, "validation") for kind in every])
    definitions: Schema = made["$defs"]
    for kind in every:
        properties = definitions[kind.__name__]["properties"]
        for name in ("requires", "tags"):  # allowed in several forms
            if name in properties:
                properties[name] = {"title": properties[name]["title"]}
    own = [name for name, kind in kinds().items() if kind is Criterion]
    definitions["Criterion"]["properties"]["kind"] = {"enum": [None, *own]}
    for name in (kind.__name__ for kind in classes if kind is not Criterion):
        definitions[name].setdefault("required", []).append("kind")
    node = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in every]
    nodes = {"type": "array", "minItems": 1, "items": {"anyOf": node}}
    definitions["Group"]["properties"]["criteria"] = {"$ref": "#/$defs/Criteria"}
    definitions["Criteria"] = nodes
    section = {
        "type": "object",
        "properties": {"name": TEXT, "criteria": {"$ref": "#/$defs/Criteria"}},
        "required": ["criteria"],
    }
    beside = {
        "name": TEXT,
        "guidelines": TEXT,
        "scoring": {"anyOf": [{"$ref": "#/$defs/DeclaredScoring"}, {"type": "null"}]},
        "criteria": {"$ref": "#/$defs/Criteria"},
        "sections": {"type": "array", "items": section},
        "rubric": {"$ref": "#/$defs/Rubric"},
    }
    definitions["DeclaredScoring"] = TypeAdapter(DeclaredScoring).json_schema()
    definitions["Rubric"] = {
        "title": "Rubric",
        "anyOf": [
            {"$ref": "#/$defs/Criteria"},
            {
                "type": "object",
                "properties": beside,
                "anyOf": [{"required": [name]} for name in ("criteria", "sections", "rubric")],
            },
        ],
    }
    return {"$ref": "#/$defs/Rubric", "$defs": definitions}


def _dataset() -> Schema:
    """The schema of a dataset file, with rubrics as in `_rubric`. Further keys are kept."""
    rubric, made = _rubric(), TypeAdapter(RubricDataset).json_schema()
    definitions = {**made.pop("$defs"), **rubric["$defs"]}
    own = {"anyOf": [{"$ref": "#/$defs/Rubric"}, {"type": "null"}]}
    item = definitions["DataItem"]
    for kind in (made, item):
        kind.pop("additionalProperties", None)
        for name in ("extra", "_hash"):
            kind["properties"].pop(name, None)
        kind["properties"]["rubric"] = own
    missing = {
        name: {"anyOf": [schema, {"type": "null"}]} for name, schema in item["properties"].items()
    }
    # A submission may be messages or structured data; a document may be a plain text.
    item["properties"] = {**missing, "submission": {}, "context": {}}
    made["required"] = ["items"]
    return {**made, "$defs": definitions}


SCHEMAS: Mapping[str, tuple[str, Callable[[], Schema]]] = {
    "rubric": ("a rubric's file", _rubric),
    "dataset": ("a dataset's file, .json or .yaml", _dataset),
    "summary": ("summary.json; grade --json; show --json", _read(Summary)),
    "results": ("a line of results.jsonl", lambda: line_schema(ROWS)),
    "items": ("a line of items.jsonl", lambda: line_schema(TEXTS)),
    "estimate": (
        "grade --dry-run --json; with pairs, compare-pair --dry-run --json",
        _written(RunEstimate, pairs={"type": "integer"}),
    ),
    "selection": (
        "show --item, --criterion, --failed, --disagreements --json",
        _object(run=str, items=list[SelectedItem]),
    ),
    "runs": ("runs --json", _written(RunList)),
    "report": ("report --json", _written(ReportPage)),
    "compare": ("compare --json", _read(RunComparison)),
    "compare-pair": ("compare-pair --json", _read(PairReport)),
    "redteam": ("redteam --json", _read(RedTeamReport)),
    "researchrubrics": (
        "researchrubrics --json, the figures also with --rescore",
        lambda: _schema(_reports(), "validation", {}),
    ),
    "export": ("export --json", _object(file=str, rows=int, columns=list[str])),
    "anchors": (
        "trust anchors --json",
        _object(file=str, anchors=int, power=float, anchors_needed=int | None),
    ),
    "agree": ("trust agree --json", _read(AgreementReport, few=TEXT)),
    "calibrate": ("trust calibrate --json, and the file that it writes", _read(FittedCalibration)),
    "cascade": ("trust cascade --json", _written(CascadeReport)),
    "ppi": ("trust ppi --json", _written(PPIReport)),
    "variance": ("trust variance --json", _read(VarianceReport, unstable=NAMES)),
    "plan": ("trust plan --json", _read(PlanReport)),
    "certify": ("trust certify --json, and the file that it writes", _read(Certificate)),
    "replay": ("trust replay --json", _written(Replayed)),
    "batches": ("batches --json", _object(batches=list[ListedBatch])),
    "judges": ("judges --json", _object(judges=list[ListedJudge], extras=dict[str, bool])),
    "checked-judges": ("judges --check --json", _object(checked=list[CheckedJudge])),
    "init": ("init --json", _object(folder=str, files=list[str])),
}
"""The description and the function of each schema, by name."""


def schema_of(name: str) -> Schema:
    """Return a JSON Schema by its name in `SCHEMAS`."""
    what, make = SCHEMAS[name]
    made = make()
    made.pop("title", None)
    return {"$schema": DIALECT, "title": f"rubricate {name}", "$comment": what, **made}
