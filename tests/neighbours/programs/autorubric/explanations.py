import asyncio
from autorubric import Rubric, LLMConfig
from autorubric.graders import CriterionGrader, JudgeSpec

rubric = Rubric.from_dict(
    [
        {
            "name": "causes",
            "weight": 30.0,
            "requirement": "Identifies at least 2 major causes of the Industrial Revolution",
        },
        {
            "name": "effects",
            "weight": 30.0,
            "requirement": "Describes at least 2 major effects of the Industrial Revolution",
        },
        {
            "name": "structure",
            "weight": 12.0,
            "requirement": "Clear essay structure with introduction and logical flow",
        },
        {"name": "errors", "weight": -15.0, "requirement": "Contains significant factual errors"},
    ]
)


def format_feedback(result):
    lines = [f"Overall Score: {result.score:.0%}\n" if result.score is not None else "n/a"]
    met = [
        cr
        for cr in result.report
        if cr.final_verdict and cr.final_verdict.value == "MET" and cr.criterion.weight > 0
    ]
    unmet = [
        cr
        for cr in result.report
        if cr.final_verdict and cr.final_verdict.value == "UNMET" and cr.criterion.weight > 0
    ]
    errors = [
        cr
        for cr in result.report
        if cr.final_verdict and cr.final_verdict.value == "MET" and cr.criterion.weight < 0
    ]
    for title, group, mark in (
        ("Strengths", met, "+"),
        ("Improve", unmet, "-"),
        ("Errors", errors, "!"),
    ):
        if group:
            lines.append(title)
            lines += [f"  {mark} {cr.criterion.name}: {cr.final_reason}" for cr in group]
    return "\n".join(lines)


async def main():
    single = CriterionGrader(
        judge_model_config=LLMConfig(model="openai/gpt-4.1-mini", temperature=0.0)
    )
    many = CriterionGrader(
        judges=[
            JudgeSpec(LLMConfig(model="openai/a"), "gpt"),
            JudgeSpec(
                judge_model_config=LLMConfig(model="openai/b"), judge_id="claude", weight=1.0
            ),
        ],
        aggregation="majority",
    )
    for text in ("Essay one on Britain", "Essay two", "Essay three about steam"):
        result = await rubric.grade(
            to_grade=text, grader=single, query="Explain the causes and effects."
        )
        print(format_feedback(result))
        print(
            {
                cr.criterion.name: cr.final_reason
                for cr in result.report
                if cr.final_verdict and cr.final_verdict.value == "UNMET"
            }
        )
        result = await rubric.grade(
            to_grade=text, grader=many, query="Explain the causes and effects."
        )
        for cr in result.report:
            judge_reasons = cr.final_reason.split(" | ")
            print(f"[{cr.final_verdict.value}] {cr.criterion.name}")
            for i, reason in enumerate(judge_reasons):
                print(f"  Judge {i + 1}: {reason}")
            for vote in cr.votes:
                print(f"  {vote.judge_id}: {vote.verdict.value} - {vote.reason}")


asyncio.run(main())
