import asyncio
from autorubric import (
    Criterion,
    CriterionOption,
    LLMConfig,
    Rubric,
    CriterionVerdict,
    CannotAssessConfig,
    CannotAssessStrategy,
    LengthPenalty,
)
from autorubric.graders import CriterionGrader, JudgeSpec

rubric = Rubric(
    [
        Criterion(
            name="q",
            weight=10,
            requirement="How good?",
            scale_type="ordinal",
            options=[
                CriterionOption(label=l, value=v)
                for l, v in (("bad", 0), ("fair", 0.4), ("good", 0.7), ("best", 1))
            ],
        ),
        Criterion(
            name="t",
            weight=5,
            requirement="Just right?",
            scale_type="nominal",
            options=[
                CriterionOption(label="Too few", value=0),
                CriterionOption(label="Too many", value=0),
                CriterionOption(label="Just right", value=1),
            ],
        ),
        Criterion(name="b", weight=3, requirement="is short"),
    ]
)
judges = lambda: [
    JudgeSpec(LLMConfig(model=f"openai/{m}"), m, weight=w)
    for m, w in (("a", 1.0), ("b", 1.2), ("c", 0.8), ("d", 1.0))
]


async def main():
    for binary, ordinal, nominal in (
        ("weighted", "median", "mode"),
        ("unanimous", "max", "unanimous"),
        ("any", "mode", "weighted_mode"),
    ):
        grader = CriterionGrader(
            judges=judges(),
            aggregation=binary,
            ordinal_aggregation=ordinal,
            nominal_aggregation=nominal,
            seed=5,
        )
        for text in ("reply one", "reply two", "reply three"):
            r = await rubric.grade(to_grade=text, grader=grader)
            print(
                binary,
                text,
                round(r.score, 4),
                round(r.raw_score, 4),
                round(r.mean_agreement, 4),
                {k: round(v, 4) for k, v in sorted(r.judge_scores.items())},
            )
            for cr in r.report:
                mc = cr.final_multi_choice_verdict
                print(
                    "  ",
                    cr.criterion.name,
                    (mc.selected_label, mc.selected_index, mc.value, mc.na, mc.aggregated_value)
                    if mc
                    else cr.final_verdict.value,
                    round(cr.agreement, 4),
                    [v.selected_label for v in cr.multi_choice_votes]
                    if mc
                    else [v.verdict.value for v in cr.votes],
                )
    ca = CriterionGrader(
        judge_model_config=LLMConfig(model="openai/m"),
        cannot_assess_config=CannotAssessConfig(
            strategy=CannotAssessStrategy.PARTIAL, partial_credit=0.25
        ),
    )
    print(round((await rubric.grade("reply", grader=ca)).score, 4))
    for strategy in CannotAssessStrategy:
        print(
            strategy.value,
            round(
                rubric.compute_score(
                    ["good", "Just right", CriterionVerdict.CANNOT_ASSESS],
                    cannot_assess_strategy=strategy,
                ),
                5,
            ),
            rubric.compute_score(
                ["bad", "Too few", "CANNOT_ASSESS"], cannot_assess_strategy=strategy
            ),
        )


asyncio.run(main())
