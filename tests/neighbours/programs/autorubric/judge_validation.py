import asyncio
from autorubric import CriterionVerdict, LLMConfig, Rubric, RubricDataset, evaluate
from autorubric.graders import CriterionGrader

M, U, C = CriterionVerdict.MET, CriterionVerdict.UNMET, CriterionVerdict.CANNOT_ASSESS
rubric = Rubric.from_dict(
    [
        {"name": "hate_speech", "weight": -15.0, "requirement": "Contains hate speech"},
        {"name": "harassment", "weight": -12.0, "requirement": "Contains harassment"},
        {"name": "misinformation", "weight": -10.0, "requirement": "Contains false claims"},
        {"name": "appropriate_content", "weight": 10.0, "requirement": "Content is appropriate"},
        {"name": "always", "weight": 5.0, "requirement": "Is text"},
    ]
)
dataset = RubricDataset(
    prompt="Moderate this content.", rubric=rubric, name="content-moderation-v1"
)
for n in range(24):
    dataset.add_item(
        submission=f"A post about topic {n}",
        description=f"post {n}",
        ground_truth=[
            [M, U][n % 2],
            [U, M, M][n % 3],
            [C if n == 3 else U, U, M, U][n % 4],
            [M, M, U][n % 3],
            M,
        ],
    )


def num(x, digits=4):
    return "n/a" if x is None else f"{x:.{digits}f}"


async def main():
    grader = CriterionGrader(llm_config=LLMConfig(model="openai/gpt-4.1-mini", temperature=0.0))
    result = await evaluate(
        dataset, grader, show_progress=False, experiment_name="judge-validation-v1"
    )
    print(result.successful_items, result.total_items, (result.total_completion_cost or 0) > 0)
    metrics = result.compute_metrics(dataset)
    print(
        num(metrics.criterion_accuracy),
        num(metrics.mean_kappa),
        num(metrics.criterion_precision),
        num(metrics.criterion_recall),
        num(metrics.criterion_f1),
    )
    for c in metrics.per_criterion:
        print(
            f"{c.name:<25}",
            num(c.accuracy),
            num(c.kappa),
            num(c.precision),
            num(c.recall),
            num(c.f1),
            c.n_samples,
            c.criterion_type,
            num(c.phi),
            c.is_degenerate,
            num(c.fpr),
            num(c.fnr),
            c.support_true,
            c.support_pred,
        )
        cm = c.confusion_matrix
        print("  ", cm and (cm.tp, cm.fp, cm.fn, cm.tn, cm.labels))
    b = metrics.bias
    print(num(b.mean_bias), b.direction, b.is_significant, num(b.p_value), num(b.effect_size))
    print(num(metrics.criterion_phi), num(metrics.macro_accuracy), num(metrics.micro_kappa))
    print(
        num(metrics.score_pearson.coefficient),
        num(metrics.score_spearman.coefficient),
        num(metrics.score_kendall.coefficient),
        num(metrics.score_rmse),
        num(metrics.score_mae),
    )
    boot = result.compute_metrics(
        dataset, bootstrap=True, n_bootstrap=200, confidence_level=0.95, seed=42
    )
    print(
        boot.bootstrap.accuracy_ci[0] < boot.criterion_accuracy < boot.bootstrap.accuracy_ci[1],
        boot.bootstrap.kappa_ci is not None,
        boot.bootstrap.n_bootstrap,
        boot.bootstrap.confidence_level,
    )
    frame = metrics.to_dataframe()
    print(list(frame["level" if "level" in frame else frame.columns[0]]), len(frame))
    print(
        metrics.n_items,
        metrics.n_criteria,
        metrics.warnings if hasattr(metrics, "warnings") else None,
    )


asyncio.run(main())
