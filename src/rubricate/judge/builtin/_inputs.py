"""The inputs and answers of the built-in judge, and what it can search for in a criterion.

`question` reads a criterion once: which text carries its content (the requirement, the reference
answer or the best option's description), or why nothing can be compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from rubricate.judge.builtin._text import WORDS, Text, analyse, cached_by_length, stem


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a multi-choice criterion; `value` is in [0, 1], or None if it has none.

    Attributes:
        label: its name.
        description: its meaning, or None.
        na: whether it means that the criterion does not apply.
    """

    label: str
    value: float | None
    description: str | None = None
    na: bool = False


@dataclass(frozen=True, slots=True)
class Inputs:
    """One judgement to make. Without options the criterion is binary: MET or UNMET.

    Attributes:
        submission: the text to judge.
        requirement: the requirement of the criterion.
        prompt: the task; its words do not count.
        reference: an exemplary response, or None.
        options: the options of a multi-choice criterion.
        ordinal: whether the options are ordered.
    """

    submission: str
    requirement: str
    prompt: str = ""
    reference: str | None = None
    options: tuple[Option, ...] = ()
    ordinal: bool = True


@dataclass(frozen=True, slots=True)
class Classification:
    """The answer. `label` and both probabilities are None if the judge abstains."""

    reason: str
    """Why, in words; for an abstention, why the judge cannot tell."""
    label: str | None = None
    """"MET" or "UNMET", or an option's label."""
    probability: float | None = None
    """Calibrated probability that `label` is right; at least 0.5 for a binary criterion."""
    probability_met: float | None = None
    """Calibrated probability of MET, or of the best option; None for unordered options."""
    evidence: tuple[int, int] | None = None
    """Start and end offset of the best matching sentence of the submission, if any."""
    shares: tuple[tuple[str, float], ...] = ()
    """The probability of each label, if all have one."""


@dataclass(frozen=True)
class Labelled:
    """A judgement with a human label. Rows of one `group` are always in the same fold.

    Attributes:
        inputs: the judgement.
        label: MET or UNMET, or an option's label.
        group: its group, such as its item.
    """

    inputs: Inputs
    label: str
    group: str


@dataclass(frozen=True, slots=True)
class SoughtText:
    """The text to search for, or why there is none."""

    text: str = ""
    """The text whose content is sought."""
    source: str = ""
    """The origin of `text`: `criterion`, `reference` or `option`."""
    options: tuple[Option, ...] = ()
    """Options to tell apart by their own texts, if they are; else empty."""
    absence: bool = False
    """Whether the criterion is met if its content is missing ("does not mention ...")."""
    abstention: str = ""
    """Why nothing can be compared; empty if something can."""

    @property
    def is_criterion(self) -> bool:
        """Whether the text is the requirement."""
        return self.source == "criterion"


_ENDINGS = (
    *("s", "es", "ed", "d", "ing", "ly", "ness", "ity", "er", "est"),
    *("ies", "ied", "ily", "e", "y"),
)


def _stems(name: str) -> frozenset[str]:
    return frozenset(stem(word) for word in WORDS[name].split())


@lru_cache(maxsize=4096)
def _forms(word: str) -> frozenset[str]:
    """A word, and its forms without an ending: two forms of one word share one of these.

    "grams" shares none with "grammar", which has the same stem.
    """
    bare = (word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending))
    return frozenset([word, *(form for form in bare if len(form) > 2)])


@dataclass(frozen=True)
class _Words:
    """A list of words: some match by their stem, the others only as whole words."""

    stems: frozenset[str] = frozenset()
    forms: frozenset[str] = frozenset()

    @classmethod
    def whole(cls, name: str) -> _Words:
        return cls(forms=frozenset(form for word in WORDS[name].split() for form in _forms(word)))

    def __or__(self, other: _Words) -> _Words:
        return _Words(self.stems | other.stems, self.forms | other.forms)

    def has(self, text: Text, root: str) -> bool:
        """Whether a stem of a text belongs to one of the words."""
        if root in self.stems:
            return True
        return not self.forms.isdisjoint(_forms(text.surface[root].lower()))


REPORTING = _stems("reporting")
"""Stems of a requirement that describe how something is said, not what."""

QUALITY = _Words.whole("quality")
"""Words for a quality that no single word shows."""

TEXTS = _stems("texts")
"""Stems that name a text, a part of a text, or its writers and readers."""

JUDGING = _Words.whole("judging")
"""Words that judge, besides those of `QUALITY` and `FORM`."""

