import asyncio
from autorubric import LLMConfig, Rubric, AggregationStrategy
from autorubric.graders import CriterionGrader, JudgeSpec

rubric = Rubric.from_dict(
    [
        {"name": "fact", "weight": 10.0, "requirement": "Is factual"},
        {"name": "fault", "weight": -5.0, "requirement": "Has a fault"},
        {
            "name": "clarity",
            "weight": 6.0,
            "requirement": "How clear is it?",
            "scale_type": "ordinal",
            "options": [
                {"label": "low", "value": 0.0},
                {"label": "mid", "value": 0.5},
                {"label": "high", "value": 1.0},
            ],
        },
        {
            "name": "kind",
            "weight": 4.0,
            "requirement": "Which kind is it?",
            "scale_type": "nominal",
            "options": [
                {"label": "news", "value": 1.0},
                {"label": "advert", "value": 0.0},
                {"label": "n/a", "value": 0.0, "na": True},
            ],
        },
    ]
)
JUDGES = [
    JudgeSpec(LLMConfig(model="openai/a"), "ja", weight=1.0),
    JudgeSpec(LLMConfig(model="openai/b"), "jb", weight=1.2),
    JudgeSpec(llm_config=LLMConfig(model="openai/c"), judge_id="jc", weight=0.5),
]
print(
    [(s.value, s.name) for s in AggregationStrategy]
    if hasattr(AggregationStrategy, "__members__")
    else AggregationStrategy
)


async def main():
    for how in ("majority", "any"):
        for ordinal in ("mean", "weighted_mean", "min"):
            for nominal in ("mode", "weighted_mode", "unanimous"):
                grader = CriterionGrader(
                    judges=JUDGES,
                    aggregation=how,
                    ordinal_aggregation=ordinal,
                    nominal_aggregation=nominal,
                    seed=3,
                )
                line = []
                for n in range(4):
                    r = await rubric.grade(to_grade=f"text {n}", grader=grader)
                    line.append(
                        (
                            round(r.score, 4),
                            round(r.mean_agreement, 3),
                            {k: round(v, 3) for k, v in sorted(r.judge_scores.items())},
                            [
                                cr.final_verdict.value
                                if cr.final_verdict
                                else cr.final_multi_choice_verdict.selected_label
                                for cr in r.report
                            ],
                        )
                    )
                print(how, ordinal, nominal, line)


asyncio.run(main())
