import asyncio, random
from autorubric import *
from autorubric.graders import CriterionGrader

rubric = Rubric.from_dict(
    [
        {"name": "hate", "weight": 10, "requirement": "no hate"},
        {"name": "spam", "weight": 8, "requirement": "no spam"},
        {"name": "harm", "weight": -12, "requirement": "harmful"},
    ]
)
ds = RubricDataset(prompt="Moderate", rubric=rubric, name="content")
r = random.Random(3)
for i in range(30):
    ds.add_item(
        f"post {i}",
        f"p{i}",
        [CriterionVerdict.MET if r.random() < 0.6 else CriterionVerdict.UNMET for _ in range(3)],
    )
print(ds.name, len(ds), ds.criterion_names, sum(1 for item in ds if item.ground_truth is not None))


async def main():
    grader = CriterionGrader(llm_config=LLMConfig(model="openai/m", temperature=0.0))
    result = await evaluate(ds, grader, show_progress=False, experiment_name="judge-validation-v1")
    print(f"Evaluated: {result.successful_items}/{result.total_items}", result.experiment_name)
    m = result.compute_metrics(ds)
    f = lambda x: None if x is None else round(x, 6)
    print(
        f(m.criterion_accuracy),
        f(m.criterion_precision),
        f(m.criterion_recall),
        f(m.criterion_f1),
        f(m.mean_kappa),
        f(m.criterion_phi),
        f(m.macro_accuracy),
        f(m.micro_kappa),
        m.mean_krippendorff_alpha,
    )
    print(f(m.score_rmse), f(m.score_mae))
    for c in (m.score_spearman, m.score_kendall, m.score_pearson):
        print(f(c.coefficient), f(c.p_value), c.interpretation, c.n_samples)
    b = m.bias
    print(
        f(b.mean_bias),
        f(b.std_bias),
        b.direction,
        b.is_significant,
        f(b.p_value),
        f(b.effect_size),
        f(b.ci.lower),
        f(b.ci.upper),
        b.n_samples,
    )
    for c in m.per_criterion:
        print(
            c.name,
            c.index,
            c.criterion_type,
            c.n_samples,
            f(c.accuracy),
            f(c.precision),
            f(c.recall),
            f(c.f1),
            f(c.kappa),
            c.kappa_interpretation,
            c.support_true,
            c.support_pred,
            f(c.fpr),
            f(c.fnr),
            f(c.phi),
            c.confusion_matrix.matrix,
            c.confusion_matrix.labels,
        )
    print(
        m.n_items,
        m.n_criteria,
        m.n_binary_criteria,
        m.n_samples,
        m.bootstrap,
        m.per_judge,
        m.warnings,
    )


asyncio.run(main())
