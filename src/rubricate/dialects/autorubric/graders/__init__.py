"""`autorubric.graders`: graders, built from the core's judges."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rubricate.dialects import names_elsewhere
from rubricate import dataset as core_dataset, rubric as core
from rubricate.dataset import DataItem
from rubricate.dialects._options import DialectOptions, graded
from rubricate.dialects.autorubric._criteria import ShownEnum
from rubricate.dialects.autorubric._reports import EnsembleEvaluationReport, Voters, report_of
from rubricate.dialects.autorubric.llm import LLMConfig
from rubricate.dialects.autorubric.rubric import Grader as Grader, Rubric
from rubricate.errors import InputError
from rubricate.judge import Asking, Examples, Judge, Panel, named_judge
from rubricate.rubric import Scoring, Verdict
from rubricate.settings import Settings

if TYPE_CHECKING:
    from rubricate.analysis import Result


AggregationStrategy = Literal["majority", "weighted", "unanimous", "any"]
OrdinalAggregation = Literal["mean", "median", "weighted_mean", "mode", "min", "max"]
NominalAggregation = Literal["mode", "weighted_mode", "unanimous"]
LLMCalls = Literal["per_criterion", "per_item"]
ALONE = "default"
"""The `judge_id` of a single judge."""
_REPLY = "the form of replies is fixed here; define a subclass of rubricate.Criterion"
REFUSED = {
    "binary_response_format": _REPLY,
    "multi_choice_response_format": _REPLY,
    "escalation": "ask a cheap judge first with rubricate.Cascade",
}
"""Arguments of AutoRubric that are not supported, with what to use instead."""


class CannotAssessStrategy(ShownEnum):
    """How an abstention or an N/A answer affects the score; see the core's `CannotAssess`."""

    SKIP = "skip"
    ZERO = "zero"
    PARTIAL = "partial"
    FAIL = "fail"


@dataclass(frozen=True)
class CannotAssessConfig:
    """How abstentions and N/A answers are scored."""

    strategy: CannotAssessStrategy | str = CannotAssessStrategy.SKIP
    partial_credit: float = 0.5


@dataclass(frozen=True)
class FewShotConfig:
    """Labelled items that are shown to the judge as examples.

    Attributes:
        n_examples: the number of items, each with all its labels.
        balance_verdicts: has no effect, because labels are always balanced; False gives a warning.
        include_reason: whether `ground_truth_reasons` are shown with the labels.
        seed: breaks ties.
    """

    n_examples: int = 3
    balance_verdicts: bool = True
    include_reason: bool = False
    seed: int | None = None

    def examples(self, dataset: core_dataset.RubricDataset) -> Examples:
        """Choose the examples from a labelled dataset."""
        if not self.balance_verdicts:
            warnings.warn(
                "FewShotConfig: balance_verdicts=False is ignored: labels are always spread evenly",
                stacklevel=4,
            )
        return Examples(
            dataset, count=self.n_examples, reasons=self.include_reason, seed=self.seed or 0
        )


class JudgeSpec(Settings, kw_only=False):
    """One of several judges: its model, its id and the weight of its vote."""

    needs_argument = True
    llm_config: LLMConfig | None = None
    judge_id: str = ""
    weight: float = 1.0
    judge_model_config: LLMConfig | None = None

    def check(self) -> None:
        if not isinstance(self.config, LLMConfig) or not self.judge_id:
            raise InputError("a JudgeSpec needs an LLMConfig and a judge_id")

    @property
    def config(self) -> LLMConfig | None:
        """The model's configuration, under either of its two names."""
        return self.llm_config or self.judge_model_config


class Jury(Panel):
    """A panel that aggregates votes on options like AutoRubric.

    N/A votes count only if no other vote has a score. The option that results from the others is
    scored by its own value, not by their mean, which is kept in the verdict's detail.
    """

    def verdict(self, criterion: core.Criterion, votes: Sequence[Verdict | None]) -> Verdict:
        verdict = super().verdict(criterion, votes)
        if not criterion.is_multi_choice:
            return verdict
        apart = [vote is not None and vote.status == "not_applicable" for vote in votes]
        if any(apart) and any(vote is not None and vote.status == "judged" for vote in votes):
            scoring = [None if na else vote for vote, na in zip(votes, apart, strict=True)]
            kept = {name: getattr(verdict, name) for name in ("votes", "usage", "resumed")}
            verdict = replace(super().verdict(criterion, scoring), **kept)
        if verdict.status != "judged":
            return verdict
        value = criterion.value(verdict.label or "")
        return replace(verdict, value=value, detail={"aggregated_value": verdict.value})


