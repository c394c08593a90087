import asyncio, random, json
from autorubric import *
from autorubric.graders import CriterionGrader, JudgeSpec

rubric = Rubric.from_dict(
    [
        {"name": "x", "weight": 10, "requirement": "is x"},
        {"name": "y", "weight": 8, "requirement": "is y"},
    ]
)
ds = RubricDataset(prompt="P", rubric=rubric, name="c")
r = random.Random(4)
for i in range(24):
    ds.add_item(
        f"post {i}",
        f"p{i}",
        [CriterionVerdict.MET if r.random() < 0.5 else CriterionVerdict.UNMET for _ in range(2)],
    )


async def main():
    g = CriterionGrader(
        judges=[
            JudgeSpec(LLMConfig(model="openai/one"), "one"),
            JudgeSpec(LLMConfig(model="openai/two"), "two"),
            JudgeSpec(LLMConfig(model="openai/three"), "three"),
        ],
        aggregation="majority",
    )
    result = await evaluate(ds, g, show_progress=False)
    m = result.compute_metrics(
        ds, bootstrap=True, n_bootstrap=1000, confidence_level=0.95, seed=42, per_judge=True
    )
    f = lambda x: None if x is None else round(x, 6)
    for judge_id, jm in sorted(m.per_judge.items()):
        print(
            f"{judge_id}: Accuracy={jm.criterion_accuracy:.1%}, RMSE={jm.score_rmse:.4f}",
            f(jm.mean_kappa),
            f(jm.phi),
            f(jm.criterion_f1),
            f(jm.bias.mean_bias),
        )
    print(f(m.mean_krippendorff_alpha), [f(c.krippendorff_alpha) for c in m.per_criterion])
    lo, hi = m.bootstrap.accuracy_ci
    print(
        lo < m.criterion_accuracy < hi,
        m.bootstrap.kappa_ci[0] < m.micro_kappa < m.bootstrap.kappa_ci[1],
        m.bootstrap.n_bootstrap,
        m.bootstrap.confidence_level,
    )
    df = m.to_dataframe()
    print(
        list(df["level"]),
        list(df["name"]),
        [f(x) for x in df["accuracy_micro"]],
        [f(x) for x in df["rmse"] if x == x],
    )
    m.to_file("metrics.json")
    d = json.load(open("metrics.json"))
    print(
        f(d["criterion_accuracy"]),
        f(d["bias"]["mean_bias"]),
        [c["name"] for c in d["per_criterion"]],
        sorted(d["per_judge"]),
    )
    print(len(m.summary()) > 50)


asyncio.run(main())
