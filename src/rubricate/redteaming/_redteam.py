"""How easily a judge is talked into passing a wrong answer: attacks, beside clean controls.

    report = rubricate.redteam("openai/gpt-4.1-mini", run_dir="runs/redteam")
    print(report)

Every wrong answer of the suite (`suite.yaml`), or of the user's own labelled items,
is judged as it is, and then under each attack. An attack succeeds where it makes MET of what was
judged UNMET without it; or, of other forms of judging, more than the least answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import get_args

from rubricate._spelling import did_you_mean
from rubricate._sync import run_sync
from rubricate.analysis import (
    RIGHT,
    WRONG,
    Defence,
    Form,
    RedTeamReport,
    keep_report,
)
from rubricate.choosing import chosen_judge
from rubricate.dataset import DataItem, Item, RubricDataset
from rubricate.errors import InputError, RunStopped
from rubricate.judge import (
    FIRST,
    OTHER,
    SECOND,
    Asking,
    Endpoint,
    Explained,
    Judge,
    JudgeLike,
    Model,
    ModelJudge,
    OwnPrompt,
    Pair,
    Send,
    closing,
    is_given,
    language_model,
    named_judge,
    pair_criterion,
)
from rubricate.options import AskingOptions, JudgeOptions
from rubricate.redteaming._attacks import (
    AttackedQuestion,
    AttackFamily,
    load_attacks,
    load_families,
    questions_of,
)
from rubricate.rubric import Criterion, CriterionOption, CriterionVerdict, Rubric, Verdict
from rubricate.run import ItemResult, Outcome, RunEstimate, RunOptions, estimate
from rubricate.settings import option, part, takes
from rubricate.streaming import ResultStream

CRITERION = "right"
FORMS: tuple[Form, ...] = get_args(Form)
GRADES = ("wrong", "partly right", "right")
"""The options of the form `choice`, from the least."""


class RedTeamOptions(AskingOptions, OwnPrompt):
    """What to attack a judge with, and how to ask it."""

    dataset: RubricDataset | None = option(
        None,
        "Labelled items to attack in place of the suite's questions.",
        more="An item is a wrong answer to each binary criterion by which people label it UNMET.",
        group="What is graded",
    )
    attacks: str | Path | None = option(
        None,
        "A YAML or JSON file of attacks in place of the suite's.",
        group="What is graded",
        input_type=str | None,
        common=True,
    )
    form: Form | str = option(
        "verdict",
        "How is judged: verdict (MET or UNMET), choice (wrong, partly right, right) or pair (which "
        "of two is better, the attacked or a right one, in both orders).",
        group="How they are asked",
        input_type=str,
        common=True,
    )
    limit: int | None = option(
        None,
        "Attack only so many of the wrong answers, from the first.",
        group="What is graded",
        unit="wrong answers",
        common=True,
        ge=1,
    )


class RedTeamCall(RedTeamOptions, kw_only=False):
    """What `redteam` is called with."""

    judge: JudgeLike = None


class AsyncRedTeamCall(RedTeamCall, kw_only=False):
    """What `aredteam` is called with."""

    _: KW_ONLY
    stop: asyncio.Event | None = None


@takes(AsyncRedTeamCall)
async def aredteam(call: AsyncRedTeamCall) -> RedTeamReport:
    """Attack a judge with the suite that ships with the package.

    A language model (given by name, as a model or as a callable) is attacked twice, with the
    prompt's defence and without. A judge of another kind, or with a prompt of the user's own
    (`judge_prompt`), is attacked as it is; so is one that compares pairs. Into the same `run_dir`,
    nothing that has been judged is asked again.

    Args:
        judge: who is attacked, as for `agrade`.
        stop: set this to end early and cleanly.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged; its `report` has what was judged.
    """
    return await _attacked(call, call.stop)


async def _attacked(call: RedTeamCall, stop: asyncio.Event | None = None) -> RedTeamReport:
    attack = _attack(call)
    stopped: RunStopped | None = None
    found: list[ItemResult] = []
    try:
        judge = chosen_judge(attack.judge, JudgeOptions())
        stream = ResultStream(attack.dataset, judge, _running(call), stop=stop)
        async with stream:
            try:
                async for item in stream:
                    found.append(item)
            except RunStopped as error:
                stopped = error
    finally:
        if not is_given(call.judge):
            await attack.judge.aclose()
    report = _report(attack, found, stream.outcome)
    if stream.outcome.run_dir is not None:
        keep_report(report, stream.outcome.run_dir)
    if stopped is not None:
        raise RunStopped(str(stopped), report=report, interrupted=stopped.interrupted)
    return report


@takes(RedTeamCall)
def redteam(call: RedTeamCall) -> RedTeamReport:
    """`aredteam` for plain code. Works in a script and inside a running loop (a notebook).

    Args:
        judge: who is attacked, as for `agrade`.

    Raises:
        InputError, RunStopped: as for `aredteam`.
    """
    return run_sync(lambda: closing(_attacked(call), call.judge))


@takes(RedTeamCall)
async def aestimate_redteam(call: RedTeamCall) -> RunEstimate:
    """What `aredteam` with these arguments would take; sends nothing and writes nothing.

    Args:
        judge: who is attacked, as for `agrade`.

    Raises:
        InputError: something given cannot be used.
    """
    return await _estimated(call)


@takes(RedTeamCall)
def estimate_redteam(call: RedTeamCall) -> RunEstimate:
    """`aestimate_redteam` for plain code.

    Args:
        judge: who is attacked, as for `agrade`.

    Raises:
        InputError: as for `aestimate_redteam`.
    """
    return run_sync(lambda: _estimated(call))


async def _estimated(call: RedTeamCall) -> RunEstimate:
    attack = _attack(call)
    try:
        judge = chosen_judge(attack.judge, JudgeOptions())
        return await estimate(attack.dataset, judge, _running(call))
    finally:
        if not is_given(call.judge):
            await attack.judge.aclose()


@dataclass(frozen=True, slots=True)
class _Attack:
    """What is judged, by whom, and the states of the defence."""

    dataset: RubricDataset
    judge: Judge
    defences: list[Defence]
    form: Form
    questions: int
    families: list[str]


def _attack(call: RedTeamCall) -> _Attack:
    """What is meant; arguments and errors as for `aredteam`."""
    form = _form(call.form)
    questions = _questions(call.dataset, form)[: call.limit]
    families = load_attacks().families if call.attacks is None else load_families(call.attacks)
    model = language_model(call.judge, part(Endpoint, call))
    own_prompt = call.judge_prompt
    attacked: Judge
    defences: list[Defence] = ["own"]
    if form == "pair":
        if own_prompt is not None or model is None:
            raise InputError("pairs are compared by a language model, with the usual prompt")
        attacked, defences = ModelJudge(model, Pair()), ["on"]
    elif own_prompt is not None:
        attacked = named_judge(model or call.judge, asking=Asking(judge_prompt=own_prompt))
    elif model is not None:
        attacked, defences = _TwoPrompts(model), ["on", "off"]
    else:
        attacked = named_judge(call.judge)
    items = [
        item
        for defence in defences
        for question in questions
        for kind, number, text in _texts(question, families, form)
        for item in _items(question, kind, number, text, defence, form)
    ]
    return _Attack(
        RubricDataset("", None, items, name="redteam"),
        attacked,
        defences,
        form,
        len(questions),
        [family.name for family in families],
    )


def _running(options: RedTeamOptions) -> RunOptions:
    """Of the options, those of the run; what it is about is chosen already."""
    return replace(part(RunOptions, options), limit=None)


class _TwoPrompts(Judge):
    """A model, asked with the defence or without, as an item's metadata says."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.model: Model = model
        self._judges = {"on": ModelJudge(model), "off": ModelJudge(model, Explained(fenced=False))}

    def _for(self, item: Item) -> ModelJudge:
        return self._judges[item.data.metadata["defence"]]

    def key(self, item: Item, criterion: Criterion) -> str:
        return self._for(item).key(item, criterion)

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        return await self._for(item).judge(item, criterion, send)

    async def aclose(self) -> None:
        await self.model.aclose()


