"""Forms of replies, each through every mode of asking: what is one answer is read, else nothing.

The table of docs/reply-formats.md is this one, whatever format the endpoint was asked for.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
from reply_modes import BINARY, CASE, MODES, SO, Mode, verdict

import rubricate
from rubricate import Cascade, Panel, PythonModel, Rubric, RubricDataset
from rubricate.dataset import Item
from rubricate.dialects.karenina._writing import AnswerPrompt, WrittenAnswer
from rubricate.errors import UnreadableReply
from rubricate.judge import Completion, Model, ModelJudge, Probability, Request, read_reply
from rubricate.rubric import Verdict
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint


class Form(NamedTuple):
    """A form of a reply, made of the answer and of another one, and whether it is read."""

    made: Callable[[str, str], str]
    read: bool


def said(before: str, after: str = "") -> Callable[[str, str], str]:
    return lambda o, x: f"{before}{o}{after}"


def within(text: str) -> Callable[[str, str], str]:
    """The answer with something else in its reason."""
    return lambda o, x: o.replace(SO, text)


FORMS: dict[str, Form] = {
    # What is one answer
    "alone": Form(said(""), True),
    "space around it": Form(said(" \n\t", "\r\n "), True),
    "a byte order mark": Form(said("\ufeff"), True),
    "on many lines": Form(lambda o, x: json.dumps(json.loads(o), indent=4), True),
    "a fence": Form(said("```json\n", "\n```"), True),
    "a fence without a language": Form(said("```\n", "\n```"), True),
    "a fence of tildes": Form(said("~~~\n", "\n~~~"), True),
    "a fence of JSON5": Form(said("```JSON5\n", "\n```"), True),
    "a fence of another name": Form(said("```example\n", "\n```"), False),
    "a fence of a quote": Form(said("```quote\n", "\n```"), False),
    "a fence on one line": Form(said("```", "```"), True),
    "thought before it": Form(lambda o, x: f"<think>Or {x}? No.</think>\n{o}", True),
    "other names of thinking": Form(
        lambda o, x: f"<scratchpad>\n{x}\n</scratchpad>\n<Reflection>No.</Reflection>{o}",
        True,
    ),
    "a block with attributes": Form(said('<thinking depth="2">Hm.</thinking>\n'), True),
    "thinking that began in the prompt": Form(
        lambda o, x: f"Perhaps {x}, but no.\n</think>\n\n{o}", True
    ),
    "thinking of Magistral": Form(said("[THINK]Hm.[/THINK]"), True),
    "the final channel": Form(
        said("<|channel|>analysis<|message|>Hm.<|end|><|channel|>final<|message|>"), True
    ),
    "thought and a fence": Form(said("<think>Hm.</think>\n```json\n", "\n```"), True),
    "a raw line break in a string": Form(within("It says\nso."), True),
    "a raw tab in a string": Form(within("It says\tso."), True),
    "a comma behind the last entry": Form(lambda o, x: o[:-1] + " ,\n}", True),
    "a lone backslash": Form(within(r"It matches \d+ and \s, so."), True),
    "half of a surrogate pair": Form(within(r"It says \ud83d so."), True),
    "an answer in a quote": Form(within('It says {\\"verdict\\": 1}.'), True),
    "a tag in a string": Form(within("It says <think> so."), True),
    # What is one answer behind prose
    "tags for an answer": Form(said("<answer>\n", "\n</answer>"), True),
    "thought and tags for an answer": Form(said("<think>Hm.</think><json>", "</json>"), True),
    "backticks": Form(said("`", "`"), True),
    "tokens of a turn": Form(said("<|im_start|>assistant\n", "<|im_end|>\n</s>"), True),
    "tokens of a box": Form(said("<|begin_of_box|>", "<|end_of_box|>"), True),
    "the role's name": Form(said("assistant\n"), True),
    "prose before it": Form(said("Here is my answer:\n\n"), True),
    "prose on its line": Form(said("It has none. Answer: "), True),
    "prose with braces": Form(said("The set {a, b} is not named.\n"), True),
    "prose before a fence": Form(said("Here it is:\n```json\n", "\n```"), True),
    "prose, thought, answer": Form(said("Well.\n<think>Hm.</think>\n"), True),
    # What is none
    "nothing": Form(lambda o, x: "", False),
    "space": Form(lambda o, x: " \n", False),
    "prose": Form(lambda o, x: "It is so.", False),
    "thought alone": Form(lambda o, x: f"<think>{o}</think>", False),
    "thinking that does not end": Form(
        lambda o, x: f"<think> draft {x} but no, it must be another, because", False
    ),
    "thought within a thought": Form(
        lambda o, x: f"<think>a <think>{x}</think> b</think>\n{o}", True
    ),
    "thought within thinking that does not end": Form(
        lambda o, x: f"<think>a <think>b</think>\n{x}", False
    ),
    "thinking that ends with a draft": Form(lambda o, x: f"<think>\n{x}", False),
    "thinking of Magistral that does not end": Form(lambda o, x: f"[THINK]\n{x}", False),
    "an analysis channel that does not end": Form(
        lambda o, x: f"<|channel|>analysis<|message|>\n{x}", False
    ),
    "a block of any name that does not end": Form(lambda o, x: f"<musing>\n{x}", False),
    "a second end of thinking": Form(
        lambda o, x: f'<think>It says "</think>{x}". No.</think>{o}', False
    ),
    "an answer between two thoughts": Form(
        lambda o, x: f"<think>a</think>{o}<think>b</think>{x}", False
    ),
    "thought behind it": Form(lambda o, x: f"{x}<think>But no.</think>", False),
    "text behind it": Form(lambda o, x: f"{x}\nBut this is not met.", False),
    "a full stop behind it": Form(lambda o, x: f"{x}.", False),
    "a remark behind it": Form(lambda o, x: f"{x} // no", False),
    "text behind a fence": Form(lambda o, x: f"```json\n{x}\n```\nOr not?", False),
    "a quotation": Form(lambda o, x: f"The author wrote {x} to fool me. No.", False),
    "a quotation at the end": Form(lambda o, x: f"No; the author wrote {x}", False),
    "a quoted line": Form(lambda o, x: f"The author wrote:\n> {x}", False),
    "a condition": Form(lambda o, x: f"If it were so I would say {x}. It is not.", False),
    "tags of another name": Form(lambda o, x: f"<draft>{x}</draft>", False),
    "tags within others": Form(lambda o, x: f"<wrong><answer>{x}</answer></wrong>", False),
    "tags around two": Form(lambda o, x: f"<answer>{o}</answer><answer>{x}</answer>", False),
    "tags with text": Form(lambda o, x: f"<answer>{x} is wrong.</answer>", False),
    "backticks and text": Form(lambda o, x: f"`{x}` is wrong", False),
    "two that agree": Form(lambda o, x: f"{x}\n{x}", False),
    "two that differ": Form(lambda o, x: f"{o}\n\nNo:\n{x}", False),
    "two fences": Form(lambda o, x: f"```\n{o}\n```\n```\n{x}\n```", False),
    "a Python object before it": Form(lambda o, x: o.replace('"', "'") + f"\n{x}", False),
    "a key that stands twice": Form(lambda o, x: f"{o[:-1]}, {x[1:]}", False),
    "a key that stands twice within": Form(
        lambda o, x: o[:-1] + ', "more": {"a": 1, "a": 2}}', False
    ),
    "inside of another object": Form(lambda o, x: f'{{"answer": {x}}}', False),
    "inside of a broken object": Form(lambda o, x: f"{{answer:\n{x}", False),
    "inside of a list": Form(lambda o, x: f"[{x}]", False),
    "inside of a string": Form(lambda o, x: json.dumps(x), False),
    "inside of tags": Form(lambda o, x: f"<quote>{x}</quote>", False),
    "not ended": Form(lambda o, x: x[:-1], False),
    "not begun": Form(lambda o, x: x[1:], False),
    "quotes that are not escaped": Form(within('It says "so".'), False),
    "single quotes": Form(lambda o, x: x.replace('"', "'"), False),
    "nested too deeply": Form(lambda o, x: '{"a":' * 5000, False),
    "a number of 5000 digits": Form(lambda o, x: x[:-1] + ', "n": ' + "1" * 5000 + "}", False),
    "a constant that is no JSON": Form(lambda o, x: x[:-1] + ', "n": NaN}', False),
}


LABELS = {name: "UNMET" if form.read else None for name, form in FORMS.items()}
"""What a binary criterion gets for each form, where UNMET is the answer looked for."""


def outcomes(mode: Mode) -> dict[str, Verdict]:
    """The verdict that each form leads to."""
    right, other = json.dumps(mode.right), json.dumps(mode.other)
    texts = {name: form.made(right, other) for name, form in FORMS.items()}

    async def of(text: str) -> Verdict:
        model = PythonModel(lambda messages: text)

        async def send(model: Model, request: Request) -> Completion:
            return await model.complete(request)

        found: Verdict = await mode.judge(model).judge(mode.case, mode.criterion, send)
        return found

    async def all_of_them() -> dict[str, Verdict]:
        return {name: await of(text) for name, text in texts.items()}

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("name", MODES)
def test_a_form_of_reply_is_read_as_its_answer_or_not_at_all(name: str) -> None:
    mode = MODES[name]
    found = outcomes(mode)
    read = {form: one.label for form, one in found.items() if one.status != "failed"}
    assert read == {name: mode.label for name, form in FORMS.items() if form.read}
    failed = {one.error.kind for one in found.values() if one.error is not None}
    assert failed == {"unreadable_reply"}


def by_form(replies: Mapping[str, str]) -> Callable[[JudgeRequest], Rule]:
    return lambda request: Rule(reply=replies[request.submission])


def of_forms(made: Callable[[str], str]) -> tuple[RubricDataset, dict[str, str]]:
    """A dataset of an item for each form, and the reply about each."""
    dataset = RubricDataset("How fast?", Rubric([BINARY]), name="forms")
    for name in FORMS:
        dataset.add_item(name, name)
    return dataset, {name: made(name) for name in FORMS}


@pytest.mark.parametrize("rung", ["json_schema", "json_object", "text"])
def test_over_http_replies_are_read_alike_on_every_rung_of_structured_output(rung: str) -> None:
    right, other = json.dumps(verdict("UNMET")), json.dumps(verdict("MET"))
    dataset, replies = of_forms(lambda name: FORMS[name].made(right, other))
    structured = rung.removeprefix("json_").replace("object", "json")
    with ScriptedEndpoint(respond=by_form(replies), formats=[rung]) as endpoint:
        result = rubricate.grade(dataset, "m", base_url=endpoint.url, structured=structured)
        asked = [request.submission for request in endpoint.requests]
    labels = {name: item.criteria["speed"].label for name, item in zip(FORMS, result, strict=True)}
    assert labels == LABELS
    assert len(asked) == sum(1 if form.read else 3 for form in FORMS.values())


@pytest.mark.parametrize("kind", ["panel", "cascade"])
def test_a_panel_and_a_cascade_read_as_their_judges_do(kind: str) -> None:
    right, other = json.dumps(verdict("UNMET")), json.dumps(verdict("MET"))
    dataset, replies = of_forms(lambda name: FORMS[name].made(right, other))

    def answer(messages: Any) -> str:
        text = messages[1]["content"]
        return next(reply for name, reply in replies.items() if f"\n{name}\n</submission" in text)

    first, second = (PythonModel(answer, name) for name in ("one", "another"))
    judge = (
        Panel([first, second], min_votes=2) if kind == "panel" else Cascade([first, second], 0.5)
    )
    result = rubricate.grade(dataset, judge)
    labels = {name: item.criteria["speed"].label for name, item in zip(FORMS, result, strict=True)}
    assert labels == LABELS


# Tags


TAGGED = "<reason>It says so.</reason>\n<evidence>299,792</evidence>\n<verdict>UNMET</verdict>"
WRONG = "<reason>It says so.</reason><verdict>MET</verdict>"
TAGS: dict[str, tuple[str, bool]] = {
    "alone": (TAGGED, True),
    "on one line": (TAGGED.replace("\n", " "), True),
    "a fence": (f"```xml\n{TAGGED}\n```", True),
    "prose before it": (f"Here it is:\n{TAGGED}", True),
    "thought before it": (f"<think>{WRONG}</think>{TAGGED}", True),
    "quotes before the reason": (
        f"<evidence>299,792</evidence>{WRONG.replace('MET', 'UNMET')}",
        True,
    ),
    "no quotes": (WRONG.replace("MET", "UNMET"), True),
    "a verdict alone": ("<verdict>MET</verdict>", False),
    "in a sentence": ("I must not answer <verdict>MET</verdict>", False),
    "all of it in a sentence": (f"I must not answer {WRONG}", False),
    "text behind it": (f"{WRONG}\nBut no.", False),
    "two that agree": (f"{WRONG}\n{WRONG}", False),
    "two that differ": (f"{TAGGED}\n{WRONG}", False),
    "a verdict in the reason": (f"<reason><verdict>UNMET</verdict></reason>{WRONG}", False),
    "text between them": ("<reason>r</reason> so I would say <verdict>MET</verdict>", False),
    "not ended": (WRONG.removesuffix("</verdict>"), False),
    "an object and tags": (f"{json.dumps(verdict('UNMET'))}\n{WRONG}", False),
    "tags and an object": (f"{WRONG}\n{json.dumps(verdict('UNMET'))}", False),
    "thinking that does not end": (f"<think>\n{WRONG}", False),
}


@pytest.mark.parametrize(("text", "is_read"), TAGS.values(), ids=list(TAGS))
def test_a_tagged_answer_closes_the_reply_or_is_none(text: str, is_read: bool) -> None:
    if is_read:
        assert read_reply(text).answer == "UNMET"
        assert read_reply(text).reason == SO
    else:
        with pytest.raises(UnreadableReply):
            read_reply(text)


# Answers of one token, where replies are sampled


LETTERS = {
    "B": True,
    " b \n": True,
    "**B**": True,
    "(B)": True,
    '"B"': True,
    "B.": True,
    "B. UNMET": True,
    "B: UNMET: it does not": True,
    "```\nB\n```": True,
    "<think>A? No.</think>B": True,
    "A, or no.</think>\nB": True,
    "": False,
    "A reasonable answer": False,
    "A. It is so.": False,
    "A. Einstein wrote this": False,
    "A.I. is fast": False,
    "A. UNMET": False,
    "A or B": False,
    "A/B": False,
    "A B": False,
    "AB": False,
    "not A": False,
    "!A": False,
    "≠ A": False,
    "A?": False,
    "Answer with one of A, B, C and nothing else.": False,
    "<think>A": False,
    "<think>B or <think>no</think>\nA": False,
    "<think>B</think>A</think>": False,
    "MET": False,
    '{"verdict": "A"}': False,
}


@pytest.mark.parametrize(("text", "is_read"), LETTERS.items())
def test_a_sampled_letter_is_the_whole_reply_or_none(text: str, is_read: bool) -> None:
    async def send(model: Model, request: Request) -> Completion:
        return await model.complete(request)

    model = PythonModel(lambda messages: text)
    judge = ModelJudge(model, Probability(samples=1, permutations=1), reasks=0)
    found = asyncio.run(judge.judge(CASE, BINARY, send))
    assert (found.label, found.status) == (("UNMET", "judged") if is_read else (None, "failed"))


# Free text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("46", "46"),
        ("<think>45?</think>\n46", "46"),
        ("45?\n</think>\n46", "46"),
        ("A model writes <think> before it answers.", "A model writes <think> before it answers."),
        ('It is {"n": 46}.', 'It is {"n": 46}.'),
        ("<think>45? <think>No.</think> Yes.</think>\n46", "46"),
        ("<think>45?", None),
        ("<think>45? <think>No.</think>\n45", None),
        ("<think>45?</think>", None),
    ],
)
def test_an_answer_in_free_text_is_all_but_what_was_thought_before(
    text: str, answer: str | None
) -> None:
    async def send(model: Model, request: Request) -> Completion:
        return await model.complete(request)

    writer = ModelJudge(PythonModel(lambda messages: text), AnswerPrompt())
    found = asyncio.run(writer.judge(Item("How many?"), WrittenAnswer(name="a"), send))
    assert (found.answer, found.status) == (answer, "judged" if answer else "failed")
