import asyncio
from autorubric import (
    Rubric,
    LLMConfig,
    CriterionVerdict,
    TokenUsage,
    aggregate_token_usage,
    aggregate_completion_cost,
    aggregate_evaluation_usage,
    parse_thinking_output,
    normalize_to_grade_input,
    word_count,
    extract_verdicts_from_report,
    filter_cannot_assess,
    verdict_to_binary,
    verdict_to_string,
)
from autorubric.graders import CriterionGrader

rubric = Rubric.from_dict(
    [{"name": "a", "weight": 2, "requirement": "is a"}, {"name": "b", "requirement": "is b"}]
)


async def main():
    grader = CriterionGrader(judge_model_config=LLMConfig(model="openai/m"))
    results = await asyncio.gather(*[rubric.grade(f"answer {n}", grader) for n in range(3)])
    usage, cost = aggregate_evaluation_usage(results)
    print(usage is not None and usage.total_tokens == usage.prompt_tokens + usage.completion_tokens)
    total = aggregate_token_usage([r.token_usage for r in results])
    print(total == usage, total.total_tokens == sum(r.token_usage.total_tokens for r in results))
    print(
        aggregate_completion_cost([None, 0.25, 0.5, None]),
        aggregate_completion_cost([]),
        aggregate_completion_cost([None]),
    )
    print(aggregate_token_usage([]), aggregate_token_usage([None, None]))
    a, b = (
        TokenUsage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
        TokenUsage(prompt_tokens=1, completion_tokens=1, total_tokens=2),
    )
    print(
        (a + b).total_tokens,
        sum([a, b], TokenUsage()).prompt_tokens,
        aggregate_token_usage([a, None, b]).completion_tokens,
    )
    for r in results:
        verdicts = extract_verdicts_from_report(r, num_criteria=len(rubric.rubric))
        print(verdict_to_string(verdicts), verdict_to_binary(verdicts))
    M, U, C = CriterionVerdict.MET, CriterionVerdict.UNMET, CriterionVerdict.CANNOT_ASSESS
    print([tuple(v.value for v in side) for side in filter_cannot_assess([M, C, U], [M, M, C])])
    print(verdict_to_binary([M, U, C]), verdict_to_string([C]))
    for text in (
        "<thinking>why</thinking><output>so</output>",
        "no marks",
        "<output>only</output>",
        "<THINKING>a</THINKING> <Output>b</Output>",
        "",
        "<thinking>open",
    ):
        print(parse_thinking_output(text), normalize_to_grade_input(text))
    print(
        normalize_to_grade_input({"thinking": "t", "output": "o"}),
        word_count("one two  three\nfour"),
        word_count(""),
    )
    try:
        print(normalize_to_grade_input({"output": "o"}))
    except Exception as e:
        print(type(e).__name__)


asyncio.run(main())