class GraderOptions(Scoring, DialectOptions):
    """The options of a grader's run."""


class CriterionGrader(Settings):
    """Grade with a model, or with several that vote, on the core's engine.

    Fields:
        llm_config, judge_model_config: the model; one of the two names.
        judges: the models that vote, instead of a single model.
        aggregation, ordinal_aggregation, nominal_aggregation: how votes are aggregated; the
            `aggregation` of a criterion has priority.
        training_data, few_shot_config: labelled items that judges are shown as examples.
        length_penalty: how the length of a text lowers the score.
        normalize: scores in [0, 1]; False for the weighted sum.
        cannot_assess_config: how abstentions are scored.
        shuffle_options, seed: whether the options are shown in random order, drawn for each item.
        llm_calls: `per_criterion`, or `per_item` to ask about the whole rubric in one request.
        auto_na_option: has no effect, because CANNOT_ASSESS is always allowed; False gives a
            warning.
        system_prompt, multi_choice_system_prompt: shown to the judge as guidelines of the rubric;
            the form of the answers remains the core's.
        binary_response_format, multi_choice_response_format, escalation: not supported; the error
            says what to use instead.

    Raises:
        InputError: there is no model, or two, or a value is not supported.
    """

    needs_argument = True
    judge_model_config: LLMConfig | None = None
    judges: Sequence[JudgeSpec] | None = None
    aggregation: AggregationStrategy | str = "majority"
    ordinal_aggregation: OrdinalAggregation | str = "mean"
    nominal_aggregation: NominalAggregation | str = "mode"
    training_data: core_dataset.RubricDataset | None = None
    few_shot_config: FewShotConfig | None = None
    system_prompt: str | None = None
    multi_choice_system_prompt: str | None = None
    length_penalty: core.LengthPenalty | None = None
    normalize: bool = True
    cannot_assess_config: CannotAssessConfig | None = None
    shuffle_options: bool = True
    auto_na_option: bool = True
    seed: int | None = 0
    binary_response_format: Any = None
    multi_choice_response_format: Any = None
    escalation: Any = None
    llm_calls: LLMCalls | str = "per_criterion"
    llm_config: LLMConfig | None = None

    def check(self) -> None:
        for name, way in REFUSED.items():
            if getattr(self, name) is not None:
                raise InputError(f"CriterionGrader does not support {name}: {way}")
        if self.llm_calls not in ("per_criterion", "per_item"):
            raise InputError(
                f"llm_calls must be per_criterion or per_item, found {self.llm_calls!r}"
            )
        if self.length_penalty is not None and not self.normalize:
            raise InputError("length_penalty requires scores from 0 to 1: remove normalize=False")
        if not self.auto_na_option:
            warnings.warn(
                "CriterionGrader: auto_na_option=False is ignored: CANNOT_ASSESS is always allowed",
                stacklevel=4,
            )
        _ = self.configs

    @property
    def configs(self) -> dict[str, tuple[LLMConfig, float]]:
        """The models and the weights of their votes, by `judge_id`.

        Raises:
            InputError: there is no model, or two, or two judges have the same id.
        """
        alone = self.llm_config or self.judge_model_config
        if alone is not None and self.judges is not None:
            raise InputError("Cannot provide both judge_model_config and judges")
        if alone is not None:
            if not isinstance(alone, LLMConfig):
                raise InputError(f"llm_config must be an LLMConfig, found {type(alone).__name__}")
            return {ALONE: (alone, 1.0)}
        if not self.judges:
            raise InputError("Must provide either judge_model_config or judges")
        configs: dict[str, tuple[LLMConfig, float]] = {}
        for spec in self.judges:
            if spec.judge_id in configs:
                raise InputError(f"two judges are called '{spec.judge_id}'")
            assert spec.config is not None
            configs[spec.judge_id] = (spec.config, spec.weight)
        return configs

    def to_judge(self) -> tuple[Judge, Voters]:
        """Create the core's judge, and map its votes to the judges.

        Raises:
            InputError: a model or an option cannot be used.
        """
        asking = Asking(
            examples=self._examples(),
            shuffle=(self.seed or 0) if self.shuffle_options else None,
            criteria_per_call="all" if self.llm_calls == "per_item" else 1,
        )
        configs = self.configs
        each, voters = list(configs.values()), [(name, pair[1]) for name, pair in configs.items()]
        times = len(each) if all(config == each[0] for config in each) else 1
        distinct = each[:1] if times > 1 else each  # a repeated model is asked several times
        judges = [named_judge(config.to_model(), asking=asking) for config, _ in distinct]
        if self.judges is None:
            return judges[0], {judges[0].name: voters[0]}
        ways = (self.aggregation, self.ordinal_aggregation, self.nominal_aggregation)
        weighted = any("weighted" in way for way in ways)
        panel = Jury(
            judges,
            strategy=self.aggregation,
            ordinal=self.ordinal_aggregation,
            nominal=self.nominal_aggregation,
            numeric="mean",
            weights=[weight for _, weight in distinct] if weighted else None,
            replicates=times,
        )
        return panel, dict(zip(panel.voters, voters, strict=True))

    def _examples(self) -> Examples | None:
        if self.training_data is None or self.few_shot_config is None:
            return None
        return self.few_shot_config.examples(self.training_data)

    def options(self) -> GraderOptions:
        """Combine the options of a run from the models and the grader."""
        configs = [config for config, _ in self.configs.values()]
        most = [config.max_parallel_requests for config in configs if config.max_parallel_requests]
        caches = [str(config.cache_dir) for config in configs if config.cache_enabled]
        abstained = self.cannot_assess_config or CannotAssessConfig()
        return GraderOptions(
            attempts=1 + max(config.max_retries for config in configs),
            concurrency=max(most, default=GraderOptions().concurrency),
            cache=caches[0] if caches else None,
            cannot_assess=CannotAssessStrategy(abstained.strategy).value,
            partial=abstained.partial_credit,
            length_penalty=self.length_penalty,
        )

    @property
    def is_ensemble(self) -> bool:
        """Whether several judges vote."""
        return len(self.configs) > 1

    @property
    def judge_ids(self) -> list[str]:
        """The ids of the judges."""
        return list(self.configs)

    async def run(
        self, dataset: core_dataset.RubricDataset, judge: Judge, options: GraderOptions
    ) -> Result:
        """Grade a dataset.

        Args:
            dataset: the items to grade.
            judge: the judge from `to_judge()`, whose connections are closed in the end.
            options: the options of the run from `options()`.
        """
        try:
            return await graded(self._with_prompts(dataset), judge, options)
        finally:
            await judge.aclose()

    def _with_prompts(self, dataset: core_dataset.RubricDataset) -> core_dataset.RubricDataset:
        """Return a dataset whose rubrics have the grader's prompts before their guidelines."""
        choices = self.multi_choice_system_prompt
        prompts = [self.system_prompt, choices and f"Where there are options: {choices}"]
        if not any(prompts):
            return dataset

        def with_prompts(rubric: core.Rubric | None) -> core.Rubric | None:
            if rubric is None:
                return None
            texts = [text for text in (*prompts, rubric.guidelines) if text]
            return rubric.model_copy(update={"guidelines": "\n\n".join(texts)})

        items = [replace(item, rubric=with_prompts(item.rubric)) for item in dataset.items]
        return replace(dataset, rubric=with_prompts(dataset.rubric), items=items)

    async def grade(
        self,
        to_grade: str | Mapping[str, str],
        rubric: core.Rubric | Sequence[core.Criterion],
        query: str | None = None,
        reference_submission: str | None = None,
        *,
        guidelines: str | None = None,
    ) -> EnsembleEvaluationReport:
        """Grade one text.

        Args:
            to_grade: the text, or `{thinking, output}`.
            rubric: a rubric, or criteria.
            query: the question that the text answers.
            reference_submission: a reference answer.
            guidelines: guidelines for all criteria, in addition to a list of criteria.

        Raises:
            InputError: an argument cannot be used; nothing has been sent.
            RunStopped: grading ended early (an invalid key, an endpoint that is down).
        """
        if not isinstance(rubric, core.Rubric):
            rubric = Rubric(rubric, guidelines=guidelines)
        elif guidelines is not None:
            raise InputError("guidelines belong to the rubric: Rubric(criteria, guidelines=...)")
        item = DataItem.from_dict(
            {"submission": to_grade, "reference_submission": reference_submission}, rubric
        )
        dataset = core_dataset.RubricDataset(query or "", rubric, [item])
        judge, voters = self.to_judge()
        [result] = await self.run(dataset, judge, self.options())
        return report_of(result, voters, self.normalize)


names_elsewhere(__name__)
