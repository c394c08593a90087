import asyncio
from autorubric import Rubric, RubricDataset, LLMConfig, evaluate, fill_ground_truth
from autorubric.graders import CriterionGrader

rubric = Rubric.from_dict(
    [
        {"name": "accurate", "weight": 12, "requirement": "is accurate"},
        {"name": "key", "weight": 10, "requirement": "lists features"},
        {"name": "misleading", "weight": -15, "requirement": "misleads"},
    ]
)
ds = RubricDataset(prompt="Evaluate", rubric=rubric, name="products")
for i in range(6):
    ds.add_item(submission=f"product {i}", description=f"p{i}")


async def main():
    strong = CriterionGrader(llm_config=LLMConfig(model="openai/strong"))
    labeled = await fill_ground_truth(
        ds, strong, force=False, show_progress=True, max_concurrent_items=4
    )
    print(
        len(labeled),
        [[str(v.value if hasattr(v, "value") else v) for v in it.ground_truth] for it in labeled],
        ds[0].ground_truth,
    )
    cheap = CriterionGrader(llm_config=LLMConfig(model="openai/cheap"))
    r = await evaluate(labeled, cheap, show_progress=False)
    m = r.compute_metrics(labeled)
    print(f"{m.criterion_accuracy:.1%}", round(m.mean_kappa, 5), round(m.score_rmse, 5))


asyncio.run(main())
