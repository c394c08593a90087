"""What the mock judge answers to rubricate; given to the ruler as `--responders`."""

from common import verdict
from responders import WHY, _text, responder


@responder("rubricate")
def rubricate(sub: int, crit: int, seed: int, request: dict) -> tuple:
    """The same explanation as for every other project, and the pair's right verdict."""
    label = "MET" if verdict(seed, sub, crit) else "UNMET"
    return _text(f'{{"reason":"{WHY}","evidence":[],"verdict":"{label}"}}')
