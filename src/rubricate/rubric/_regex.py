"""Criteria decided by a regular expression, without a judge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from rubricate._spelling import unknown_word
from rubricate.errors import InputError
from rubricate.rubric._computed import Computed, ComputedCriterion
from rubricate.rubric._verdict import CriterionVerdict, Evidence

if TYPE_CHECKING:
    import regex

MOMENT = 0.005
"""Seconds that matching may block the event loop; longer searches continue in a thread."""
SHOWN = 80
FLAGS = ("ASCII", "DOTALL", "MULTILINE", "VERBOSE")


class RegexCriterion(ComputedCriterion):
    """Searches for a pattern in the submission (`re.search`).

    MET if it is found, else UNMET; the other way round with `invert`. The match is the evidence.
    """

    telltale: ClassVar[Sequence[str]] = ("pattern", "regex", "case_sensitive", "invert")
    own_fields: ClassVar[Sequence[str]] = (
        "pattern",
        "case_sensitive",
        "invert",
        "flags",
        "time_limit",
    )
    kind: Literal["regex"] = "regex"
    requirement: str = ""
    """What the pattern checks for, in words. Default: the pattern."""
    pattern: str
    """A Python regular expression."""
    case_sensitive: bool = False
    """Whether upper and lower case differ."""
    invert: bool = False
    """Whether the criterion is met if the pattern is *not* found."""
    flags: tuple[str, ...] = Field(default=(), strict=False)
    """Any of `ASCII`, `DOTALL`, `MULTILINE`, `VERBOSE`, as in the `re` module."""
    time_limit: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """Maximum seconds for one submission; after that the verdict is `failed`."""

    @model_validator(mode="after")
    def _pattern_compiles(self) -> RegexCriterion:
        for flag in self.flags:
            if flag not in FLAGS:
                raise InputError(f"flags: {unknown_word('flag', flag, FLAGS)}")
        if not self.pattern:
            raise InputError("pattern: must not be empty: it would be found in every text")
        import regex

        try:
            re.compile(self.pattern, _flags(re, self.flags, self.case_sensitive))
            _compiled(self.pattern, self.flags, self.case_sensitive)
        except re.error as error:
            at = "" if error.pos is None else f" at position {error.pos}"
            raise InputError(
                f"pattern: {error.msg}{at} in {_shown(self.pattern)} (to match ( or [ "
                "itself, write \\ before it)"
            ) from None
        except (regex.error, OverflowError, RecursionError) as error:
            raise InputError(f"pattern: {error} in {_shown(self.pattern)}") from None
        return self

    def described(self) -> str:
        """What is checked, in words."""
        verb = "does not match" if self.invert else "matches"
        return self.requirement or f"The submission {verb} the pattern {self.pattern}"

    def compute_at_once(self, submission: str) -> Computed | None:
        try:
            return self._searched(submission, MOMENT)
        except TimeoutError:
            return None

    def compute(self, submission: str, item: object = None) -> Computed:
        """Search the submission.

        Raises:
            TimeoutError: matching took longer than `time_limit`.
        """
        return self._searched(submission, self.time_limit)

    def _searched(self, submission: str, seconds: float) -> Computed:
        pattern = _compiled(self.pattern, self.flags, self.case_sensitive)
        match = pattern.search(submission, timeout=seconds, concurrent=seconds > MOMENT)
        met = (match is None) == self.invert
        evidence = () if match is None else (Evidence(match.group(), match.start(), match.end()),)
        label = CriterionVerdict.MET if met else CriterionVerdict.UNMET
        reason = "The pattern is not found." if match is None else "The pattern is found."
        return Computed(label.value, reason, evidence)

    def identity(self) -> object:
        return [self.pattern, self.case_sensitive, self.invert, self.flags]


def _shown(pattern: str) -> str:
    """A pattern for a message: its first 80 characters."""
    return repr(pattern) if len(pattern) <= SHOWN else f"{pattern[:SHOWN]!r}..."


def _flags(module: Any, names: tuple[str, ...], case_sensitive: bool) -> int:
    value = 0 if case_sensitive else int(module.IGNORECASE)
    for name in names:
        value |= int(getattr(module, name))
    return value


@lru_cache(maxsize=1024)
def _compiled(pattern: str, flags: tuple[str, ...], case_sensitive: bool) -> regex.Pattern[str]:
    import regex

    return regex.compile(pattern, _flags(regex, flags, case_sensitive) | regex.VERSION0)
