"""A reward in the trainers' own workers: what they make of it, as JSON.

    python trainers_program.py verl|openrlhf JUDGE_URL FOLDER

verl: its reward loop, three workers on a batch of a `DataProto`. OpenRLHF: its executor of single
turns, in two actors, with an engine that says fixed answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ray

REWARD = """\
import os

from rubricate import Criterion, Rubric
from rubricate.ray import shared_reward

rubric = Rubric(
    [
        Criterion(name="speed", weight=2.0, requirement="Gives roughly 300000 kilometres"),
        Criterion(name="boasting", weight=-1.0, requirement="Praises itself shamelessly"),
    ]
)
reward = shared_reward("light", rubric, "m", base_url=os.environ["JUDGE"], on_failure="raise")


async def compute_score(data_source, solution_str, ground_truth, extra_info=None, **others):
    [score] = await reward.acall([solution_str], [extra_info["question"]], reference=[ground_truth])
    return score


def reward_func(queries, prompts, labels, **others):
    import torch

    texts = [query[len(prompt) :] for query, prompt in zip(queries, prompts, strict=True)]
    scores = torch.tensor(reward(texts, prompts, reference=labels))
    return {"rewards": scores, "scores": scores, "extra_logs": {}}
"""
QUESTION, TRUTH = "how fast is light", "299792 kilometres"
ANSWERS = [
    f"{answer}{' .' * number}"
    for number in range(4)
    for answer in (
        "roughly 300000 kilometres",
        "praises itself shamelessly",
        "roughly 300000 kilometres praises itself",
    )
]
WORDS = f"<pad> <eos> <unk> {QUESTION} roughly 300000 kilometres praises itself shamelessly ."


def tokenizer() -> Any:
    """Words as tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate(WORDS.split())}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def verl(folder: Path) -> list[float]:
    """The scores that stand at the last tokens of the answers."""
    import numpy
    import torch
    import verl
    from hydra import compose, initialize_config_dir
    from tensordict import TensorDict
    from verl.experimental.reward_loop.reward_loop import (
        RewardLoopManager,
        migrate_legacy_reward_impl,
    )

    tokens = tokenizer()
    tokens.save_pretrained(folder)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    asked, count = tokens(QUESTION)["input_ids"], len(ANSWERS)
    responses = torch.zeros((count, 16), dtype=torch.long)
    mask = torch.zeros((count, len(asked) + 16), dtype=torch.long)
    mask[:, : len(asked)] = 1
    for row, answer in enumerate(ANSWERS):
        said = [*tokens(answer)["input_ids"], tokens.eos_token_id]
        responses[row, : len(said)] = torch.tensor(said)
        mask[row, len(asked) : len(asked) + len(said)] = 1
    texts = {
        "data_source": ["light"] * count,
        "reward_model": [{"ground_truth": TRUTH}] * count,
        "extra_info": [{"question": QUESTION} for _ in ANSWERS],
    }
    tensors = {"prompts": torch.tensor([asked] * count), "responses": responses}
    batch = verl.DataProto(
        batch=TensorDict({**tensors, "attention_mask": mask}, batch_size=count),
        non_tensor_batch={name: numpy.array(one, dtype=object) for name, one in texts.items()},
    )
    settings = Path(verl.__file__).parent / "trainer" / "config"
    with initialize_config_dir(str(settings), version_base=None):
        told = [
            f"actor_rollout_ref.model.path={folder}",
            f"reward.custom_reward_function.path={folder / 'reward.py'}",
            "reward.num_workers=3",
        ]
        config = compose("ppo_trainer", overrides=told)
    scored = RewardLoopManager(migrate_legacy_reward_impl(config)).compute_rm_score(batch)
    last = mask[:, len(asked) :].sum(1) - 1
    return scored.batch["rm_scores"][torch.arange(count), last].tolist()


class Engine:
    """Says one answer after the other."""

    def __init__(self, tokens: Any, answers: list[str]) -> None:
        self._said = iter([tokens(answer)["input_ids"] for answer in answers])

    async def generate(self, *asked: Any, **how: Any) -> Any:
        """The next answer, as vLLM gives it."""
        said = SimpleNamespace(token_ids=next(self._said), finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[said])


@ray.remote(num_cpus=0.5)
class Rollouts:
    """What an actor of OpenRLHF does with its engine."""

    async def rewards(self, file: str, answers: list[str]) -> list[list[float] | None]:
        """The rewards of answers; None where OpenRLHF got none."""
        from openrlhf.utils.agent import SingleTurnAgentExecutor

        tokens, executor = tokenizer(), SingleTurnAgentExecutor(file)
        engine, how = Engine(tokens, answers), SimpleNamespace(max_tokens=32, logprobs=None)
        told = (QUESTION, TRUTH, how, 256, tokens, engine)
        found = await asyncio.gather(*(executor.execute(*told) for _ in answers))
        return [None if one["reward"] is None else one["reward"].tolist() for one in found]


def openrlhf(folder: Path) -> list[list[float] | None]:
    """The rewards of two actors."""
    half, file = len(ANSWERS) // 2, str(folder / "reward.py")
    parts = [ANSWERS[:half], ANSWERS[half:]]
    found = ray.get([Rollouts.remote().rewards.remote(file, part) for part in parts])
    return [reward for part in found for reward in part]


def main() -> None:
    """Run one of them."""
    which, url, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    (folder / "reward.py").write_text(REWARD)
    environment = {"JUDGE": url, "PYTHONPATH": os.environ["PYTHONPATH"]}
    ray.init(
        "local",
        num_cpus=4,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="CRITICAL",
        runtime_env={"env_vars": environment},
    )
    try:
        found = {"verl": verl, "openrlhf": openrlhf}[which](folder)
    except Exception as error:
        found = str(error).strip().splitlines()[-1]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
