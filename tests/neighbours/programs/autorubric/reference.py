import asyncio
from autorubric import *
from autorubric.graders import CriterionGrader


async def main():
    rubric = Rubric.from_dict(
        {
            "criteria": [
                {"name": "t", "weight": 10, "requirement": "covers all"},
                {"name": "u", "weight": 3, "requirement": "cites"},
            ]
        }
    )
    ds = RubricDataset(prompt="Explain", rubric=rubric, reference_submission="A fine explanation.")
    ds.add_item(submission="x", description="one")
    ds.add_item(
        submission="y", description="two", reference_submission="other", prompt="Own prompt"
    )
    print([ds.get_item_prompt(i) for i in range(2)])
    r = await evaluate(
        ds,
        CriterionGrader(llm_config=LLMConfig(model="openai/m")),
        show_progress=False,
        fail_fast=True,
        max_concurrent_items=2,
    )
    print([round(i.report.score, 4) for i in r.item_results], r.total_token_usage.total_tokens > 0)
    for i in r.item_results:
        print([(c.criterion.name, c.final_verdict) for c in i.report.report])


asyncio.run(main())
