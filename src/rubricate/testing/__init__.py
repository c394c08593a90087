"""A scripted judge endpoint and its rules: what rubricate is tested with, for users' tests too."""

from rubricate.testing._endpoint import ScriptedEndpoint
from rubricate.testing._rules import Fault, JudgeRequest, Rule, load_rules

__all__ = ["Fault", "JudgeRequest", "Rule", "ScriptedEndpoint", "load_rules"]
