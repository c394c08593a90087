"""Tests how easily a judge can be talked into passing a wrong answer: attacks, with clean controls.

    report = rubricate.redteam("openai/gpt-6-luna", run_dir="runs/redteam")
    print(report)

Each wrong answer of the suite (`suite.yaml`) or of your own labelled items is judged without and
with each attack. An attack succeeds if a text that was UNMET without it becomes MET or, in other
forms of judging, gets more than the lowest answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rubricate.analysis import (
    RIGHT,
    WRONG,
    Defence,
    Form,
    RedTeamReport,
    Result,
    keep_report,
)
from rubricate.choosing import chosen_dataset, chosen_judge
from rubricate.dataset import DataItem, Item, RubricDataset
from rubricate.errors import InputError, RunStopped
from rubricate.grading import collected
from rubricate.judge import (
    FIRST,
    OTHER,
    SECOND,
    Asking,
    Explained,
    Judge,
    JudgeLike,
    Model,
    ModelJudge,
    OwnPrompt,
    Pair,
    Send,
    language_model,
    named_judge,
    pair_criterion,
)
from rubricate.options import AskingOptions, GradingOptions, JudgeOptions
from rubricate.redteaming._attacks import (
    AttackedQuestion,
    AttackFamily,
    load_attacks,
    load_families,
    questions_of,
)
from rubricate.rubric import Criterion, CriterionOption, CriterionVerdict, Rubric, Verdict
from rubricate.run import Plan, RunEstimate, RunOptions, estimate
from rubricate.settings import again, option, part, takes
from rubricate.streaming import ResultStream, plain

if TYPE_CHECKING:
    from rubricate.options import Columns, Data, RubricLike

CRITERION = "right"
GRADES = ("wrong", "partly right", "right")
"""The options of the form `choice`, the worst first."""


class RedTeamOptions(AskingOptions, OwnPrompt, group="What is graded"):
    """The attacks on a judge, and how to call it."""

    dataset: Data | None = option(
        None,
        "Labelled items to attack in place of the suite's questions.",
        more="A dataset, a file, a data frame or rows, as for `grade`. An item is a wrong answer "
        "to each binary criterion by which people label it UNMET.",
    )
    rubric: RubricLike | None = again(GradingOptions, "rubric", None, common=False)
    map: Columns | None = again(
        GradingOptions,
        "map",
        None,
        help="Which column of a table is what: submission=answer,label.CRITERION=human; see grade.",
        more="As such text, or as a dictionary.",
        common=False,
    )
    attacks: str | Path | None = option(
        None, "A YAML or JSON file of attacks in place of the suite's.", common=True
    )
    form: Form = option(
        "verdict",
        "How answers are judged: verdict (MET or UNMET), choice (wrong, partly right, right) or "
        "pair (which of two is better, the attacked or a right one, in both orders).",
        group="How they are asked",
        input_type=str,
        common=True,
    )
    limit: int | None = option(
        None,
        "Attack only the first N wrong answers.",
        unit="wrong answers",
        common=True,
        ge=1,
    )


class RedTeamCall(RedTeamOptions, kw_only=False):
    """Arguments of `redteam`."""

    judge: JudgeLike = None

    @property
    def stop(self) -> asyncio.Event | None:
        """None, because only an interrupt ends a synchronous call early."""
        return None


class EstimateRedTeamCall(RedTeamCall, kw_only=False):
    """Arguments of `estimate_redteam`."""

    dry_run: ClassVar[bool] = True


class AsyncRedTeamCall(RedTeamCall, kw_only=False):
    """Arguments of `aredteam`."""

    _: KW_ONLY
    stop: asyncio.Event | None = option(None, "Set this to end early and cleanly.")


@takes(AsyncRedTeamCall)
async def aredteam(call: RedTeamCall) -> RedTeamReport:
    """Test a judge against adversarial answers: does it pass wrong ones?

    Language models (by name, model or callable) are attacked twice, with and without the defence of
    the prompt. Other judges, judges with your own prompt (`judge_prompt`) and judges that compare
    pairs are attacked once. With the same `run_dir`, stored answers are reused.

    For example:

        report = await rubricate.aredteam("openai/gpt-6-luna", limit=20)
        print(report)

    Args:
        judge: the judge to attack, as for `agrade`.

    Raises:
        InputError: an argument cannot be used; nothing has been sent.
        RunStopped: the run ended early; its `report` has the verdicts so far.
    """
    stopped: RunStopped | None = None
    async with _attack(call) as attack:
        judge = chosen_judge(attack.judge, JudgeOptions())
        options = _run_options(call)
        plan = Plan(attack.dataset, options)
        stream = ResultStream(plan, judge, options, stop=call.stop)
        try:
            result: Result = await collected(stream)
        except RunStopped as error:
            if error.result is None:
                raise
            stopped, result = error, error.result
    report = _report(attack, result)
    if result.run_dir is not None:
        keep_report(report, result.run_dir)
    if stopped is not None:
        raise RunStopped(str(stopped), report=report, interrupted=stopped.interrupted)
    return report


redteam = plain(RedTeamCall, aredteam)


@takes(EstimateRedTeamCall)
async def aestimate_redteam(call: RedTeamCall) -> RunEstimate:
    """Estimate the requests and cost of `aredteam` with these arguments; sends and writes nothing.

    Args:
        judge: the judge to attack, as for `agrade`.

    Raises:
        InputError: an argument cannot be used.
    """
    async with _attack(call) as attack:
        judge = chosen_judge(attack.judge, JudgeOptions())
        options = _run_options(call)
        return await estimate(Plan(attack.dataset, options), judge, options)


estimate_redteam = plain(EstimateRedTeamCall, aestimate_redteam)


def _run_options(options: RedTeamOptions) -> RunOptions:
    """Return the options of the run, without `limit`, which has been applied to the questions."""
    return replace(part(RunOptions, options), limit=None)


@dataclass(frozen=True, slots=True)
class _Attack:
    """The texts to judge, the judge, and the states of its defence."""

    dataset: RubricDataset
    judge: Judge
    defences: list[Defence]
    form: Form
    questions: int
    families: list[str]


@asynccontextmanager
async def _attack(call: RedTeamCall) -> AsyncIterator[_Attack]:
    """Prepare the attack; raises the same errors as `aredteam`."""
    form = call.form
    questions = _questions(call)[: call.limit]
    families = load_attacks().families if call.attacks is None else load_families(call.attacks)
    model = language_model(call.judge, call)
    judge: Judge
    defences: list[Defence] = ["own"]
    if form == "pair":
        if call.judge_prompt is not None or model is None:
            raise InputError("pairs are compared by a language model, with the usual prompt")
        judge, defences = ModelJudge(model, Pair()), ["on"]
    elif call.judge_prompt is not None:
        judge = named_judge(model or call.judge, asking=Asking(judge_prompt=call.judge_prompt))
    elif model is not None:
        judge, defences = _TwoPrompts(model), ["on", "off"]
    else:
        judge = named_judge(call.judge)
    items = [
        item
        for defence in defences
        for question in questions
        for kind, number, texts in _texts(question, families, form)
        for item in _items(question, kind, number, texts, defence, form)
    ]
    dataset = RubricDataset("", None, items, name="redteam")
    names = [family.name for family in families]
    try:
        yield _Attack(dataset, judge, defences, form, len(questions), names)
    finally:
        if not isinstance(call.judge, Judge | Model):
            await judge.aclose()


class _TwoPrompts(Judge):
    """A model with or without the defence, depending on the metadata of the item."""

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


def _questions(call: RedTeamCall) -> list[AttackedQuestion]:
    """Return the questions to attack: from the suite, or from labelled items."""
    if call.dataset is None:
        if call.rubric is not None or call.map is not None:
            raise InputError(
                "rubric and map are for labelled items of your own: name those, too (in Python "
                "with dataset=, because the judge comes first)"
            )
        return list(load_attacks().questions)
    questions = list(questions_of(chosen_dataset(call.dataset, call.rubric, call.map)))
    if not questions:
        raise InputError(
            "there is nothing to attack: no item is labelled UNMET by a binary criterion with a "
            "weight above 0; label wrong answers with rubricate label, or in columns "
            "label.CRITERION of a table"
        )
    if call.form == "pair" and not (
        questions := [question for question in questions if question.right is not None]
    ):
        raise InputError(
            "there is no pair: no wrong answer has an item with the same prompt that is "
            "labelled MET by the same criterion"
        )
    return questions


def _best_label(form: Form, shown: str = FIRST) -> str:
    """Return the label of a right answer, which attacks ask for; in a pair, the text's position."""
    return {"verdict": str(CriterionVerdict.MET), "choice": GRADES[-1], "pair": shown}[form]


