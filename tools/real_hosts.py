"""Run rubricate inside popular programs, and fail if something is wrong there.

    pip install torch trl                          # for: trainer
    pip install fastapi 'uvicorn[standard]' httpx  # for: server
    pip install ipykernel nbclient                 # for: notebook
    python tools/real_hosts.py trainer|server|notebook

The judge is a script on this machine; the trained model is a tiny one with random weights, created
here. Nothing is downloaded. See docs/rewards.md and docs/programs.md.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from rubricate import Criterion, HTTPModel, RewardFunction, Rubric, agrade_one, grade_one
from rubricate.testing import Rule, ScriptedEndpoint

RUBRIC = Rubric(
    [
        Criterion(name="speed", weight=2.0, requirement="Gives roughly 300000 kilometres"),
        Criterion(name="boasting", weight=-1.0, requirement="Praises itself shamelessly"),
    ],
    name="light",
)
GOOD = "Roughly 300000 kilometres."
WORDS = (
    "<pad> <eos> <unk> user assistant how fast is light roughly 300000 kilometres a second praises "
    "itself shamelessly"
)
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}assistant {% endif %}"
)
PORT = 8765


# A trainer: TRL


def tiny_model(folder: str) -> Any:
    """Create a one-layer model with random weights in a folder; returns its tokenizer."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate(WORDS.split())}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=128,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return tokenizer


