"""Help in which many options stand in groups, by what they are about."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from rubricate.errors import InputError

__all__ = ["GroupedCommand"]

MANY = 15
"""How many options a command has whose help is grouped."""
GROUPS = {
    "What is graded": "rubric map on_error tasks system grading columns texts prompt reference "
    "limit author_key allow_code",
    "Who judges": "judge base_url judge_prompt temperature max_tokens examples examples_count "
    "examples_pick escalate_to threshold",
    "How they are asked": "mode permutations shuffle correct_prior samples criteria_per_call "
    "chunk_tokens leader_first require_evidence",
    "Several judges, or one several times": "strategy ordinal nominal numeric weights min_votes "
    "replicates",
    "Scores": "cannot_assess partial length_penalty calibration certificate",
    "The run": "config run_dir fresh retry_failed resume cache no_cache dry_run",
    "Limits": "prices max_cost max_time concurrency max_concurrent requests_per_minute "
    "tokens_per_minute timeout attempts max_retries deadline max_outage",
}
"""Options by what they are about; others stand last, under "Output"."""
OUTPUT = "Output"


class GroupedCommand(TyperCommand):
    """A command whose options, where they are many, stand in groups; none may be empty."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read what is given; what is empty would be the working folder, or left out silently."""
        names = ["what is given", *args]
        for before, argument in zip(names, args, strict=False):
            name, equals, value = argument.partition("=")
            if not argument or (argument.startswith("--") and equals and not value):
                said = name or (before if before.startswith("-") else "an argument")
                raise InputError(f"{said} is empty; is a variable of the shell not set?")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        options = [one for one in self.get_params(ctx) if one.param_type_name == "option"]
        if len(options) <= MANY:
            super().format_options(ctx, formatter)
            return
        group_of = {name: group for group, names in GROUPS.items() for name in names.split()}
        sections: dict[str, list[Any]] = {"Arguments": []} | {group: [] for group in GROUPS}
        for one in self.get_params(ctx):
            is_option = one.param_type_name == "option"
            group = group_of.get(one.name or "", OUTPUT) if is_option else "Arguments"
            if (record := one.get_help_record(ctx)) is not None:
                sections.setdefault(group, []).append(record)
        for group, records in sections.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)
