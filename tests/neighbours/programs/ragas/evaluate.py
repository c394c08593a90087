import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from langchain_openai import ChatOpenAI
from ragas.llms import LangchainLLMWrapper

llm = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=ADDRESS, api_key="none"))
from ragas import evaluate, EvaluationDataset, RunConfig
from ragas.metrics import RubricsScore

ds = EvaluationDataset.from_list(
    [
        {
            "user_input": f"q{i}",
            "response": f"a [[{i}]]",
            "reference": "ref",
            "retrieved_contexts": ["c1", "c2"],
        }
        for i in (1, 3, 5)
    ]
)
r = evaluate(
    ds,
    metrics=[RubricsScore(name="quality")],
    llm=llm,
    run_config=RunConfig(timeout=60, max_workers=4),
    show_progress=False,
)
df = r.to_pandas()
print(
    list(df["quality"]),
    [s["quality"] for s in r.scores],
    len(df),
    df["user_input"].tolist(),
    df["retrieved_contexts"].tolist(),
)
print(ds.features(), len(ds), ds[0].response, ds.is_multi_turn(), ds.get_sample_type().__name__)
