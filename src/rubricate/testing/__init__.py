"""What rubricate is tested with, and what its users test with: a scripted judge endpoint and its
rules, and assertions that a judge checks.

Names are loaded when they are first used, because pytest loads the plugin for everyone.
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
