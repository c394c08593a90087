import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from langchain_openai import ChatOpenAI
from ragas.llms import LangchainLLMWrapper

llm = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=ADDRESS, api_key="none"))
from datasets import Dataset
from ragas import evaluate
from ragas.metrics import RubricsScore

d = Dataset.from_dict(
    {
        "question": ["q1", "q2"],
        "answer": ["a [[2]]", "b [[4]]"],
        "contexts": [["c"], ["d"]],
        "ground_truth": ["g1", "g2"],
    }
)
r = evaluate(d, metrics=[RubricsScore(name="s", llm=llm)], show_progress=False)
print(r["s"])
df = r.to_pandas()
print(
    [c for c in ("user_input", "response", "retrieved_contexts", "reference") if c in df.columns],
    df["reference"].tolist(),
)
