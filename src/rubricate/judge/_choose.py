"""Creating a judge from what a user passes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from rubricate.errors import InputError
from rubricate.judge._judge import Judge, check_own
from rubricate.judge._options import Asking, Batching, Endpoint, options_of_mode, way_of
from rubricate.judge.asking import Explained, ModelJudge, Prompting
from rubricate.judge.models import Model
from rubricate.settings import AppliesTo, part, reject_unsupported

_T = TypeVar("_T")
JudgeLike = Judge | Model | Callable[..., Any] | str | None
"""A judge, a model, a callable for `PythonModel`, a name such as `openai/gpt-6-luna`, or None
for the built-in judge."""


USUAL_ENDPOINT, USUAL_ASKING = Endpoint(), Asking()
OTHERS: frozenset[AppliesTo] = frozenset({"any judge"})
BUILTIN: frozenset[AppliesTo] = OTHERS | {"language models and the built-in judge"}
MODELS: frozenset[AppliesTo] = BUILTIN | {"language models"}
"""The kinds of judges that options may apply to: any, the built-in one, a model passed as an
object."""


def named_judge(
    judge: JudgeLike, endpoint: Endpoint = USUAL_ENDPOINT, asking: Asking = USUAL_ASKING
) -> Judge:
    """Return the judge that is named or passed.

    Args:
        judge: the judge.
        endpoint: the options of the endpoint, for a model given by name.
        asking: the options of asking. If its mode does not accept `permutations`, they are votes
            for a `Panel`.

    Raises:
        InputError: there is no such judge, a key is missing, or an option does not apply to this
            judge; nothing was sent.
    """
    chosen = judge_or_model(judge, endpoint)
    if not isinstance(chosen, Model):
        if isinstance(judge, str | None):
            reject_unsupported(Asking, asking, BUILTIN, f"{chosen.name} is none")
            return _builtin(chosen, asking)
        reject_unsupported(Asking, asking, OTHERS, f"a {type(chosen).__name__} is taken as it is")
        return chosen
    if asking.mode == "probability" and endpoint.temperature not in {None, 0.0, 1.0}:
        raise InputError(
            f"temperature {endpoint.temperature:g} is for explained mode: in probability mode it "
            "is always 1"
        )
    if asking.judge_prompt is not None:
        from rubricate.judge.asking import PromptTemplate, Templated

        template = asking.judge_prompt
        if isinstance(template, str | Path):
            template = PromptTemplate.from_file(template)
        if not isinstance(template, PromptTemplate):
            raise InputError(f"judge_prompt must be a file or a PromptTemplate, found {template!r}")
        return ModelJudge(chosen, Templated(template, asking.examples, asking.require_evidence))
    way: Callable[..., Prompting] = way_of(asking.mode)
    options: dict[str, Any] = {}
    for name in options_of_mode(asking.mode):
        value = getattr(asking, name)
        if value is not None:
            options[name] = value
    model_judge = ModelJudge(chosen, way(**options))
    if asking.chunk_tokens is None:
        return model_judge
    from rubricate.judge.documents import DocumentJudge

    return DocumentJudge(model_judge, chunk_tokens=asking.chunk_tokens)


def _builtin(usual: Judge, asking: Asking) -> Judge:
    """The built-in judge, refitted or in another mode if requested."""
    from rubricate.judge.asking import Mode

    examples, mode = asking.examples, asking.mode
    if examples is None and mode == "explained":
        return usual
    if mode not in get_args(Mode):
        raise InputError(f"{mode} mode is for language models; {usual.name} is none")
    from rubricate.judge.builtin import BuiltinJudge

    if examples is not None:
        return BuiltinJudge.trained_on(examples.dataset, mode=mode)
    return BuiltinJudge(mode=mode)


def plain_model(judge: object) -> Model | None:
    """The model of a judge that only asks it in the usual way; None for any other judge."""
    if type(judge) is ModelJudge and judge.prompting == Explained():
        return judge.model
    return None


def language_model(judge: JudgeLike, endpoint: Endpoint = USUAL_ENDPOINT) -> Model | None:
    """Return the named model, which a prompt turns into a judge; None for a judge.

    The arguments and errors are those of `named_judge`.
    """
    model = judge_or_model(judge, endpoint)
    return model if isinstance(model, Model) else None


def made_for(judge: object, chosen: Judge) -> list[Judge]:
    """The judges that were created from a caller's argument, and are closed when the call ends.

    Args:
        judge: the caller's argument, one or a list.
        chosen: the judge, or the panel, that was created from it.
    """
    if isinstance(judge, Judge | Model):
        return []
    if isinstance(judge, str) or not isinstance(judge, Sequence):
        return [chosen]
    theirs: set[int] = set()
    for named in _given(judge):
        theirs |= {id(named), id(named.model) if isinstance(named, Judge) else id(named)}
    ours: list[Judge] = []
    for member in chosen.members:
        judge_made = member.judge
        if id(judge_made if judge_made.model is None else judge_made.model) not in theirs:
            ours.append(judge_made)
    return ours


def _given(judge: object) -> list[Judge | Model]:
    """The judges and models that a caller passed as objects, alone or in a list."""
    if isinstance(judge, Sequence) and not isinstance(judge, str):
        return [listed for listed in judge if isinstance(listed, Judge | Model)]
    return [judge] if isinstance(judge, Judge | Model) else []


async def closing(work: Callable[[], Coroutine[Any, Any, _T]], *judges: object) -> _T:
    """Run a coroutine, and close the judges and models that the caller passed, alone or in lists.

    Their connections belong to the event loop of a sync call, which then ends.
    """
    try:
        return await work()
    finally:
        for named in judges:
            for owner in _given(named):
                await owner.aclose()


def judge_or_model(judge: JudgeLike, endpoint: Endpoint = USUAL_ENDPOINT) -> Judge | Model:
    """Return the named or passed judge, or the model that a prompt would turn into one, unchanged.

    The arguments and errors are those of `named_judge`.
    """
    if isinstance(judge, str) and judge != "builtin":
        from rubricate.judge.models import HTTPModel

        prices = None
        if endpoint.prices is not None:
            from rubricate.judge.models import read_prices

            prices = read_prices(endpoint.prices)
        options = {**vars(part(Endpoint, endpoint)), "prices": prices}
        options["needs_key"] = not endpoint.dry_run
        if isinstance(endpoint, Batching) and endpoint.batch:
            from rubricate.judge.models import BatchModel

            return BatchModel(
                judge,
                then_live=endpoint.then_live,
                waits=endpoint.wait,
                every=endpoint.batch_interval,
                **options,
            )
        return HTTPModel(judge, **options)
    is_builtin = isinstance(judge, str | None)
    if endpoint.base_url is not None:
        if is_builtin:
            raise InputError("a base URL needs a judge: name the model that the server has")
        raise InputError("a base URL goes with a judge given by name")
    own = "any other has its own, or asks no model"
    if is_builtin:
        own = "the built-in judge asks no model: name a judge, such as openai/gpt-6-luna"
    reject_unsupported(Endpoint, endpoint, MODELS, own)
    if isinstance(endpoint, Batching) and endpoint.batch:
        raise InputError("batch is for models given by name, such as openai/gpt-6-luna")
    if is_builtin:
        from rubricate.judge.builtin import BuiltinJudge

        return BuiltinJudge()
    if isinstance(judge, Judge | Model):
        check_own(judge)
        if isinstance(judge, Model):
            _ = ModelJudge(judge).identity  # raises if the fingerprint is not JSON
        return judge
    if isinstance(judge, type):
        raise InputError(f"{judge.__name__} is a class: pass an instance, {judge.__name__}()")
    if callable(judge):
        from rubricate.judge.models import PythonModel

        return PythonModel(judge)
    kind = type(judge).__name__
    raise InputError(
        f"not a judge: {kind}; one of your own derives from Judge or Model, or is a function; a "
        "model is named by a text, such as 'openai/gpt-6-luna'"
    )
