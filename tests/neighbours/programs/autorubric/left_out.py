import asyncio
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
FIGURES = {
    "na_stats": (
        "na_count_true",
        "na_count_pred",
        "na_kappa",
        "na_kappa_interpretation",
        "na_false_positive",
        "na_false_negative",
    ),
    "cannot_assess_stats": (
        "ca_count_true",
        "ca_count_pred",
        "ca_kappa",
        "ca_kappa_interpretation",
        "ca_false_positive",
        "ca_false_negative",
    ),
    "coverage_stats": (
        "n_total",
        "n_covered",
        "coverage",
        "judge_abstain_rate",
        "gt_abstain_rate",
        "union_exclusion_rate",
        "n_errored",
        "error_rate",
    ),
}


def show(metrics):
    for name, figures in FIGURES.items():
        stats = getattr(metrics, name, None)
        values = stats and [getattr(stats, figure) for figure in figures]
        print(name, values and [round(v, 5) if isinstance(v, float) else v for v in values])


def labelled(unclear, binary=(M, U), kinds=("news", "ad", "not applicable")):
    d = RubricDataset(prompt="P", rubric=rubric, name="d")
    for n in range(15):
        text = f"text {n} [[unclear]]" if n in unclear else f"text {n}"
        d.add_item(
            text,
            f"i{n}",
            [
                binary[n % len(binary)],
                [U, M][n % 2],
                ["low", "mid", "high"][n % 3],
                kinds[n % len(kinds)],
            ],
        )
    return d


async def main():
    grader = CriterionGrader(judge_model_config=LLMConfig(model="openai/m"))
    for d in (
        labelled((2, 3, 7)),
        labelled((2, 3, 8, 5), (M, U, C)),
        labelled((1,), kinds=("news", "ad")),
        labelled((), kinds=("news", "ad")),
    ):
        result = await evaluate(d, grader, show_progress=False)
        for options in ({}, {"cannot_assess": "as_category"}):
            print(options)
            m = result.compute_metrics(d, **options)
            show(m)
        for each in m.per_criterion:
            print(each.name, each.n_samples)


asyncio.run(main())
