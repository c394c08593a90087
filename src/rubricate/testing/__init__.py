"""Tools for tests, of rubricate itself and of its users: a scripted judge endpoint with rules, and
assertions that a judge checks.

Names are imported on first use, because pytest loads the plugin in every environment.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.testing._assertion import (
        GivenUp as GivenUp,
        aassert_rubric as aassert_rubric,
        assert_rubric as assert_rubric,
    )
    from rubricate.testing._batches import (
        BatchScript as BatchScript,
        BatchServer as BatchServer,
        ScriptedBatch as ScriptedBatch,
    )
    from rubricate.testing._endpoint import ScriptedEndpoint as ScriptedEndpoint
    from rubricate.testing._gates import (
        UnclearGate as UnclearGate,
        assert_no_worse as assert_no_worse,
        assert_not_below as assert_not_below,
    )
    from rubricate.testing._rules import (
        Fault as Fault,
        JudgeRequest as JudgeRequest,
        Rule as Rule,
        echo as echo,
        load_rules as load_rules,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
