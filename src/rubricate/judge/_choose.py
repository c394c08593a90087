"""From what a user names to a judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rubricate.errors import InputError
from rubricate.judge._computed import with_computed
from rubricate.judge._judge import Judge, ModelJudge
from rubricate.judge.models import HTTPModel, Model, PythonModel

__all__ = ["JudgeLike", "choose_judge"]

JudgeLike = Judge | Model | Callable[..., Any] | str | None
"""A judge, a model, a callable for `PythonModel`, a name such as `openai/gpt-4.1-mini`, or None
for the embedded judge."""


def choose_judge(
    judge: JudgeLike,
    *,
    base_url: str | None = None,
    temperature: float | None = 0.0,
    timeout: float = 120.0,
) -> Judge:
    """The judge that is meant, with code for the criteria that need none.

    The keyword arguments are for judges given by name.

    Raises:
        InputError: no such judge, or a key is missing; nothing has been sent.
    """
    chosen = _chosen(judge, base_url=base_url, temperature=temperature, timeout=timeout)
    return with_computed(chosen)


def _chosen(
    judge: JudgeLike, *, base_url: str | None, temperature: float | None, timeout: float
) -> Judge:
    if judge is None or judge == "builtin":
        if base_url is not None:
            raise InputError("a base URL needs a judge: name the model that the server has")
        from rubricate.judge._builtin import BuiltinJudge

        return BuiltinJudge()
    if isinstance(judge, str):
        model = HTTPModel(judge, base_url=base_url, temperature=temperature, timeout=timeout)
        return ModelJudge(model)
    if base_url is not None:
        raise InputError("a base URL goes with a judge given by name")
    if isinstance(judge, Judge):
        return judge
    if isinstance(judge, Model):
        return ModelJudge(judge)
    if callable(judge):
        return ModelJudge(PythonModel(judge))
    raise InputError(f"not a judge: {type(judge).__name__}")
