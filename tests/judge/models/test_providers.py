"""The table of providers: addresses, keys, and what is said before anything is sent."""

from __future__ import annotations

import pytest

from rubricate.errors import InputError, MissingKeyError
from rubricate.judge import Endpoint, HTTPModel, named_judge
from rubricate.judge.models import PROVIDERS

KEY = "sk-planted-0123456789"
LOCAL = {"ollama", "vllm"}
PROXY = "litellm_proxy"
"""On one's own machine unless API_BASE_URL says otherwise, and with a key."""
COMPANIES = {"openai-responses": "openai", PROXY: "litellm"}
"""Whose key it is, where the prefix has more than that in it."""


def test_the_table_has_the_providers_that_the_readme_names():
    names = "openai openai-responses anthropic gemini openrouter groq mistral deepseek together"
    assert " ".join(PROVIDERS) == f"{names} {PROXY} ollama vllm"


@pytest.mark.parametrize("prefix", sorted(PROVIDERS))
def test_a_prefix_leads_to_its_address_and_key(prefix: str, monkeypatch: pytest.MonkeyPatch):
    provider = PROVIDERS[prefix]
    assert provider.base_url.startswith("https://") is (prefix not in LOCAL | {PROXY})
    for blank in ("", "  \n"):
        monkeypatch.setenv(provider.key_variable, blank)
        if prefix in LOCAL:
            assert HTTPModel(f"{prefix}/m").endpoint == provider.base_url
        else:
            with pytest.raises(MissingKeyError, match=provider.key_variable):
                HTTPModel(f"{prefix}/m")
    monkeypatch.setenv(provider.key_variable, KEY)
    model = HTTPModel(f"{prefix}/some/model")
    assert model.endpoint == provider.base_url
    assert model.key_variable == f"{COMPANIES.get(prefix, prefix).upper()}_API_KEY"
    assert model.fingerprint()["model"] == "some/model"


def test_a_key_that_no_header_can_carry_is_an_error_without_the_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\nsecond-line")
    with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        HTTPModel("openai/m")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("opneai/gpt-4.1", "openai/gpt-4.1"),
        ("Groq/m", "groq/m"),
        ("bultin", "builtin"),
        ("gpt-4.1-mini", "openai/gpt-4.1-mini"),
        ("claude-sonnet-4", "anthropic/claude-sonnet-4"),
    ],
)
def test_a_name_that_nearly_fits_suggests_the_whole_name(name: str, meant: str):
    with pytest.raises(InputError, match=f"did you mean '{meant}'"):
        named_judge(name)


def test_an_unknown_judge_is_told_all_prefixes_and_the_way_around():
    with pytest.raises(InputError, match=r"openai/\.\.\., .*vllm/\.\.\.; .*base_url"):
        named_judge("gpt-4.1-mini")


def test_a_prefix_without_a_model_is_an_error():
    with pytest.raises(InputError, match="openai/MODEL"):
        HTTPModel("openai/")


def test_a_base_url_takes_any_name_and_needs_no_key():
    model = HTTPModel("meta/llama", base_url="http://127.0.0.1:9/v1/")
    assert model.endpoint == "http://127.0.0.1:9/v1"
    assert model.fingerprint()["model"] == "meta/llama"
    assert model.key_variable == "RUBRICATE_API_KEY"


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:9/v1", "ftp://host/v1", "http://", "http://[bad/v1", "http://host:99999/v1"],
)
def test_an_unusable_base_url_is_an_error_before_anything_is_sent(url: str):
    with pytest.raises(InputError, match="base URL"):
        HTTPModel("m", base_url=url)


def test_a_url_variable_moves_a_provider_or_is_named_where_it_is_none(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway.local/v1/")
    assert HTTPModel("openai/m").endpoint == "http://gateway.local/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "gateway.local/v1")
    with pytest.raises(InputError, match="OPENAI_BASE_URL"):
        HTTPModel("openai/m")


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://api.openai.com/v1", True),
        ("https://api.openai.com/other", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://gateway.example/v1", False),
    ],
)
def test_a_providers_key_goes_to_no_foreign_address(
    url: str, sent: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = HTTPModel("openai/m", base_url=url)
    assert model.key_variable == ("OPENAI_API_KEY" if sent else "RUBRICATE_API_KEY")
    assert model._key == (KEY if sent else None)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_that_is_no_time_is_an_error(timeout: float):
    with pytest.raises(InputError, match="timeout"):
        HTTPModel("m", base_url="http://host/v1", timeout=timeout)


def test_a_base_url_without_a_named_judge_is_an_error_and_so_is_what_cannot_judge():
    for judge in (None, lambda messages: ""):
        with pytest.raises(InputError, match="base URL"):
            named_judge(judge, Endpoint(base_url="http://host/v1"))
    with pytest.raises(InputError, match="not a judge: int"):
        named_judge(3)  # type: ignore[arg-type]
