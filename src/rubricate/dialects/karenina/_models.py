"""The answering and judging models, and the engine's model for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from rubricate._spelling import unknown_word
from rubricate.dialects.karenina._template import Name, SettingsDocument
from rubricate.errors import InputError
from rubricate.judge import HTTPModel
from rubricate.judge.models import PROVIDERS

_ALIASES = {"google_genai": "gemini", "google": "gemini", "mistralai": "mistral"}
"""LangChain's names of providers, with the engine's."""


class ModelConfig(SettingsDocument):
    """A model, by provider and name. It is called by the engine's client. The provider's API key
    comes from the environment (`OPENAI_API_KEY`, ...), and `OPENAI_BASE_URL` changes the address of
    `openai`.

    ModelConfig(id="luna", model_provider="openai", model_name="gpt-6-luna")
    """

    id: str = ""
    """Its name in results. Default: the model's name."""
    model_provider: str = ""
    """The provider: `openai`, `anthropic`, `gemini` (or `google_genai`), ...; see `rubricate
    judges`. With `openrouter`, the author of the model, which may be omitted."""
    model_name: Name
    """The provider's name of the model."""
    temperature: float | None = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Sampling temperature; None leaves it to the endpoint."""
    max_tokens: int | None = Field(default=None, ge=1)
    """The maximum number of tokens in a reply. Default: the endpoint's limit."""
    system_prompt: str | None = None
    """The system message of an answering model. Judges have their own."""
    interface: Literal["langchain", "openrouter", "openai_endpoint", "manual"] = "langchain"
    """`langchain`: the provider above; `openrouter`: that model at OpenRouter; `openai_endpoint`:
    an OpenAI-compatible server at `base_url`; `manual`: the answers in `manual_traces`."""
    base_url: str | None = None
    """The server's address, for `openai_endpoint`; also `endpoint_base_url`."""
    extra_kwargs: Mapping[str, Any] | None = None
    """Further fields of each request, as the endpoint names them."""
    manual_traces: Any = None
    """The answers, for `manual`: a `ManualTraces`."""

    @model_validator(mode="before")
    @classmethod
    def _other_names(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        data = {
            name: value
            for name, value in data.items()
            if value is not None or name == "temperature"
        }
        if "endpoint_base_url" in data:
            address = data.pop("endpoint_base_url")
            if data.setdefault("base_url", address) != address:
                raise InputError("base_url and endpoint_base_url are the same setting, but differ")
        if data.get("interface") == "manual":
            data.setdefault("model_name", "manual")
        return {**data, "id": data.get("id") or data.get("model_name")}

    @model_validator(mode="after")
    def _is_reachable(self) -> ModelConfig:
        if (self.interface == "manual") != (self.manual_traces is not None):
            raise InputError("interface='manual' needs manual_traces; others do not allow it")
        if self.manual_traces is not None and not hasattr(self.manual_traces, "of"):
            kind = type(self.manual_traces).__name__
            raise InputError(f"manual_traces: expected a ManualTraces, found {kind}")
        if (self.interface == "openai_endpoint") != (self.base_url is not None):
            raise InputError("interface='openai_endpoint' needs base_url; others do not allow it")
        if self.interface == "langchain" and self._provider not in PROVIDERS:
            known = (*PROVIDERS, *_ALIASES)
            raise InputError(unknown_word("model_provider", self.model_provider, known))
        return self

    @property
    def _provider(self) -> str:
        return _ALIASES.get(self.model_provider, self.model_provider)

    def model(self) -> HTTPModel:
        """The engine's model.

        Raises:
            InputError: its answers were written by hand, so that it cannot judge.
            MissingKeyError: the provider's API key is not set.
        """
        if self.interface == "manual":
            raise InputError(f"the model '{self.id}' has its answers by hand, and cannot judge")
        if self.interface == "openai_endpoint":
            name = self.model_name
        elif self.interface == "openrouter":
            whole = "/" in self.model_name or self.model_provider in ("", "openrouter")
            name = self.model_name if whole else f"{self.model_provider}/{self.model_name}"
            name = f"openrouter/{name}"
        else:
            name = f"{self._provider}/{self.model_name}"
        return HTTPModel(
            name,
            base_url=self.base_url,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            model_options=self.extra_kwargs,
        )


class VerificationConfig(SettingsDocument):
    """The answering and the parsing models; every parsing model judges every answering model.

    Raises:
        InputError: there is no parsing model, two models in a list have the same id, or a setting
            cannot be used.
    """

    parsing_models: Sequence[ModelConfig] = Field(min_length=1)
    """The models that judge."""
    answering_models: Sequence[ModelConfig] = ()
    """The models that answer; none for logged outputs (`TaskEval`)."""
    replicate_count: int = Field(default=1, ge=1)
    """How often each model answers each question, and each answer is judged."""
    evaluation_mode: Literal["template_only", "template_and_rubric", "rubric_only"] | None = None
    """What the answers are judged by. Default: templates and traits, as far as there are any."""
    rubric_trait_names: Sequence[str] | None = None
    """The traits to judge by. Default: all."""
    async_enabled: bool = True
    """Whether requests are sent concurrently."""
    async_max_workers: int | None = Field(default=None, ge=1)
    """The number of concurrent requests. Default: `concurrency` of `run_verification`."""

    @model_validator(mode="after")
    def _models_differ(self) -> VerificationConfig:
        for name in ("answering_models", "parsing_models"):
            ids = [model.id for model in getattr(self, name)]
            for index, id in enumerate(ids):
                if id in ids[:index]:
                    raise InputError(f"{name}: two models have the id '{id}'")
        return self
