import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from openai import AsyncOpenAI
from ragas.llms import llm_factory

llm = llm_factory("gpt-4o-mini", client=AsyncOpenAI(api_key="none", base_url=ADDRESS))
from ragas.metrics.collections import InstanceSpecificRubrics


async def main():
    m = InstanceSpecificRubrics(llm=llm)
    r = await m.ascore(
        user_input="q",
        response="a [[2]]",
        rubrics={
            "score1_description": "bad",
            "score2_description": "ok",
            "score3_description": "good",
        },
    )
    print(r.value, r.reason, m.name)


asyncio.run(main())
