import asyncio
from autorubric import Rubric, LLMConfig
from autorubric.graders import CriterionGrader, JudgeSpec

rubric = Rubric.from_dict(
    [
        {"name": "accuracy", "weight": 10, "requirement": "is accurate"},
        {"name": "clarity", "weight": 6, "requirement": "is clear"},
        {"name": "errors", "weight": -8, "requirement": "has errors"},
    ]
)


async def main():
    for aggregation in ("majority", "weighted", "unanimous", "any"):
        grader = CriterionGrader(
            judges=[
                JudgeSpec(LLMConfig(model="openai/a"), "a", weight=1.0),
                JudgeSpec(LLMConfig(model="openai/b"), "b", weight=1.2),
                JudgeSpec(LLMConfig(model="openai/c"), "c", weight=0.8),
            ],
            aggregation=aggregation,
        )
        print(grader.is_ensemble, grader.judge_ids)
        for text in ("text one", "text two", "text three"):
            r = await rubric.grade(to_grade=text, grader=grader, query="q")
            print(
                aggregation,
                round(r.score, 6),
                {k: round(v, 6) for k, v in sorted(r.judge_scores.items())},
                round(r.mean_agreement, 6),
            )
            for cr in r.report:
                print(
                    "  ",
                    cr.criterion.name,
                    cr.final_verdict.value,
                    round(cr.agreement, 4),
                    [(v.judge_id, v.verdict.value, v.weight) for v in cr.votes],
                )


asyncio.run(main())
