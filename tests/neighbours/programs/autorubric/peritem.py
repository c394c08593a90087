import asyncio
from autorubric import *
from autorubric.graders import CriterionGrader

items = [
    DataItem(
        submission=f"answer {i}",
        description=f"Q{i}",
        rubric=Rubric(
            [
                Criterion(weight=1.0, requirement=f"Correct for Q{i}"),
                Criterion(weight=2.0, requirement=f"Cites Q{i}"),
            ]
        ),
        ground_truth=[CriterionVerdict.MET, CriterionVerdict.UNMET],
    )
    for i in range(5)
]
ds = RubricDataset(prompt="Answer", rubric=None, items=items, name="per-item")
print(
    len(ds),
    [ds.get_item_rubric(i).rubric[0].requirement for i in range(5)],
    ds.get_item_reference_submission(0),
)
ds.to_file("ds.json")
back = RubricDataset.from_file("ds.json")
print(len(back), back.items[0].rubric.rubric[1].weight, back.items[0].ground_truth)


async def main():
    r = await evaluate(
        ds, CriterionGrader(llm_config=LLMConfig(model="openai/m")), show_progress=False
    )
    print([round(s, 4) for s in r.get_scores()])
    for it in r.item_results:
        for cr in it.report.report:
            print(it.item.description, cr.criterion.requirement, cr.final_verdict.value)


asyncio.run(main())