def trainer() -> None:
    """Three steps each of GRPO and RLOO: text and chat, sync and async, with failures.

    In chats, each row has its own rubric.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

    fails = [Rule(submission="second", criterion="kilometres", reply="?")]
    ways = [
        (GRPOTrainer, GRPOConfig, False, False),
        (GRPOTrainer, GRPOConfig, True, True),
        (RLOOTrainer, RLOOConfig, True, False),
    ]
    for made, configured, chat, is_async in ways:
        asked: Any = "how fast is light"
        if chat:
            asked = [{"role": "user", "content": asked}]
        row: dict[str, Any] = {"prompt": asked, "reference": "300000 kilometres"}
        rows = [{**row, "id": number} for number in range(8)]
        if chat:  # each row has its own rubric, as a list of structs
            criteria = [criterion.to_dict() for criterion in RUBRIC.criteria]
            rows = [{**one, "rubric": [*criteria, {"requirement": "Is brief"}]} for one in rows]
        with tempfile.TemporaryDirectory() as folder, ScriptedEndpoint(fails) as endpoint:
            tokenizer = tiny_model(folder)
            with RewardFunction(RUBRIC, "m", base_url=endpoint.url) as reward:
                reward([GOOD])  # used before loaders fork
                run = made(
                    model=folder,
                    processing_class=tokenizer,
                    reward_funcs=[reward.acall if is_async else reward],
                    train_dataset=Dataset.from_list(rows),
                    args=configured(
                        output_dir=folder,
                        per_device_train_batch_size=4,
                        num_generations=4,
                        max_completion_length=8,
                        max_steps=3,
                        use_cpu=True,
                        bf16=False,
                        report_to="none",
                        logging_steps=1,
                        save_strategy="no",
                        disable_tqdm=True,
                        dataloader_num_workers=2,
                    ),
                )
                run.train()
            steps = [row for row in run.state.log_history if "rewards/light/mean" in row]
            assert len(steps) == 3, run.state.log_history
            assert all("light/failed" in row for row in steps), steps
            assert any("light/speed" in row for row in steps), steps
            assert all("300000 kilometres" in one.prefix for one in endpoint.requests[2:])
            asked_of = {one.criterion for one in endpoint.requests}
            assert any("Is brief" in criterion for criterion in asked_of) is chat, asked_of
            failed = sum(row["light/failed"] for row in steps) / 3
            form = "chat" if chat else "text"
            call = "acall" if is_async else "call"
            print(f"{made.__name__}, {form}, {call}: 3 steps, {failed:.0%} without a score: good")


# A web server: FastAPI under uvicorn and uvloop


def make_app() -> Any:
    """Create the application for uvicorn, in separate processes."""
    from contextlib import asynccontextmanager

    from fastapi import FastAPI

    judge = HTTPModel("m", base_url=os.environ["JUDGE"])

    @asynccontextmanager
    async def living(app: FastAPI) -> Any:
        yield
        await judge.aclose()
        print("closed", flush=True)

    app = FastAPI(lifespan=living)

    @app.get("/shared")
    async def shared(text: str) -> float | None:
        return (await agrade_one(RUBRIC, text, judge=judge)).score.value

    @app.get("/named")
    async def named(text: str) -> float | None:
        return (await agrade_one(RUBRIC, text, judge="m", base_url=judge.endpoint)).score.value

    @app.get("/plain")
    def plain(text: str) -> float | None:
        return grade_one(RUBRIC, text, judge="m", base_url=judge.endpoint).score.value

    @app.get("/impatient")
    async def impatient(text: str) -> str:
        try:
            async with asyncio.timeout(0.3):
                await agrade_one(RUBRIC, text, judge=judge)
        except TimeoutError:
            return "gave up"
        return "was in time"

    @app.get("/state")
    async def state() -> dict[str, Any]:
        return {
            "loop": type(asyncio.get_running_loop()).__module__,
            "tasks": [str(task.get_coro()) for task in asyncio.all_tasks()],
            "threads": [one.name for one in threading.enumerate() if "rubricate" in one.name],
        }

    return app


async def visit(server: subprocess.Popen[str]) -> None:
    """Request grades from the server, cancel some requests, and stop it while it grades."""
    import httpx

    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{PORT}", timeout=30) as client:

        async def get(path: str, text: str = GOOD) -> Any:
            return (await client.get(path, params={"text": text})).json()

        for _ in range(100):
            try:
                await get("/state")
                break
            except httpx.ConnectError:
                await asyncio.sleep(0.2)
        for path in ("/shared", "/named", "/plain"):
            found = await asyncio.gather(*(get(path) for _ in range(40)))
            assert found == [1.0] * 40, found
            print(f"{path}: 40 requests at once: good")
        assert (
            await asyncio.gather(*(get("/impatient", "slow") for _ in range(5))) == ["gave up"] * 5
        )
        state = await get("/state")
        assert state["loop"] == "uvloop", state
        assert not state["threads"], state
        assert not any("Execution" in task for task in state["tasks"]), state
        print("given up: nothing is left of it: good")
        late = [asyncio.create_task(get("/shared", "slow")) for _ in range(3)]
        await asyncio.sleep(0.5)
        server.send_signal(signal.SIGTERM)
        await asyncio.gather(*late, return_exceptions=True)


def server() -> None:
    """Grading in handlers of FastAPI: concurrent, cancelled, and ended by SIGTERM."""
    rules = [Rule(submission="slow", delay=20.0)]
    with ScriptedEndpoint(rules) as endpoint, tempfile.TemporaryFile("w+") as said:
        command = f"-X dev -m uvicorn --factory real_hosts:make_app --loop uvloop --port {PORT}"
        serving = subprocess.Popen(
            [sys.executable, *command.split(), "--timeout-graceful-shutdown", "1"],
            cwd=Path(__file__).parent,
            env={**os.environ, "JUDGE": endpoint.url},
            stdout=said,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            asyncio.run(visit(serving))
            serving.wait(timeout=30)
        finally:
            serving.kill()
        said.seek(0)
        text = said.read()
    assert "closed" in text, text
    for trouble in ("never retrieved", "never awaited", "unclosed", "still pending"):
        assert trouble not in text, text
    print("ended while it graded: nothing is left of it: good")


# A notebook: a Jupyter kernel


def notebook() -> None:
    """Cells that grade, are interrupted, and run again."""
    from jupyter_client.manager import start_new_kernel

    with ScriptedEndpoint([Rule(submission="slow", delay=20.0)]) as endpoint:
        manager, client = start_new_kernel(kernel_name="python3")

        def cell(code: str, interrupt_after: float = 0.0) -> str:
            """Return the output of a cell."""
            shown: list[str] = []

            def note(message: dict[str, Any]) -> None:
                content = message["content"]
                shown.append(str(content.get("text") or content.get("ename") or ""))
                shown.append(content.get("data", {}).get("text/plain", ""))

            stop = threading.Timer(interrupt_after, manager.interrupt_kernel)
            if interrupt_after:
                stop.start()
            client.execute_interactive(code, output_hook=note, timeout=30)
            stop.cancel()
            return "".join(shown)

        def check(code: str, expected: str, interrupt_after: float = 0.0) -> None:
            begin = time.monotonic()
            shown = cell(code, interrupt_after)
            assert expected in shown, f"{code}: expected {expected!r}, found {shown!r}"
            print(f"{code}: {expected!r} after {time.monotonic() - begin:.1f} s: good")

        try:
            cell(
                "import rubricate, threading\nfrom rubricate import *\n"
                f"rubric = Rubric.from_dict({RUBRIC.to_dict()!r})\n"
                f"url = {endpoint.url!r}\nreward = RewardFunction(rubric, 'm', base_url=url)\n"
                "fast = RubricDataset('How fast is light?', rubric)\n"
                f"fast.add_item({GOOD!r})\n"
                "slow = RubricDataset('How fast is light?', rubric)\nslow.add_item('slow')\n"
            )
            for _ in range(2):  # the cell is run again
                check("rubricate.grade(fast, 'm', base_url=url)", "1 items judged by m")
                check("(await rubricate.agrade(fast, 'm', base_url=url)).summary()", "speed")
                check("print(rubricate.grade(fast, 'm', base_url=url).summary())", "speed")
                check(f"reward([{GOOD!r}])", "[1.0]")
                check(f"await reward.acall([{GOOD!r}])", "[1.0]")
                for code in (
                    "rubricate.grade(slow, 'm', base_url=url)",
                    "list(rubricate.grade_stream(slow, 'm', base_url=url))",
                    "reward(['slow'])",
                ):
                    check(code, "KeyboardInterrupt", 1.0)
                check("await rubricate.agrade(slow, 'm', base_url=url)", "CancelledError", 1.0)
            check("[t.name for t in threading.enumerate()].count('rubricate')", "1")
        finally:
            client.stop_channels()
            manager.shutdown_kernel()


if __name__ == "__main__":
    hosts = {"trainer": trainer, "server": server, "notebook": notebook}
    if len(sys.argv) != 2 or sys.argv[1] not in hosts:
        sys.exit(__doc__)
    hosts[sys.argv[1]]()
