import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from langchain_openai import ChatOpenAI
from ragas.llms import LangchainLLMWrapper

llm = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=ADDRESS, api_key="none"))
from ragas.dataset_schema import SingleTurnSample
from ragas.metrics import RubricsScore

sample = SingleTurnSample(
    response="The Earth is flat [[1]]", reference="round", user_input="Is it flat?"
)
rubrics = {
    "score1_description": "wrong",
    "score2_description": "mostly wrong",
    "score3_description": "half",
    "score4_description": "mostly right",
    "score5_description": "right",
}
scorer = RubricsScore(rubrics=rubrics, llm=llm)
print(asyncio.run(scorer.single_turn_ascore(sample)), scorer.name, scorer.rubrics == rubrics)