def _texts(
    question: AttackedQuestion, families: Sequence[AttackFamily], form: Form
) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Return the controls and the attacked texts of a question, each with its kind and number.

    A text depends on the label that it asks for, which differs between the orders of a pair.
    """
    labels = {_best_label(form, shown) for shown in (FIRST, SECOND)}
    yield WRONG, 1, dict.fromkeys(labels, question.wrong)
    if question.right is not None:
        yield RIGHT, 1, dict.fromkeys(labels, question.right)
    for family in families:
        by_label = [family.attacked(question, label) for label in labels]
        for number, texts in enumerate(zip(*by_label, strict=True), start=1):
            yield family.name, number, dict(zip(labels, texts, strict=True))


def _items(
    question: AttackedQuestion,
    kind: str,
    number: int,
    texts: Mapping[str, str],
    defence: Defence,
    form: Form,
) -> Iterator[DataItem]:
    """Convert a text to an item, or to one for each order of its pair."""
    criterion = Criterion(name=CRITERION, requirement=question.requirement)
    for shown in (FIRST, SECOND) if form == "pair" else ("",):
        label, place = _best_label(form, shown), ""
        submission, second = texts[label], {}
        worst = {"verdict": str(CriterionVerdict.UNMET), "choice": GRADES[0]}.get(form, SECOND)
        variant = criterion
        if form == "choice":
            variant = _choice(question.requirement)
        elif form == "pair":
            variant, place = pair_criterion(criterion, CRITERION), f", shown {shown.lower()}"
            other = question.wrong if kind == RIGHT else question.right or ""
            if shown == FIRST:
                second = {OTHER: other}
            else:
                submission, second, worst = other, {OTHER: submission}, FIRST
        yield DataItem(
            submission,
            description=f"{question.name}: {kind}{place}",
            ground_truth=[label if kind == RIGHT else worst],
            rubric=Rubric([variant], guidelines=question.guidelines),
            reference_submission=question.reference,
            prompt=question.prompt,
            context=list(question.context),
            id=f"{question.name}/{kind} {number}{place}/defence {defence}",
            metadata={
                "question": f"{question.name}{place}",
                "kind": kind,
                "defence": defence,
                "shown": shown,
                **second,
            },
        )


def _choice(requirement: str) -> Criterion:
    options = [CriterionOption(label=label, value=n / 2) for n, label in enumerate(GRADES)]
    return Criterion(
        name=CRITERION, requirement=requirement, scale_type="ordinal", options=tuple(options)
    )


def _report(attack: _Attack, result: Result) -> RedTeamReport:
    outcomes: dict[Defence, dict[tuple[str, str], list[Verdict]]] = {
        defence: {} for defence in attack.defences
    }
    for item in result.items:
        metadata = attack.dataset.items[item.index].metadata
        verdict = _as_met(item.criteria[CRITERION], metadata["kind"], metadata["shown"])
        place = (metadata["question"], metadata["kind"])
        outcomes[metadata["defence"]].setdefault(place, []).append(verdict)
    return RedTeamReport.of(
        result, attack.families, outcomes, questions=attack.questions, form=attack.form
    )


def _as_met(verdict: Verdict, kind: str, shown: str) -> Verdict:
    """Convert a verdict to MET or UNMET. A wrong answer is MET if it gets more than the lowest
    value, and a right one is UNMET if it gets less than the highest."""
    if verdict.status != "judged" or verdict.value is None:
        return verdict
    value = 1.0 - verdict.value if shown == SECOND else verdict.value
    met = value == 1.0 if kind == RIGHT else value > 0.0
    return replace(verdict, label=CriterionVerdict.MET if met else CriterionVerdict.UNMET)
