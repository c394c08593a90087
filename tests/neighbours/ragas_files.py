"""Datasets in files, by Ragas: `ragas_files.py write|read FOLDER`; prints what is in them."""

import json
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

from ragas import EvaluationDataset, MultiTurnSample, SingleTurnSample  # noqa: E402
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage  # noqa: E402

SINGLE = [
    SingleTurnSample(
        user_input='What, "you"?\nyes',
        response="Glass [1].",
        retrieved_contexts=["a 'quoted'", "b\nc"],
        reference="ref",
        retrieved_context_ids=["d1", 2],
        rubrics={"score1_description": "bad", "score2_description": "good"},
    ),
    SingleTurnSample(user_input="q2", response="r2", retrieved_contexts=["x"]),
]
MULTI = [
    MultiTurnSample(
        user_input=[
            HumanMessage(content='hi "there"'),
            AIMessage(content="ok", tool_calls=[ToolCall(name="t", args={"a": 1})]),
            ToolMessage(content="res"),
        ],
        reference="r",
        reference_topics=["t"],
        reference_tool_calls=[ToolCall(name="x", args={})],
    )
]


def main(what, folder):
    found = {}
    for name, samples in (("single", SINGLE), ("multi", MULTI)):
        if what == "write":
            dataset = EvaluationDataset(samples)
            dataset.to_jsonl(folder / f"{name}.jsonl")
        else:
            dataset = EvaluationDataset.from_jsonl(folder / f"{name}.jsonl")
        found[name] = dataset.to_list()
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
