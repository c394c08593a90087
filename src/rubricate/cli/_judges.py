"""`rubricate judges`: the available judges, and what models can do (`--check`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rubricate._terminal import console
from rubricate.cli._commands import Raw, command, read
from rubricate.cli._ending import ExitCode
from rubricate.cli._grade_settings import is_label_file, listed, load_settings
from rubricate.cli._printing import JsonOutput, print_json
from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.judge import Endpoint, ModelJudge, Probability, named_judge
from rubricate.judge.models import Completion, Model, ReplyForm, Request
from rubricate.rubric import Criterion, Rubric, Usage
from rubricate.settings import option, options_of, options_set, part
from rubricate.views import Column, OnTerminal, Row, Table

if TYPE_CHECKING:
    from rich.console import Console

TEXT = " ".join(f"Shelf {number} holds {7 * number} lamps." for number in range(1, 181))
"""The text of a check: about 1,600 tokens, because providers cache no prompt below 1,024. At half,
caching would not show; at double, a check costs twice as much."""
RUBRIC = Rubric(
    [
        Criterion(name="first", requirement="Says that shelf 3 holds 21 lamps"),
        Criterion(name="second", requirement="Says that shelf 5 holds 40 lamps"),
    ]
)
FORMS: dict[ReplyForm, str] = {"json_schema": "yes", "json_object": "JSON mode", "text": "no"}


class JudgesSettings(JsonOutput, Endpoint):
    """The options of `rubricate judges`."""

    checks: bool = option(
        False,
        "Ask each model that --judge or --config names three short questions (about 6,000 tokens), "
        "and show its latency, price, structured output, probabilities and cache.",
        shell="--check",
        common=True,
    )
    judge: Sequence[str] = option((), "A model to check; can be given several times.", common=True)


@dataclass
class CheckedJudge:
    """The results of checking a judge; None for what is unknown.

    Attributes:
        judge: the name of the judge.
        error: why it gave no verdict; everything else is unknown then.
        seconds: the duration of the first verdict.
        input_price, output_price: US dollars per million tokens.
        cost: US dollars for the whole check.
        structured: the form of requested replies: JSON Schema, JSON mode, or text.
        probabilities: whether it gives probabilities of verdicts.
        cached_tokens: the number of tokens of the second prompt that came from its cache.
    """

    judge: str
    error: str | None = None
    seconds: float | None = None
    input_price: float | None = None
    output_price: float | None = None
    cost: float | None = None
    structured: ReplyForm | None = None
    probabilities: bool | None = None
    cached_tokens: int | None = None


def load_judges(raw: Raw, config: str | None) -> JudgesSettings:
    """Create the settings, with the judges and endpoint options from a settings file, if given.

    Raises:
        InputError: they cannot be used, or do not fit together.
    """
    settings = read(JudgesSettings, raw)
    if config is not None:
        own = {name: raw[name] for name in ("judge", *options_of(Endpoint)) if name in raw}
        graded = load_settings(own, config)
        names = (*listed(graded.judge), *listed(graded.escalate_to))
        judges = [name for name in names if not is_label_file(name)]
        settings = settings.changed(judge=judges, **vars(part(Endpoint, graded)))
    is_set = bool(config or settings.judge or options_set(Endpoint, settings))
    if is_set and not settings.checks:
        raise InputError(
            "--judge, --config and the options of models are for --check: give it, too"
        )
    if settings.checks and not settings.judge:
        raise InputError(
            "--check needs a model to ask: name it (--judge openai/gpt-6-luna), or a settings "
            "file that does (--config run.yaml)"
        )
    return settings


@command(
    JudgesSettings,
    load=load_judges,
    then="Next, to grade with one: rubricate grade DATA --rubric RUBRIC --judge NAME",
)
def judges(settings: JudgesSettings) -> int:
    """List the judges (addresses, keys, installed extras), or check what models can do."""
    if settings.checks:
        import asyncio

        return _print_checked(asyncio.run(_checked(settings)), settings)
    from rubricate.judge.models import GENERIC_KEY, PROVIDERS, settings_of

    rows: list[dict[str, object]] = []
    for provider in PROVIDERS.values():
        row: dict[str, object] = {
            "judge": f"{provider.prefix}/MODEL",
            "base_url": provider.base_url,
            "key_variable": provider.key_variable,
            "key_required": provider.key_required,
            "gives_logprobs": provider.gives_logprobs,
            "key_set": False,
            "error": None,
        }
        try:
            key, moved = settings_of(provider)
        except InputError as error:
            row["error"] = str(error)
        else:
            row["base_url"] = moved.value if moved else provider.base_url
            row["key_set"] = key is not None
        rows.append(row)
    extras = _extras()
    if settings.json_output:
        print_json({"judges": rows, "extras": extras})
        return 0
    cells = [("builtin", "not needed", "", "in this process")]
    for row in rows:
        state = "set" if row["key_set"] else "missing" if row["key_required"] else "optional"
        state = "not used" if row["error"] else state
        cells.append((str(row["judge"]), state, str(row["key_variable"]), str(row["base_url"])))
    cells.append(("MODEL", "optional", GENERIC_KEY, "given by --base-url"))
    terminal = _print_table(("judge", "key", "in the variable", "address"), cells)
    for row in rows:
        if row["error"]:
            terminal.print(f"{row['judge']}: {row['error']}")
    for extra, installed in extras.items():
        terminal.print(f"extra {extra}: {'installed' if installed else 'not installed'}")
    return 0


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Console:
    table = Table([Column(each, is_text=True) for each in headings], [Row(row) for row in rows])
    terminal = console()
    if not terminal.is_terminal:  # for grep, addresses are not wrapped
        terminal.width = max(terminal.width, 120)
    terminal.print(OnTerminal(lambda: [table]))
    return terminal


def _extras() -> dict[str, bool]:
    """Whether the packages of each extra are installed, except for the development extra."""
    import importlib.metadata
    import re
    from contextlib import suppress

    installed: dict[str, bool] = {}
    for requirement in importlib.metadata.requires("rubricate") or []:
        match = re.match(r"([A-Za-z0-9._-]+).*;.*extra == ['\"]([^'\"]+)['\"]", requirement)
        if match and match[2] != "dev":
            package, extra = match.groups()
            is_here = False
            with suppress(importlib.metadata.PackageNotFoundError):
                is_here = importlib.metadata.distribution(package) is not None
            installed[extra] = installed.get(extra, True) and is_here
    return installed


async def _checked(settings: JudgesSettings) -> list[CheckedJudge]:
    import asyncio

    return await asyncio.gather(*(_checked_judge(name, settings) for name in settings.judge))


async def _checked_judge(name: str, endpoint: Endpoint) -> CheckedJudge:
    """Ask about two criteria like a run, and about the first in probability mode."""
    try:
        judge = named_judge(name, part(Endpoint, endpoint))
    except InputError as error:
        return CheckedJudge(name, str(error))
    completions: list[Completion] = []

    async def send(model: Model, request: Request) -> Completion:
        completions.append(await model.complete(request))
        return completions[-1]

    item, (about, about_next) = Item(TEXT, "What is on the shelves?"), RUBRIC.criteria
    try:
        first = await judge.judge(item, about, send)
        if first.error is not None:
            return CheckedJudge(name, f"{first.error.kind}: {first.error.message}")
        checked = CheckedJudge(name, seconds=first.usage.seconds, cost=first.usage.cost)
        model = judge.model
        if model is None:
            return checked
        checked.structured = completions[-1].form
        checked.input_price = _per_million(model.price(Usage(input_tokens=1000)))
        checked.output_price = _per_million(model.price(Usage(output_tokens=1000)))
        second = await judge.judge(item, about_next, send)
        if second.error is None:
            checked.cached_tokens = completions[-1].usage.cached_tokens
        way = Probability(permutations=1, correct_prior=False, samples=1)
        third = await ModelJudge(model, way).judge(item, about, send)
        if third.error is None:
            checked.probabilities = third.answer["obtained"] == "logprobs"
        checked.cost = (first.usage + second.usage + third.usage).cost
        return checked
    finally:
        await judge.aclose()


def _per_million(dollars: float | None) -> float | None:
    """The price of a million tokens, from a thousand, to which no price for long prompts
    applies."""
    return None if dollars is None else round(1000 * dollars, 9)


def _print_checked(rows: Sequence[CheckedJudge], settings: JudgesSettings) -> int:
    """Print the results, and return the exit code."""
    code = ExitCode.SOME_FAILED if any(row.error for row in rows) else ExitCode.FINE
    if settings.json_output:
        print_json({"checked": [asdict(row) for row in rows]})
        return code
    headings = ("judge", "seconds", "$ per 1M in", "out", "structured", "probabilities", "cached")
    cells = [(row.judge, *_cells(row)) for row in rows]
    terminal = _print_table(headings, cells)
    for row in rows:
        if row.error is not None:
            terminal.print(f"{row.judge}: {row.error}", soft_wrap=True)
    costs = [row.cost for row in rows if row.error is None]
    priced = [cost for cost in costs if cost is not None]
    unknown = f"; the price of {costs.count(None)} is unknown" if None in costs else ""
    if costs and not priced:
        terminal.print(f"The cost of the check of {len(rows)} is unknown: there is no price.")
    else:
        terminal.print(f"The check of {len(rows)} cost ${sum(priced):.4f}{unknown}.")
    return code


def _cells(row: CheckedJudge) -> list[str]:
    """The cells of a row. A judge that is not a model has only its duration."""
    if row.error is not None:
        return ["failed", *[""] * 5]
    if row.structured is None:
        return [f"{row.seconds:.1f}", *[""] * 5]
    prices = ["unknown" if p is None else f"{p:g}" for p in (row.input_price, row.output_price)]
    probabilities = {None: "unknown", True: "yes", False: "no"}[row.probabilities]
    cached = {None: "unknown", 0: "none seen"}.get(row.cached_tokens, f"{row.cached_tokens} tokens")
    return [f"{row.seconds:.1f}", *prices, FORMS[row.structured], probabilities, cached]
