"""JSON and YAML documents: reading with precise errors, and their common base class.

Two rules apply to every document that people write for rubricate. A key that is similar to a known
key which the document lacks is an error that shows the right spelling. Any other unknown key is
kept and written back. In Python, pass such data as `extra`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rubricate._files import missing_file, open_file, user_path
from rubricate._spelling import (
    did_you_mean,
    in_plain_words,
    our_name,
    suggestion,
    unknown_word,
)
from rubricate.errors import InputError, shown
from rubricate.settings import errors_at_call

if TYPE_CHECKING:
    import yaml

MOST_VALUES, VALUES_FOR_ONE = 100_000, 100
"""How many values a YAML document may have after expanding aliases: the first number, plus the
second for each value in the text. If all items refer to one rubric of 50 criteria, there are 70 for
each; at half, that is rejected. At double, a file that consists of aliases takes twice as long as
now (half a second and 30 MB)."""
MOST_LEVELS = 250
"""Maximum depth of a YAML document. A rubric may have 100 levels of groups, with two levels
each."""
LONGEST_NUMBER = 400
"""Longest number in characters: a float has at most 309 digits, and longer ones are slow to
read."""
SHORT = 50_000
"""Characters of JSON up to which an error has a line. To find it, JSON is parsed as YAML: 70,000
take 0.1 s (measured). At ten times, an error takes a second; at half, files of some hundred items
have no line."""
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
YAML_SUFFIXES = frozenset({".yaml", ".yml"})


def check_writable(text: str) -> None:
    """Raise `InputError` for text with half a surrogate pair, such as JSON's `\\ud800`.

    UTF-8 cannot encode it, so a name would change when it is written to a file.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"holds half a character ({text[error.start]!r}), which no file can hold: remove it"
        ) from None


