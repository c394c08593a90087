import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from langchain_openai import ChatOpenAI
from ragas.llms import LangchainLLMWrapper

llm = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=ADDRESS, api_key="none"))
from ragas import evaluate, EvaluationDataset
from ragas.metrics import RubricsScore

ds = EvaluationDataset.from_list([{"user_input": "q", "response": "b [[99]]"}])
try:
    evaluate(
        ds,
        metrics=[RubricsScore(name="s", llm=llm, max_retries=0)],
        show_progress=False,
        raise_exceptions=True,
    )
    print("none")
except Exception as e:
    print("raised")