CORRECTNESS = _stems("correctness")
"""Stems that a reference answer can decide."""

COMPARING = _stems("comparing")
"""Stems of a requirement that only asks to compare with the reference."""

FORM = _Words.whole("form")
"""Words of a criterion about how a text is written, which matching words cannot see."""

_DEGREES = _stems("degrees")
SCALE = QUALITY | FORM | _Words(COMPARING | REPORTING | _DEGREES)
"""Stems of option texts that only name a place on a scale."""

_IS_HOW = re.compile(
    r"\W*(?:is|are|feels?|reads?|sounds?|seems?|remains?|stays?|looks?)\b"
    r"|.*\b(?:assess|evaluat|measur|check)(?:e?s)? (?:if|whether|how|the)\b",
    re.I | re.S,
)
"""The beginning of a criterion that says how the submission is, or asks to assess that."""
_SAYS = re.compile(
    r"\b(?:mention|stat(?:e|es|ing)\b|name|identif|list|cite|describ|explain|defin|discuss|say|argu"
    r"|conclud|compares?\b|provid|giv|gav|specif|report|calculat|indicat|wrote\b)"
    r"(?!\w*\W+(?:in|by|from) (?:the|this)\b)\w*",
    re.I,
)
"""A request to say something; "mentioned in the summary" is none."""
_QUALITIES = QUALITY | FORM | JUDGING
SUBJECT = 3
"""Content words at the beginning of a criterion that name its subject."""
_UNNAMED = _QUALITIES | _Words(COMPARING | REPORTING | TEXTS)
_NO_CONTENT = QUALITY | _Words(REPORTING | COMPARING)
_WRITINGS = _stems("writings")
KINDS = _stems("kinds")
"""Stems that name a kind of thing: a text that has one may not contain the word."""
_ACT = re.compile(
    r"\b(apologi[sz]es?|thanks|greets|reassures|encourages|sympathi[sz]es|empathi[sz]es|invites"
    r"|congratulates|welcomes|insults|mocks|threatens|refuses|declines|complies|promises|admits"
    r"|acknowledges|warns|says? (?:sorry|thank you|thanks|hello|goodbye|please|no|yes)"
    r"|expresses (?:regret|sympathy|thanks|gratitude|concern|doubt|interest)"
    r"|blames the (?:customer|user|client|reader|person|other)s?)\b",
    re.I,
)
"""Something that a text or its writer does with words that a criterion does not name."""

_COUNTS = re.compile(
    r"\b(?:at (?:least|most)|(?:no )?(?:more|fewer|less) than|exactly|up to|under|over)"
    r" [\w,.]+ (?:\w+ )?"
    r"(?:words|characters|sentences|paragraphs|lines|pages|bullets|bullet points|points|items|steps"
    r"|examples|reasons|arguments|sources|citations|references|quotes|questions)\b",
    re.I,
)
"""Something to be counted in a text."""

_BEHAVES = re.compile(
    r"\W*(?:(?:the|this|an?) )?(?:reply|response|answer|agent|assistant|message|e-?mail|letter|bot"
    r"|writer|author|it) (?:(?:must|should|has to|needs to|does) (?:not )?(?P<must>[a-z]+)"
    r"|(?P<does>[a-z]+s)\b)|\W*(?:(?:do|does|must|should) not|don't|doesn't|never) (?P<not>[a-z]+)"
    r"|\W*(?P<first>[a-z]+s) (?:an?|the|for|to|with|about|at|on|whether|its|their|any|some|no)\b",
    re.I,
)
"""The beginning of a criterion that says what a text or its writer does."""
_IS = frozenset({"is", "was", "has", "does", "remains", "stays", "seems", "feels", "reads"})
_SUPPORTS = re.compile(
    r"\b(?:supports?|supported|entail(?:s|ed)?|impl(?:ies|ied)|inferred|backed up|follows from"
    r"|consistent with|contradict(?:s|ed)?)\b",
    re.I,
)
_STATEMENT = re.compile(
    r"\b(?:claim|statement|hypothesis|assertion|text|passage|article|document|source|context"
    r"|paragraph|abstract|evidence)s?\b",
    re.I,
)
TEXT_WORDS = 50
"""Words from which a submission without a prompt counts as a text and not an answer. At half, short
answers without a given prompt count as texts; at double, abstracts do not."""
STATEMENT_WORDS = 4
"""Words from which a criterion can be a whole statement."""

