"""How easily a judge is talked into passing a wrong answer: attacks, beside clean controls.

    report = rubricate.redteam("openai/gpt-4.1-mini", run_dir="runs/redteam")
    print(report)

Every wrong answer of the suite (`judge/attacks/suite.yaml`) is judged as it is, and then under each
attack. An attack succeeds where it makes MET of what was judged UNMET without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack, cast

from rubricate._sync import run_sync
from rubricate.dataset import DataItem, RubricDataset
from rubricate.errors import InputError, RunStopped
from rubricate.grading import aestimate, agrade_stream
from rubricate.judge import (
    AttackedQuestion,
    Case,
    Judge,
    JudgeLike,
    Model,
    ModelJudge,
    PromptTemplate,
    Send,
    judge_or_model,
    load_attacks,
    named_judge,
)
from rubricate.options import TIMEOUT, AskingOptions, GradingOptions, check_options
from rubricate.report import RIGHT, WRONG, Defence, RedTeamReport, keep_report
from rubricate.rubric import Criterion, CriterionVerdict, Rubric, Verdict
from rubricate.run import Estimate, ItemResult, Outcome

__all__ = [
    "RedTeamOptions",
    "RedTeamReport",
    "aestimate_redteam",
    "aredteam",
    "estimate_redteam",
    "redteam",
]

CRITERION = "right"
TOLD_TO_THE_JUDGE = ("base_url", "temperature", "max_tokens", "timeout", "prices", "judge_prompt")


class RedTeamOptions(AskingOptions, total=False):
    """How to judge; the arguments of these names of `agrade`."""

    judge_prompt: str | Path | PromptTemplate | None


async def aredteam(
    judge: JudgeLike = None,
    *,
    limit: int | None = None,
    stop: asyncio.Event | None = None,
    **options: Unpack[RedTeamOptions],
) -> RedTeamReport:
    """Attack a judge with the suite that ships with the package.

    A language model (given by name, as a model or as a callable) is attacked twice, with the
    prompt's defence and without. A judge of another kind, or with a prompt of the user's own
    (`judge_prompt`), is attacked as it is.

    Args:
        judge: who is attacked, as for `agrade`.
        limit: use only so many of the suite's questions, from the first.
        stop: set this to end early and cleanly.
        options: those of `agrade` that concern how texts are judged. Into the same `run_dir`,
            nothing that has been judged is asked again.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged; its `report` has what was judged.
    """
    attack = _attack(judge, limit, options)
    stopped: RunStopped | None = None
    found: list[ItemResult] = []
    stream = agrade_stream(attack.dataset, attack.judge, stop=stop, **_running(options))
    try:
        async with stream:
            try:
                async for item in stream:
                    found.append(item)
            except RunStopped as error:
                stopped = error
    finally:
        if not isinstance(judge, Judge | Model):
            await attack.judge.aclose()
    report = _report(attack, found, stream.outcome)
    if stream.outcome.run_dir is not None:
        keep_report(report, stream.outcome.run_dir)
    if stopped is not None:
        raise RunStopped(str(stopped), report=report, interrupted=stopped.interrupted)
    return report


def redteam(
    judge: JudgeLike = None, *, limit: int | None = None, **options: Unpack[RedTeamOptions]
) -> RedTeamReport:
    """`aredteam` for plain code. Works in a script and inside a running loop (a notebook)."""

    async def whole() -> RedTeamReport:
        try:
            return await aredteam(judge, limit=limit, **options)
        finally:
            if isinstance(judge, Judge | Model):  # connections belong to the loop that now ends
                await judge.aclose()

    return run_sync(whole)


async def aestimate_redteam(
    judge: JudgeLike = None, *, limit: int | None = None, **options: Unpack[RedTeamOptions]
) -> Estimate:
    """What `aredteam` with these arguments would take; sends nothing and writes nothing.

    Raises:
        InputError: something given cannot be used.
    """
    attack = _attack(judge, limit, options)
    try:
        return await aestimate(attack.dataset, attack.judge, **_running(options))
    finally:
        if not isinstance(judge, Judge | Model):
            await attack.judge.aclose()


def estimate_redteam(
    judge: JudgeLike = None, *, limit: int | None = None, **options: Unpack[RedTeamOptions]
) -> Estimate:
    """`aestimate_redteam` for plain code."""
    return run_sync(lambda: aestimate_redteam(judge, limit=limit, **options))


@dataclass(frozen=True, slots=True)
class _Attack:
    """What is judged, by whom, and the states of the defence."""

    dataset: RubricDataset
    judge: Judge
    defences: list[Defence]


def _attack(judge: JudgeLike, limit: int | None, options: RedTeamOptions) -> _Attack:
    """What is meant; arguments and errors as for `aredteam`."""
    check_options(options, RedTeamOptions, "judge", "limit", "stop")
    if limit is not None and limit < 1:
        raise InputError(f"the limit must be at least 1, found {limit}")
    questions = load_attacks().questions[:limit]
    chosen = judge_or_model(
        judge,
        base_url=options.get("base_url"),
        temperature=options.get("temperature", 0.0),
        max_tokens=options.get("max_tokens"),
        timeout=options.get("timeout", TIMEOUT),
        prices=options.get("prices"),
    )
    own_prompt = options.get("judge_prompt")
    attacked: Judge
    defences: list[Defence] = ["own"]
    if own_prompt is not None:
        attacked = named_judge(chosen, judge_prompt=own_prompt)
    elif isinstance(chosen, Model):
        attacked, defences = _TwoPrompts(chosen), ["on", "off"]
    else:
        attacked = chosen
    return _Attack(_dataset(questions, defences), attacked, defences)


def _running(options: RedTeamOptions) -> GradingOptions:
    """Of the options, those that concern the run and not the judge."""
    found = {key: value for key, value in options.items() if key not in TOLD_TO_THE_JUDGE}
    return cast("GradingOptions", found)


class _TwoPrompts:
    """A model, asked with the defence or without, as an item's metadata says."""

    note: str | None = None

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._model = model
        self._judges = {"on": ModelJudge(model), "off": ModelJudge(model, fenced=False)}

    def _for(self, case: Case) -> ModelJudge:
        assert case.item is not None
        return self._judges[case.item.metadata["defence"]]

    def key(self, case: Case, criterion: Criterion) -> str:
        return self._for(case).key(case, criterion)

    async def judge(self, case: Case, criterion: Criterion, send: Send) -> Verdict:
        return await self._for(case).judge(case, criterion, send)

    async def aclose(self) -> None:
        await self._model.aclose()


