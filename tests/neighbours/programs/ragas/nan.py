import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from langchain_openai import ChatOpenAI
from ragas.llms import LangchainLLMWrapper

llm = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=ADDRESS, api_key="none"))
import math
from ragas import evaluate, EvaluationDataset
from ragas.metrics import RubricsScore

ds = EvaluationDataset.from_list(
    [{"user_input": "q", "response": "a [[2]]"}, {"user_input": "q", "response": "b [[99]]"}]
)
r = evaluate(
    ds,
    metrics=[RubricsScore(name="s", llm=llm, max_retries=0)],
    show_progress=False,
    raise_exceptions=False,
)
print(
    r["s"][0],
    math.isnan(r["s"][1]),
    math.isnan(r.scores[1]["s"]),
    r.to_pandas()["s"].isna().tolist(),
)
