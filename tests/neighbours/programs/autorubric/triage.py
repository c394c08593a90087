from autorubric import Rubric, RubricDataset, CriterionVerdict, DataItem, Criterion

M, U, C = CriterionVerdict.MET, CriterionVerdict.UNMET, CriterionVerdict.CANNOT_ASSESS
rubric = Rubric.from_dict(
    [
        {
            "name": "symptom_acknowledgment",
            "weight": 10.0,
            "requirement": "Acknowledges the symptoms",
        },
        {
            "name": "appropriate_urgency",
            "weight": 15.0,
            "requirement": "Correctly assesses urgency level",
        },
        {"name": "safe_guidance", "weight": 12.0, "requirement": "Provides safe guidance"},
        {"name": "dangerous_advice", "weight": -20.0, "requirement": "Gives dangerous advice"},
    ]
)
d = RubricDataset(
    prompt="Patient describes their symptoms.", rubric=rubric, name="medical-triage-v1"
)
for n in range(10):
    d.add_item(
        submission=f"\nresponse {n}\n",
        description=f"case {n}",
        ground_truth=[[M, M, M, U], [U, U, U, M], [C, M, M, U]][n % 3],
    )
d.add_item(submission="no labels", description="new")
d.to_file("t.json")
back = RubricDataset.from_file("t.json")
print(back.name, len(back), back.num_criteria, back.criterion_names, back.total_positive_weight)
print(
    [item.description for item in back][:3],
    back[0].submission == d[0].submission,
    back[-1].ground_truth,
)
print(
    [v.value for v in back[2].ground_truth], isinstance(back[2].ground_truth[0], CriterionVerdict)
)
labelled = RubricDataset(prompt=d.prompt, rubric=rubric, items=d.items[:10], name="l")
train, test = labelled.split_train_test(n_train=6, stratify=True, seed=42)
print(
    len(train),
    len(test),
    train.name,
    test.name,
    sorted(i.description for i in [*train, *test]) == sorted(i.description for i in labelled),
)
again, _ = labelled.split_train_test(n_train=6, stratify=True, seed=42)
print([i.description for i in again] == [i.description for i in train])
plain, rest = labelled.split_train_test(n_train=3, stratify=False, seed=1)
print(len(plain), len(rest))
for wrong in (
    lambda: labelled.split_train_test(n_train=11),
    lambda: labelled.split_train_test(n_train=0),
    lambda: d.add_item("x", "y", [M]),
):
    try:
        wrong()
        print("taken")
    except ValueError as e:
        print("ValueError")
own = RubricDataset(
    prompt=None,
    rubric=None,
    items=[
        DataItem(
            submission="a",
            description="q1",
            rubric=Rubric([Criterion(weight=1.0, requirement="Correct answer for Q1")]),
            prompt="6 x 7?",
            reference_submission="42",
        )
    ],
)
print(
    own.get_item_prompt(0),
    own.get_item_reference_submission(0),
    own.get_item_rubric(0).rubric[0].requirement,
    own.get_item_rubric(0).rubric[0].name,
)
print(
    d.compute_weighted_score([M, M, M, U]),
    d.compute_weighted_score([M, U, C, M]),
    d.compute_weighted_score([M, M, M, M], normalize=False),
)
text = d.to_json()
print(RubricDataset.from_json(text).to_json() == text, sorted(__import__("json").loads(text)))
