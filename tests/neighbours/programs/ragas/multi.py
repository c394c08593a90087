import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]

from langchain_openai import ChatOpenAI
from ragas.llms import LangchainLLMWrapper

llm = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=ADDRESS, api_key="none"))
from ragas.dataset_schema import MultiTurnSample
from ragas.messages import HumanMessage, AIMessage, ToolMessage, ToolCall
from ragas.metrics import RubricsScore

s = MultiTurnSample(
    user_input=[
        HumanMessage(content="Is a table free?"),
        AIMessage(content="Let me see", tool_calls=[ToolCall(name="t", args={"day": "today"})]),
        ToolMessage(content="one"),
        AIMessage(content="Yes [[4]]"),
    ],
    reference="ok",
)
print(s.pretty_repr(), [m.pretty_repr() for m in s.user_input])
print(asyncio.run(RubricsScore(llm=llm).multi_turn_ascore(s)))
