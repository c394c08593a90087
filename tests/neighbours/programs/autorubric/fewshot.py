import asyncio
from autorubric import *
from autorubric.graders import CriterionGrader

rubric = Rubric(
    [
        Criterion(name="a", weight=10, requirement="is right"),
        Criterion(name="b", weight=5, requirement="is short"),
    ]
)
ds = RubricDataset(prompt="p", rubric=rubric, name="n")
for i in range(10):
    ds.add_item(
        submission=f"text {i}",
        description=f"d{i}",
        ground_truth=[
            CriterionVerdict.MET if i % 2 else CriterionVerdict.UNMET,
            CriterionVerdict.MET if i % 3 else CriterionVerdict.UNMET,
        ],
    )
train, test = ds.split_train_test(n_train=4, stratify=True, seed=42)
print(len(train), len(test))


async def main():
    grader = CriterionGrader(
        llm_config=LLMConfig(model="openai/m", temperature=0.0),
        training_data=train,
        few_shot_config=FewShotConfig(n_examples=3, balance_verdicts=True, seed=42),
    )
    result = await evaluate(ds, grader, show_progress=False, progress_style="detailed")
    print([round(s, 4) for s in result.get_scores()], result.successful_items, result.total_items)
    m = result.compute_metrics(ds)
    print(round(m.criterion_accuracy, 4), round(m.mean_kappa, 4))


asyncio.run(main())
