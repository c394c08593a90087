import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from langchain_openai import ChatOpenAI
from ragas.llms import LangchainLLMWrapper

llm = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=ADDRESS, api_key="none"))
from datasets import Dataset
from ragas import evaluate
from ragas.metrics import RubricsScore

d = Dataset.from_dict({"q": ["q1", "q2"], "a": ["a [[2]]", "b [[5]]"]})
r = evaluate(
    d,
    metrics=[RubricsScore(name="s")],
    llm=llm,
    column_map={"user_input": "q", "response": "a"},
    show_progress=False,
)
print(r["s"])
