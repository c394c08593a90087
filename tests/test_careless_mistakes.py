"""Careless mistakes, in the shell and in Python: one line that names the thing and the place."""

from __future__ import annotations

import contextlib
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import pandas
import pytest

import rubricate as package
from rubricate.errors import InputError

ANSWERS = (
    "id,question,answer,label.return\n"
    "r1,Can I return it?,Yes within 30 days,MET\n"
    "r2,Where is it?,In Leipzig,UNMET\n"
)
RUBRIC = (
    "- {name: return, requirement: Says that it can be returned}\n"
    "- {name: polite, requirement: Is polite}\n"
)
DATASET = '{"prompt": "p", "rubric": ["x is so", "y is so"],\n "items": [%s]}'
USUAL: dict[str, Any] = {
    "rubric": "rubric.yaml",
    "map": {"submission": "answer", "prompt": "question"},
}
MODEL = {"judge": "m", "base_url": "http://127.0.0.1:9/v1"}
GRADES = "- {name: a, requirement: x, options: [{label: b, value: 5}, {label: c, value: 1}]}"
OF_FRAME = "grade(pandas.DataFrame({'a': ['x'], 'b': ['y']}), rubric=['Is polite'],"
BESIDE, TWICE = "['y']})", "['y']}).set_axis(['a', 'a'], axis=1)"
LEVELS = TWICE.replace("['a', 'a']", "pandas.MultiIndex.from_tuples([('q', 'a'), ('q', 'b')])")
BINARY = b"PK\x03\x04\x14\x00\x06\x00\x08\x00"


class Mistake(NamedTuple):
    """What is wrong, and what the error must name.

    Attributes:
        name: of the mistake.
        parts: what the message has: the thing, the place, and where one is near, the right word.
        data: what is graded.
        files: files that are there, beside the usual ones.
        options: options of `grade` instead of the usual ones; None leaves one out.
        shell: the command instead, without Python.
        python: code instead, without the shell.
        only_shell: the option has no keyword in Python.
    """

    name: str
    parts: tuple[str, ...]
    data: str = "answers.csv"
    files: dict[str, str | bytes] = {}  # noqa: RUF012 (nobody changes it)
    options: dict[str, Any] = {}  # noqa: RUF012
    shell: str = ""
    python: str = ""
    only_shell: bool = False


def table(name: str, parts: tuple[str, ...], content: str | bytes, **more: Any) -> Mistake:
    return Mistake(name, ("answers.csv", *parts), files={"answers.csv": content}, **more)


def rubric(name: str, parts: tuple[str, ...], content: str | bytes) -> Mistake:
    return Mistake(name, ("rubric.yaml", *parts), files={"rubric.yaml": content})


def dataset(name: str, parts: tuple[str, ...], content: str) -> Mistake:
    no = {"rubric": None, "map": None}
    return Mistake(name, ("data.json", *parts), "data.json", {"data.json": content}, no)


def option(name: str, parts: tuple[str, ...], only_shell: bool = False, **options: Any) -> Mistake:
    return Mistake(name, parts, options=options, only_shell=only_shell)


def shell(name: str, parts: tuple[str, ...], command: str, **files: str) -> Mistake:
    named = {f"{stem}.yaml": text for stem, text in files.items()}
    return Mistake(name, parts, files=named, shell=command)


def python(name: str, parts: tuple[str, ...], code: str) -> Mistake:
    return Mistake(name, parts, python=code)


