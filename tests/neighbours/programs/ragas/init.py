import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]
from langchain_openai import ChatOpenAI
from ragas.llms import LangchainLLMWrapper

llm = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=ADDRESS, api_key="none"))
from ragas import EvaluationDataset, aevaluate
from ragas.metrics import RubricsScore
from ragas.run_config import RunConfig


async def main():
    ds = EvaluationDataset.from_list(
        [{"user_input": "q", "response": f"a [[{n}]]"} for n in (2, 4)]
    )
    r = await aevaluate(
        ds,
        metrics=[RubricsScore()],
        llm=llm,
        run_config=RunConfig(timeout=30, max_retries=2, max_workers=2),
        show_progress=False,
    )
    print(r.scores, r)
    metric = RubricsScore(llm=llm)
    metric.init(RunConfig())
    print(metric.name, metric.max_retries)
    print(
        await metric.single_turn_ascore(ds[0]), await metric.single_turn_ascore(ds[1], timeout=20)
    )


asyncio.run(main())