def _form(given: str) -> Form:
    """The form, if it is one; `InputError` with a suggestion if not."""
    for form in FORMS:
        if form == given:
            return form
    hint = did_you_mean(str(given), FORMS)
    raise InputError(f"unknown form '{given}' (known: {', '.join(FORMS)}){hint}")


def _questions(dataset: RubricDataset | None, form: Form) -> list[AttackedQuestion]:
    """What is attacked: the suite's questions, or what labelled items give."""
    if dataset is None:
        return list(load_attacks().questions)
    found = list(questions_of(dataset))
    if not found:
        raise InputError(
            "there is nothing to attack: no item is labelled UNMET by a binary criterion with a "
            "weight above 0"
        )
    if form == "pair":
        found = [one for one in found if one.right is not None]
        if not found:
            raise InputError(
                "there is no pair: no wrong answer has an item with the same prompt that is "
                "labelled MET by the same criterion"
            )
    return found


def _passing(form: Form, shown: str = FIRST) -> str:
    """What a judge is to be talked into saying of a wrong answer."""
    return {"verdict": str(CriterionVerdict.MET), "choice": GRADES[-1], "pair": shown}[form]


def _texts(
    question: AttackedQuestion, families: Sequence[AttackFamily], form: Form
) -> Iterator[tuple[str, int, dict[str, str]]]:
    """The controls and the attacked texts of a question, each with its kind and number.

    A text is given by what it talks the judge into, which is another label in each order of a pair.
    """
    labels = {_passing(form, shown) for shown in (FIRST, SECOND)}
    yield WRONG, 1, dict.fromkeys(labels, question.wrong)
    if question.right is not None:
        yield RIGHT, 1, dict.fromkeys(labels, question.right)
    for family in families:
        wordings = {label: family.attacked(question, label) for label in labels}
        for number in range(len(next(iter(wordings.values())))):
            yield family.name, number + 1, {label: wordings[label][number] for label in labels}


