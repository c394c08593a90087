"""A callable as a model."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest

from rubricate import Criterion, InputError, Rubric, Usage, Verdict, grade_one
from rubricate.errors import ModelError
from rubricate.judge import Completion, PythonModel

RUBRIC = Rubric([Criterion(name="polite", requirement="Is polite")])
ANSWER: dict[str, Any] = {"reason": "r", "evidence": ["Thanks"], "verdict": "MET"}


def verdict(function: Any) -> Verdict:
    return grade_one(RUBRIC, "Thanks a lot.", judge=function).criteria["polite"]


async def _async_answer(messages: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    return ANSWER


class _Callable:
    def __call__(self, messages: Any) -> dict[str, Any]:
        return ANSWER


@pytest.mark.parametrize(
    "function",
    [
        lambda messages: ANSWER,
        lambda messages: '{"reason": "r", "evidence": ["Thanks"], "verdict": "MET"}',
        lambda messages: "<reason>r</reason><evidence>Thanks</evidence><verdict>MET</verdict>",
        lambda messages: Completion('{"reason": "r", "evidence": ["Thanks"], "verdict": "met"}'),
        _async_answer,
        _Callable(),
        PythonModel(lambda messages: ANSWER, "named"),
    ],
    ids=["dict", "json", "tags", "completion", "async", "object", "model"],
)
def test_a_callable_may_answer_in_any_of_these_forms(function: Any):
    found = verdict(function)
    assert (found.status, found.label, found.reason) == ("judged", "MET", "r")
    assert found.evidence[0].start == 0


def test_a_callable_gets_the_messages_of_the_prompt():
    seen: list[Any] = []
    verdict(lambda messages: seen.append(messages) or ANSWER)
    ((system, user),) = seen
    assert (system["role"], user["role"]) == ("system", "user")
    assert "Thanks a lot." in user["content"]


def test_the_usage_of_a_completion_is_kept():
    usage = Usage(requests=1, input_tokens=7, output_tokens=3, cost=0.5)
    found = verdict(lambda messages: Completion('{"reason": "", "verdict": "MET"}', usage))
    assert found.usage == usage


def test_an_exception_is_a_failed_verdict_with_its_class_and_text_and_is_not_retried():
    calls: list[int] = []

    def broken(messages: Any) -> str:
        calls.append(1)
        raise KeyError("no such thing")

    found = verdict(broken)
    assert (found.status, found.value, len(calls)) == ("failed", None, 1)
    assert found.error.kind == "judge_error"
    assert "KeyError: 'no such thing' (test_python_model.py, line" in found.error.message


def test_a_model_error_says_itself_whether_to_retry():
    calls: list[int] = []

    def shaky(messages: Any) -> dict[str, Any]:
        calls.append(1)
        if len(calls) == 1:
            raise ModelError("server", "busy", retry_after=0.0)
        return ANSWER

    found = verdict(shaky)
    assert (found.status, len(calls), found.usage.requests) == ("judged", 2, 2)


@pytest.mark.parametrize("reply", ["", "I would rather not say.", {}])
def test_a_reply_that_is_no_answer_is_asked_again_and_then_failed(reply: Any):
    calls: list[int] = []
    found = verdict(lambda messages: calls.append(1) or reply)
    assert (found.status, found.error.kind, len(calls)) == ("failed", "unreadable_reply", 3)


@pytest.mark.parametrize("reply", [None, 3, True, [], "MET"])
def test_a_function_that_returns_no_reply_is_shown_what_to_return(reply: Any):
    found = verdict(lambda messages: reply)
    assert (found.status, found.error.kind) == ("failed", "judge_error")
    for part in (repr(reply), "with a reason", '"reason"', '"evidence"', '"verdict"'):
        assert part in found.error.message


def test_a_function_that_returns_a_verdict_without_a_reason_is_shown_what_to_return():
    found = verdict(lambda messages: {"verdict": "MET"})
    assert (found.status, found.error.kind) == ("failed", "judge_error")
    assert '{"verdict": "MET"}' in found.error.message
    assert "with a reason" in found.error.message


def test_a_reply_that_is_no_json_is_a_failed_verdict():
    found = verdict(lambda messages: {"verdict": {"MET"}})
    assert found.status == "failed"
    assert "set" in found.error.message


def test_a_callable_is_named_after_itself_or_as_given():
    assert PythonModel(_async_answer).name == "python/_async_answer"
    assert PythonModel(_Callable()).name == "python/_Callable"
    assert PythonModel(_Callable(), "mine").name == "mine"


def test_callables_that_keep_other_values_do_not_share_answers_and_one_that_notes_calls_does():
    def keeping(word: str) -> Any:
        noted: list[str] = []

        def judge(messages: Any) -> dict[str, Any]:
            noted.append(word)
            return {**ANSWER, "verdict": "MET" if word in messages[-1]["content"] else "UNMET"}

        return judge

    def hash_of(function: Any) -> str:
        return PythonModel(function, "same name").fingerprint()["source"]

    thanks, please = keeping("Thanks"), keeping("Please")
    before = hash_of(thanks)
    assert before != hash_of(please)
    assert before == hash_of(keeping("Thanks"))
    assert verdict(thanks).label == "MET"
    assert hash_of(thanks) == before  # though it has noted a call

    def numbered(number: int, messages: Any) -> dict[str, Any]:
        return {**ANSWER, "reason": str(number)}

    assert hash_of(functools.partial(numbered, 1)) != hash_of(functools.partial(numbered, 2))


def test_a_judge_of_ones_own_among_several_does_not_ignore_the_mode():
    from rubricate.judge import ModelJudge

    own = ModelJudge(PythonModel(lambda messages: ANSWER, "own"))
    with pytest.raises(InputError, match="own answers as it does: give the mode to the others"):
        grade_one(RUBRIC, "Thanks.", judge=[own, "builtin"], mode="probability")
