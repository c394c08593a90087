"""A cascade of judges: each is asked only if the ones before it were not sure.

Every answer is stored under its own judge's key, so that a cascade with another threshold, or with
one more stage, reuses all stored answers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from rubricate.errors import InputError
from rubricate.judge._choose import JudgeLike, named_judge
from rubricate.judge._judge import Judge, Stage, hash_of
from rubricate.judge._panel import modes_of
from rubricate.judge._people import People
from rubricate.rubric import Usage, Verdict


class Cascade(Judge):
    """Judges asked in order, the cheapest first.

    A verdict is kept if its confidence (see `confidence`) reaches the threshold. A verdict below
    it, without a confidence, abstaining or failed, is passed to the next stage, whose verdict
    replaces it. The verdict of the last stage is always kept. Criteria that need no judge are
    computed once. For example:

        Cascade(["openai/gpt-6-luna", "openai/gpt-6.1-terra"], threshold=0.9)

    Args:
        stages: at least two judges, models, callables, names or panels; the last may be `People`.
        threshold: the least confidence (0 to 1) for keeping a verdict: one for all stages but the
            last, or one for each of them. `rubricate trust cascade` chooses one by labels.

    Attributes:
        name: the names of the stages.
        stages: the stages in order.

    Raises:
        InputError: there are fewer than two stages, a threshold is invalid, people are not last, or
            a panel learns its weights.
    """

    def __init__(self, stages: Sequence[JudgeLike], threshold: float | Sequence[float]) -> None:
        if isinstance(stages, str) or len(stages) < 2:
            raise InputError("a cascade needs two judges or more, one after the other")
        thresholds = (
            threshold if isinstance(threshold, Sequence) else [threshold] * (len(stages) - 1)
        )
        if len(thresholds) != len(stages) - 1:
            raise InputError(
                f"{len(thresholds)} thresholds for {len(stages)} stages: give one, or one for each "
                "stage but the last"
            )
        for limit in thresholds:
            if isinstance(limit, bool) or not 0 <= limit <= 1:
                raise InputError(f"a threshold must be between 0 and 1, found {limit}")
        chosen = [_asked(stage) for stage in stages]
        if any(isinstance(judge, People) for judge in chosen[:-1]):
            raise InputError("a human judge must be the last stage of a cascade")
        self._stages = tuple(
            Stage(judge, least) for judge, least in zip(chosen, [*thresholds, None], strict=True)
        )
        self.name = " > ".join(judge.name for judge in chosen)
        self.mode = modes_of(chosen)
        self.caches_prefixes = any(judge.caches_prefixes for judge in chosen)
        self.answers_later = any(judge.answers_later for judge in chosen)
        self.people = chosen[-1] if isinstance(chosen[-1], People) else None

    @property
    def note(self) -> str | None:  # type: ignore[override]
        """The notes of the judges."""
        notes = dict.fromkeys(stage.judge.note for stage in self._stages if stage.judge.note)
        return " ".join(notes) or None

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self._stages

    @property
    def voters(self) -> tuple[str, ...]:
        return tuple(name for stage in self._stages for name in stage.names)

    def goes_on_without(self, lost: Collection[tuple[str, str]]) -> bool:
        """Whether a run is still useful without the models of these endpoints and names.

        It is if every stage but the last can decide, because their confident verdicts are kept.
        Without an earlier stage, everything would go to a more expensive judge, or to people.
        """
        return all(stage.goes_on_without(lost) for stage in self._stages[:-1])

    def at_stage(self, index: int, verdict: Verdict, votes: Sequence[Verdict]) -> Verdict:
        return replace(
            verdict,
            judge=self._stages[index].name,
            usage=Usage.total(vote.usage for vote in votes),
            resumed=all(vote.resumed for vote in votes),
            votes=tuple(votes),
            stage=index + 1,
        )

    def fingerprint(self) -> str | None:
        """A hash of the fingerprints of its stages and of their thresholds."""
        prints = [(stage.judge.fingerprint(), stage.threshold) for stage in self._stages]
        return None if any(fingerprint is None for fingerprint, _ in prints) else hash_of(prints)

    async def aclose(self) -> None:
        """Close connections. The cascade can be used again afterwards."""
        for stage in self._stages:
            await stage.judge.aclose()


def _asked(stage: JudgeLike) -> Judge:
    judge = named_judge(stage)
    if judge.learns_weights:
        raise InputError("a panel in a cascade cannot learn its weights: give numbers")
    if len(judge.stages) > 1:
        raise InputError("a cascade in a cascade: list the stages of both, one after the other")
    return judge


JudgesLike = JudgeLike | Sequence[JudgeLike]
"""A judge (including a panel or a cascade), or several judges that vote."""
