"""From what a user names to a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from rubricate._documents import did_you_mean
from rubricate.errors import InputError
from rubricate.judge._judge import Judge
from rubricate.judge.asking import (
    MODES,
    CriteriaPerCall,
    Examples,
    Explained,
    Mode,
    ModelJudge,
    ProbabilityJudge,
    PromptTemplate,
    Templated,
    check_criteria_per_call,
)
from rubricate.judge.documents import DocumentJudge, check_chunk_tokens
from rubricate.judge.models import HTTPModel, Model, PythonModel, read_prices

__all__ = [
    "JudgeLike",
    "JudgeSettings",
    "judge_or_model",
    "named_judge",
    "plain_model",
    "refuse_unsent",
]

JudgeLike = Judge | Model | Callable[..., Any] | str | None
"""A judge, a model, a callable for `PythonModel`, a name such as `openai/gpt-4.1-mini`, or None
for the embedded judge."""


class JudgeSettings(TypedDict, total=False):
    """What a judge is made with; the arguments of these names of `named_judge`."""

    base_url: str | None
    temperature: float | None
    max_tokens: int | None
    timeout: float
    prices: str | Path | None
    criteria_per_call: CriteriaPerCall
    examples: Examples | None
    judge_prompt: str | Path | PromptTemplate | None
    mode: Mode | str
    correct_prior: bool
    samples: int | None
    shuffle: int | None
    chunk_tokens: int | None
    require_evidence: bool | None


def named_judge(
    judge: JudgeLike,
    *,
    base_url: str | None = None,
    temperature: float | None = 0.0,
    max_tokens: int | None = None,
    timeout: float = 120.0,
    prices: str | Path | None = None,
    criteria_per_call: CriteriaPerCall = 1,
    examples: Examples | None = None,
    judge_prompt: str | Path | PromptTemplate | None = None,
    mode: Mode | str = "explained",
    permutations: int | None = None,
    correct_prior: bool = True,
    samples: int | None = None,
    shuffle: int | None = None,
    chunk_tokens: int | None = None,
    require_evidence: bool | None = None,
) -> Judge:
    """The judge that is meant, for criteria that need one.

    `base_url`, `temperature`, `max_tokens`, `timeout` and `prices` (a file of `read_prices`) are
    for judges given by name; `criteria_per_call` and `shuffle` are for every language model.
    `examples` are shown to a language model, and refit the embedded judge. `judge_prompt` is a
    prompt (or a file of one) in place of the usual one. `mode` is for a language model and the
    embedded judge; `permutations`, `correct_prior` and `samples` are for a language model in
    probability mode (see `ProbabilityJudge`). `chunk_tokens` is for every language model with the
    usual prompt: submissions with more tokens are read in parts (`DocumentJudge`).
    `require_evidence` is for every language model in explained mode (see `ModelJudge`).

    Raises:
        InputError: no such judge, or a key is missing; nothing has been sent.
    """
    chosen = judge_or_model(
        judge,
        base_url=base_url,
        temperature=temperature,
        max_tokens=max_tokens,
        timeout=timeout,
        prices=prices,
    )
    size, mode = check_criteria_per_call(criteria_per_call), check_mode(mode)
    check_chunk_tokens(chunk_tokens)
    own: dict[str, Any] = {"permutations": permutations, "samples": samples}
    own["correct_prior"] = None if correct_prior else False
    own = {name: value for name, value in own.items() if value is not None}
    if own and mode != "probability":
        raise InputError(f"{next(iter(own))} is for probability mode: give mode as well")
    if require_evidence is not None and mode == "probability":
        raise InputError(
            "require_evidence is for explained mode: in probability mode a judge quotes nothing"
        )
    if size != 1 and mode == "probability":
        raise InputError("criteria per call are for explained mode; give one of the two")
    if not isinstance(chosen, Model):
        for_models: dict[str, Any] = {
            "a judge prompt is": judge_prompt,
            "criteria per call are": size != 1,
            "shuffle is": shuffle is not None,
            "permutations are": permutations,
            "correct_prior is": not correct_prior,
            "samples are": samples,
            "chunk tokens are": chunk_tokens,
            "require_evidence is": require_evidence is not None,
        }
        if given := [name for name, value in for_models.items() if value]:
            raise InputError(f"{given[0]} for a language model; {chosen.name} is none")
        return _own_judge(chosen, judge in (None, "builtin"), examples, mode)
    if judge_prompt is not None:
        if mode == "probability" or shuffle is not None:
            raise InputError("a judge prompt has a form of its own: leave out mode and shuffle")
        if chunk_tokens is not None:
            raise InputError(
                "long submissions are read with the usual prompt: leave out chunk tokens"
            )
        if size != 1:
            raise InputError("a judge prompt asks about one criterion: leave out criteria per call")
        if not isinstance(judge_prompt, PromptTemplate):
            judge_prompt = PromptTemplate.from_file(judge_prompt)
        own_prompt = Templated(judge_prompt, examples, require_evidence)
        return ModelJudge(chosen, own_prompt)
    if mode == "probability":
        asking: ModelJudge = ProbabilityJudge(chosen, examples=examples, shuffle=shuffle, **own)
    else:
        asking = ModelJudge(chosen, Explained(examples, shuffle, require_evidence, size))
    return asking if chunk_tokens is None else DocumentJudge(asking, chunk_tokens=chunk_tokens)


def _own_judge(chosen: Judge, embedded: bool, examples: Examples | None, mode: Mode) -> Judge:
    """A judge that is no language model, refitted or in another mode where that is asked for."""
    if examples is None and mode == "explained":
        return chosen
    if not embedded:
        what = "examples are" if examples is not None else "the mode is"
        raise InputError(f"{what} for a language model or the embedded judge")
    from rubricate.judge.builtin import BuiltinJudge

    if examples is not None:
        return BuiltinJudge.trained_on(examples.dataset, mode=mode)
    return BuiltinJudge(mode=mode)


def check_mode(given: str) -> Mode:
    """The mode, if it is one; `InputError` with a suggestion if not."""
    for mode in MODES:
        if mode == given:
            return mode
    hint = did_you_mean(str(given), MODES)
    raise InputError(f"unknown mode '{given}' (known: {', '.join(MODES)}){hint}")


def refuse_unsent(given: Mapping[str, Any]) -> None:
    """Raise `InputError` for a setting of how a model is asked that is given by name, where none
    is; a default says nothing."""
    usual = judge_or_model.__kwdefaults__ or {}
    for name, value in given.items():
        if value != usual[name]:
            raise InputError(
                f"{name} is for a judge given by name: any other has its own, or asks no model"
            )


def plain_model(judge: object) -> Model | None:
    """The model of a judge that is one asked in the usual way, and nothing more."""
    if type(judge) is ModelJudge and judge.prompting == Explained():
        return judge.model
    return None


def judge_or_model(
    judge: JudgeLike,
    *,
    base_url: str | None = None,
    temperature: float | None = 0.0,
    max_tokens: int | None = None,
    timeout: float = 120.0,
    prices: str | Path | None = None,
) -> Judge | Model:
    """What is meant, as it is: a judge, or the model that a prompt would make one.

    The arguments and errors are those of `named_judge`.
    """
    own = read_prices(prices) if prices is not None else None
    if judge is None or judge == "builtin":
        if base_url is not None:
            raise InputError("a base URL needs a judge: name the model that the server has")
        sent = {"temperature": temperature, "max_tokens": max_tokens, "timeout": timeout}
        refuse_unsent({**sent, "prices": prices})
        from rubricate.judge.builtin import BuiltinJudge

        return BuiltinJudge()
    if isinstance(judge, str):
        return HTTPModel(
            judge,
            base_url=base_url,
            temperature=temperature,
            max_tokens=max_tokens,
            timeout=timeout,
            prices=own,
        )
    if base_url is not None:
        raise InputError("a base URL goes with a judge given by name")
    sent = {"temperature": temperature, "max_tokens": max_tokens, "timeout": timeout}
    refuse_unsent({**sent, "prices": prices})
    if isinstance(judge, Judge | Model):
        return judge
    if callable(judge):
        return PythonModel(judge)
    raise InputError(f"not a judge: {type(judge).__name__}; one of your own derives from Judge")
