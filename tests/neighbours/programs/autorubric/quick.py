import asyncio
from autorubric import Rubric, LLMConfig
from autorubric.graders import CriterionGrader


async def main():
    grader = CriterionGrader(llm_config=LLMConfig(model="openai/gpt-4.1-mini"))
    rubric = Rubric.from_dict(
        [
            {"weight": 10.0, "requirement": "States the correct answer"},
            {"weight": 5.0, "requirement": "Provides clear explanation"},
            {"weight": -10.0, "requirement": "Contains factual errors"},
        ]
    )
    result = await rubric.grade(
        to_grade="The answer is 42. This is derived from...",
        grader=grader,
        query="What is the answer?",
    )
    print(f"Score: {result.score:.2f}")
    for criterion in result.report:
        print(f"  [{criterion.final_verdict}] {criterion.criterion.requirement}")
        print(
            criterion.criterion.name,
            criterion.final_verdict.value,
            criterion.final_reason,
            criterion.is_error,
            criterion.score_value,
            criterion.criterion.weight,
        )


asyncio.run(main())