_NAMES_CONTENT = re.compile(
    r"\b(?:mention|state|name|identif|list|cite|describ|explain|defin|discuss|say|argu|conclud"
    r"|compar|provid|giv|gave|specif|report|calculat)\w*",
    re.I,
)
_ASKS_FOR_REFERENCE = re.compile(
    r"\b(?:reference|gold|expected|model|sample|ideal)\b[\w\s-]{0,12}\banswer|\breference\b", re.I
)
EXCLUDES = re.compile(
    r"\b(?:cannot|can not|can't|must not|mustn't|should not|shouldn't|may not|does not|do not"
    r"|did not|doesn't|don't|didn't|will not|won't|never)\b.{0,14}?"
    r"\b(?:mention|satisf|includ|contain|state|stating|say|suffic|enough|count|use|using|discuss"
    r"|refer|list|name|claim|suggest|recommend|describ)"
    r"|\b(?:avoids?|refrains? from|omits?|free of|is without|contains no|makes no mention"
    r"|no mention)\b",
    re.I,
)
"""Phrases that say that something must be absent."""

EARLY = 40
"""Characters at the beginning of a clause in which such a phrase must start to apply to the whole
clause."""

MOST_LEVELS = 3
"""The maximum number of ordered options that are distinguished by how much of a requirement is
found."""

NOTHING_GIVEN = re.compile(
    r"\W*(?:(?:no|empty|blank|missing|not)\s+)?"
    r"(?:submission|submitted|response|answer|answered|reply|n/?a|none|empty|blank)?\W*"
    r"|\W*(?:sorry\W+)?(?:i\W+)?(?:really\W+)?(?:do\W*n['\u2019]?o?t\W+know|have\W+no\W+idea"
    r"|idk|no\W+idea|no\W+clue)(?:\W+(?:the\W+answer|this|that|it|sorry))*\W*",
    re.I,
)
"""A submission that says that it is empty, matched in full."""


def is_blank(submission: str) -> bool:
    """Whether a submission has no words, or only says that it is empty."""
    return (
        len(submission) < 60 and NOTHING_GIVEN.fullmatch(submission) is not None
    ) or not analyse(submission).length


def excludes(clause: str) -> bool:
    """Whether a clause names what must be absent."""
    match = EXCLUDES.search(clause)
    return match is not None and match.start() <= EARLY


def content(text: Text, leave_out: _Words) -> list[str]:
    """Content stems of a text in order, without some words."""
    return [root for root in text.counts if not leave_out.has(text, root)]


@cached_by_length
def question(
    requirement: str, reference: str | None, options: tuple[Option, ...], ordinal: bool
) -> SoughtText:
    """Find the text that carries the content of a criterion.

    For a binary criterion it is the requirement, unless the requirement only asks to compare with
    the reference. With options and a reference it is the reference. Unordered options are
    distinguished by their texts.
    """
    text = analyse(requirement)
    named = content(text, _NO_CONTENT)
    worded = [root for root in named if not root[0].isdigit()]
    form = [root for root in text.counts if FORM.has(text, root)]
    names_content = _NAMES_CONTENT.search(requirement) is not None
    rest = [root for root in worded if root not in form]
    if form and (not rest or (len(form) >= 0.7 * len(rest) and not names_content)):
        words = ", ".join(text.surface[root] for root in form[:3])
        return SoughtText(
            abstention=f"The criterion is about form ({words}), which matching words cannot see."
        )
    has_reference = bool(reference and analyse(reference).counts)
    judges = _judges(text, requirement)
    generic = _ASKS_FOR_REFERENCE.search(requirement) is not None or (
        not named and (not judges or bool(CORRECTNESS & text.counts.keys()))
    )
    if judges and not (has_reference and generic):
        return SoughtText(abstention=judges)
    if options:
        return _choice(
            requirement, reference if has_reference else None, options, ordinal, bool(named)
        )
    if has_reference and generic:
        return SoughtText(text=reference or "", source="reference")
    if not named:
        return SoughtText(abstention=_nothing_named(text))
    clauses = [
        requirement[sentence.start : sentence.end] for sentence in text.sentences if sentence.stems
    ]
    absence = all(map(excludes, clauses))
    return SoughtText(text=requirement, source="criterion", absence=absence)


