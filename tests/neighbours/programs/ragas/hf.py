import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]
from ragas import EvaluationDataset, SingleTurnSample

ds = EvaluationDataset(
    samples=[
        SingleTurnSample(user_input="q", response="a", reference="r", retrieved_contexts=["x"]),
        SingleTurnSample(user_input="q2", response="a2", reference="r2", retrieved_contexts=["y"]),
    ]
)
hf = ds.to_hf_dataset()
print(hf.column_names, len(hf), hf[0]["response"])
print(EvaluationDataset.from_hf_dataset(hf)[1].reference)
ds.to_jsonl("d.jsonl")
print(len(EvaluationDataset.from_jsonl("d.jsonl")))
p = ds.to_pandas()
print(EvaluationDataset.from_pandas(p)[0].response, list(p.columns))
print(ds.to_list()[0])
print(ds.features(), ds.get_sample_type().__name__, ds.is_multi_turn())
ds.to_csv("d.csv")
print(os.path.exists("d.csv"))
print([s.user_input for s in ds], len(ds[0:1]))
print(ds[0].get_features(), ds[0].to_dict()["response"])
