import asyncio
from autorubric import *
from autorubric.types import CannotAssessConfig, CannotAssessStrategy
from autorubric.graders.criterion_grader import CriterionGrader

rubric = Rubric(
    [
        Criterion(name="a", weight=10, requirement="is right"),
        Criterion(name="b", weight=5, requirement="is short"),
        Criterion(name="c", weight=-4, requirement="is rude"),
    ]
)
V = CriterionVerdict
for s in CannotAssessStrategy:
    print(
        s,
        s.value,
        rubric.compute_score([V.MET, V.CANNOT_ASSESS, V.CANNOT_ASSESS], cannot_assess_strategy=s),
        rubric.compute_score(
            [V.MET, V.CANNOT_ASSESS, V.UNMET],
            cannot_assess_strategy=s,
            partial_credit=0.3,
            normalize=False,
        ),
    )


async def main():
    for s in CannotAssessStrategy:
        g = CriterionGrader(
            llm_config=LLMConfig(model="openai/m"),
            cannot_assess_config=CannotAssessConfig(strategy=s, partial_credit=0.3),
        )
        r = await rubric.grade("text", g)
        print(round(r.score, 4), r.cannot_assess_count)


asyncio.run(main())