def check_keys(data: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise `InputError` for a key that is similar to a known one. Other keys are accepted.

    A key is no misspelling if the right key is present as well, or if it names an id: `prompt_id`.
    """
    for key in data:
        if not isinstance(key, str):
            raise InputError(f"keys must be text, found {key!r}")
        if key in known or key.removesuffix("_id") in known:
            continue
        right = suggestion(key, known)
        if right is not None and right not in data:
            raise InputError(f"unknown key '{key}': did you mean '{right}'?")


class Document(BaseModel):
    """Base class of documents: strict about misspelt keys, and keeping unknown ones.

    Unknown keys are in `model_extra` and are written back.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_near_misses(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            check_keys(data, cls.model_fields)
        return data


class PythonDocument(Document):
    """A document that is also created in Python, where every unknown argument is an error.

    Errors are an `InputError` of one line.
    """

    if TYPE_CHECKING:  # type checkers know the signature from the fields
        extra: Mapping[str, Any] = Field(default_factory=dict)
    else:

        @errors_at_call
        def __init__(
            self, /, *unnamed: Any, extra: Mapping[str, Any] | None = None, **data: Any
        ) -> None:
            if unnamed:
                kind, names = type(self).__name__, ", ".join(type(self).model_fields)
                raise InputError(f"{kind} takes its arguments by name ({names})")
            if not isinstance(extra, Mapping | None):
                raise InputError(f"extra must be a dict, found {shown(extra)}")
            beside = dict(extra or {})
            if both := sorted(beside.keys() & {*type(self).model_fields, *data}):
                raise InputError(f"extra: '{both[0]}' is an argument by itself: give it as that")
            try:
                super().__init__(**data, **beside)
            except ValidationError as error:
                raise input_error(error) from None
            for name in (self.model_extra or {}).keys() & data.keys():
                raise InputError(
                    f"{unknown_argument(name, type(self).model_fields)}; what is only to be kept "
                    f"goes into extra={{'{name}': ...}}"
                )

        # Nested documents, and those from files, are created as usual.
        __init__.__pydantic_base_init__ = True

        @property
        def extra(self) -> Mapping[str, Any]:
            """Further data besides its fields, such as unknown keys of its file."""
            return self.model_extra or {}


def unknown_argument(name: str, known: Collection[str]) -> str:
    """The error about an unknown argument."""
    hint = our_name(name, known) or f" (known: {', '.join(known)})"
    return f"unexpected keyword argument '{name}'{hint}"


_Model = TypeVar("_Model", bound=BaseModel)


def validate(model: type[_Model], data: Any, path: Sequence[str | int] = ()) -> _Model:
    """Build `model` from loaded data. The first problem becomes an `InputError`."""
    if not isinstance(data, Mapping):
        raise InputError(f"expected an object, found {shown(data)}", path=path)
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise input_error(error, path) from None


_Dataclass = TypeVar("_Dataclass")


def with_one_line_errors(cls: type[_Dataclass]) -> type[_Dataclass]:
    """Let a pydantic dataclass report a wrong argument as an `InputError` of one line."""
    made = cls.__init__

    @errors_at_call
    @wraps(made)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            made(self, *args, **kwargs)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            if first["type"] == "unexpected_keyword_argument":
                known = [field.name for field in fields(cls) if field.name[0] != "_"]  # type: ignore[arg-type]
                raise InputError(unknown_argument(str(first["loc"][0]), known)) from None
            problem = input_error(error)
            names = [field.name for field in fields(cls) if not field.kw_only]  # type: ignore[arg-type]
            place, *rest = problem.path or ("",)
            if isinstance(place, int) and place < len(names):
                problem = InputError(problem.message, path=(names[place], *rest))
            raise problem from None
        finally:
            if cls.__init__ is not init:  # pydantic replaces it on first use
                cls.__init__ = init  # type: ignore[method-assign]

    cls.__init__ = init  # type: ignore[method-assign]
    return cls


def _advice_on(kind: str, value: object) -> str:
    """Advice on a value of the wrong type, by pydantic's name of the error and the value.

    The table is local, so that it is built only if there is an error.
    """
    if kind == "string_type" and str(value) in ("None", "nan"):
        return "the text is missing; '' is an empty one"
    if kind == "float_type" and re.fullmatch(r"-?\d+,\d+", str(value)):
        return f"write a point: {str(value).replace(',', '.')}"
    quotes = "put quotes around it"
    advice = {
        ("string_type", bool): "in YAML, put quotes around words such as Yes, No, on, off",
        ("string_type", bytes): "decode bytes: text.decode()",
        ("string_type", int): quotes,
        ("string_type", float): quotes,
        ("string_type", list): "one text is expected: write an entry for each of these",
        ("string_type", dict): "put a text with ': ' in it into quotes",
        ("float_type", str): "write a number without quotes or unit: 2, or 0.5 for 50%",
        ("int_type", str): "write a whole number without quotes",
        ("bool_type", str): "write true or false without quotes",
        ("list_type", dict): "write its values alone, in the order of the rubric",
        ("tuple_type", dict): "write a list: begin each entry with '- '",
    }
    return advice.get((kind, type(value)), "")


def input_error(error: ValidationError, path: Sequence[str | int] = ()) -> InputError:
    """The first problem of a pydantic error as one line that names the field."""
    problems = error.errors(include_url=False)
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    cause = first.get("ctx", {}).get("error")
    where = (*path, *first["loc"])
    if isinstance(cause, InputError):
        return cause.within(where)
    if first["type"] == "missing":
        return _missing_field(where, first["input"])
    if first["type"] == "extra_forbidden":
        missing = [str(p["loc"][-1]) for p in problems if p["type"] == "missing"]
        *place, key = where
        return InputError(f"unknown key '{key}'{did_you_mean(str(key), missing)}", path=place)
    if first["type"] == "literal_error" and isinstance(first["input"], str):
        words = re.findall("'([^']*)'", first["ctx"]["expected"])
        return InputError(unknown_word("word", first["input"], words), path=where)
    if cause is not None:
        return InputError(str(cause), path=where)
    advice = _advice_on(first["type"], first["input"])
    message = f"{in_plain_words(first['msg'])}, found {shown(first['input'])}"
    return InputError(message + (f" ({advice})" if advice else ""), path=where)


def _missing_field(path: tuple[str | int, ...], data: Any) -> InputError:
    """The error for an object without a field, with the key that may be meant as the field."""
    *place, field = path
    others = [*map(str, data)] if isinstance(data, dict) else []
    near = [word for word in others if our_name(word, {str(field)})]
    near.sort(key=lambda word: -len(str(data.get(word))))  # the longest text is the requirement
    advice = f": rename '{near[0]}' to '{field}'" if near else ""
    if field == "requirement" and "name" not in others:
        if {"label", "value"} <= {*others}:
            message = "has 'label' and 'value', so it is an option: move it under 'options:'"
            return InputError(f"{message} (in YAML, indent it)", path=place)
        if near[1:]:
            advice = f": '{near[1]}' is called name, '{near[0]}' is called requirement"
        elif len(others) == 1 and not near:
            advice = f": write {{name: {others[0]}, requirement: ...}}"
    there = f"; there are {', '.join(others)}" if others else ""
    return InputError(f"missing required field{there}{advice}", path=path)


def read_text(path: str | Path) -> str:
    """The text of a file (UTF-8, with or without BOM). Raises `InputError` if it is empty."""
    path = user_path(path)
    try:
        with open_file(path) as file:
            text = file.read().decode("utf-8-sig")
    except FileNotFoundError:
        raise missing_file(path) from None
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", file=path) from None
    except UnicodeDecodeError as error:
        is_16 = error.object[:2] in (b"\xff\xfe", b"\xfe\xff")
        kind = "UTF-16 text" if is_16 else "not UTF-8 text"
        line = None if is_16 else error.object.count(b"\n", 0, error.start) + 1
        raise InputError(f"is {kind}; save it as UTF-8", file=path, line=line) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    if not text.strip():
        raise InputError("file is empty", file=path, problem="empty")
    if "\0" in text[:100]:
        raise InputError("is binary, or UTF-16: save it as UTF-8 text", file=path)
    return text


def parse_json(text: str, *, file: Path | str | None = None, line: int | None = None) -> Any:
    """Parse JSON. `line` is the line of `text` in its file, if it is one of several."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise InputError(
            f"Failed to parse JSON: {error.msg}{json_advice(error)}",
            file=file,
            line=error.lineno if line is None else line + error.lineno - 1,
            column=error.colno,
            problem="no_json",
        ) from None
    except InputError as error:
        raise error.within(file=file, line=line) from None
    except RecursionError:
        raise InputError("Failed to parse JSON: nested too deeply", file=file, line=line) from None
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"Failed to parse JSON: {error}", file=file, line=line) from None


def json_advice(error: json.JSONDecodeError) -> str:
    """Advice on a JSON error, if the text around it shows the cause."""
    before, rest = error.doc[: error.pos].strip(), error.doc[error.pos :].lstrip()
    begin = " ".join(rest[:30].split())
    is_word = rest[:1].isalpha() or rest[:1] == "'"
    cases = {
        "JSON has no comments: take them out": rest.startswith(("//", "/*", "#")),
        "JSON writes null, true and false": rest.startswith(("None", "True", "False")),
        f"take out the comma before '{rest[:1]}'": before[-1:] == "," and rest[:1] in ("]", "}"),
        'names and texts are in double quotes: {"name": "text"}': is_word
        and before.endswith(("{", "[", ",", ":")),
        "take out the comma: in JSON Lines, each line is a record": rest.strip() == ",",
        "a list over several lines is named .json": before[:1] == "["
        and not (rest or "\n" in error.doc),
        "it ends here: is the file cut off, or a quote or bracket not closed?": not rest
        or error.msg.startswith("Unterminated"),
        "a file with a value on each line is named .jsonl": error.msg == "Extra data"
        and "\n" in error.doc[: error.pos],
        "the path of a file is for from_file": error.doc.endswith((".json", *YAML_SUFFIXES)),
        f"it begins with {begin!r}: is it another kind of file? (YAML is named .yaml, "
        "also a list of sentences with '- ' before each)": bool(rest) and not before,
    }
    return next((f"; {advice}" for advice, holds in cases.items() if holds), "")


def parse_json_lines(text: str, *, file: Path | str | None = None) -> Iterator[tuple[int, Any]]:
    """The values of JSON Lines with their line numbers. Blank lines are skipped."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, parse_json(line, file=file, line=number)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InputError(f"the key '{key}' is defined twice in one object")
            seen.add(key)
    return values


def parse_pairs(text: str, example: str) -> dict[str, Any]:
    """Names and JSON values from text such as `low=1,high=5`. Other values are text.

    Raises:
        InputError: a part has another form than the example, or a name is repeated.
    """
    values: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        name = name.strip()
        if not (equals and name):
            raise InputError(f"'{part}' is not of the form {example}")
        if name in values:
            raise InputError(f"'{name}' is given twice")
        try:
            values[name] = json.loads(value)
        except ValueError:
            values[name] = value.strip()
    return values


def parse_yaml(text: str, *, file: Path | str | None = None) -> Any:
    """Parse one YAML document. Dates stay text, as in JSON."""
    import yaml

    loader = _yaml_loader()(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_size(node, MOST_VALUES + VALUES_FOR_ONE * loader.values)
        return loader.construct_document(node)
    except InputError as error:
        raise error.within(file=file) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise InputError(
            f"Failed to parse YAML: {error.problem}{_yaml_advice(error, text, file)}",
            file=file,
            line=None if mark is None else mark.line + 1,
            column=None if mark is None else mark.column + 1,
        ) from None
    except RecursionError:
        raise InputError("Failed to parse YAML: nested too deeply", file=file) from None
    except (
        yaml.YAMLError,
        ValueError,
        ArithmeticError,
        LookupError,
        TypeError,
        AttributeError,
    ) as e:
        # Beside its own errors, the loader lets through those of what a tag makes of a text.
        message = " ".join(str(e).split())
        raise InputError(f"Failed to parse YAML: {message}", file=file) from None


def with_line(error: InputError, path: str | Path) -> InputError:
    """The error with its file and the line of the part that it is about.

    JSON that is long, or on a single line, gets none.
    """
    error = error.within(file=path)
    if error.line is not None or not error.path:
        return error
    try:
        text = read_text(path)
    except InputError:  # a pipe is read once
        return error
    is_yaml = user_path(path).suffix.lower() in YAML_SUFFIXES
    has_lines = is_yaml or (len(text) < SHORT and "\n" in text.strip())
    return error.within(line=line_of(error.path, text) if has_lines else None)


def line_of(path: Sequence[str | int], text: str) -> int | None:
    """The line of a part of a YAML document (JSON is YAML as well), if it can be parsed."""
    import yaml

    try:
        node = _yaml_loader()(text).get_single_node()
    except (yaml.YAMLError, InputError, ValueError, RecursionError):
        return None
    line = None
    for key in path:
        entries = enumerate(node.value) if node.id == "sequence" else node.value
        inner = {} if isinstance(node.value, str) else dict(_children(entries))
        if key in inner:  # a name in the path is not a key of the file
            node, line = inner[key]
    return line


def _children(entries: Iterable[Any]) -> Iterator[tuple[str | int, tuple[Any, int]]]:
    """The parts of a YAML list or object by index or key, with the line of each."""
    for key, value in entries:
        place, begin = (key, value) if isinstance(key, int) else (key.value, key)
        yield place, (value, begin.start_mark.line + 1)


def _yaml_advice(error: yaml.MarkedYAMLError, text: str, file: Path | str | None) -> str:
    """The likely cause of a YAML error: a tab, the indentation, or missing quotes."""
    problem, mark = error.problem or "", error.problem_mark
    if problem.startswith("the key '"):
        return ": keep one of them"
    if "another document" in problem:
        return ": a file has one document, so take out the line ---"
    before = "" if mark is None else text.split("\n")[mark.line][: mark.column]
    if "'\\t'" in problem:
        return " (YAML is indented with spaces: replace the tab)"
    of_indent = "<block end>" in problem and ("<block" in problem.partition("found")[2])
    if of_indent or ("mapping values" in problem and ":" not in before):
        if file is None and all(line[:1] in ("", " ") for line in text.split("\n")[1:]):
            return " (the other lines are indented further: begin the text on a new line)"
        return " (check the indent: the keys of an object begin in the same column)"
    return " (a text with , : ? or # may need quotes)"


def _check_size(root: yaml.Node, most: int) -> None:
    """Reject a document whose aliases make it endless, too deep, or far larger than its text.

    A node with several aliases is a single object, so it is read quickly. But any code that walks
    through the document visits it once for each alias, and a few lines can make that billions.

    Args:
        root: the document.
        most: the maximum number of values, counted once for each visit.

    Raises:
        InputError: it has more values.
        RecursionError: it is nested too deeply.
    """
    sizes: dict[int, tuple[int, int]] = {}  # values and levels; 0 values while counting

    def measured(node: yaml.Node) -> tuple[int, int]:
        size_of_node = sizes.get(id(node))
        if size_of_node is not None:
            if not size_of_node[0]:
                raise InputError("Failed to parse YAML: an alias is inside what it names")
            return size_of_node
        size, levels = 1, 0
        if not isinstance(node.value, str):
            sizes[id(node)] = 0, 0
            for part in node.value:
                for child in part if isinstance(part, tuple) else (part,):
                    of_child = measured(child)
                    size, levels = size + of_child[0], max(levels, of_child[1])
        if size > most:
            raise InputError(f"Failed to parse YAML: its aliases make more than {most:,} values")
        if levels >= MOST_LEVELS:
            raise RecursionError
        sizes[id(node)] = size, levels + 1
        return sizes[id(node)]

    measured(root)


@cache
def _yaml_loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        values = 0

        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            self.values += 1
            return super().compose_node(parent, index)

        def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
            is_text = node.tag == "tag:yaml.org,2002:str"
            if not is_text and len(node.value) > LONGEST_NUMBER and node.tag in _NUMBERS:
                raise yaml.MarkedYAMLError(
                    problem=f"a number of {len(node.value):,} characters",
                    problem_mark=node.start_mark,
                )
            return super().construct_scalar(node)

        def compose_mapping_node(self, anchor: dict[Any, yaml.Node]) -> yaml.MappingNode:
            node = super().compose_mapping_node(anchor)
            seen: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if node.flow_style and value.value == "" and value.style is None:
                        raise yaml.MarkedYAMLError(
                            problem=f"'{key.value}' has no value: in {{...}} a comma ends a text, "
                            "so put the whole text in quotes",
                            problem_mark=key.start_mark,
                        )
                    if key.value in seen:
                        raise yaml.MarkedYAMLError(
                            problem=f"the key '{key.value}' is defined twice in one object",
                            problem_mark=key.start_mark,
                        )
                    seen.add(key.value)
            return node

    timestamp = "tag:yaml.org,2002:timestamp"
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != timestamp]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def format_yaml(data: Any) -> str:
    """Write YAML that `parse_yaml` reads back as the same data."""
    import yaml

    for allow_unicode in (True, False):
        text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=allow_unicode, width=100)
        if not _LINE_BREAKS.search(text):
            break
    return text


_LINE_BREAKS = re.compile("[\x85\u2028\u2029]")
"""Further line breaks of Unicode, which YAML would read back as spaces."""


def read_document(path: str | Path) -> Any:
    """Load a JSON or YAML file, by its suffix (anything but .yaml and .yml is JSON)."""
    path = user_path(path)
    text = read_text(path)
    if path.suffix.lower() in YAML_SUFFIXES:
        return parse_yaml(text, file=path)
    return parse_json(text, file=path)
