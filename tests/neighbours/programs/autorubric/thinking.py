import asyncio
from autorubric import *
from autorubric.graders import CriterionGrader


async def main():
    rubric = Rubric([Criterion(name="a", requirement="is right")])
    for t in ("low", ThinkingLevel.HIGH, None):
        g = CriterionGrader(llm_config=LLMConfig(model="openai/o4-mini", thinking=t))
        r = await rubric.grade("text", g)
        print(r.score)
    print(
        parse_thinking_output("<thinking>why</thinking><output>yes</output>"),
        normalize_to_grade_input("plain"),
        normalize_to_grade_input({"thinking": "t", "output": "o"}),
    )
    print(ThinkingConfig().level, LLMConfig(model="m").temperature, LLMConfig(model="m").timeout)


asyncio.run(main())