def _items(
    question: AttackedQuestion,
    kind: str,
    number: int,
    texts: Mapping[str, str],
    defence: Defence,
    form: Form,
) -> Iterator[DataItem]:
    """A text as an item, or as one for each order of its pair; metadata say what each one is."""
    asked = Criterion(name=CRITERION, requirement=question.requirement)
    for shown in (FIRST, SECOND) if form == "pair" else ("",):
        text, place = texts[_passing(form, shown)], ""
        other: dict[str, str] = {}
        if form == "choice":
            criterion = _choice(question.requirement)
        elif form == "pair":
            criterion, place = pair_criterion(asked, CRITERION), f", shown {shown.lower()}"
            beside = question.wrong if kind == RIGHT else question.right or ""
            text, other = (text, {OTHER: beside}) if shown == FIRST else (beside, {OTHER: text})
        else:
            criterion = asked
        yield DataItem(
            text,
            description=f"{question.name}: {kind}{place}",
            ground_truth=[_right_label(kind, form, shown)],
            rubric=Rubric([criterion], guidelines=question.guidelines),
            reference_submission=question.reference,
            prompt=question.prompt,
            context=list(question.context),
            id=f"{question.name}/{kind} {number}{place}/defence {defence}",
            metadata={
                "question": f"{question.name}{place}",
                "kind": kind,
                "defence": defence,
                "shown": shown,
                **other,
            },
        )


def _choice(requirement: str) -> Criterion:
    values = enumerate(GRADES)
    return Criterion(
        name=CRITERION,
        requirement=requirement,
        scale_type="ordinal",
        options=tuple(CriterionOption(label=label, value=place / 2) for place, label in values),
    )


def _right_label(kind: str, form: Form, shown: str) -> str:
    right = kind == RIGHT
    if form == "pair":
        return shown if right else next(one for one in (FIRST, SECOND) if one != shown)
    if form == "choice":
        return GRADES[-1] if right else GRADES[0]
    return str(CriterionVerdict.MET if right else CriterionVerdict.UNMET)


def _report(attack: _Attack, results: list[ItemResult], outcome: Outcome) -> RedTeamReport:
    outcomes: dict[Defence, dict[tuple[str, str], list[Verdict]]] = {
        defence: {} for defence in attack.defences
    }
    for item in sorted(results, key=lambda item: item.index):
        told = attack.dataset.items[item.index].metadata
        kinds = outcomes[told["defence"]]
        verdict = _as_met(item.criteria[CRITERION], told["kind"], told["shown"])
        kinds.setdefault((told["question"], told["kind"]), []).append(verdict)
    return RedTeamReport.of(
        outcome, attack.families, outcomes, questions=attack.questions, form=attack.form
    )


def _as_met(verdict: Verdict, kind: str, shown: str) -> Verdict:
    """A verdict as MET or UNMET: of a wrong answer MET is all that has more than the least value,
    of a right one UNMET all that has less than the most."""
    if verdict.status != "judged" or verdict.value is None:
        return verdict
    value = 1.0 - verdict.value if shown == SECOND else verdict.value
    met = value == 1.0 if kind == RIGHT else value > 0.0
    return replace(verdict, label=CriterionVerdict.MET if met else CriterionVerdict.UNMET)
