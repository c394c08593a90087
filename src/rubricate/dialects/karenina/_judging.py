"""The judge of answers: one model, with quotes where they are needed, again for each replicate."""

from __future__ import annotations

from rubricate.dataset import Item
from rubricate.dialects.karenina._writing import replicate_of
from rubricate.judge import Explained, Model, ModelJudge, Send
from rubricate.rubric import Criterion, Verdict

QUOTES = "quotes"
"""Where an item's metadata say of which criteria verdicts need quotes, with how often these are
asked for again."""


class ParsingJudge(ModelJudge):
    """A model that judges answers.

    A criterion of deep judgment is asked with `require_evidence`: quotes that do not stand in the
    answer are asked for again, and the verdict abstains where they still do not. Of a replicate
    after the first everything is asked anew.

    Args:
        model: the model.
        name: what results call it.
    """

    def __init__(self, model: Model, name: str) -> None:
        super().__init__(model, name=name)
        self._with_quotes: dict[int, ModelJudge] = {}

    def _asked(self, item: Item, criterion: Criterion) -> ModelJudge | None:
        """The judge that needs quotes, where this criterion does."""
        reasks = item.data.metadata.get(QUOTES, {}).get(criterion.name)
        if reasks is None:
            return None
        if reasks not in self._with_quotes:
            asking = Explained(require_evidence=True)
            self._with_quotes[reasks] = ModelJudge(
                self.model, asking, name=self.name, reasks=reasks
            )
        return self._with_quotes[reasks]

    def key(self, item: Item, criterion: Criterion) -> str:
        other = self._asked(item, criterion)
        key = super().key(item, criterion) if other is None else other.key(item, criterion)
        number = replicate_of(item)
        return key if number == 1 else f"{key}-replicate-{number}"

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        other = self._asked(item, criterion)
        if other is not None:
            return await other.judge(item, criterion, send)
        return await super().judge(item, criterion, send)