def _judges(text: Text, requirement: str) -> str:
    """Return why the criterion asks how good something is, if it does; else "".

    It does if it names nothing but texts and qualities, and if it says how a text or its writer is,
    not what they say.
    """
    quality = [root for root in text.counts if _QUALITIES.has(text, root)]
    named = content(text, _UNNAMED)
    first = list(text.counts)[:SUBJECT]
    of_a_text = _IS_HOW.match(requirement) is not None or any(
        root in TEXTS or root in _WRITINGS for root in first
    )
    if (act := _ACT.search(requirement)) and (of_a_text or not act.start()):
        return f"The criterion asks for an act ({act[1]}), which can be done in many words."
    if counts := _COUNTS.search(requirement):
        return f"The criterion asks to count ({counts[0]}), which comparing words cannot do."
    if named and all(root in KINDS for root in named) and not quality:
        words = ", ".join(text.surface[root] for root in named[:3])
        return f"The criterion asks for something ({words}), and does not say which words show it."
    if named and (not quality or (not of_a_text and _is_fact(requirement, named, quality))):
        return ""
    if len(named) >= len(quality) and _SAYS.search(requirement):
        return ""
    return _nothing_named(text)


@cached_by_length
def behaviour(requirement: str) -> frozenset[str]:
    """The content stems of a criterion about what a text or its writer does; empty for others.

    Criteria about what is mentioned, stated or explained are others.
    """
    begins = _BEHAVES.match(requirement)
    if begins is None:
        return frozenset()
    verb = begins["must"] or begins["does"] or begins["not"] or begins["first"]
    if verb.lower() in _IS or stem(verb.lower()) in REPORTING or _SAYS.match(verb):
        return frozenset()
    return frozenset(content(analyse(requirement), _NO_CONTENT | _Words(_WRITINGS)))


def against_a_text(inputs: Inputs) -> bool:
    """Whether a criterion is a statement, and the question whether a text supports it.

    It is if it asks for that, or if it is a whole statement that does not mention an answer, and
    the submission does not answer a question.
    """
    requirement = inputs.requirement
    if _SUPPORTS.search(requirement) and _STATEMENT.search(requirement):
        return True
    if inputs.prompt.strip() or inputs.reference or inputs.options:
        return False
    text = analyse(requirement)
    is_statement = (
        text.length >= STATEMENT_WORDS
        and not requirement.rstrip().endswith("?")
        and not _SAYS.search(requirement)
        and not _BEHAVES.match(requirement)
        and not any(root in _WRITINGS for root in list(text.counts)[:SUBJECT])
        and not excludes(requirement)
    )
    return is_statement and analyse(inputs.submission).length >= TEXT_WORDS


def _is_fact(requirement: str, named: list[str], quality: list[str]) -> bool:
    """Whether a criterion states a fact, though with words of quality: "It is important to rest."

    It has a number, or names more than it judges; for a question, it must name twice as much.
    """
    asks = requirement.rstrip().endswith("?")
    numbered = any(root[0].isdigit() for root in named)
    return numbered or len(quality) * (2 if asks else 1) < len(named)


def _nothing_named(text: Text) -> str:
    quality = [text.surface[root] for root in text.counts if _QUALITIES.has(text, root)]
    if not quality:
        return "The criterion has no content words to look for."
    return (
        f"The criterion asks for a quality ({', '.join(quality[:3])}) that words do not show, "
        "and there is no reference to compare with."
    )


def _choice(
    requirement: str,
    reference: str | None,
    options: tuple[Option, ...],
    ordinal: bool,
    is_named: bool,
) -> SoughtText:
    live = [option for option in options if not option.na]
    values = {option.value for option in live}
    if len(live) < 2:
        return SoughtText(abstention="The criterion has fewer than two options to choose between.")
    if not ordinal or None in values or len(values) < 2:
        return _unordered(live)
    best = max(live, key=lambda option: option.value or 0.0).description or ""
    if reference:
        return SoughtText(text=reference, source="reference")
    if is_named and len(live) <= MOST_LEVELS:
        return SoughtText(text=requirement, source="criterion")
    described = analyse(best)
    if content(described, SCALE) and not _judges(described, best):
        return SoughtText(text=best, source="option")
    if is_named:
        reason = f"The criterion asks for one of {len(live)} degrees, which words do not tell"
    else:
        reason = "Neither the criterion nor its options name content to look for"
    return SoughtText(abstention=f"{reason}, and there is no reference.")


def _unordered(live: list[Option]) -> SoughtText:
    described = [frozenset(content(analyse(option_text(option)), SCALE)) for option in live]
    if sum(map(bool, described)) >= len(live) - 1 and len(set(described)) == len(live):
        return SoughtText(options=tuple(live), source="option")
    return SoughtText(
        abstention="The options have no order, and their texts do not tell them apart."
    )


def option_text(option: Option) -> str:
    """The text of an option for comparison: its label and its description."""
    return f"{option.label}\n{option.description}" if option.description else option.label
