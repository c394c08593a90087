"""`autorubric.llm`: models and their settings."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from rubricate._documents import format_yaml, read_document
from rubricate._files import user_path, write_text
from rubricate.dialects.autorubric._criteria import ShownEnum
from rubricate.errors import InputError, errors_within
from rubricate.judge import HTTPModel
from rubricate.settings import Settings

OTHER_PREFIXES = ("hosted_vllm/", "openai_like/", "custom_openai/")
"""LiteLLM's prefixes for servers that are identified by their address."""
NOT_USED = {
    "retry_min_wait": "the waits depend on the endpoint's responses",
    "retry_max_wait": "the waits depend on the endpoint's responses",
    "prompt_caching": "endpoints decide which prompts they cache",
    "cache_ttl": "cached answers do not expire; delete the folder to ask again",
}
"""Fields of `LLMConfig` that are accepted but have no effect, with the reason."""


class ThinkingLevel(ShownEnum):
    """How much a model should think."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


BUDGETS = {"low": 1024, "medium": 2048, "high": 4096}
"""Tokens of thinking by level, for providers that take tokens (LiteLLM's numbers)."""


@dataclass(frozen=True)
class ThinkingConfig:
    """How much a model should think: a level, or a number of tokens, which has priority."""

    level: ThinkingLevel | str = ThinkingLevel.MEDIUM
    budget_tokens: int | None = None


class LLMConfig(Settings, kw_only=False):
    """A model and its settings.

    Fields:
        model: `provider/model`, as listed by `rubricate judges`, or the model's name alone with
            `api_base`.
        temperature, max_tokens, top_p, seed: sent unchanged; None leaves the choice to the
            endpoint.
        timeout: the timeout of a request in seconds.
        max_retries: how often a failed request is retried.
        max_parallel_requests: the maximum number of requests in flight. Default: 32.
        cache_enabled, cache_dir: whether answers are cached in a folder that runs share.
        api_key: must equal the provider's variable, because keys only come from the environment.
        api_base: the address of an OpenAI-compatible server, up to `/v1`.
        thinking: a level (`low`, `medium`, `high`, `none`), a number of tokens, or both as a
            `ThinkingConfig`.
        extra_params: further fields of each request.
        extra_headers: not supported.
        retry_min_wait, retry_max_wait, prompt_caching, cache_ttl: ignored, with a warning.

    Raises:
        InputError: a value is not supported.
    """

    model: str
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    timeout: float = 60.0
    max_retries: int = 3
    retry_min_wait: float = 1.0
    retry_max_wait: float = 60.0
    max_parallel_requests: int | None = None
    cache_enabled: bool = False
    cache_dir: str | Path = ".autorubric_cache"
    cache_ttl: int | None = None
    api_key: str | None = None
    api_base: str | None = None
    thinking: ThinkingLevel | ThinkingConfig | str | int | None = None
    prompt_caching: bool = True
    seed: int | None = None
    extra_headers: Mapping[str, str] | None = None
    extra_params: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        shown = super().__repr__()
        return shown if not self.api_key else shown.replace(repr(self.api_key), "'***'")

    def check(self) -> None:
        if self.extra_headers:
            raise InputError(
                "LLMConfig does not support extra_headers: subclass rubricate.judge.Model"
            )
        for name, why in NOT_USED.items():
            if getattr(self, name) != getattr(LLMConfig, name):
                warnings.warn(f"LLMConfig: {name} is ignored: {why}", stacklevel=4)
        _level(self.thinking)

    @classmethod
    def from_yaml(cls, path: str | Path) -> LLMConfig:
        """Load a configuration. Keys that are not fields are sent with each request."""
        with errors_within(file=path):
            data = read_document(path)
            if not isinstance(data, dict) or "model" not in data:
                raise InputError("expected a mapping with the field model")
            values = {name: data.pop(name) for name in cls.__dataclass_fields__ if name in data}
            if isinstance(thinking := values.get("thinking"), dict):
                values["thinking"] = ThinkingConfig(**thinking)
            if data:
                values["extra_params"] = {**(values.get("extra_params") or {}), **data}
            return cls(**values)

    def to_yaml(self, path: str | Path) -> None:
        """Write the fields that are set to a file, without the key."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        del values["api_key"]
        set_values = {name: value for name, value in values.items() if value is not None}
        write_text(user_path(path), format_yaml(to_jsonable_python(set_values)))

    def to_model(self) -> HTTPModel:
        """Create the core's model.

        Raises:
            InputError: there is no such provider, or a key is missing.
        """
        name = self.model.replace("openai/responses/", "openai/", 1)
        for prefix in OTHER_PREFIXES if self.api_base else ():
            name = name.removeprefix(prefix)
        sent = {"top_p": self.top_p, "seed": self.seed}
        model = HTTPModel(
            name,
            base_url=self.api_base,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            model_options={
                **{key: value for key, value in sent.items() if value is not None},
                **thinking_options(name, self.thinking),
                **(self.extra_params or {}),
            },
            timeout=self.timeout,
        )
        if self.api_key is not None and os.environ.get(model.key_variable) != self.api_key:
            raise InputError(
                f"api_key: keys are only read from the environment; set {model.key_variable}"
            )
        return model


def thinking_options(
    model: str, thinking: ThinkingLevel | ThinkingConfig | str | int | None
) -> dict[str, Any]:
    """The fields of a request for thinking, as its provider expects them: an effort, or tokens."""
    level, tokens = _level(thinking)
    if level == "none":
        return {}
    if model.startswith(("anthropic/", "claude")):
        return {"thinking": {"type": "enabled", "budget_tokens": tokens or BUDGETS[level]}}
    if tokens is not None:
        level = min(BUDGETS, key=lambda name: abs(BUDGETS[name] - tokens))
    return {"reasoning_effort": level}


def _level(thinking: ThinkingLevel | ThinkingConfig | str | int | None) -> tuple[str, int | None]:
    """The level, and the tokens if set."""
    if thinking is None:
        return "none", None
    if isinstance(thinking, ThinkingConfig):
        return _level(thinking.level)[0], thinking.budget_tokens
    if isinstance(thinking, int) and not isinstance(thinking, bool):
        return "medium", thinking
    try:
        return ThinkingLevel(thinking).value, None
    except ValueError:
        known = ", ".join(level.value for level in ThinkingLevel)
        raise InputError(f"thinking must be {known} or tokens, found {thinking!r}") from None
