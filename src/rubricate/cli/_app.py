"""The command line: its commands, and how errors leave it.

Exit codes: 0 fine; 1 usage or input error, or a run that could not go on; 2 finished, but some
verdicts failed; 3 a comparison found the second run worse; 130 interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rubricate._version import __version__
from rubricate.cli._logging import LoggedCommands
from rubricate.cli._reports_arguments import reports
from rubricate.errors import RubricateError

__all__ = ["main"]

app = typer.Typer(
    cls=LoggedCommands,
    help="Grade texts against rubrics with judges, and know how far to believe the grades.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_ClickException: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)


_GIVEN = (str, int, float, list)
"""What an option that was given is."""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rubricate {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Grade texts against rubrics with judges, and know how far to believe the grades."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def grade(
    data: Annotated[
        str | None,
        typer.Argument(
            help="A dataset (.json, .jsonl, .yaml, .yml) or a table (.csv, .json, .jsonl, "
            ".parquet, an https:// or s3:// address, hf:NAME@SPLIT)."
        ),
    ] = None,
    rubric: Annotated[
        str | None, typer.Option(help="A rubric file, used in place of the dataset's own.")
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="Who grades: builtin (default), openai/gpt-4.1-mini, ...; see judges. Given "
            "several times, all of them, and they vote."
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="Votes on binary criteria: majority, weighted, unanimous, any."),
    ] = None,
    ordinal: Annotated[
        str | None,
        typer.Option(help="Votes on ordered options: mean, median, weighted_mean, mode, min, max."),
    ] = None,
    nominal: Annotated[
        str | None,
        typer.Option(help="Votes on options without order: mode, weighted_mode, unanimous."),
    ] = None,
    numeric: Annotated[
        str | None,
        typer.Option(help="Votes on metric criteria: mean, median, weighted_mean."),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help="What each judge's vote counts: reliability, numbers such as 2,1,1, or by name: "
            "gpt=0.7,claude=0.3."
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(help="explained (default): reasons, then verdict; or probability."),
    ] = None,
    permutations: Annotated[
        int | None,
        typer.Option(help="Ask in so many orders of the answers. [1; 2 in probability mode]"),
    ] = None,
    shuffle: Annotated[
        int | None, typer.Option(help="A seed that draws the answers' order for each item.")
    ] = None,
    correct_prior: Annotated[
        bool | None,
        typer.Option(help="Correct probabilities by those of a question without content. [yes]"),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Replies drawn where a model has no logprobs. [5]")
    ] = None,
    min_votes: Annotated[
        int | None, typer.Option(help="With fewer votes that decide, a verdict is failed. [1]")
    ] = None,
    replicates: Annotated[
        int | None, typer.Option(help="How often each judge is asked, a vote each time. [1]")
    ] = None,
    map: Annotated[
        str | None,
        typer.Option(
            help="Which column of a table is what: submission=answer,prompt=question,"
            "context=passages,label.CRITERION=column."
        ),
    ] = None,
    on_error: Annotated[
        str | None,
        typer.Option(help="Rows of a table that do not fit: raise (default) or skip."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="The address of an OpenAI-compatible server, up to /v1.")
    ] = None,
    examples: Annotated[
        str | None,
        typer.Option(help="Labelled items to show to a model, or to refit the embedded judge on."),
    ] = None,
    examples_count: Annotated[
        int | None, typer.Option(help="How many examples a model is shown. [4]")
    ] = None,
    examples_pick: Annotated[
        str | None, typer.Option(help="Which: balanced over the labels (default), or nearest.")
    ] = None,
    judge_prompt: Annotated[
        str | None,
        typer.Option(help="A file with a prompt for the judge, in place of the usual one."),
    ] = None,
    leader_first: Annotated[
        bool | None,
        typer.Option(
            "--leader-first/--no-leader-first",
            help="Send an item's first request before its others, for the endpoint's cache. "
            "[where it is known to have one]",
        ),
    ] = None,
    criteria_per_call: Annotated[
        str | None, typer.Option(help="Criteria asked about in one request: a number, or all. [1]")
    ] = None,
    escalate_to: Annotated[
        list[str] | None,
        typer.Option(
            help="Who is asked where the judge is not sure: another judge, or a dataset file for "
            "people (people.jsonl). Several are asked one after the other."
        ),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(help="The least confidence with which a verdict stands; see cascade."),
    ] = None,
    chunk_tokens: Annotated[
        int | None,
        typer.Option(help="Read submissions of more tokens in parts of at most so many. [whole]"),
    ] = None,
    run_dir: Annotated[
        str | None,
        typer.Option(help="The run folder; taken up again if it is there. [runs/DATA-JUDGE]"),
    ] = None,
    fresh: Annotated[
        bool | None,
        typer.Option("--fresh", help="Ask everything anew; an earlier journal is moved aside."),
    ] = None,
    retry_failed: Annotated[
        bool | None,
        typer.Option("--retry-failed", help="Ask for nothing but what failed before."),
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(help="A folder with answers that runs share. [the user's cache folder]"),
    ] = None,
    no_cache: Annotated[
        bool | None, typer.Option("--no-cache", help="Share no answers with other runs.")
    ] = None,
    dry_run: Annotated[
        bool | None,
        typer.Option("--dry-run", help="Say what it would take, and send nothing."),
    ] = None,
    prices: Annotated[
        str | None, typer.Option(help="A file of prices by model, before the built-in ones.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(help="End before more US dollars than these are spent.")
    ] = None,
    max_time: Annotated[float | None, typer.Option(help="End after so many seconds.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="A YAML file with these options; the command line wins.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Grade only the first N items.")] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="The most requests in flight at once. [32]")
    ] = None,
    requests_per_minute: Annotated[
        float | None, typer.Option(help="What the endpoint may be sent. [as its answers tell]")
    ] = None,
    tokens_per_minute: Annotated[
        float | None, typer.Option(help="What the endpoint may be asked for. [as above]")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature. [0]")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds that one request may take. [120]")
    ] = None,
    attempts: Annotated[
        int | None, typer.Option(help="How often a failing request is sent, at most. [6]")
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds that one judgement may take in all. [600]")
    ] = None,
    max_outage: Annotated[
        float | None,
        typer.Option(help="Seconds without any answer after which a run is stopped. [120]"),
    ] = None,
    cannot_assess: Annotated[
        str | None, typer.Option(help="What an abstention scores: skip, zero, partial, fail.")
    ] = None,
    partial: Annotated[
        float | None, typer.Option(help="The fraction of the weight that partial gives. [0.5]")
    ] = None,
    length_penalty: Annotated[
        str | None,
        typer.Option(help="What length costs: free_budget=6000,max_cap=8000,penalty_at_cap=0.5."),
    ] = None,
    author_key: Annotated[
        str | None,
        typer.Option(help="Where metadata says which model wrote the text. [model, system]"),
    ] = None,
    allow_code: Annotated[
        bool | None, typer.Option("--allow-code", help="Run code that the rubric names.")
    ] = None,
    calibration: Annotated[
        str | None,
        typer.Option(help="A map of the judge's probabilities (see calibrate): label by it."),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(help="A certificate (see certify): say whether it holds for this run."),
    ] = None,
    json_output: Annotated[
        bool | None, typer.Option("--json", help="Print the summary as JSON.")
    ] = None,
    quiet: Annotated[
        bool | None, typer.Option("--quiet", "-q", help="Print nothing but errors (and --json).")
    ] = None,
) -> None:
    """Grade a dataset: judge every item by every criterion of its rubric."""
    from rubricate.cli._grade import grade_command
    from rubricate.cli._settings import load_settings

    options = {key: value for key, value in locals().items() if key != "config" and value != []}
    given = {key: value for key, value in options.items() if isinstance(value, _GIVEN)}
    if criteria_per_call is not None and criteria_per_call.isdecimal():
        given["criteria_per_call"] = int(criteria_per_call)
    raise typer.Exit(grade_command(load_settings(given, config)))


@app.command()
def show(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    item: Annotated[
        list[str] | None, typer.Option(help="Verdicts of this item; can be given several times.")
    ] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(help="Verdicts on this criterion; likewise.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Verdicts that failed.")] = False,
    disagreements: Annotated[
        bool,
        typer.Option(
            "--disagreements",
            help="Verdicts that differ from the human label; without labels, those on which "
            "the judges differ.",
        ),
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show the summary of a run again, or some of its verdicts with texts and reasons."""
    from rubricate.cli._show import show_command

    raise typer.Exit(
        show_command(
            run,
            items=item or (),
            criteria=criterion or (),
            failed=failed,
            disagreements=disagreements,
            json_output=json_output,
        )
    )


