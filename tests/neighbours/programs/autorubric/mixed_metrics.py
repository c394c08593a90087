import asyncio, random
from autorubric import *
from autorubric.graders import CriterionGrader

opts = lambda *p: [CriterionOption(label=l, value=v) for l, v in p]
rubric = Rubric(
    [
        Criterion(name="a", weight=10, requirement="is right"),
        Criterion(
            name="sat",
            weight=6,
            requirement="how satisfied",
            scale_type="ordinal",
            options=opts(("1", 0), ("2", 0.5), ("3", 1)),
        ),
        Criterion(
            name="nat",
            weight=4,
            requirement="natural?",
            scale_type="nominal",
            options=opts(("yes", 1), ("no", 0), ("meh", 0.5)),
        ),
    ]
)
ds = RubricDataset(prompt="P", rubric=rubric, name="charm")
r = random.Random(5)
for i in range(20):
    ds.add_item(
        f"chat {i}",
        f"c{i}",
        [
            r.choice([CriterionVerdict.MET, CriterionVerdict.UNMET]),
            r.choice("123"),
            r.choice(["yes", "no", "meh"]),
        ],
    )


async def main():
    res = await evaluate(
        ds, CriterionGrader(llm_config=LLMConfig(model="openai/m"), seed=1), show_progress=False
    )
    m = res.compute_metrics(ds)
    f = lambda x: None if x is None else round(x, 6)
    print(
        f(m.criterion_accuracy),
        f(m.macro_accuracy),
        f(m.mean_kappa),
        f(m.micro_kappa),
        m.n_binary_criteria,
        m.n_ordinal_criteria,
        m.n_nominal_criteria,
        m.n_samples,
    )
    for c in m.per_criterion:
        if c.criterion_type == "binary":
            print(c.name, f(c.accuracy), f(c.kappa))
        else:
            print(
                c.name,
                c.criterion_type,
                f(c.exact_accuracy),
                f(getattr(c, "weighted_kappa", None) if c.criterion_type == "ordinal" else c.kappa),
                c.kappa_interpretation,
                c.n_samples,
            )
            print(
                [
                    (o.label, f(o.precision), f(o.recall), f(o.f1), o.support_true, o.support_pred)
                    for o in c.per_option
                ],
                c.confusion_matrix.matrix,
            )
            if c.criterion_type == "ordinal":
                print(f(c.adjacent_accuracy), f(c.rmse), f(c.mae), f(c.spearman.coefficient))


asyncio.run(main())
