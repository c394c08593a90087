"""Other libraries' clients as `llm`: recognised by what they can do, used by calling them."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from rubricate import InputError, Model, RunStopped
from rubricate.dialects.ragas import EvaluationDataset, RubricsScore, RunConfig, evaluate
from rubricate.dialects.ragas.dataset_schema import SingleTurnSample
from rubricate.dialects.ragas.llms import LangchainLLMWrapper, client_model, llm_factory
from rubricate.errors import NoScoreError
from rubricate.judge import HTTPModel

SAMPLE = SingleTurnSample(user_input="q", response="a")
REPLY = '{"feedback": "f", "score": 4}'
KEY = "sk-very-secret"


class Chat:
    """A LangChain chat model, as far as anybody looks."""

    def __init__(self, reply: Any = REPLY, **attributes: Any) -> None:
        self.model_name, self.temperature = "chat-1", 0.2
        self.openai_api_key = KEY
        self.openai_api_base = f"https://user:{KEY}@host.example:8443/v1?key={KEY}"
        self.asked: list[Any] = []
        self._reply = reply
        self.__dict__.update(attributes)

    async def ainvoke(self, messages: Any) -> Any:
        self.asked.append(messages)
        if isinstance(self._reply, Exception):
            raise self._reply
        usage = {"input_tokens": 70, "output_tokens": 5}
        return SimpleNamespace(content=self._reply, usage_metadata=usage, response_metadata={})


class PlainChat:
    """A chat model that only knows plain calls."""

    model = "plain-1"

    def __init__(self) -> None:
        self._calls: list[Any] = []
        self._together = threading.Event()

    def invoke(self, messages: Any) -> Any:
        self._calls.append(messages)
        if len(self._calls) > 2:
            self._together.set()
        assert len(self._calls) == 1 or self._together.wait(60)  # the first goes alone
        return SimpleNamespace(content=[{"type": "text", "text": REPLY}])


class Client:
    """An OpenAI client, as far as anybody looks."""

    def __init__(self, *, asynchronous: bool, delay: float = 0.0) -> None:
        self.api_key, self.base_url = KEY, "https://api.example/v1/"
        self.asked: list[dict[str, Any]] = []
        create = self._later if asynchronous else self._now
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=create))
        self._delay = delay

    def _now(self, **request: Any) -> Any:
        self.asked.append(request)
        message = SimpleNamespace(content=REPLY)
        usage = SimpleNamespace(prompt_tokens=70, completion_tokens=5)
        choice = SimpleNamespace(message=message, finish_reason="stop")
        return SimpleNamespace(choices=[choice], usage=usage)

    def _later(self, **request: Any) -> Any:
        async def later() -> Any:
            await asyncio.sleep(self._delay)
            return self._now(**request)

        return later()


class StatusError(Exception):
    """As HTTP clients raise them."""

    def __init__(self, status_code: int) -> None:
        super().__init__(f"it said {status_code}")
        self.status_code = status_code


@pytest.mark.parametrize("wrap", [lambda chat: chat, LangchainLLMWrapper])
def test_a_langchain_model_judges_with_or_without_its_wrapper(wrap):
    chat = Chat()
    result = evaluate([SAMPLE], [RubricsScore("q")], wrap(chat))
    assert result["q"] == [4]
    roles = [message["role"] for message in chat.asked[0]]
    assert roles == ["system", "user"]
    usage = result.result.usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens) == (1, 70, 5)
    assert usage.cost is None  # a client's prices are not known


def test_a_model_that_only_knows_plain_calls_does_not_hold_up_the_others():
    samples = [SingleTurnSample(response=f"answer {n}") for n in range(8)]
    assert RubricsScore("m", llm=PlainChat()).batch_score(samples)["m"] == [4] * 8


@pytest.mark.parametrize("asynchronous", [True, False])
def test_an_openai_client_judges_through_the_factory(asynchronous):
    client = Client(asynchronous=asynchronous)
    metric = RubricsScore(llm=llm_factory("gpt-4o-mini", client=client, temperature=0.1))
    assert metric.single_turn_score(SAMPLE) == 4
    assert metric.single_turn_score(SAMPLE) == 4
    assert client.asked[0]["model"] == "gpt-4o-mini"
    assert client.asked[0]["temperature"] == 0.1


def test_without_a_client_the_factory_gives_the_engines_own_model(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = llm_factory("gpt-4o-mini", max_tokens=90, cache=None, adapter="auto")
    assert isinstance(model, HTTPModel)
    assert model.name == "openai/gpt-4o-mini"
    assert model.fingerprint()["max_tokens"] == 90


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (
            lambda: RubricsScore(llm=Client(asynchronous=True)).single_turn_score(SAMPLE),
            r"llm: a Client does not say which model to ask: give llm_factory\('gpt-6-luna'",
        ),
        (
            lambda: RubricsScore(llm=object()).single_turn_score(SAMPLE),
            "llm must be a name, a model, a judge or a callable, found object",
        ),
        (lambda: llm_factory("m", client=object()), "a object has no chat.completions.create"),
        (lambda: llm_factory("m", "openai", top_p=1), "'top_p' needs a client"),
        (lambda: llm_factory("m", cache=object()), "does not support cache: use the engine"),
        (lambda: LangchainLLMWrapper(3), "expected a LangChain chat model, found a int"),
        (lambda: LangchainLLMWrapper(Chat(), run_config=1), "change settings on the model"),
    ],
)
def test_what_cannot_be_asked_is_one_line(make, problem, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(InputError, match=problem):
        make()


def test_a_clients_key_and_password_are_copied_nowhere(tmp_path):
    chat = Chat(model_kwargs={"extra_headers": {"Authorization": KEY}})
    model = client_model(chat)
    assert isinstance(model, Model)
    assert model.name == "test_ragas_llms/chat-1"
    assert model.endpoint == "https://host.example:8443/v1"
    assert KEY not in json.dumps(model.fingerprint())
    evaluate([SAMPLE], [RubricsScore("q")], chat, run_dir=tmp_path / "run")
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"chat-1" in kept
    assert KEY.encode() not in kept


def test_another_model_or_setting_is_asked_again_and_the_same_is_not(tmp_path):
    asked = []
    for settings in ({}, {}, {"temperature": 0.9}):
        chat = Chat(**settings)
        evaluate([SAMPLE], [RubricsScore("q")], chat, run_dir=tmp_path / "run")
        asked.append(len(chat.asked))
    assert asked == [1, 0, 1]
    with pytest.raises(InputError, match="that differs in judge"):
        evaluate([SAMPLE], [RubricsScore("q")], Chat(model_name="b"), run_dir=tmp_path / "run")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StatusError(401), "auth"),
        (StatusError(400), "bad_request"),
        (ValueError("no"), "bad_request"),
    ],
)
def test_what_a_client_raises_is_a_failure_with_its_cause(error, kind):
    with pytest.raises(NoScoreError) as caught:
        RubricsScore("q", llm=Chat(error)).single_turn_score(SAMPLE)
    assert caught.value.verdict.error.kind == kind


def test_passing_trouble_of_a_client_is_sent_again():
    chat = Chat()
    tried = []

    async def ainvoke(messages: Any) -> Any:
        tried.append(messages)
        if len(tried) < 3:
            raise StatusError(503)
        return SimpleNamespace(content=REPLY)

    chat.ainvoke = ainvoke  # type: ignore[method-assign]
    assert evaluate([SAMPLE], [RubricsScore("q")], chat)["q"] == [4]
    assert len(tried) == 3


def test_a_client_that_does_not_answer_in_time_is_a_timeout():
    slow = Chat()

    async def ainvoke(messages: Any) -> Any:
        await asyncio.sleep(30)

    slow.ainvoke = ainvoke  # type: ignore[method-assign]
    config = RunConfig(timeout=0.05, max_retries=1)
    with pytest.raises(RunStopped, match=r"gave no answer within 0\.05 s"):
        evaluate([SAMPLE], [RubricsScore("q")], slow, run_config=config, max_outage=0.0)


def test_the_limit_of_one_score_is_its_time(make_judge):
    async def slow(messages: Any) -> Any:
        await asyncio.sleep(30)

    with pytest.raises(NoScoreError) as caught:
        RubricsScore("q", llm=slow).single_turn_score(SAMPLE, timeout=0.05)
    assert caught.value.verdict.error.kind == "deadline"
    with pytest.raises(InputError, match="does not support callbacks: use abatch_score"):
        RubricsScore("q", llm=make_judge()).single_turn_score(SAMPLE, callbacks=[print])


def test_optional_columns_may_be_missing_and_others_not(make_judge):
    from rubricate.dialects.ragas.metrics import MetricType

    columns = {MetricType.SINGLE_TURN: {"response", "reference:optional", "rubrics:optional"}}
    metric = RubricsScore("q", llm=make_judge(4), required_columns=columns)
    assert metric.single_turn_score(SAMPLE) == 4
    with pytest.raises(InputError, match="samples have no column 'referense'"):
        RubricsScore(required_columns={MetricType.SINGLE_TURN: {"referense:optional"}})
    dataset = EvaluationDataset([SingleTurnSample(user_input="q")])
    with pytest.raises(InputError, match="requires the column 'response'"):
        evaluate(dataset, [metric])
