import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from openai import AsyncOpenAI
from ragas.llms import llm_factory

llm = llm_factory("gpt-4o-mini", client=AsyncOpenAI(api_key="none", base_url=ADDRESS))
from ragas.metrics.collections import (
    DomainSpecificRubrics,
    RubricsScoreWithReference,
    RubricsScoreWithoutReference,
)


async def main():
    m = DomainSpecificRubrics(llm=llm)
    r = await m.ascore(user_input="q", response="a [[4]]")
    print(r.value, r.reason, m.name)
    m = DomainSpecificRubrics(llm=llm, with_reference=True, name="mine")
    r = await m.ascore(user_input="q", response="a [[2]]", reference="x")
    print(r.value, m.with_reference, m.name, sorted(m.rubrics), m.allowed_values)
    m = RubricsScoreWithReference(llm=llm)
    print((await m.ascore(user_input="q", response="a [[5]]", reference="x")).value, m.name)
    m = RubricsScoreWithoutReference(
        llm=llm,
        rubrics={
            "score1_description": "bad",
            "score2_description": "ok",
            "score3_description": "good",
        },
    )
    print(
        (await m.ascore(user_input="q", response="a [[3]]")).value,
        m.name,
        m.rubrics["score2_description"],
    )


asyncio.run(main())
