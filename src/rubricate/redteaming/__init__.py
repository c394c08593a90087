"""How easily a judge is talked into passing a wrong answer: attacks, beside clean controls.

    report = rubricate.redteam("openai/gpt-4.1-mini", run_dir="runs/redteam")
    print(report)

The questions and the families of attacks that ship are data, in `suite.yaml`.
"""

from rubricate.redteaming._attacks import AttackFamily, AttackSuite, load_attacks, load_families
from rubricate.redteaming._redteam import (
    RedTeamOptions,
    RedTeamReport,
    aestimate_redteam,
    aredteam,
    estimate_redteam,
    redteam,
)

__all__ = [
    "AttackFamily",
    "AttackSuite",
    "RedTeamOptions",
    "RedTeamReport",
    "aestimate_redteam",
    "aredteam",
    "estimate_redteam",
    "load_attacks",
    "load_families",
    "redteam",
]