MISTAKES = [
    # columns
    option(
        "a column's name", ("answers.csv", "'anwser'", "'answer'"), map={"submission": "anwser"}
    ),
    option("no column", ("answers.csv", "submission", "--map", "'answer'"), map=None),
    option("a role", ("map", "'text'", "submission"), map={"text": "answer"}),
    option(
        "a letter's case", ("answers.csv", "'Answer'", "'answer'"), map={"submission": "Answer"}
    ),
    shell("a role twice", ("map", "'submission'"), "--map submission=answer,submission=question"),
    shell("no equals sign", ("map", "'answer'", "="), "--map answer"),
    table(
        "a label's column",
        ("label.retrun", "'return'"),
        ANSWERS.replace("label.ret", "label.ter").replace("label.terurn", "label.retrun"),
    ),
    table("a label", (":3", "label.return", "'maybe'", "UNMET"), ANSWERS.replace("UNMET", "maybe")),
    table("a column twice", (":1", "'answer'"), ANSWERS.replace("id,question", "answer,question")),
    table("no header", ("'answer'", "first line"), ANSWERS.split("\n", 1)[1]),
    table("an id twice", ("'r1'",), ANSWERS.replace("r2", "r1")),
    # delimiters, encodings, kinds of files
    table("semicolons", ("';'", "commas"), ANSWERS.replace(",", ";")),
    table("tabs", ("\\t", ".tsv"), ANSWERS.replace(",", "\t")),
    table(
        "a comma too many", (":3", "'UNMET'", "quotes"), ANSWERS.replace("Leipzig", "Leipzig, D")
    ),
    table("an open quote", (":3", "quote"), ANSWERS.replace("Where", '"Where')),
    table("latin-1", (":3", "UTF-8"), ANSWERS.replace("Leipzig", "Köln").encode("latin-1")),
    table("utf-16", ("UTF-16", "UTF-8"), ANSWERS.encode("utf-16")),
    table("an empty table", ("rows",), ""),
    table("a header alone", ("rows",), ANSWERS.split("\n", 1)[0] + "\n"),
    table("a workbook under another name", ("CSV (UTF-8)",), BINARY),
    table("bytes under another name", ("zero bytes", "CSV (UTF-8)"), bytes(range(256)) * 4),
    table("JSON under another name", (":1", "JSON", ".json"), '[{"answer": "x"}]'),
    Mistake("a workbook", ("a.xlsx", "CSV (UTF-8)"), "a.xlsx", {"a.xlsx": BINARY}),
    Mistake("a table called JSON", ("a.json:1:1", "id,question"), "a.json", {"a.json": ANSWERS}),
    Mistake(
        "a broken line",
        ("a.jsonl:2:16", "','"),
        "a.jsonl",
        {"a.jsonl": '{"answer": "x", "question": "q"}\n{"answer": "x" "question": "q"}\n'},
    ),
    Mistake(
        "half a line", ("a.jsonl:2:", "cut off"), "a.jsonl", {"a.jsonl": '{"answer": "x"}\n{"ans'}
    ),
    Mistake("a folder", (".", "folder", "dataset or a table")[1:], "."),
    Mistake("a table's name", ("answer.csv", "'answers.csv'"), "answer.csv"),
    Mistake("a scheme", ("htps://x.org/a.csv", "https://"), "htps://x.org/a.csv"),
    # rubrics
    rubric("a number as criterion", (":1", "sentence", "found 1"), "- 1\n"),
    rubric("a tab", (":2:1", "tab"), "- name: a\n\trequirement: x\n"),
    rubric("an indent", (":2:15", "indent"), "- name: a\n   requirement: x\n"),
    rubric("a colon", (":2:20", "quotes"), "- name: a\n  requirement: Says: sorry\n"),
    rubric("another encoding", ("UTF-8",), "- {name: a, requirement: Grüßt}\n".encode("latin-1")),
    rubric("no requirement", (":1", "'a'", "requirement"), "- name: a\n"),
    rubric(
        "a key", (":1", "'a'", "'wieght'", "'weight'"), "- name: a\n  requirement: x\n  wieght: 2\n"
    ),
    rubric(
        "a comma", (":3", "weight", "a point: 2.5"), "- name: a\n  requirement: x\n  weight: 2,5\n"
    ),
    rubric("a type", (":3", "weight", "heavy"), "- name: a\n  requirement: x\n  weight: heavy\n"),
    rubric("a kind", (":3", "'scal'", "'scale'"), "- name: a\n  requirement: x\n  kind: scal\n"),
    rubric("a scale", ("'a'", "5 and 1"), "- name: a\n  requirement: x\n  scale: [5, 1]\n"),
    rubric(
        "options",
        ("options[0]", "{label: bad, value: 0}"),
        "- name: a\n  requirement: x\n  options: [bad, good]\n",
    ),
    rubric(
        "a name twice",
        (":2", "'polite'", "1 and 2", "rename"),
        RUBRIC.replace("return,", "polite,"),
    ),
    rubric("a sentence twice", (":2", "1 and 2", "delete one"), "- Says sorry\n" * 2),
    rubric(
        "a number in quotes", (":1", "'a'", "2, or"), "- {name: a, requirement: x, weight: '2'}"
    ),
    rubric("a number as a name", (":1", "name", "quotes"), "- {name: 1, requirement: x}"),
    rubric("two texts", (":1", "'a'", "entry for each"), "- {name: a, requirement: [x, y]}"),
    rubric("lines without a dash", ("begin each line with '- '",), "Says sorry\nIs short\n"),
    rubric("a key twice", (":1:13", "keep one"), "- {name: a, name: b, requirement: x}"),
    rubric("two documents", (":2", "---"), "- Says sorry\n---\n- Is short\n"),
    rubric(
        "other names for a scale",
        ("'a'", "scale: [1, 5]"),
        "- name: a\n  requirement: x\n  min: 1\n  max: 5\n",
    ),
    rubric("grades as values", ("'a'", "scale: 5"), GRADES),
    rubric("settings as a rubric", ("--config",), "data: a.csv\nrubric: b.yaml\n"),
    shell("a rubric as settings", ("rubric.yaml", "--rubric"), "grade --config rubric.yaml"),
    rubric(
        "a pattern", ("'a'", "'(30'", "write \\"), "- name: a\n  kind: regex\n  pattern: '(30'\n"
    ),
    rubric(
        "a gate",
        ("'sory'", "'sorry'"),
        "- {name: sorry, requirement: x}\n- {name: b, requirement: y, requires: sory}\n",
    ),
    Mistake(
        "a threshold without a score",
        ("fail_under", "every weight is 0"),
        files={"rubric.yaml": "- {name: return, requirement: x, weight: 0}\n"},
        options={"fail_under": "0.8"},
        only_shell=True,
    ),
    rubric("no criterion", ("criterion",), "[]\n"),
    rubric("an empty rubric", ("empty",), ""),
    option("no rubric", ("answers.csv", "--rubric"), rubric=None),
    option("a rubric's path", ("rubrics.yaml", "'rubric.yaml'"), rubric="rubrics.yaml"),
    option("a sentence", ("Is polite.", "path", "list"), rubric="Is polite."),
    option("a table as a rubric", ("answers.csv:1:1", "id,question"), rubric="answers.csv"),
    rubric("a kind as type", ("'a'", "kind: scale"), "- {name: a, requirement: x, type: scale}"),
    rubric("a name as a key", (":1", "{name: polite, requirement"), "- polite: Is polite\n"),
    rubric("criteria by name", ("criteria", "'- '"), "criteria:\n  a: {requirement: x}\n"),
    rubric("no text", (":2", "'a'", "text is missing"), "- name: a\n  requirement:\n"),
    rubric("UTF-16", ("UTF-16", "UTF-8"), RUBRIC.encode("utf-16")),
    *(
        rubric(
            f"{key} of a criterion", (":1", "'a'", f"'{key}' to 'requ"), f"- {{name: a, {key}: x}}"
        )
        for key in ("description", "text", "criterion", "question")
    ),
    # datasets
    dataset("a comma", (":2:", "comma"), DATASET % '{"submission": "a"},'),
    dataset("single quotes", (":1:2", "double quotes"), "{'prompt': 'p'}"),
    dataset(
        "an item's key", ("items[0]", "'submision'", "'submission'"), DATASET % '{"submision": "a"}'
    ),
    dataset(
        "too few labels",
        ("items[0].ground_truth", "1", "2", "x_is_so, y_is_so"),
        DATASET % '{"submission": "a", "ground_truth": ["MET"]}',
    ),
    dataset(
        "a label of an item",
        ("items[0].ground_truth[0]", "'yep'", "'MET'"),
        DATASET % '{"submission": "a", "ground_truth": ["yep", "MET"]}',
    ),
    # options
    option("a word for a number", ("limit", "'five'"), limit="five"),
    option("a decimal comma", ("max_cost", "'1,50'"), max_cost="1,50", **MODEL),
    option("no worker", ("concurrency", "1", "0"), concurrency=0),
    option("a temperature", ("temperature", "'hot'"), temperature="hot", **MODEL),
    option("a percentage", ("fail_under", "80", "0.8"), only_shell=True, fail_under="80"),
    option("a mode", ("'probabilty'", "'probability'"), mode="probabilty", **MODEL),
    option("a strategy", ("'majorty'", "'majority'"), strategy="majorty", replicates=2, **MODEL),
    option("a shard", ("shard", "0/3", "2/4"), shard="0/3"),
    option(
        "a price's key", ("prices.yaml", "m", "'ouput'", "'output'"), prices="prices.yaml", **MODEL
    ),
    option("an option", ("jugde", "judge"), jugde="builtin"),
    # judges
    option("no key", ("'openai/m'", "OPENAI_API_KEY"), judge="openai/m"),
    option("no provider", ("'gpt-6-luna'", "'openai/gpt-6-luna'"), judge="gpt-6-luna"),
    option("a provider", ("'opnai/m'", "'openai/m'"), judge="opnai/m"),
    option("no model", ("'openai/'", "openai/MODEL"), judge="openai/"),
    option(
        "no scheme",
        ("base URL", "'localhost:8000'", "http://"),
        judge="m",
        base_url="localhost:8000",
    ),
    option(
        "a whole address",
        ("base URL", "write http://h/v1"),
        judge="m",
        base_url="http://h/v1/chat/completions",
    ),
    shell(
        "no earlier run",
        ("new", "--retry-failed"),
        "--map submission=answer --judge builtin --run-dir new --retry-failed",
    ),
    option("no judge", ("base URL", "judge"), base_url=MODEL["base_url"]),
    option("one vote", ("weights", "several judges"), weights="2,1", only_shell=True, **MODEL),
    # settings files, commands, runs
    shell("no settings file", ("run.yml",), "grade --config run.yml"),
    shell(
        "a setting",
        ("run.yaml", "'rubrik'", "'rubric'"),
        "grade --config run.yaml",
        run="data: answers.csv\nrubrik: rubric.yaml\n",
    ),
    shell(
        "a setting's type",
        ("run.yaml", "concurrency", "'many'"),
        "grade --config run.yaml",
        run="data: answers.csv\nconcurrency: many\n",
    ),
    shell(
        "a setting's indent",
        ("run.yaml:2:8", "indent"),
        "grade --config run.yaml",
        run="data: answers.csv\n rubric: rubric.yaml\n",
    ),
    shell("a command", ("'grad'", "'grade'"), "grad answers.csv"),
    shell("a run folder", ("runn", "rubricate runs"), "show runn"),
    shell("a table as a run", ("answers.csv", "grade it first"), "show answers.csv"),
    shell("a file to label", ("answer.csv", "'answers.csv'"), "label answer.csv"),
    shell("a schema", ("'rubrik'", "'rubric'"), "schema rubrik"),
    shell("no columns to begin with", ("prices.yaml",), "init new --from prices.yaml"),
    # before a request is paid for
    option("groups", ("--groups", "'humn'"), only_shell=True, fail_under="0.5", groups="humn"),
    shell(
        "retried without a run",
        ("--retry-failed", "no earlier run", "leave"),
        "--map submission=answer --judge m --base-url http://127.0.0.1:9/v1 --retry-failed",
    ),
    shell("two judges in one", ("'a,b'", "once for each"), "--map submission=answer --judge a,b"),
    shell("a page's suffix", ("x.pdf", ".html"), "report runs/a -o x.pdf"),
    shell(
        "another's word",
        ("cannot_assess", "'ignore'", "skip"),
        "--map submission=answer --cannot-assess ignore",
    ),
    table(
        "a context by another name",
        ("'contexts'", "context=contexts"),
        "submission,contexts\nIt is blue.,The sky is blue.\n",
        options={"rubric": "context.yaml", "map": None},
    ),
    # Python alone
    python(
        "a data frame's column",
        ("row 1", "'anwser'", "'answer'"),
        "grade(pandas.read_csv('answers.csv'), rubric='rubric.yaml', map={'submission': 'anwser'})",
    ),
    python(
        "a missing value",
        ("row 2", "submission"),
        "grade(pandas.DataFrame({'submission': ['a', None]}), rubric=['Is polite'])",
    ),
    python(
        "several answers in a cell",
        ("items[0]", "list of texts", "explode"),
        "grade([{'submission': ['a', 'b']}], rubric=['Is polite'])",
    ),
    python(
        "a text as data",
        ("Yes, within 30 days.", "grade_one"),
        "grade('Yes, within 30 days.', rubric='rubric.yaml')",
    ),
    python(
        "arguments in another order",
        ("Yes within 30 days", "path"),
        "grade_one('Yes within 30 days', ['Is polite'])",
    ),
    python(
        "an option of the shell",
        ("fail_under", "assert_not_below"),
        "grade('answers.csv', rubric='rubric.yaml', map='submission=answer', fail_under=0.5)",
    ),
    python(
        "texts as rows",
        ("row 1", "a text", "{'submission': text}"),
        "grade(['a text'], rubric='rubric.yaml')",
    ),
    python(
        "bytes as rows", ("row 2", "bytes", "decode"), "grade([{}, b'a'], rubric=['Is polite'])"
    ),
    python("bytes as a text", ("submission", "bytes", "decode"), "grade_one(['Is so'], b'x')"),
    python("no text", ("submission", "null", "missing"), "grade_one(['Is so'], None)"),
    python("no criteria", ("null", "Rubric([...])"), "Rubric(None)"),
    python(
        "a rubric's path as its text",
        ("from_file",),
        "Rubric.from_json('rubric.yaml')",
    ),
    python(
        "several columns",
        ("'submission' needs one column", "b"),
        f"{OF_FRAME} map={{'submission': ['a', 'b']}})",
    ),
    python("a name of a model", ("str", "HTTPModel"), "ModelJudge('m')"),
    python("flags as labels", ("[0]", "'UNMET'", "True"), "DataItem('x', ground_truth=[True])"),
    python("a rubric by another name", ("'rubric'",), "RubricDataset('p', criteria=['x is'])"),
    python("a label by another name", ("'ground_truth'",), "DataItem('x', label='MET')"),
    python(
        "labels by name",
        ("ground_truth", "a list", "in the order of the rubric", '{"a": "MET"}'),
        "DataItem('x', ground_truth={'a': 'MET'})",
    ),
    python(
        "a class", ("HTTPModel",), "grade('answers.csv', package.HTTPModel, rubric='rubric.yaml')"
    ),
    python("a criterion's type", ("weight", "two"), "Criterion(requirement='x', weight='two')"),
    python("a rubric of one sentence", ("Rubric([...])",), "Rubric('Is polite')"),
    python("a rubric of one word", ('"x"', "two words"), "Rubric(['x'])"),
    python(
        "a misspelt field", ("did you mean 'prompt'",), f"{OF_FRAME} map={{'promt': 'prompt'}})"
    ),
    python(
        "ids as submissions",
        ("'id'", "no texts", "'b'"),
        "grade([{'id': 'x', 'b': 'y'}], rubric=['Is polite'], map={'submission': 'id'})",
    ),
    python(
        "a mapping the other way round", ("submission=a",), f"{OF_FRAME} map={{'a': 'submission'}})"
    ),
    python("a mapping as a list", ("map", "dict"), f"{OF_FRAME} map=['a'])"),
    python(
        "a column that a merge renamed",
        ("'x'", "'x_x' or 'x_y'"),
        "grade(pandas.DataFrame({'x_x': ['a'], 'x_y': ['b']}), rubric=['Is so'], "
        "map={'submission': 'x'})",
    ),
    python(
        "a series",
        ("df[['said']]", "map={'submission': 'said'}"),
        "grade(pandas.Series(['x'], name='said'), rubric=['Is polite'])",
    ),
    python(
        "a column twice in a frame",
        ("'a'", "rename"),
        f"{OF_FRAME.replace(BESIDE, TWICE)} map={{'submission': 'a'}})",
    ),
    shell("another tool's option", ("--max-retries", "--attempts"), "--max-retries 3"),
    python(
        "columns of several levels",
        ("several levels", "frame.columns ="),
        f"{OF_FRAME.replace(BESIDE, LEVELS)} map={{'submission': 'a'}})",
    ),
    python(
        "a frame's column",
        ("row 1: there is no column 'c'; the columns are 'a', 'b'",),
        f"{OF_FRAME} map={{'submission': 'c'}})",
    ),
    python("another library's word", ("'judge'",), f"{OF_FRAME} model='m')"),
    python(
        "two arguments",
        ("one argument",),
        f"{OF_FRAME} judge=lambda a, b: 1, map={{'submission': 'a'}})",
    ),
    table("tabs and commas", (":2", "\\t", ".tsv"), "id\tanswer\nr1\tYes, soon, or not\n"),
    Mistake(
        "cells as a header",
        ("first line", "submission"),
        files={"answers.csv": "r1,Where?,Here\nr2,When?,Now\n"},
        options={"map": None},
    ),
    shell("money", ("max_cost", "write 5"), "--max-cost $5"),
    shell("no model", ("temperature", "openai/gpt-6-luna"), "--temperature 0.5"),
    shell(
        "a file as run folder",
        ("answers.csv", "a file"),
        "-q --map submission=answer --run-dir answers.csv",
    ),
    shell("a figure", ("'acuracy'", "'accuracy'"), "trust plan acuracy"),
    shell("a width", ("half_width", "write 0.05"), "trust plan accuracy --half-width 5"),
    python("a panel of one text", ("['m/x']",), "Panel('m/x')"),
    python("a path as criteria", ("Rubric.from_file",), "Rubric('rubric.yaml')"),
    python("a criterion's text", ("requirement", "text"), "Criterion(name='a', text='Is polite')"),
    python(
        "a judge in a dict",
        ("dict", "'openai/gpt-6-luna'"),
        "grade_one(['Is polite'], 'x', judge={})",
    ),
    python(
        "a rubric as a frame",
        ("to_dict('records')",),
        "grade([{'submission': 'x'}], rubric=pandas.DataFrame({'name': ['a']}))",
    ),
    python("a judge twice", ("by position: judge",), "redteam('builtin', judge='builtin')"),
    python("a gate's arguments", ("a run", "0.8"), "testing.assert_not_below(0.8, 'runs/main')"),
    table(
        "a column without texts",
        ("'answer'", "all rows read (2)", "'said'", "--map submission=COLUMN"),
        "id,question,answer,said\nr1,Can I?, ,Yes\nr2,Where?,,There\n",
    ),
    python(
        "a function that returns nothing",
        ("python/print", '"verdict": "MET"'),
        "grade([{'submission': 'x'}], print, rubric=['Is polite'])",
    ),
    shell("two tables", ("x.csv", "[DATA]"), "--map submission=answer x.csv"),
    shell("a bare rubric", ("prices.yaml", "--rubric"), "--map submission=answer prices.yaml"),
    shell(
        "a file for results", ("-o", "--run-dir", "export RUN"), "--map submission=answer -o x.csv"
    ),
    shell("another tool's command", ("'evaluate'", "'grade'"), "evaluate answers.csv"),
    shell("a run among figures", ("'runs/a'", "rubricate trust --help"), "trust runs/a"),
    shell("a unit", ("max_time", "seconds", "'1h'"), "--map submission=answer --max-time 1h"),
    shell("a letter", ("-r", "--rubric"), "--map submission=answer -r rubric.yaml"),
    shell("a key", ("--api-key", "environment"), "--map submission=answer --api-key x"),
    shell("no value", ("'--cache'", "argument"), "--map submission=answer --cache"),
    shell("no run", ("'RUN'", "run folder"), "show"),
    shell("a run as an option", ("--run-dir", "RUN alone"), "show --run-dir runs/a"),
    shell("a run among runs", ("--run-dir", "FOLDER alone"), "runs --run-dir runs/a"),
    shell("a table as an option", ("--data", "DATA alone"), "grade --data answers.csv"),
    shell("one run to compare", ("'RUN_B'", "RUN_A RUN_B"), "compare runs/a"),
    shell("a file to view", ("answers.csv", "is a file"), "view answers.csv"),
    shell("a table to write to", ("answers.csv", "--from"), "init answers.csv"),
    option(
        "a semicolon",
        ("submission=answer; prompt=question", "commas"),
        map="submission=answer; prompt=question",
    ),
    option("a share of items", ("limit", "write 10"), limit="10%"),
    option("a comma in a number", ("temperature", "0.5"), temperature="0,5", **MODEL),
    option("a colon", ("'openai:m'", "'openai/m'"), judge="openai:m"),
    option("a prompt as text", ("Grade this", "file"), judge_prompt="Grade this text", **MODEL),
    rubric(
        "a key of its own kind", (":1", "'regex'", "pattern"), "- {name: a, kind: regex, regex: x}"
    ),
    dataset("no items", ("'item'", "'items'"), '{"prompt": "p", "rubric": ["x is"], "item": []}'),
    dataset(
        "a rubric's file",
        ("rubric", "a.yaml", "--rubric"),
        '{"prompt": "p", "rubric": "a.yaml", "items": []}',
    ),
    Mistake(
        "a comma between lines",
        ("a.jsonl:1:", "comma"),
        "a.jsonl",
        {"a.jsonl": '{"answer": 1},\n{"answer": 2}\n'},
    ),
    Mistake(
        "a list in lines",
        ("a.jsonl:1:", ".json"),
        "a.jsonl",
        {"a.jsonl": '[{"answer": 1},\n{"answer": 2}]\n'},
    ),
    python(
        "a rubric in place of the judge",
        ("rubric=", "judge"),
        f"{OF_FRAME.replace('rubric=', '')})",
    ),
    python("one row", ("[row]",), "grade({'submission': 'x'}, rubric=['Is polite'])"),
    python("a rubric's other name", ("'criteria'", "'rubric'"), f"{OF_FRAME} criteria=['x'])"),
    python(
        "a context of another form",
        ("context", "{title, text}"),
        "grade_one(['Is so'], 'x', context={'a': 1})",
    ),
    python("a result as a folder", ("a path", "runs"), "read_run(['runs'])"),
    python("a score as a number", ("value",), "grade_one(['Is so'], 'x').score > 0.5"),
    python("a frame as a judge", ("DataFrame",), "redteam(pandas.DataFrame())"),
    python("a number as a run", ("result of grade", "folder"), "analysis.agreement_report(1)"),
    shell("a run before its figure", ("'runs/a'", "kappa", "comes first"), "trust plan runs/a"),
    shell("votes in a table", ("answers.csv", "rubricate label"), "trust replay answers.csv"),
    Mistake(
        "another table as examples",
        ("calls.csv:2", "--examples", "'answer'"),
        files={"calls.csv": "case,text\n1,x\n"},
        shell="--map submission=answer --examples calls.csv",
    ),
    dataset(
        "labels beside the items",
        (":3", "ground_truth", "belongs to an item"),
        '{"prompt": "p", "rubric": ["x is so"],\n "items": [{"submission": "x"}],\n'
        ' "ground_truth": ["MET"]}',
    ),
    dataset(
        "an item's text under another name",
        (":3", "item 'p2'", "rename 'answer' to 'submission'"),
        DATASET % '{"submission": "x"},\n {"id": "p2", "answer": "y"}',
    ),
    rubric(
        "options among the criteria",
        (":4", "'label' and 'value'", "under 'options:'"),
        "- name: a\n  requirement: How good?\n  options:\n- {label: bad, value: 0}\n",
    ),
    python(
        "a requirement and a name under other names",
        ("'criterion' is called name", "'description' is called requirement"),
        "Rubric.from_dict([{'criterion': 'refund', 'description': 'Says when the money is back'}])",
    ),
    python(
        "a sentence beside a requirement of one word",
        ("'description' is not read", "note"),
        "Rubric.from_dict([{'requirement': 'refund', 'description': 'Says when it is back'}])",
    ),
    python(
        "a first line further left",
        ("line 2", "begin the text on a new line"),
        "Rubric.from_yaml('- name: a\\n      requirement: Is so\\n    - name: b\\n')",
    ),
    python(
        "an option's value under another name",
        ("line 4", "rename 'score' to 'value'"),
        "Rubric.from_yaml('- name: a\\n  requirement: Is so\\n  options:\\n"
        "  - {label: bad, score: 0}')",
    ),
    Mistake(
        "a folder that is missing",
        ("no folder 'data'", "'answers.csv'"),
        "data/answers.csv",
    ),
    python(
        "a backslash in a path",
        (r"data\replies.csv: ", r"\r is a control character", '"data/replies.csv"'),
        "grade('data\\replies.csv', rubric=['Is so'])",
    ),
]


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("package.compare", "compare_pair"),
        ("package.Rubric.load('rubric.yaml')", "Rubric.from_file"),
        ("package.Rubric.from_list([])", r"Rubric\(\[...\]\)"),
        ("package.RubricDataset.load('a.json')", "RubricDataset.from_file"),
        ("package.RubricDataset.from_csv('a.csv')", "rubricate.read_table"),
        ("package.RubricDataset('p', ['x is']).append('x')", "add_item"),
        ("from rubricate import load_rubric", "Rubric.from_file"),
        ("package.evaluate", "'grade'"),
        ("package.evalute", "'grade'"),
        ("package.testing.assert_not_bellow", "'assert_not_below'"),
        ("package.grade([{'submission': 'x'}], rubric=['Is so']).summary().mean", "'score'"),
        ("package.grade_one(['Is so'], 'x').verdicts", "criteria"),
        ("package.grade_one(['Is so'], 'x').criteria['is_so'].verdict", "label"),
        ("package.grade([{'submission': 'x'}], rubric=['Is so']).score", "summary"),
        ("package.grade([{'submission': 'x'}], rubric=['Is so']).to_dataframe()", "to_pandas"),
        ("from rubricate import compare_runs", "from rubricate.analysis import compare_runs"),
        ("package.grade([{'submission': 'x', 'id': 'item'}], rubric=['Is so']).items['itm']", "m'"),
    ],
)
def test_a_name_that_is_missing_names_the_nearest(code: str, advice: str):
    with pytest.raises((AttributeError, ImportError, KeyError), match=advice):
        exec(code, {"package": package})


