import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from openai import AsyncOpenAI
from ragas.llms import llm_factory

llm = llm_factory("gpt-4o-mini", client=AsyncOpenAI(api_key="none", base_url=ADDRESS))
from ragas.metrics.collections import DomainSpecificRubrics


async def main():
    m = DomainSpecificRubrics(llm=llm)
    rs = await m.abatch_score(
        [{"user_input": "q", "response": "a [[1]]"}, {"user_input": "q", "response": "b [[5]]"}]
    )
    print([r.value for r in rs])
    r = rs[0]
    print(r.value + 1, float(r.value), r.reason)


asyncio.run(main())
