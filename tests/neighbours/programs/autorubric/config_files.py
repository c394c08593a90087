import asyncio, json, os
from pathlib import Path
import yaml
from autorubric import (
    EvalConfig,
    FewShotConfig,
    LLMConfig,
    Rubric,
    RubricDataset,
    CriterionVerdict,
    evaluate,
)
from autorubric.graders import CriterionGrader

for d in ("configs/llm", "configs/rubrics", "configs/experiments"):
    Path(d).mkdir(parents=True, exist_ok=True)
configs = {
    "development": {
        "model": "openai/gpt-4.1-mini",
        "temperature": 0.0,
        "cache_enabled": True,
        "cache_dir": ".cache/dev",
    },
    "production": {
        "model": "openai/gpt-4.1-mini",
        "temperature": 0.0,
        "cache_enabled": True,
        "cache_dir": ".cache/prod",
        "cache_ttl": 86400,
        "max_parallel_requests": 20,
        "prompt_caching": True,
    },
}
for name, config in configs.items():
    Path(f"configs/llm/{name}.yaml").write_text(yaml.safe_dump(config, default_flow_style=False))
sections = {
    "version": "2.0",
    "sections": {
        "technical": [
            {
                "name": "technical_accuracy",
                "weight": 15.0,
                "requirement": "Assesses technical correctness",
            },
            {"name": "related_work", "weight": 8.0, "requirement": "Assesses related work"},
        ],
        "red_flags": [
            {
                "name": "unfair_criticism",
                "weight": -12.0,
                "requirement": "Contains unfair criticism",
            }
        ],
    },
}
Path("configs/rubrics/paper_review.json").write_text(json.dumps(sections, indent=2))
experiment = {
    "name": "paper-review-eval-v2",
    "llm": {"model": "openai/gpt-4.1-mini", "temperature": 0.0, "max_parallel_requests": 20},
    "evaluation": {"fail_fast": False, "show_progress": False},
    "few_shot": {"n_examples": 2, "balance_verdicts": True},
}
Path("configs/experiments/v2.yaml").write_text(yaml.safe_dump(experiment))

env = os.getenv("EVAL_ENV", "development")
config = LLMConfig.from_yaml(f"configs/llm/{env}.yaml")
print(
    config.model,
    config.temperature,
    config.cache_enabled,
    str(config.cache_dir),
    config.max_parallel_requests,
)
prod = LLMConfig.from_yaml("configs/llm/production.yaml")
prod.to_yaml("configs/llm/copy.yaml")
again = LLMConfig.from_yaml("configs/llm/copy.yaml")
print(again == prod, again.cache_ttl, again.prompt_caching, again.max_parallel_requests)


def load(path):
    found = json.loads(Path(path).read_text())
    criteria = []
    for section, members in found["sections"].items():
        for criterion in members:
            criterion["section"] = section
            criteria.append(criterion)
    return Rubric.from_dict(criteria)


rubric = load("configs/rubrics/paper_review.json")
print(
    [c.name for c in rubric.rubric],
    [sorted(c.model_dump(exclude_none=True, exclude={"section"}).items()) for c in rubric.rubric],
)


async def main():
    e = yaml.safe_load(Path("configs/experiments/v2.yaml").read_text())
    dataset = RubricDataset(prompt="Evaluate this review", rubric=rubric, name="peer-reviews")
    for n in range(5):
        dataset.add_item(
            submission=f"This paper presents approach {n}",
            description=f"review {n}",
            ground_truth=[CriterionVerdict.MET, CriterionVerdict.UNMET, CriterionVerdict.MET],
        )
    grader = CriterionGrader(
        llm_config=LLMConfig(**e["llm"]), few_shot_config=FewShotConfig(**e.get("few_shot", {}))
    )
    settings = EvalConfig(experiment_name=e["name"], **e.get("evaluation", {}))
    result = await evaluate(dataset, grader, **vars(settings))
    print(
        result.total_items,
        result.successful_items,
        result.experiment_name,
        [round(s, 4) for s in result.get_scores()],
    )


asyncio.run(main())
