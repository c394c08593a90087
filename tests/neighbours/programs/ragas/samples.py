import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]
from ragas.dataset_schema import SingleTurnSample, EvaluationDataset, MultiTurnSample
from ragas.messages import HumanMessage, AIMessage

s = SingleTurnSample(
    user_input="q",
    retrieved_contexts=["c"],
    response="r",
    reference="g",
    rubrics={"score1_description": "a", "score2_description": "b"},
)
print(s.rubrics, s.user_input, s.to_dict(), s.get_features())
print(SingleTurnSample(user_input="x").response, s.model_dump(exclude_none=True) == s.to_dict())
try:
    EvaluationDataset(samples=[s, MultiTurnSample(user_input=[HumanMessage(content="h")])])
    print("no")
except ValueError:
    print("mixed refused")
ds = EvaluationDataset.from_list([{"user_input": "q", "response": "a"}])
ds2 = EvaluationDataset.from_dict([{"user_input": "q", "response": "a"}])
print(ds == ds2, str(ds)[:60])
m = MultiTurnSample(
    user_input=[HumanMessage(content="h"), AIMessage(content="x")], reference_topics=["t"]
)
print(m.pretty_repr(), m.to_messages() if hasattr(m, "to_messages") else 0)
