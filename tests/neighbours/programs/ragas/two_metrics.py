import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from langchain_openai import ChatOpenAI
from ragas.llms import LangchainLLMWrapper

llm = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=ADDRESS, api_key="none"))
from ragas import evaluate, EvaluationDataset
from ragas.metrics import RubricsScore

ds = EvaluationDataset.from_list(
    [{"user_input": f"q{i}", "response": f"a [[{i}]]", "reference": "ref"} for i in (1, 2)]
)
yes = {"score0_description": "no", "score1_description": "yes"}
r = evaluate(
    ds,
    metrics=[
        RubricsScore(name="quality", llm=llm),
        RubricsScore(
            name="other", rubrics={f"score{i}_description": str(i) for i in range(1, 4)}, llm=llm
        ),
    ],
    show_progress=False,
    batch_size=2,
)
print(r.scores)
print(r["other"])
