import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from langchain_openai import ChatOpenAI
from ragas.llms import LangchainLLMWrapper

llm = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=ADDRESS, api_key="none"))
from ragas import evaluate, EvaluationDataset, SingleTurnSample
from ragas.metrics import InstanceRubrics

dataset = [
    {
        "user_input": "q1",
        "response": "r [[0]]",
        "reference": "x",
        "rubrics": {"score0_description": "off-topic", "score1_description": "relevant"},
    },
    {
        "user_input": "q2",
        "response": "r2 [[2]]",
        "reference": "y",
        "rubrics": {
            "score1_description": "slow",
            "score2_description": "fast",
            "score3_description": "faster",
        },
    },
]
r = evaluate(
    dataset=EvaluationDataset.from_list(dataset),
    metrics=[InstanceRubrics(llm=llm)],
    llm=llm,
    show_progress=False,
)
print(r.scores, r["instance_rubrics"], list(r.to_pandas().columns)[:3])
