"""Which models answer and which judge, and the engine's own model for each."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import field_validator, model_validator

from rubricate._spelling import did_you_mean
from rubricate.dialects.karenina._settings import SettingsDocument
from rubricate.dialects.karenina._traits import RubricTrait, Trait
from rubricate.errors import InputError, shown
from rubricate.judge import HTTPModel
from rubricate.judge.models import GENERIC_KEY, PROVIDERS

INTERFACES = ("langchain", "openrouter", "openai_endpoint", "manual")
_ALIASES = {"google_genai": "gemini", "google": "gemini", "mistralai": "mistral"}
"""Other names of providers that the engine knows."""


def hash_of(question: str) -> str:
    """What Karenina's files of traces call a question: the MD5 hash of its text."""
    text = question.encode("utf-8", "surrogatepass")
    return hashlib.md5(text, usedforsecurity=False).hexdigest()


_NO_TOOLS = "no tools are called here: log what an agent did with TaskEval and judge that"


class ModelConfig(SettingsDocument):
    """A model, by provider and name. The engine's own client reaches it; the provider's API key
    comes from the environment (`OPENAI_API_KEY`, ...), and `OPENAI_BASE_URL` moves `openai`.

    ModelConfig(id="mini", model_provider="openai", model_name="gpt-4.1-mini")
    """

    kept: ClassVar[frozenset[str]] = frozenset({"max_retries", "max_context_tokens"})
    elsewhere: ClassVar[Mapping[str, str]] = {
        "endpoint_api_key": f"set {GENERIC_KEY} in the environment",
        "anthropic_api_key": "set ANTHROPIC_API_KEY in the environment",
        "anthropic_base_url": "use interface='openai_endpoint' with base_url",
        "mcp_urls_dict": _NO_TOOLS,
        "mcp_tool_filter": _NO_TOOLS,
        "mcp_tool_description_overrides": _NO_TOOLS,
        "agent_middleware": _NO_TOOLS,
    }

    id: str = ""
    """What results call it. Default: the model's name."""
    model_provider: str = ""
    """Who serves it: `openai`, `anthropic`, `gemini` (or `google_genai`), ...; see
    `rubricate judges`. With `openrouter`, who made it; need not be given there."""
    model_name: str
    """The model's name there."""
    temperature: float | None = 0.0
    """Sampling temperature; None leaves it to the endpoint."""
    max_tokens: int | None = None
    """The most tokens of a reply. Default: the endpoint's own limit."""
    system_prompt: str | None = None
    """What an answering model is told first. A judge is told what it needs to judge."""
    interface: str = "langchain"
    """`langchain`: the provider named; `openrouter`: that model at OpenRouter; `openai_endpoint`:
    an OpenAI-compatible server at `base_url`; `manual`: the answers in `manual_traces`."""
    base_url: str | None = None
    """The server's address, for `openai_endpoint`; also `endpoint_base_url`."""
    extra_kwargs: Mapping[str, Any] | None = None
    """What else is sent with each request, as the endpoint calls it."""
    manual_traces: Any = None
    """The answers, for `manual`: a `ManualTraces`."""

    @model_validator(mode="before")
    @classmethod
    def _other_names(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        said = {name for name, value in data.items() if value is not None or name == "temperature"}
        data = {name: data[name] for name in data if name in said}
        if "endpoint_base_url" in data:
            address = data.pop("endpoint_base_url")
            if data.setdefault("base_url", address) != address:
                raise InputError("base_url and endpoint_base_url are the same, and differ")
        if data.get("interface") == "manual":
            data.setdefault("model_name", "manual")
        return {**data, "id": data.get("id") or data.get("model_name")}

    @field_validator("id", "model_name")
    @classmethod
    def _is_text(cls, text: str) -> str:
        if not text.strip():
            raise InputError("must not be empty")
        return text

    @field_validator("temperature", mode="before")
    @classmethod
    def _temperature_is_usable(cls, temperature: Any) -> Any:
        if isinstance(temperature, int) and not isinstance(temperature, bool):
            temperature = float(temperature)
        if isinstance(temperature, float) and not (math.isfinite(temperature) and temperature >= 0):
            raise InputError(f"must be 0 or more, found {temperature}")
        return temperature

    @model_validator(mode="after")
    def _is_reachable(self) -> ModelConfig:
        if self.max_tokens is not None and self.max_tokens < 1:
            raise InputError(f"max_tokens must be at least 1, found {self.max_tokens}")
        if (self.interface == "manual") != (self.manual_traces is not None):
            raise InputError("manual_traces goes with interface='manual', which needs it")
        if self.manual_traces is not None and not hasattr(self.manual_traces, "of"):
            found = type(self.manual_traces).__name__
            raise InputError(f"manual_traces: expected a ManualTraces, found {found}")
        if self.interface not in INTERFACES:
            raise InputError(_unknown("interface", self.interface, INTERFACES))
        if (self.interface == "openai_endpoint") != (self.base_url is not None):
            raise InputError("base_url goes with interface='openai_endpoint', which needs it")
        if self.interface == "langchain" and self._provider not in PROVIDERS:
            known = (*PROVIDERS, *_ALIASES)
            raise InputError(_unknown("model_provider", self.model_provider, known))
        return self

    @property
    def _provider(self) -> str:
        return _ALIASES.get(self.model_provider, self.model_provider)

    def model(self) -> HTTPModel:
        """The engine's model.

        Raises:
            InputError: it is none that could be asked: its answers are given by hand.
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


def _unknown(what: str, given: str, known: Sequence[str]) -> str:
    hint = did_you_mean(given, known)
    return f"unknown {what} '{given}' (known: {', '.join(known)}){hint}"


_IN_CODE = "a template's values are compared by code, which needs none"


class VerificationConfig(SettingsDocument):
    """Which models answer, and which judge what they answered: every pair of one of each.

    Raises:
        InputError: there is no parsing model, two of one list have the same id, or a setting
            cannot be used.
    """

    kept: ClassVar[frozenset[str]] = frozenset({
        "parsing_only", "rubric_enabled", "rubric_evaluation_strategy",
        "use_full_trace_for_template", "use_full_trace_for_rubric", "scenario_turn_limit",
        "embedding_check_model", "embedding_check_threshold",
        "deep_judgment_max_excerpts_per_attribute", "deep_judgment_fuzzy_match_threshold",
        "deep_judgment_excerpt_retry_attempts", "deep_judgment_search_tool",
        "deep_judgment_rubric_max_excerpts_default", "deep_judgment_rubric_search_tool",
        "deep_judgment_rubric_fuzzy_match_threshold_default", "agentic_rubric_strategy",
        "agentic_judge_context", "agentic_parsing_max_turns", "agentic_parsing_timeout",
    })  # fmt: skip
    elsewhere: ClassVar[Mapping[str, str]] = {
        "abstention_enabled": "what a judge cannot tell is abstained from, always",
        "sufficiency_enabled": "what an answer does not say is not right, always",
        "embedding_check_enabled": _IN_CODE,
        "deep_judgment_mode": "templates are compared by code; see deep_judgment_rubric_mode",
        "deep_judgment_search_enabled": "nothing here searches the web",
        "agentic_parsing": _NO_TOOLS,
        "few_shot_config": "put the examples into the question or the system_prompt",
        "prompt_config": "put what is to be judged into the traits' descriptions",
        "db_config": "give run_verification a run_dir, and save or to_csv the results",
    }

    parsing_models: Sequence[ModelConfig]
    """The models that judge."""
    answering_models: Sequence[ModelConfig] = ()
    """The models that answer; none for logged outputs (`TaskEval`)."""
    replicate_count: int = 1
    """How often each model answers each question, and each answer is judged."""
    evaluation_mode: Literal["template_only", "template_and_rubric", "rubric_only"] | None = None
    """What answers are judged by. Default: templates and traits, as far as there are any."""
    rubric_trait_names: Sequence[str] | None = None
    """The traits to judge by. Default: all."""
    async_enabled: bool = True
    """Whether there is more than one request at a time."""
    async_max_workers: int | None = None
    """How many requests there are at a time. Default: `concurrency` of `run_verification`."""
    deep_judgment_rubric_mode: Literal["disabled", "enable_all", "use_checkpoint", "custom"] = (
        "disabled"
    )
    """Which traits need quotes that stand in the answer: none, all that a model judges, those that
    say so themselves, or those of `deep_judgment_rubric_config`."""
    deep_judgment_rubric_global_excerpts: bool = True
    """Whether `enable_all` asks for quotes; otherwise for the reason alone, as always."""
    deep_judgment_rubric_config: Mapping[str, Any] | None = None
    """For `custom`: `{"global": {TRAIT: {...}}, "question_specific": {ID: {TRAIT: {...}}}}`, each
    with `enabled`, `excerpt_enabled` and `excerpt_retry_attempts`."""
    deep_judgment_rubric_excerpt_retry_attempts_default: int = 2
    """How often quotes that are not found are asked for again."""

    @model_validator(mode="before")
    @classmethod
    def _are_models(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        listed: dict[str, Any] = {}
        for name in ("answering_models", "parsing_models"):
            models = data.get(name, ())
            listed[name] = tuple(models) if isinstance(models, Sequence) else (models,)
            for index, model in enumerate(listed[name]):
                if not isinstance(model, ModelConfig):
                    found = type(model).__name__
                    raise InputError(f"{name}[{index}]: expected a ModelConfig, found {found}")
        return {**data, **listed}

    @model_validator(mode="after")
    def _models_differ(self) -> VerificationConfig:
        for name in ("answering_models", "parsing_models"):
            seen: set[str] = set()
            for model in getattr(self, name):
                if model.id in seen:
                    raise InputError(f"{name}: two models have the id '{model.id}'")
                seen.add(model.id)
        if not self.parsing_models:
            raise InputError("parsing_models: at least one model is needed to judge, found none")
        for name in ("replicate_count", "async_max_workers"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise InputError(f"{name} must be at least 1, found {number}")
        if self.deep_judgment_rubric_excerpt_retry_attempts_default < 0:
            raise InputError(
                "deep_judgment_rubric_excerpt_retry_attempts_default must be 0 or more"
            )
        return self

    @field_validator("deep_judgment_rubric_config")
    @classmethod
    def _config_is_of_traits(cls, config: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        for part, traits in (config or {}).items():
            if part == "question_specific" and isinstance(traits, Mapping):
                for id, of_question in traits.items():
                    _check_deep(of_question, f"question_specific.{id}")
            elif part == "global":
                _check_deep(traits, part)
            else:
                raise InputError(f"'{part}': expected 'global' or 'question_specific'")
        return config

    @classmethod
    def from_overrides(cls, base: VerificationConfig | None = None, **given: Any) -> Self:
        """A configuration of one answering and one parsing model, by short names.

        Args:
            base: what is taken of another configuration, where nothing is given.
            given: `answering_model`, `answering_provider`, `answering_id`,
                `answering_interface`, the same for `parsing_...`, `temperature`,
                `manual_traces`, `async_execution`, `async_workers`, and the other settings by
                their own names or by those that Karenina's `from_overrides` has.

        Raises:
            InputError: a setting cannot be used.
        """
        settings: dict[str, Any] = {}
        if base is not None:
            named = (*base.model_fields_set, *(base.model_extra or {}))
            settings = {name: getattr(base, name) for name in named}
        both = {"temperature": given.pop("temperature", None)}
        for role in ("answering", "parsing"):
            own = {
                setting: given.pop(f"{role}_{name}", None) for name, setting in _OF_A_MODEL.items()
            }
            if role == "answering" and (traces := given.pop("manual_traces", None)) is not None:
                own |= {"manual_traces": traces, "interface": "manual"}
            told = {name: value for name, value in {**both, **own}.items() if value is not None}
            models = settings.get(f"{role}_models", ())
            if told.keys() - both.keys():
                models = [ModelConfig(**told)]
            settings[f"{role}_models"] = [model.model_copy(update=told) for model in models]
        others = {_OVERRIDES.get(name, name): value for name, value in given.items()}
        return cls(**settings | {name: one for name, one in others.items() if one is not None})

    def reasks_for_quotes(self, trait: Trait, question_id: str) -> int | None:
        """How often quotes of a trait's verdicts are asked for again; None where none are needed.

        Raises:
            InputError: what the trait or the configuration asks for is not here.
        """
        if not isinstance(trait, RubricTrait) or self.deep_judgment_rubric_mode == "disabled":
            return None
        usual = self.deep_judgment_rubric_excerpt_retry_attempts_default
        told: Mapping[str, Any]
        if self.deep_judgment_rubric_mode == "enable_all":
            told = {"enabled": True, "excerpt_enabled": self.deep_judgment_rubric_global_excerpts}
        elif self.deep_judgment_rubric_mode == "use_checkpoint":
            told = {name: getattr(trait, f"deep_judgment_{name}") for name in _DEEP}
        else:
            config = self.deep_judgment_rubric_config or {}
            of_question = config.get("question_specific", {}).get(question_id, {})
            found = of_question.get(trait.name, config.get("global", {}).get(trait.name))
            told = {"enabled": False} if found is None else {"enabled": True, **found}
        if not told.get("enabled"):
            return None
        if told.get("search_enabled"):
            raise InputError(
                f"the trait '{trait.name}' asks for deep judgment with a search, and nothing here "
                "searches the web: leave search_enabled out"
            )
        retries = told.get("excerpt_retry_attempts")
        return (
            (usual if retries is None else retries) if told.get("excerpt_enabled", True) else None
        )


def _check_deep(traits: Any, where: str) -> None:
    """Raise `InputError` unless this says by trait what deep judgment is to do."""
    if not isinstance(traits, Mapping):
        raise InputError(f"{where}: expected settings by trait, found {shown(traits)}")
    known = (*_DEEP, "max_excerpts", "fuzzy_match_threshold")
    for trait, told in traits.items():
        if not isinstance(told, Mapping) or set(told) - set(known):
            raise InputError(f"{where}.{trait}: expected some of {', '.join(known)}")
        retries = told.get("excerpt_retry_attempts", 0)
        if isinstance(retries, bool) or not isinstance(retries, int | None) or (retries or 0) < 0:
            raise InputError(f"{where}.{trait}: excerpt_retry_attempts must be 0 or more")


_DEEP = ("enabled", "excerpt_enabled", "excerpt_retry_attempts", "search_enabled")
"""What deep judgment of a trait can be told."""
_OF_A_MODEL = {
    "model": "model_name",
    "provider": "model_provider",
    "id": "id",
    "interface": "interface",
}
_OVERRIDES = {
    "abstention": "abstention_enabled",
    "sufficiency": "sufficiency_enabled",
    "embedding_check": "embedding_check_enabled",
    "embedding_threshold": "embedding_check_threshold",
    "embedding_model": "embedding_check_model",
    "async_execution": "async_enabled",
    "async_workers": "async_max_workers",
    "deep_judgment_rubric_excerpts": "deep_judgment_rubric_global_excerpts",
    "deep_judgment_rubric_max_excerpts": "deep_judgment_rubric_max_excerpts_default",
    "deep_judgment_rubric_fuzzy_threshold": "deep_judgment_rubric_fuzzy_match_threshold_default",
    "deep_judgment_rubric_retry_attempts": "deep_judgment_rubric_excerpt_retry_attempts_default",
}
"""What `from_overrides` calls a setting, and its name."""