def usual(folder: Path, mistake: Mistake) -> None:
    files = {
        "answers.csv": ANSWERS,
        "rubric.yaml": RUBRIC,
        "prices.yaml": "m: {input: 1, ouput: 2}\n",
        "context.yaml": "- Says only what is in the context\n",
    }
    for name, content in {**files, **mistake.files}.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def options_of(mistake: Mistake) -> dict[str, Any]:
    values = {**USUAL, **mistake.options}
    return {name: value for name, value in values.items() if value is not None}


def command_of(mistake: Mistake) -> list[str]:
    if mistake.shell:
        words = mistake.shell.split()
        return (
            words
            if words[0][0] != "-"
            else ["grade", "answers.csv", "--rubric", "rubric.yaml", *words]
        )
    words = ["grade", mistake.data]
    for name, value in options_of(mistake).items():
        if isinstance(value, dict):
            text = ",".join(f"{key}={column}" for key, column in value.items())
        else:
            text = str(value)
        words += [f"--{name.replace('_', '-')}", text]
    return words


def call(mistake: Mistake) -> None:
    if mistake.python:
        exec(f"package.{mistake.python}", {"package": package, "pandas": pandas})
    else:
        package.grade(mistake.data, **options_of(mistake))


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_careless_mistake_is_one_line_that_names_the_thing_and_the_place(
    rubricate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: Mistake
):
    usual(tmp_path, mistake)
    messages = []
    if not mistake.python:
        done = rubricate(*command_of(mistake))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("Error: ")
        messages.append(done.stderr.removesuffix("\n"))
    if not (mistake.shell or mistake.only_shell):
        with contextlib.chdir(tmp_path), pytest.raises((InputError, TypeError)) as raised:
            call(mistake)
        messages.append(str(raised.value))
    for message in messages:
        assert "\n" not in message
        assert [part for part in mistake.parts if part not in message] == [], message


