"""The built-in judge itself: a logistic classifier over `_features`, its numbers, and its words."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any

from rubricate._spelling import listed
from rubricate.errors import InputError
from rubricate.judge.builtin._features import FEATURE_NAMES, Lexicon, Match, compare, target
from rubricate.judge.builtin._ignored_parts import repeats, set_aside
from rubricate.judge.builtin._inputs import (
    Classification,
    Inputs,
    Option,
    SoughtText,
    is_blank,
    option_text,
    question,
)
from rubricate.judge.builtin._language import not_english
from rubricate.judge.builtin._text import analyse

RULES = 4
"""The version of all logic besides the numbers: increased whenever it changes an answer, so that
journals and caches do not reuse an answer of other rules."""

FEW_WORDS = 5
"""Content words of a criterion up to which each number and each part of a name must appear. At
double, whole statements count, of whose formulas and names right answers leave some out."""

BLANK_PROBABILITY = 0.02
"""Probability that a submission without words meets a criterion about content. A convention, not a
fit, like the two that follow."""

COPY_PROBABILITY = 0.1
"""The same if all of it is ignored: a copy, words without a sentence."""

ABSENT_PROBABILITY = 0.8
"""The highest probability for a criterion of absence if nothing is found: other words may express
it."""

NOTHING_FOUND = 0.4
"""The highest probability for any other criterion if none of its words is found."""

LEFT = " \t\r\n.,;:!?-*+#>\"'()[]"
"""Characters that may remain of a submission if all of it is ignored."""

_CONTRADICTION = ("contradict", "opposite", "conflict")


@dataclass(frozen=True, slots=True)
class Look:
    """The result of examining a submission: a match, or why there is none."""

    match: Match | None = None
    counted: str = ""
    """The submission without its ignored parts."""
    fixed: float = 0.0
    """P(MET) if there is nothing to compare."""
    abstention: str = ""
    """Why the judge abstains."""
    reason: str = ""
    """In words: why there is no match, or which parts were ignored."""


@dataclass(frozen=True)
class Classifier:
    """A fitted judge. Immutable; `load()` gives the shipped one.

    The logit of MET is `intercept + sum(coefficient * feature)`, with the calibration folded in.
    `means` and `scales` are the features' means and standard deviations in the training data, which
    a refit needs. `spread` is the distance in logits between the thresholds of the best and of a
    middle option (proportional odds, McCullagh 1980). `contradiction` holds the share of
    contradicting answers among those that are not best, without and with a sign of contradiction.
    `contradicted` is the highest probability of MET if the submission contradicts the criterion.
    `effects` adds to the logit for targets that a refit has often seen, by `target_key`.

    Attributes:
        intercept: the intercept of the logit, in log-odds.
        coefficients: one per feature, in the order of `FEATURE_NAMES`.
        lexicon: the rarity of words.
    """

    intercept: float
    coefficients: tuple[float, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    spread: float
    contradiction: tuple[float, float]
    contradicted: float
    lexicon: Lexicon
    effects: Mapping[str, float]
    training: Mapping[str, Any]
    """Names and licences of the data, date, seed and measured figures, as in the file."""

    @classmethod
    def load(cls) -> Classifier:
        """Load the shipped classifier. It is read once."""
        return _shipped()

    @classmethod
    def from_json(cls, text: str) -> Classifier:
        """Read the output of `to_json`.

        Args:
            text: the output of `to_json`.

        Raises:
            InputError: it was fitted on other features or rules.
        """
        data = json.loads(text)
        features = data["features"]
        if tuple(features) != FEATURE_NAMES or data.get("rules") != RULES:
            raise InputError(
                "these weights are of other features or rules than this version has; "
                "fit them again with rubricate.judge.builtin.refit or tools/train_builtin.py"
            )
        rarity = {
            root: tenths / 10
            for tenths, roots in enumerate(data["rarity"])
            for root in roots.split()
        }
        return cls(
            intercept=float(data["intercept"]),
            coefficients=tuple(float(entry["coefficient"]) for entry in features.values()),
            means=tuple(float(entry["mean"]) for entry in features.values()),
            scales=tuple(float(entry["scale"]) for entry in features.values()),
            spread=float(data["spread"]),
            contradiction=(float(data["contradiction"][0]), float(data["contradiction"][1])),
            contradicted=float(data["contradicted"]),
            lexicon=Lexicon(rarity, float(data["rarity_unlisted"])),
            effects={str(key): float(effect) for key, effect in data["effects"].items()},
            training=data["training"],
        )

    def to_json(self) -> str:
        """All of its data as JSON; equal classifiers give equal bytes."""
        return (
            json.dumps(
                {"training": dict(self.training), **self._numbers}, indent=1, ensure_ascii=False
            )
            + "\n"
        )

    @cached_property
    def _numbers(self) -> dict[str, Any]:
        levels: list[list[str]] = []
        for root, weight in sorted(self.lexicon.rarity.items()):
            tenths = round(weight * 10)
            while len(levels) <= tenths:
                levels.append([])
            levels[tenths].append(root)
        return {
            "rules": RULES,
            "intercept": self.intercept,
            "features": {
                name: {"coefficient": coefficient, "mean": mean, "scale": scale}
                for name, coefficient, mean, scale in zip(
                    FEATURE_NAMES, self.coefficients, self.means, self.scales, strict=True
                )
            },
            "spread": self.spread,
            "contradiction": list(self.contradiction),
            "contradicted": self.contradicted,
            "effects": dict(self.effects),
            "rarity_unlisted": self.lexicon.unlisted,
            "rarity": [" ".join(roots) for roots in levels],
        }

    @cached_property
    def identity(self) -> str:
        """16 hexadecimal digits that change with any number that could change a verdict."""
        text = json.dumps(self._numbers, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def estimate(self, inputs: Inputs) -> Classification:
        """Judge one submission by one criterion. Never raises, whatever the text."""
        sought = question(inputs.requirement, inputs.reference, inputs.options, inputs.ordinal)
        if sought.abstention:
            return Classification(sought.abstention)
        if sought.options:
            return self._by_option_texts(inputs, sought)
        look = self.look(inputs, sought)
        if look.abstention:
            return Classification(look.abstention)
        match, reason, evidence = look.match, look.reason, None
        met = look.fixed
        if match is not None:
            met = self.probability(match, sought)
            reason, evidence = _words(match, sought) + reason, _evidence(look.counted, match)
        if sought.absence:
            met = min(1.0 - met, ABSENT_PROBABILITY)
            reason += " The criterion holds where this is absent."
        if inputs.options:
            return self._on_scale(inputs, met, reason, evidence, match)
        label = "MET" if met >= 0.5 else "UNMET"
        if label == "MET" and (word := _unnamed(match, sought, look.counted)):
            return Classification(f"{reason} Without {word}, comparing words cannot decide.")
        shares = (("MET", met), ("UNMET", 1.0 - met))
        return Classification(reason, label, max(met, 1.0 - met), met, evidence, shares)

    def look(self, inputs: Inputs, sought: SoughtText) -> Look:
        """Compare a submission with the sought text, if there is something to compare."""
        submission = inputs.submission
        if is_blank(submission):
            reason = "The submission is empty, so nothing that the criterion describes is there."
            return Look(fixed=BLANK_PROBABILITY, reason=reason)
        if reason := not_english(submission, sought.text):
            return Look(abstention=reason)
        if sought.is_criterion and not sought.absence and repeats(submission, sought.text):
            reason = "The submission is the criterion word for word: a copy, or an answer."
            return Look(abstention=reason)
        counted, aside = set_aside(submission, inputs.requirement, inputs.prompt)
        if aside and not counted.strip(LEFT):
            reason = f"The submission is only {aside}."
            if sought.absence:
                return Look(abstention=reason)
            return Look(fixed=COPY_PROBABILITY, reason=reason)
        own = replace(inputs, submission=counted) if aside else inputs
        match = self.match(own, sought.text, sought.is_criterion)
        return Look(match, counted, reason=f" Not counted: {aside}." if aside else "")

    def match(self, inputs: Inputs, text: str, requirement: bool) -> Match:
        """Compare the submission with a requirement, or else with a reference or an option.

        Args:
            inputs: the submission and its context.
            text: the sought text.
            requirement: whether `text` is a requirement, and not a reference or option.
        """
        aim = target(text, inputs.prompt, self.lexicon, requirement)
        return compare(analyse(inputs.submission), inputs.submission, aim, self.lexicon)

    def logit(self, match: Match) -> float:
        """Calibrated log-odds that the submission contains the text it was compared with.

        Returns:
            Natural log-odds, any real number; 0 means even odds.
        """
        return self.intercept + sum(map(float.__mul__, self.coefficients, match.values))

    def probability(self, match: Match, sought: SoughtText) -> float:
        """Calibrated probability of MET for a match with the sought text.

        Returns:
            A probability, 0 to 1.
        """
        logit = self.logit(match)
        if self.effects:
            logit += self.effects.get(target_key(sought.text), 0.0)
        met = sigmoid(logit)
        if match.against:
            met = min(met, self.contradicted)
        return met if match.present else min(met, NOTHING_FOUND)

    def _on_scale(
        self,
        inputs: Inputs,
        met: float,
        reason: str,
        evidence: tuple[int, int] | None,
        match: Match | None,
    ) -> Classification:
        """Map the probability of the best option to an option of an ordered scale."""
        live = [option for option in inputs.options if not option.na]
        levels = sorted({option.value or 0.0 for option in live})
        logit = math.log(met / (1.0 - met)) if 0.0 < met < 1.0 else math.copysign(40.0, met - 0.5)
        shares = level_probabilities(logit, levels, self.spread)
        level = max(range(len(levels)), key=lambda index: (shares[index], -index))
        tied = [option for option in live if (option.value or 0.0) == levels[level]]
        chosen, part = self._among_equals(tied, match)
        if len(tied) > 1:
            reason += f" Options of equal value: {', '.join(option.label for option in tied)}."
        each = self._shares(live, levels, shares, match)
        return Classification(reason, chosen.label, shares[level] * part, met, evidence, each)

    def _shares(
        self,
        live: Sequence[Option],
        levels: Sequence[float],
        shares: Sequence[float],
        match: Match | None,
    ) -> tuple[tuple[str, float], ...]:
        """The probability of each option: that of its level, shared by options of equal value."""
        probabilities: list[tuple[str, float]] = []
        for value, share in zip(levels, shares, strict=True):
            tied = [option for option in live if (option.value or 0.0) == value]
            chosen, part = self._among_equals(tied, match)
            rest = (1.0 - part) / max(1, len(tied) - 1)
            probabilities += [(o.label, share * (part if o is chosen else rest)) for o in tied]
        return tuple(probabilities)

    def _among_equals(self, tied: Sequence[Option], match: Match | None) -> tuple[Option, float]:
        """One of the options with equal values, and its share of their probability."""
        contradicting = [option for option in tied if is_contradiction(option)]
        others = [option for option in tied if option not in contradicting]
        if not contradicting or not others:
            return tied[0], 1.0 / len(tied)
        share = self.contradiction[match is not None and bool(match.against)] if match else 0.0
        if share > 0.5:
            return contradicting[0], share / len(contradicting)
        return others[0], (1.0 - share) / len(others)

    def _by_option_texts(self, inputs: Inputs, sought: SoughtText) -> Classification:
        """Choose between unordered options by their texts."""
        reason = ""
        if is_blank(inputs.submission):
            reason = "The submission is empty: no option's text can be compared with it."
        texts = " ".join(map(option_text, sought.options))
        reason = reason or not_english(inputs.submission, texts)
        if reason:
            return Classification(reason)
        matches = [self.match(inputs, option_text(option), False) for option in sought.options]
        odds = [
            math.exp(min(40.0, self.logit(match))) if match.present else 0.0 for match in matches
        ]
        best = max(range(len(odds)), key=odds.__getitem__)
        if not odds[best] or odds.count(odds[best]) > 1:
            return Classification("No option's text matches the submission better than the others.")
        match = matches[best]
        any_holds = 1.0 - math.prod(1.0 / (1.0 + value) for value in odds)
        label, words = sought.options[best].label, _words(match, sought)
        return Classification(
            f"Of the options' texts, {label!r} matches best. {words}",
            label,
            odds[best] / sum(odds) * any_holds,
            evidence=_evidence(inputs.submission, match),
        )


def target_key(text: str) -> str:
    """The key of a target in a classifier's effects: 16 hexadecimal digits of its hash."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def sigmoid(logit: float) -> float:
    """1 / (1 + exp(-logit)), without overflow."""
    if logit >= 0.0:
        return 1.0 / (1.0 + math.exp(-min(logit, 700.0)))
    power = math.exp(max(logit, -700.0))
    return power / (1.0 + power)


