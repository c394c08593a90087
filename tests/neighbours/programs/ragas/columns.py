import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]
from langchain_openai import ChatOpenAI
from ragas.llms import LangchainLLMWrapper

llm = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=ADDRESS, api_key="none"))
from ragas.metrics import RubricsScore
from ragas.metrics._domain_specific_rubrics import (
    RubricsScore as Inner,
    DEFAULT_WITH_REFERENCE_RUBRICS,
    DEFAULT_REFERENCE_FREE_RUBRICS,
)
from ragas.metrics.base import MetricType, MetricWithLLM, MultiTurnMetric, SingleTurnMetric
from ragas.llms.base import BaseRagasLLM

m = RubricsScore(llm=llm)
print(
    Inner is RubricsScore,
    isinstance(m, MetricWithLLM),
    isinstance(m, SingleTurnMetric),
    isinstance(m, MultiTurnMetric),
    isinstance(llm, BaseRagasLLM),
)
print(m.rubrics == DEFAULT_REFERENCE_FREE_RUBRICS, sorted(DEFAULT_WITH_REFERENCE_RUBRICS), m.name)
print({str(k): sorted(v) for k, v in m.required_columns.items()})
from ragas.metrics import InstanceRubrics

print({k: sorted(v) for k, v in InstanceRubrics().required_columns.items()})
print(
    {
        k: sorted(v)
        for k, v in RubricsScore(
            required_columns={MetricType.SINGLE_TURN: {"user_input", "response:optional"}}
        ).required_columns.items()
    }
)
print([t.name for t in MetricType])
from ragas.dataset_schema import SingleTurnSample

print(m.single_turn_score(SingleTurnSample(user_input="q", response="r [[3]]")))
m2 = RubricsScore(rubrics={"score1_description": "a", "score2_description": "b"})
try:
    m2.single_turn_score(SingleTurnSample(user_input="q", response="r [[1]]"))
except Exception as e:
    print("needs an llm")
m2.llm = llm
print(m2.single_turn_score(SingleTurnSample(user_input="q", response="r [[2]]")))