@pytest.mark.parametrize(
    "code",
    [
        "grade('no.csv', rubric=['Is so'])",
        "read_table('no.xlsx', package.Rubric(['Is so']))",
        "Rubric.from_dict([{}])",
        "Rubric.from_json('[1]')",
        "Rubric.from_yaml('- 1')",
        "Rubric.from_file('no.yaml')",
        "Rubric(['x'])",
        "Criterion(requirement='')",
        "RubricDataset.from_dict({'items': []})",
        "RubricDataset.from_json('{}')",
        "RubricDataset.from_file('no.json')",
        "RubricDataset('p', ['Is so']).add_item(None)",
        "DataItem(None)",
        "testing.assert_rubric('x', 'no.yaml')",
    ],
)
def test_a_mistake_in_a_call_is_shown_at_the_call(code: str):
    with pytest.raises(InputError) as raised:
        exec(f"package.{code}", {"package": package})
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert [frame.filename for frame in frames] == [__file__, "<string>"]


def test_the_code_of_users_stays_in_the_traceback():
    class Rows(list[Any]):
        def __iter__(self) -> Any:
            return iter(package.Rubric([""]))

    with pytest.raises(InputError) as raised:
        package.Rubric(Rows("ab"))
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert [frame.name for frame in frames if frame.filename == __file__][1:] == ["__iter__"]


