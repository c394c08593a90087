import asyncio
from autorubric import *
from autorubric.graders import CriterionGrader


async def main():
    rubric = Rubric(
        [
            Criterion(name="a", weight=10, requirement="is right"),
            Criterion(name="b", weight=5, requirement="is short"),
        ]
    )
    g = CriterionGrader(
        llm_config=LLMConfig(model="openai/m"),
        system_prompt="You are evaluating technical documentation. Be strict.",
    )
    r = await rubric.grade(to_grade="docs", grader=g)
    print(round(r.score, 4), [c.final_verdict.value for c in r.report])
    r2 = Rubric(list(rubric.rubric), guidelines="Be lenient.")
    print(r2.guidelines)
    print(
        round(
            (await r2.grade("docs", CriterionGrader(llm_config=LLMConfig(model="openai/m")))).score,
            4,
        )
    )


asyncio.run(main())
