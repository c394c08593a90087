import asyncio, json
from autorubric import CriterionVerdict, LLMConfig, Rubric, RubricDataset, evaluate
from autorubric.graders import CriterionGrader

M, U, C = CriterionVerdict.MET, CriterionVerdict.UNMET, CriterionVerdict.CANNOT_ASSESS
rubric = Rubric.from_dict(
    [
        {"name": "fact", "weight": 10, "requirement": "Is factual"},
        {"name": "fault", "weight": -5, "requirement": "Has a fault"},
        {
            "name": "level",
            "weight": 6,
            "requirement": "How clear?",
            "scale_type": "ordinal",
            "options": [
                {"label": "low", "value": 0.0},
                {"label": "mid", "value": 0.5},
                {"label": "high", "value": 1.0},
            ],
        },
        {
            "name": "kind",
            "weight": 4,
            "requirement": "Which kind?",
            "scale_type": "nominal",
            "options": [
                {"label": "news", "value": 1.0},
                {"label": "ad", "value": 0.0},
                {"label": "not applicable", "value": 0.0, "na": True},
            ],
        },
    ]
)
d = RubricDataset(prompt="P", rubric=rubric, name="d")
for n in range(15):
    d.add_item(
        f"text {n}",
        f"i{n}",
        [
            [M, U, C][n % 3 if n < 6 else n % 2],
            [U, M][n % 2],
            ["low", "mid", "high"][n % 3],
            ["news", "ad", "not applicable"][n % 3],
        ],
    )
f = lambda x: x if x is None or isinstance(x, (int, str)) else round(x, 5)


async def main():
    result = await evaluate(
        d, CriterionGrader(judge_model_config=LLMConfig(model="openai/m")), show_progress=False
    )
    m = result.compute_metrics(d)
    print(
        [
            f(getattr(m, name))
            for name in "criterion_accuracy criterion_precision criterion_recall criterion_f1 mean_kappa macro_accuracy micro_kappa criterion_phi mean_krippendorff_alpha score_rmse score_mae n_items n_criteria n_binary_criteria n_ordinal_criteria n_nominal_criteria n_samples cannot_assess_mode".split()
        ]
    )
    for s in (m.score_spearman, m.score_kendall, m.score_pearson):
        print(f(s.coefficient), f(s.p_value), s.n_samples)
    print(f(m.bias.mean_bias), f(m.bias.std_bias), m.bias.direction)
    for one in m.per_criterion:
        ordinal = one.name == "level"
        kappa = one.weighted_kappa if ordinal else one.kappa
        accuracy = one.accuracy if one.name in ("fact", "fault") else one.exact_accuracy
        names = ["n_samples"] + (
            ["adjacent_accuracy", "rmse", "mae"]
            if ordinal
            else ["precision", "recall", "f1", "phi", "fpr", "fnr"]
            if one.name in ("fact", "fault")
            else []
        )
        print(one.name, f(accuracy), f(kappa), [f(getattr(one, name)) for name in names])
    for item in result.item_results:
        print(
            [
                cr.final_verdict.value
                if cr.final_verdict
                else cr.final_multi_choice_verdict.selected_label
                for cr in item.report.report
            ],
            f(item.report.score),
            f(d.compute_weighted_score(item.item.ground_truth)),
        )
    m.to_file("m.json")
    print(json.loads(open("m.json").read())["criterion_accuracy"])
    print(m.bootstrap, m.per_judge, len(m.warnings))


asyncio.run(main())