_GROUPS = typer.Option(
    help="Metadata that says which items belong together: intervals are by it. [each by itself]"
)
_UNDECIDED = typer.Option(
    help="A pair in which one did not decide: exclude, label (an abstention is a label) or wrong."
)


@app.command()
def export(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file: .csv, .jsonl or .parquet.")
    ],
    by: Annotated[
        str, typer.Option(help="What a row is: a verdict, or an item with columns for each.")
    ] = "verdict",
    safe_formulas: Annotated[
        bool,
        typer.Option(
            "--safe-formulas", help="Put ' before text that a spreadsheet would run as a formula."
        ),
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Write a run's verdicts as a table for other programs."""
    from rubricate.cli._export import export_command

    raise typer.Exit(
        export_command(run, output, by=by, safe_formulas=safe_formulas, json_output=json_output)
    )


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file. [report.html in the folder]")
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(help="Another run folder: show what changed from RUN to this one."),
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Write a run as one HTML page with all figures, plots, items and verdicts."""
    from rubricate.cli._report import report_command

    raise typer.Exit(report_command(run, output, compare=compare, json_output=json_output))


@app.command()
def label(
    data: Annotated[
        str,
        typer.Argument(help="A dataset, or a table; its labels go into NAME.labelled.json."),
    ],
    run: Annotated[
        Path | None,
        typer.Option(help="A run on it: its verdicts are shown when an item is labelled."),
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(help="Whose labels these are. [the user's name]")
    ] = None,
    rubric: Annotated[
        Path | None, typer.Option(help="A rubric file, used in place of the dataset's own.")
    ] = None,
    map: Annotated[
        str | None, typer.Option(help="Which column of a table is what; see grade.")
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            help="random, or worth: where people or the judge differ or it is unsure first. "
            "[worth with --run, else random]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random order.")] = 0,
    port: Annotated[int, typer.Option(help="Where the page is served. [a free port]")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the page's address.")
    ] = False,
) -> None:
    """Label a dataset by hand, blind, on a page that only this machine can open."""
    from rubricate.cli._label import label_command

    raise typer.Exit(
        label_command(
            data,
            run=run,
            annotator=annotator,
            rubric=rubric,
            map=map,
            order=order,
            seed=seed,
            port=port,
            browser=not no_browser,
        )
    )


@app.command()
def agree(
    run: Annotated[Path, typer.Argument(help="A run folder with human labels.")],
    undecided: Annotated[str, _UNDECIDED] = "exclude",
    groups: Annotated[str | None, _GROUPS] = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples for the intervals.")] = 2000,
    confidence: Annotated[float, typer.Option(help="The intervals' coverage.")] = 0.95,
    bca: Annotated[bool, typer.Option("--bca", help="BCa intervals, not percentiles.")] = False,
    seed: Annotated[int, typer.Option(help="Of the resamples.")] = 0,
    json_output: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Show how far a run's judge agrees with the human labels, with intervals."""
    from rubricate.cli._trust import agree_command
    from rubricate.stats import Bootstrap

    bootstrap = Bootstrap(resamples, confidence, "bca" if bca else "percentile", seed)
    raise typer.Exit(
        agree_command(
            run,
            undecided=undecided,
            groups=groups,
            bootstrap=bootstrap,
            json_output=json_output,
        )
    )


@app.command()
def calibrate(
    run: Annotated[Path, typer.Argument(help="A judge's run with probabilities and human labels.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the map.")] = Path(
        "calibration.json"
    ),
    method: Annotated[
        str | None, typer.Option(help="isotonic or platt. [isotonic from 300 labels on]")
    ] = None,
    train_share: Annotated[
        float, typer.Option(help="The share of the labelled items that it is fitted on.")
    ] = 0.7,
    seed: Annotated[int, typer.Option(help="Of the draw of these items.")] = 0,
    json_output: Annotated[bool, typer.Option("--json", help="Print the map as JSON.")] = False,
) -> None:
    """Fit a map from a judge's probabilities to what they turned out to mean."""
    from rubricate.cli._trust import calibrate_command

    raise typer.Exit(
        calibrate_command(
            run,
            output,
            method=method,
            train_share=train_share,
            seed=seed,
            json_output=json_output,
        )
    )


@app.command()
def cascade(
    run: Annotated[Path, typer.Argument(help="The first judge's run, with human labels.")],
    then: Annotated[
        Path | None, typer.Argument(help="A run of the same items by the judge asked next.")
    ] = None,
    promise: Annotated[
        float, typer.Option(help="The agreement that verdicts that stand are to have.")
    ] = 0.9,
    risk: Annotated[
        float, typer.Option(help="The probability of promising too much that is accepted.")
    ] = 0.05,
    threshold: Annotated[
        list[float] | None,
        typer.Option(help="Show this threshold too; can be given several times."),
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Choose on labels how sure a judge must be before another is asked; asks nobody."""
    from rubricate.cli._trust import cascade_command

    raise typer.Exit(
        cascade_command(
            run,
            then,
            promise=promise,
            risk=risk,
            thresholds=threshold or [],
            json_output=json_output,
        )
    )


@app.command()
def compare(
    run_a: Annotated[Path, typer.Argument(help="The run folder before.")],
    run_b: Annotated[Path, typer.Argument(help="The run folder after.")],
    fail_if_worse: Annotated[
        float | None,
        typer.Option(help="Exit with 3 if the mean score of B is lower by more than this."),
    ] = None,
    min_coverage: Annotated[
        float | None,
        typer.Option(
            help="With --fail-if-worse: exit with 4 if less of A's verdicts could be compared. "
            "[0.95]"
        ),
    ] = None,
    groups: Annotated[str | None, _GROUPS] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the report to this file as Markdown.")
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Compare two runs of the same items: the difference, how sure it is, and what flipped."""
    from rubricate.cli._trust import compare_command

    raise typer.Exit(
        compare_command(
            run_a,
            run_b,
            fail_if_worse=fail_if_worse,
            min_coverage=min_coverage,
            groups=groups,
            markdown=markdown,
            json_output=json_output,
        )
    )


@app.command()
def few_labels(
    run: Annotated[Path, typer.Argument(help="A run folder; some of its items may have labels.")],
    next_items: Annotated[
        int, typer.Option("--next", help="Name so many items to label next, a random sample.")
    ] = 0,
    uncertain: Annotated[
        bool,
        typer.Option("--uncertain", help="With --next: the least sure first; bends the means."),
    ] = False,
    groups: Annotated[str | None, _GROUPS] = None,
    confidence: Annotated[float, typer.Option(help="The intervals' coverage.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of the items named.")] = 0,
    json_output: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Show the means that people would give, from labels of some items; name more to label."""
    from rubricate.cli._trust import few_labels_command

    raise typer.Exit(
        few_labels_command(
            run,
            next_items=next_items,
            uncertain=uncertain,
            groups=groups,
            confidence=confidence,
            seed=seed,
            json_output=json_output,
        )
    )


@app.command()
def variance(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Runs with replicates or several judges, or runs of other prompts."),
    ],
    groups: Annotated[str | None, _GROUPS] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Show how much of the spread is item, judge, prompt and sampling; list unstable criteria."""
    from rubricate.cli._trust import variance_command

    raise typer.Exit(variance_command(runs, groups=groups, json_output=json_output))


@app.command()
def certify(
    run: Annotated[Path, typer.Argument(help="A run folder with human labels.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the certificate.")
    ] = Path("certificate.json"),
    undecided: Annotated[str, _UNDECIDED] = "exclude",
    json_output: Annotated[bool, typer.Option("--json", help="Print the certificate.")] = False,
) -> None:
    """Write down what judge, prompt and rubric agreed how far with people."""
    from rubricate.cli._trust import certify_command

    raise typer.Exit(certify_command(run, output, undecided=undecided, json_output=json_output))


@app.command()
def replay(
    data: Annotated[
        str, typer.Argument(help="A dataset whose items' metadata has verdicts under votes.")
    ],
    judge: Annotated[
        list[str] | None, typer.Option(help="Only these judges; can be given several times. [all]")
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show how recorded judges, and panels of them, agree with people; asks nobody."""
    from rubricate.cli._replay import replay_command

    raise typer.Exit(replay_command(data, judge or [], json_output=json_output))


@app.command()
def redteam(
    judge: Annotated[
        str | None,
        typer.Option(help="Who is attacked: builtin (default), openai/gpt-4.1-mini, ..."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="The address of an OpenAI-compatible server, up to /v1.")
    ] = None,
    judge_prompt: Annotated[
        str | None,
        typer.Option(help="A file with a prompt for the judge, in place of the usual one."),
    ] = None,
    run_dir: Annotated[
        str | None,
        typer.Option(help="The run folder; taken up again if it is there. [runs/redteam-JUDGE]"),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Ask everything anew; an earlier journal is moved aside."),
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask for nothing but what failed before.")
    ] = False,
    cache: Annotated[
        str | None,
        typer.Option(help="A folder with answers that runs share. [the user's cache folder]"),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Share no answers with other runs.")
    ] = False,
    max_cost: Annotated[
        float | None, typer.Option(help="End before more US dollars than these are spent.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Attack only the first N of the suite's wrong answers.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="The most requests in flight at once. [32]")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature. [0]")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds that one request may take. [120]")
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors (and --json).")
    ] = False,
) -> None:
    """Attack a judge: how often is it talked into passing a wrong answer?"""
    from rubricate.cli._redteam import redteam_command
    from rubricate.redteaming import RedTeamOptions

    options: RedTeamOptions = {"base_url": base_url, "fresh": fresh, "max_cost": max_cost}
    options["retry_failed"] = retry_failed
    options["judge_prompt"] = judge_prompt
    if concurrency is not None:
        options["concurrency"] = concurrency
    if temperature is not None:
        options["temperature"] = temperature
    if timeout is not None:
        options["timeout"] = timeout
    raise typer.Exit(
        redteam_command(
            judge,
            run_dir=run_dir,
            cache=cache,
            no_cache=no_cache,
            limit=limit,
            json_output=json_output,
            quiet=quiet,
            options=options,
        )
    )


@app.command()
def compare_pair(
    first: Annotated[
        str,
        typer.Argument(help="A text file, or a dataset or table with an answer in each item."),
    ],
    second: Annotated[
        str | None,
        typer.Argument(help="The same of the other side; not needed with --columns."),
    ] = None,
    rubric: Annotated[
        str | None, typer.Option(help="A rubric file; a dataset may have its own.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="The two columns of one table that have the submissions: old,new."),
    ] = None,
    map: Annotated[
        str | None,
        typer.Option(help="What the other columns of a table are: prompt=question,id=qid."),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="What is given are the two texts, not files of them.")
    ] = False,
    prompt: Annotated[str | None, typer.Option(help="The task that two texts answer.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="A text file with an exemplary response to it.")
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="A language model: openai/gpt-4.1-mini, ... Given several times, they vote."
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="The address of an OpenAI-compatible server, up to /v1.")
    ] = None,
    run_dir: Annotated[
        str | None,
        typer.Option(help="The run folder; taken up again if it is there. [runs/pair-A-B-JUDGE]"),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Ask everything anew; an earlier journal is moved aside."),
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask for nothing but what failed before.")
    ] = False,
    cache: Annotated[
        str | None,
        typer.Option(help="A folder with answers that runs share. [the user's cache folder]"),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Share no answers with other runs.")
    ] = False,
    max_cost: Annotated[
        float | None, typer.Option(help="End before more US dollars than these are spent.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Compare only the first N pairs.")] = None,
    replicates: Annotated[
        int | None, typer.Option(help="How often each judge is asked, a vote each time. [1]")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="The most requests in flight at once. [32]")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature. [0]")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds that one request may take. [120]")
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors (and --json).")
    ] = False,
) -> None:
    """Ask a judge which of two submissions is better, by each criterion, in both orders."""
    from rubricate.cli._compare_pair import Compared, compare_pair_command
    from rubricate.comparing import PairOptions

    options: PairOptions = {"base_url": base_url, "fresh": fresh, "max_cost": max_cost}
    options["retry_failed"] = retry_failed
    if replicates is not None:
        options["replicates"] = replicates
    if concurrency is not None:
        options["concurrency"] = concurrency
    if temperature is not None:
        options["temperature"] = temperature
    if timeout is not None:
        options["timeout"] = timeout
    raise typer.Exit(
        compare_pair_command(
            Compared(first, second, rubric, columns, map, texts, prompt, reference),
            judge or [],
            run_dir=run_dir,
            cache=cache,
            no_cache=no_cache,
            limit=limit,
            json_output=json_output,
            quiet=quiet,
            options=options,
        )
    )


app.command()(reports)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where to write.")] = Path(),
    force: Annotated[bool, typer.Option(help="Overwrite files that are there.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Write a small dataset, rubric and configuration to start from."""
    from rubricate.cli._init import init_command

    raise typer.Exit(init_command(folder, force=force, json_output=json_output))


@app.command()
def judges(
    json_output: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """List the judges: prefixes, addresses, which keys are set, which extras are installed."""
    from rubricate.cli._judges import judges_command

    raise typer.Exit(judges_command(json_output=json_output))


def main() -> None:
    """Run the command line; errors become one line on standard error."""
    try:
        code = app(standalone_mode=False)
    except typer.Abort:
        code = 130
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        code = 130
    except RubricateError as error:
        sys.stderr.write(f"Error: {_one_line(str(error))}\n")
        code = 1
    except BrokenPipeError:
        sys.stderr.close()
        code = 1
    except Exception as error:
        if not isinstance(error, _ClickException):
            raise
        message = error.format_message()  # type: ignore[attr-defined]
        if message:
            sys.stderr.write(f"Error: {_one_line(message)} (see rubricate --help)\n")
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _one_line(text: str) -> str:
    return " ".join(text.split())
