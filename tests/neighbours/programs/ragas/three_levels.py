import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]
from openai import AsyncOpenAI
from ragas.llms import llm_factory

llm = llm_factory("gpt-4o-mini", client=AsyncOpenAI(api_key="none", base_url=ADDRESS))
from ragas.metrics.collections import DomainSpecificRubrics


async def main():
    metric = DomainSpecificRubrics(llm=llm)
    result = await metric.ascore(
        user_input="What's the longest river in the world?",
        response="The longest river in the world is the Nile. [[4]]",
    )
    print(f"Score: {result.value}, Feedback: {result.reason}")
    metric_with_ref = DomainSpecificRubrics(llm=llm, with_reference=True)
    result = await metric_with_ref.ascore(
        user_input="What's the longest river in the world?",
        response="The Nile [[5]]",
        reference="The Nile is a major north-flowing river in northeastern Africa.",
    )
    print(f"Score: {result.value}, Feedback: {result.reason}")
    own = DomainSpecificRubrics(
        llm=llm,
        rubrics={
            "score1_description": "wrong",
            "score2_description": "partly",
            "score3_description": "right",
        },
    )
    result = await own.ascore(
        user_input="q",
        response="x [[2]]",
        retrieved_contexts=["c1", "c2"],
        reference_contexts=["r1"],
    )
    print(result.value, result.reason, str(result), type(result.value).__name__)
    print(own.name, own.with_reference, sorted(own.rubrics), own.allowed_values)


asyncio.run(main())
