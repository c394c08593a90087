import json, yaml
from autorubric import *

yaml.safe_dump(
    [{"name": "a", "weight": 10, "requirement": "is a"}, {"requirement": "is b", "weight": -3}],
    open("r.yaml", "w"),
)
json.dump(
    {
        "sections": [
            {"name": "s", "criteria": [{"requirement": "x"}, {"requirement": "y", "weight": 2}]}
        ]
    },
    open("r.json", "w"),
)
for f in ("r.yaml", "r.json"):
    r = Rubric.from_file(f)
    print([(c.name, c.weight, c.requirement) for c in r.rubric])
print(
    [(c.name, c.weight) for c in Rubric.from_yaml(open("r.yaml").read()).rubric],
    [(c.weight) for c in Rubric.from_json(open("r.json").read()).rubric],
)
ds = RubricDataset(
    prompt="p", rubric=Rubric.from_file("r.yaml"), name="n", reference_submission="ref"
)
ds.add_item("s1", "d1", [CriterionVerdict.MET, CriterionVerdict.CANNOT_ASSESS])
ds.add_item("s2", "d2", reference_submission="own")
print(
    ds.num_criteria,
    ds.total_positive_weight,
    ds.criterion_names,
    ds.compute_weighted_score([CriterionVerdict.MET, CriterionVerdict.UNMET]),
    ds.get_item_reference_submission(0),
    ds.get_item_reference_submission(1),
)
ds.to_file("d.json")
b = RubricDataset.from_file("d.json")
print(
    b.prompt,
    b.name,
    len(b),
    b[0].ground_truth,
    b[1].ground_truth,
    b[0].submission,
    [i.description for i in b],
)
t = b.to_json()
print(RubricDataset.from_json(t).name)
train, test = RubricDataset(
    prompt="p", rubric=ds.rubric, items=[DataItem(f"s{i}", f"d{i}") for i in range(10)]
).split_train_test(n_train=3, stratify=False, seed=1)
print(
    len(train),
    len(test),
    sorted(i.description for i in list(train) + list(test)) == sorted(f"d{i}" for i in range(10)),
)
