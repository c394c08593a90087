import asyncio
from autorubric import Rubric, Criterion, CriterionVerdict, LLMConfig, EvaluationReport
from autorubric.graders import CriterionGrader, Grader


async def main():
    rubric = Rubric(
        [
            Criterion(name="accuracy", weight=10.0, requirement="States the correct answer"),
            Criterion(name="clarity", weight=5.0, requirement="Explains reasoning clearly"),
            Criterion(weight=-15.0, requirement="Contains factual errors"),
        ]
    )
    for c in rubric.rubric:
        print(
            c.name, c.weight, c.requirement, c.is_binary, c.is_multi_choice, c.options, c.scale_type
        )
    grader = CriterionGrader(llm_config=LLMConfig(model="openai/gpt-4.1-mini"))
    result = await rubric.grade(to_grade="Some text", grader=grader)
    print(
        f"Score: {result.score:.2f}" if result.score is not None else "n/a",
        result.raw_score,
        result.llm_raw_score,
        result.error,
        result.cannot_assess_count,
    )
    for cr in result.report:
        verdict = cr.final_verdict.value if cr.final_verdict is not None else "n/a"
        print(
            f" [{verdict}] {cr.criterion.name or cr.criterion.requirement}: {cr.final_reason}",
            cr.agreement,
            len(cr.votes),
            cr.votes[0].judge_id,
            cr.votes[0].weight,
        )
    met = [cr for cr in result.report if cr.final_verdict == CriterionVerdict.MET]
    print(
        len(met), result.token_usage is not None, isinstance(result.token_usage.total_tokens, int)
    )
    raw = CriterionGrader(llm_config=LLMConfig(model="openai/gpt-4.1-mini"), normalize=False)
    print((await rubric.grade(to_grade="Some text", grader=raw)).score)
    print(
        [
            rubric.compute_score(
                [CriterionVerdict.MET, CriterionVerdict.UNMET, CriterionVerdict.UNMET]
            ),
            rubric.compute_score(["MET", "MET", "MET"], normalize=False),
        ]
    )


asyncio.run(main())
