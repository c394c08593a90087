"""Items: which calls each one needs next, and what its verdicts are. No event loop, no I/O.

`Stages` are the judges of a run. An `ItemMachine` goes from the answers so far to the next calls:

    item, calls = machine.start(data, index)
    while calls:
        for call in machine.take_known(item, calls, known):     # the stored answers to them
            machine.take(item, call, verdicts)                  # what the judge has answered
        calls = machine.next_calls(item)

Resuming, asking again what failed, groups, gates, panels, cascades, replicates, duplicates and
leaders are decided here; when a call is made, and whether there is money for it, is not.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.run.items._machine import (
        ItemMachine as ItemMachine,
        JudgedItem as JudgedItem,
        Pending as Pending,
    )
    from rubricate.run.items._stages import (
        NOT_RUN as NOT_RUN,
        Calibrate as Calibrate,
        Call as Call,
        Question as Question,
        Stages as Stages,
        failure_of as failure_of,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