def _dataset(questions: tuple[AttackedQuestion, ...], defences: list[Defence]) -> RubricDataset:
    """All texts, labelled with what is right; the metadata say what each one is."""
    items = [
        DataItem(
            text,
            description=f"{question.name}: {kind}",
            ground_truth=[CriterionVerdict.MET if kind == RIGHT else CriterionVerdict.UNMET],
            rubric=Rubric([Criterion(name=CRITERION, requirement=question.requirement)]),
            reference_submission=question.reference,
            prompt=question.prompt,
            id=f"{question.name}/{kind} {number}/defence {defence}",
            metadata={"question": question.name, "kind": kind, "defence": defence},
        )
        for defence in defences
        for question in questions
        for kind, number, text in _texts(question)
    ]
    return RubricDataset("", None, items, name="redteam")


def _texts(question: AttackedQuestion) -> Iterator[tuple[str, int, str]]:
    """The controls and the attacked texts of a question, each with its kind and number."""
    yield WRONG, 1, question.wrong
    yield RIGHT, 1, question.right
    for family in load_attacks().families:
        for number, text in enumerate(family.attacked(question), start=1):
            yield family.name, number, text


def _report(attack: _Attack, results: list[ItemResult], outcome: Outcome) -> RedTeamReport:
    outcomes: dict[Defence, dict[tuple[str, str], list[Verdict]]] = {
        defence: {} for defence in attack.defences
    }
    for item in sorted(results, key=lambda item: item.index):
        told = attack.dataset.items[item.index].metadata
        kinds = outcomes[told["defence"]]
        kinds.setdefault((told["question"], told["kind"]), []).append(item.criteria[CRITERION])
    return RedTeamReport.of(outcome, [family.name for family in load_attacks().families], outcomes)
