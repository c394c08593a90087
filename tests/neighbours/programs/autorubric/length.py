import asyncio
from autorubric import Rubric, LengthPenalty, LLMConfig, compute_length_penalty, word_count
from autorubric.graders import CriterionGrader

lp = LengthPenalty(free_budget=5, max_cap=10, penalty_at_cap=0.5, exponent=1.6)
for n in (3, 6, 8, 10, 20):
    print(n, round(compute_length_penalty("w " * n, lp), 6))
print(word_count("one two  three"))


async def main():
    rubric = Rubric.from_dict(
        [{"requirement": "is good"}, {"requirement": "is sound", "weight": 4}]
    )
    g = CriterionGrader(llm_config=LLMConfig(model="openai/m"), length_penalty=lp)
    for t in ("one two three", "one two three four five six seven eight"):
        r = await rubric.grade(to_grade=t, grader=g)
        print(r.score if r.score is None else round(r.score, 5), r.raw_score is not None)
    out = LengthPenalty(free_budget=2, max_cap=4, penalty_type="OUTPUT_ONLY")
    g = CriterionGrader(llm_config=LLMConfig(model="openai/m"), length_penalty=out)
    r = await rubric.grade(to_grade={"thinking": "a b c d e f", "output": "x"}, grader=g)
    print(round(r.score, 5))
    r = await rubric.grade(to_grade="<thinking>a b c d</thinking><output>x y z</output>", grader=g)
    print(round(r.score, 5))


asyncio.run(main())
