"""Tests how easily a judge can be talked into passing a wrong answer: attacks, with clean controls.

    report = rubricate.redteam("openai/gpt-6-luna", run_dir="runs/redteam")
    print(report)

The built-in questions and families of attacks are data, in `suite.yaml`.
"""

from rubricate.analysis import RedTeamReport as RedTeamReport
from rubricate.redteaming._attacks import (
    AttackFamily as AttackFamily,
    AttackSuite as AttackSuite,
    load_attacks as load_attacks,
    load_families as load_families,
)
from rubricate.redteaming._redteam import (
    RedTeamOptions as RedTeamOptions,
    aestimate_redteam as aestimate_redteam,
    aredteam as aredteam,
    estimate_redteam as estimate_redteam,
    redteam as redteam,
)