def level_probabilities(logit: float, levels: Sequence[float], spread: float) -> list[float]:
    """Probability of each level (values in ascending order) by proportional odds (McCullagh 1980).

    `logit` is the log-odds of the highest level; the threshold of a level at the fraction u of the
    way from the lowest to the highest lies `2 * spread * (1 - u)` below.
    """
    low, high = levels[0], levels[-1]
    reached = [1.0]
    for value in levels[1:]:
        reached.append(sigmoid(logit + 2.0 * spread * (1.0 - (value - low) / (high - low))))
    reached.append(0.0)
    return [reached[index] - reached[index + 1] for index in range(len(levels))]


def is_contradiction(option: Option) -> bool:
    """Whether an option is for submissions that contradict the reference."""
    return any(word in option_text(option).lower() for word in _CONTRADICTION)


def _words(match: Match, sought: SoughtText) -> str:
    """The reason: how many of the sought words appear, and which do not."""
    total = len(match.present) + len(match.missing)
    whose = {"reference": "reference", "option": "option"}.get(sought.source, "criterion")
    reason = f"{len(match.present)} of {total} content words of the {whose} appear"
    if match.missing:
        reason += f"; missing: {listed(match.missing)}"
    reason += "."
    if match.against:
        reason += f" {match.against}"
    return reason


def _unnamed(match: Match | None, sought: SoughtText, submission: str) -> str:
    """A number or a part of a name that a short criterion has and the submission lacks, or ""."""
    if match is None or not sought.is_criterion or sought.absence:
        return ""
    if len(match.present) + len(match.missing) > FEW_WORDS:
        return ""
    numbers = analyse(submission).numbers
    for word in match.missing:
        if word[0].isdigit() and not analyse(word).numbers <= numbers:
            return word
        if word[0].isupper() and not sought.text.lstrip().startswith(word):
            return word
    return ""


def _evidence(submission: str, match: Match) -> tuple[int, int] | None:
    if match.sentence is None:
        return None
    sentence = analyse(submission).sentences[match.sentence]
    return sentence.start, sentence.end


@lru_cache(maxsize=1)
def _shipped() -> Classifier:
    text = (
        resources.files("rubricate.judge.builtin")
        .joinpath("weights.json")
        .read_text(encoding="utf-8")
    )
    return Classifier.from_json(text)
