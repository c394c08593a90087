"""What a session of tests remembers of models that do not answer.

To find out that an endpoint is dead takes seconds. One test waits for that, not every test.
"""

from __future__ import annotations

from rubricate.errors import ModelError
from rubricate.run import ModelKey, Sender

AT_ONCE = ("connection", "timeout", "deadline", "auth", "not_found")
"""What no text can be the cause of. All else must befall two texts in a row."""
Patience = tuple[int, float, float, float]
"""The options that say how long an answer is waited for: attempts, deadline, max_outage, timeout.
Who waits longer may get one."""


class GivenUp:
    """The models that were found dead, by endpoint and name, and why.

    What is asked with another patience than before finds out for itself.
    """

    def __init__(self) -> None:
        self._dead: dict[Patience, dict[ModelKey, ModelError]] = {}
        self._failing: dict[Patience, dict[ModelKey, str]] = {}

    def tell(self, sender: Sender, patience: Patience) -> None:
        """Have a sender send nothing to them."""
        for model, why in self._dead.get(patience, {}).items():
            sender.give_up(model, f"given up earlier in this session: {why.kind}: {why}")

    def learn(self, sender: Sender, patience: Patience, text: str) -> None:
        """Take in what came of judging a text."""
        dead = self._dead.setdefault(patience, {})
        failing = self._failing.setdefault(patience, {})
        for model in sender.answered:
            failing.pop(model, None)
        for model, why in sender.lost.items():
            if model in dead:
                continue
            if why.kind in AT_ONCE or failing.setdefault(model, text) != text:
                dead[model] = why
