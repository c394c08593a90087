import asyncio, datetime
from pathlib import Path
from autorubric import (
    EvalRunner,
    EvalConfig,
    EvalResult,
    RubricDataset,
    Rubric,
    LLMConfig,
    CriterionVerdict,
)
from autorubric.graders import CriterionGrader

rubric = Rubric.from_dict(
    [
        {"name": "x", "weight": 10, "requirement": "is x"},
        {"name": "y", "weight": 8, "requirement": "is y"},
    ]
)
ds = RubricDataset(prompt="P", rubric=rubric, name="essays")
for i in range(6):
    ds.add_item(f"essay {i}", f"e{i}", [CriterionVerdict.MET, CriterionVerdict.UNMET])


async def main():
    grader = CriterionGrader(llm_config=LLMConfig(model="openai/m", max_parallel_requests=10))
    config = EvalConfig(
        experiment_name="my-essay-eval",
        experiments_dir="./experiments",
        show_progress=False,
        progress_style="detailed",
        max_concurrent_items=3,
    )
    result = await EvalRunner(dataset=ds, grader=grader, config=config).run()
    again = await EvalRunner(dataset=ds, grader=grader, config=config).run()
    print(
        result.get_scores() == again.get_scores(),
        result.experiment_name,
        Path(result.experiment_dir).name,
    )
    loaded = EvalResult.from_experiment("experiments/my-essay-eval")
    print(
        loaded.get_scores() == result.get_scores(),
        loaded.total_items,
        loaded.successful_items,
        loaded.failed_items,
    )
    t = result.timing_stats
    print(
        t.items_per_second > 0,
        t.total_duration_seconds > 0,
        t.min_item_duration_seconds
        <= t.p50_item_duration_seconds
        <= t.p95_item_duration_seconds
        <= t.max_item_duration_seconds,
        sorted(t.to_dict()),
    )
    print(
        isinstance(result.started_at, datetime.datetime), result.completed_at >= result.started_at
    )
    for it in result.item_results:
        print(
            it.item_idx,
            it.item.description,
            it.item.submission,
            round(it.report.score, 4),
            it.error,
            it.duration_seconds >= 0,
        )
    d = result.item_results[0].to_dict()
    print(
        sorted(d),
        d["report"]["score"],
        [c["final_verdict"] for c in d["report"]["criterion_reports"]],
    )
    print(
        [r.score for r in result.get_reports()],
        len(result.filter_failed()),
        len(result.filter_successful()),
        result.errors,
    )
    print(
        loaded.item_results[2].report.report[0].final_verdict,
        loaded.item_results[2].report.report[0].criterion.name,
    )
    print(loaded.timing_stats.total_duration_seconds > 0, loaded.timing_stats.items_per_second > 0)


asyncio.run(main())
