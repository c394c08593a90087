"""Judging of logged outputs and traces without a benchmark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rubricate._sync import run_sync
from rubricate.dialects.karenina._results import VerificationResults
from rubricate.dialects.karenina._template import Template
from rubricate.dialects.karenina._traits import Question, Rubric, Trait, union
from rubricate.dialects.karenina._verification import (
    Answered,
    VerificationCall,
    check_config,
    judgements,
)
from rubricate.errors import InputError, check_type
from rubricate.rubric import Verdict
from rubricate.settings import takes_as_method

LOGGED = "logged"
"""The default name of the model of a logged output in results."""


class TaskEval:
    """Judges logged outputs by rubrics.

        task = TaskEval("support agent")
        task.add_rubric(rubric)
        task.log("Your parcel arrives on Monday.", task="Where is my parcel?")
        results = task.evaluate(VerificationConfig(parsing_models=[model]))

    Args:
        name: its name; also `task_id`.
        rubric: the traits for all outputs.
    """

    def __init__(self, name: str = "", rubric: Rubric | None = None, *, task_id: str = "") -> None:
        self.name = self.task_id = name or task_id
        self._rubrics: list[Rubric] = []
        self._logged: list[tuple[Question, str, str]] = []
        if rubric is not None:
            self.add_rubric(rubric)

    def __len__(self) -> int:
        return len(self._logged)

    @property
    def traits(self) -> list[Trait]:
        """The traits of all rubrics."""
        return [trait for rubric in self._rubrics for trait in rubric]

    def add_rubric(self, rubric: Rubric) -> None:
        """Add these traits.

        Raises:
            InputError: a trait of that name exists.
        """
        for other in self._rubrics:
            union(other, rubric)
        self._rubrics.append(rubric)

    def log(
        self,
        output: str | Sequence[Any],
        *,
        task: str = "",
        model: str = LOGGED,
        template: Template | None = None,
        id: str | None = None,
    ) -> None:
        """Add an output to judge; also `log_trace`.

        Args:
            output: a text, or a trace: a list of chat messages, each a dict with `role` and
                `content` (and `tool_calls`), or an object with these attributes.
            task: the task that it answers, which the judge sees.
            model: the name of its model in results.
            template: defines when it is correct, to judge that as well.
            id: its identifier. Default: `output N`.

        Raises:
            InputError: it is empty, or a message is invalid.
        """
        text = output if isinstance(output, str) else trace_text(output)
        if not text.strip():
            raise InputError("the output is empty: there is nothing to judge")
        name = id or f"output {len(self._logged) + 1}"
        question = Question(task, "", template=template, id=name)
        self._logged.append((question, model, text))

    log_trace = log

    @takes_as_method(VerificationCall)
    def evaluate(self, call: VerificationCall) -> VerificationResults:
        """Let each parsing model judge all outputs. Answering models are not used.

        Args:
            config: the parsing models.
            question_ids: the ids of the outputs to judge. Default: all.
            stop: as for `Benchmark.run_verification`.

        Raises:
            InputError: there are no outputs, traits or templates; nothing has been sent.
        """
        return run_sync(lambda: self._judge(call))

    @takes_as_method(VerificationCall)
    async def aevaluate(self, call: VerificationCall) -> VerificationResults:
        """Async version of `evaluate`.

        Args:
            config, question_ids, stop: as for `evaluate`.
        """
        return await self._judge(call)

    async def _judge(self, call: VerificationCall) -> VerificationResults:
        if not self._logged:
            raise InputError("no output is logged: log one first")
        traits = self.traits
        if not traits and not all(question.template for question, _, _ in self._logged):
            raise InputError("there is nothing to judge by: add a rubric first")
        known = {question.id for question, _, _ in self._logged}
        chosen = known if call.question_ids is None else set(call.question_ids)
        if unknown := chosen - known:
            raise InputError(f"question_ids: no output with the id '{min(unknown)}' is logged")
        answered = [
            Answered(
                question, traits, model, Verdict("answer", "judged", "answered", 1.0, answer=text)
            )
            for question, model, text in self._logged
            if question.id in chosen
        ]
        check_config([(answer.question, answer.traits) for answer in answered], call.config)
        return await judgements(answered, call.config, call.running())


def trace_text(messages: Sequence[Any]) -> str:
    """Convert a trace to text: each message under its role, tool calls with their arguments.

    Raises:
        InputError: a message is invalid.
    """
    check_type(messages, Sequence, "text or a list of messages")
    return "\n\n".join(_message_text(message, index) for index, message in enumerate(messages))


def _message_text(message: Any, index: int) -> str:
    role = _attribute(message, "role") or _attribute(message, "type")
    content, calls = _attribute(message, "content"), _attribute(message, "tool_calls") or ()
    if not isinstance(role, str) or (content is None and not calls):
        raise InputError(f"message {index + 1}: a chat message has a role and a content")
    lines = [f"[{role}]"]
    if isinstance(content, str):
        lines.append(content)
    else:
        texts = [
            part if isinstance(part, str) else _attribute(part, "text") for part in content or ()
        ]
        lines += [text for text in texts if isinstance(text, str)]
    for call in calls:
        function = _attribute(call, "function")
        inner = call if isinstance(function, str) or function is None else function
        name = function if isinstance(function, str) else _attribute(inner, "name")
        arguments = _attribute(inner, "arguments") or _attribute(inner, "args") or {}
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False, default=str)
        lines.append(f"[calls {name}] {arguments}")
    return "\n".join(line for line in lines if line)


def _attribute(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