def test_there_are_sixty_of_them():
    assert len({mistake.name for mistake in MISTAKES}) >= 60


def test_a_judge_that_never_gives_a_verdict_is_warned_of(caplog: pytest.LogCaptureFixture):
    wrong: Any = lambda messages: True  # noqa: E731
    package.grade([{"submission": "x"}], wrong, rubric=["Is so"])
    assert "returned True" in caplog.text
    assert '"verdict": "MET"' in caplog.text


def test_a_function_that_judges_wrongly_is_called_no_more_than_promised_and_to_be_corrected():
    calls = []

    def judge(messages: Any) -> Any:
        calls.append(messages)
        raise ValueError("no such key")

    (failed,) = package.grade_one(["Is so"], "x", judge=judge).criteria.values()
    assert len(calls) == 1
    assert "judge raised ValueError: no such key (test_careless_mistakes.py, line" in str(
        failed.error
    )
    summary = package.grade([{"submission": "x"}], lambda _: "so so", rubric=["Is so"]).summary()
    (advice,) = summary.advice.values()
    assert "correct the function" in advice
    assert "--" not in advice


@pytest.mark.parametrize(
    ("columns", "warning"),
    [
        ({"question": ["Why?"], "answer": ["So"]}, "--map prompt=question"),
        ({"prompt": ["Grün?"], "answer": ["Gr\u00c3\u00bcn"]}, "encoding='utf-8'"),
        ({"prompt": ["Why?"], "answer": ["Grün, café"]}, None),
    ],
    ids=["a question that is not mapped", "garbled umlauts", "umlauts"],
)
def test_what_a_table_probably_does_not_mean_is_warned_of(columns, warning, caplog):
    frame = pandas.DataFrame(columns)
    package.grade(frame, rubric=["Is so"], map={"submission": "answer"})
    assert [warning in record.message for record in caplog.records] == [True] * bool(warning)
