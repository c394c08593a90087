import asyncio
from autorubric import Rubric, Criterion, CriterionOption, LLMConfig
from autorubric.graders import CriterionGrader, JudgeSpec

rubric = Rubric(
    [
        Criterion(
            name="satisfaction",
            weight=10,
            requirement="How satisfied?",
            scale_type="ordinal",
            options=[
                CriterionOption(label="1", value=0.0),
                CriterionOption(label="2", value=0.33),
                CriterionOption(label="3", value=0.67),
                CriterionOption(label="4", value=1.0),
            ],
        ),
        Criterion(
            name="kind",
            weight=5,
            requirement="Which kind?",
            scale_type="nominal",
            options=[
                CriterionOption(label="too few", value=0),
                CriterionOption(label="ok", value=1),
                CriterionOption(label="too many", value=0),
            ],
        ),
        Criterion(name="plain", weight=3, requirement="is fine"),
    ]
)


async def main():
    g = CriterionGrader(llm_config=LLMConfig(model="openai/m"), seed=42)
    e = CriterionGrader(
        judges=[
            JudgeSpec(LLMConfig(model="openai/a"), "a"),
            JudgeSpec(LLMConfig(model="openai/b"), "b"),
            JudgeSpec(LLMConfig(model="openai/c"), "c"),
        ],
        ordinal_aggregation="median",
        nominal_aggregation="mode",
    )
    for grader in (g, e):
        for text in ("dialogue one", "dialogue two", "dialogue three"):
            r = await rubric.grade(to_grade=text, grader=grader)
            print(round(r.score, 5))
            for cr in r.report:
                mc = cr.final_multi_choice_verdict
                if mc:
                    print(
                        "  ",
                        cr.criterion.name,
                        mc.selected_label,
                        mc.selected_index,
                        mc.value,
                        mc.na,
                        round(mc.aggregated_value, 5),
                        [(v.judge_id, v.selected_label, v.value) for v in cr.multi_choice_votes],
                        cr.is_na,
                        cr.final_verdict,
                    )
                else:
                    print("  ", cr.criterion.name, cr.final_verdict.value, cr.multi_choice_votes)
    c = rubric.rubric[0]
    print(
        c.get_option_value(2),
        c.find_option_by_label("2"),
        c.is_multi_choice,
        [o.label for o in c.options],
    )


asyncio.run(main())
