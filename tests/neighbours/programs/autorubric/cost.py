import asyncio
from autorubric import *
from autorubric.utils import aggregate_token_usage
from autorubric.graders import CriterionGrader


async def main():
    rubric = Rubric.from_dict([{"requirement": "is a"}, {"requirement": "is b"}])
    g = CriterionGrader(
        llm_config=LLMConfig(
            model="openai/gpt-4.1-mini",
            cache_enabled=True,
            cache_dir="cache",
            max_retries=2,
            timeout=30.0,
        )
    )
    rs = [await rubric.grade(to_grade=f"t{i}", grader=g) for i in range(3)]
    u, c = aggregate_evaluation_usage(rs)
    print(
        u.total_tokens == u.prompt_tokens + u.completion_tokens,
        u.total_tokens > 0,
        c is not None and c > 0,
    )
    print(
        aggregate_completion_cost([0.1, None, 0.2]),
        aggregate_token_usage([TokenUsage(1, 2, 3), None]),
        aggregate_token_usage([None]),
    )
    for r in rs:
        print(r.completion_cost > 0, r.token_usage.prompt_tokens > r.token_usage.completion_tokens)


asyncio.run(main())
