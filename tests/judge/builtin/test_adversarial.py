"""Texts that share a criterion's words and not its meaning are not MET."""

from __future__ import annotations

import pytest
from adversarial_pairs import Pair, pairs

from rubricate.judge.builtin import Classifier, Inputs, Option

MOST_WRONG = 5


def answer(pair: Pair, text: str) -> str | None:
    return Classifier.load().estimate(Inputs(text, pair.requirement, pair.prompt)).label


@pytest.mark.parametrize("name", ["first", "second", "third"])
def test_of_thirty_texts_that_only_look_right_at_most_five_pass(name: str):
    assert len(pairs(name)) == 30
    wrong = [
        pair.requirement for pair in pairs(name) if answer(pair, pair.hostile) not in pair.allowed
    ]
    assert len(wrong) <= MOST_WRONG, wrong


@pytest.mark.parametrize("name", ["first", "second", "third"])
def test_the_texts_that_they_imitate_still_pass(name: str):
    honest = [pair for pair in pairs(name) if pair.honest]
    missed = [pair.requirement for pair in honest if answer(pair, pair.honest) != "MET"]
    assert len(missed) <= 2, missed


@pytest.mark.parametrize(
    ("requirement", "submission", "said"),
    [
        ("States that energy is conserved.", "Energy is not conserved.", "negation"),
        ("Says that the pitch becomes higher.", "The pitch becomes lower.", "'lower' where"),
        ("States that the train arrives at 9:15.", "The train arrives at 9:45.", "9:45"),
        ("States that Rome defeated Carthage.", "Carthage defeated Rome.", "other way round"),
    ],
)
def test_the_reason_says_what_contradicts(requirement, submission, said):
    estimate = Classifier.load().estimate(Inputs(submission, requirement))
    assert estimate.label == "UNMET"
    assert said in estimate.reason


def test_one_sentence_that_holds_is_enough():
    text = "One may think that energy is not conserved. But energy is conserved."
    assert Classifier.load().estimate(Inputs(text, "States that energy is conserved.")).label == (
        "MET"
    )


def test_a_negation_on_both_sides_is_none():
    claim = "States that the virus is not treated with antibiotics."
    text = "The virus is not treated with antibiotics at all."
    assert Classifier.load().estimate(Inputs(text, claim)).label == "MET"


def test_a_passage_of_the_prompt_that_is_quoted_counts():
    passage = "Iron rusts in damp air. Gold does not. Copper turns green. "
    prompt = passage * 3 + "Which sentence says what iron does?"
    text = "Iron rusts in damp air."
    assert (
        Classifier.load().estimate(Inputs(text, "States that iron rusts in air.", prompt)).label
        == "MET"
    )


def test_what_is_set_aside_is_named_and_the_rest_counts():
    requirement = "Mentions the conservation of energy."
    text = "Mentions the conservation of energy. It follows from conservation of energy."
    estimate = Classifier.load().estimate(Inputs(text, requirement))
    assert estimate.label == "MET"
    assert "Not counted: a copy of the criterion" in estimate.reason
    assert estimate.evidence is not None
    assert text[slice(*estimate.evidence)] == "It follows from conservation of energy."


def test_a_submission_that_is_a_bare_claim_word_for_word_is_abstained_on():
    claim = "Antibiotics are effective against bacterial infections."
    estimate = Classifier.load().estimate(Inputs(claim.upper(), claim))
    assert estimate.label is None
    assert "word for word" in estimate.reason


def test_a_reference_answer_word_for_word_is_correct():
    reference = "The water was evaporated, leaving the salt."
    options = (Option("correct", 1.0), Option("incorrect", 0.0))
    inputs = Inputs(reference, "Is it correct?", reference=reference, options=options)
    assert Classifier.load().estimate(inputs).label == "correct"


@pytest.mark.parametrize(
    "requirement",
    [
        "Has the tutor identified a mistake in the student's response?",
        "Does the tutor offer correct and relevant guidance, such as an explanation or a hint?",
        "Is it clear from the tutor's feedback what the student should do next?",
        "Does the end of the story feel natural and earned, as opposed to arbitrary or abrupt?",
        "Steps contradict each other or fail to follow a cohesive story.",
        "The summary covers the important opinions.",
        "Earns its ending",
    ],
)
@pytest.mark.parametrize("options", [(), ("Yes", "To some extent", "No"), ("Good", "Offensive")])
def test_criteria_of_quality_are_abstained_on(requirement, options):
    values = (1.0, 0.5, 0.0)
    given = tuple(Option(o, v) for o, v in zip(options, values, strict=False))
    estimate = Classifier.load().estimate(Inputs("Try it again.", requirement, options=given))
    assert estimate.label is None
    assert "quality" in estimate.reason or "form" in estimate.reason


@pytest.mark.parametrize(
    "requirement",
    [
        "Says nothing about momentum, friction, gravity, torque or inertia.",
        "Does not mention momentum, friction, gravity, torque or inertia.",
        "The reply is without any mention of momentum, friction or torque.",
        "Mentions momentum, friction, gravity, torque or inertia.",
    ],
)
def test_where_no_word_is_found_it_is_never_sure_that_a_criterion_is_met(requirement):
    estimate = Classifier.load().estimate(Inputs("Bananas are yellow.", requirement))
    assert estimate.label != "MET" or estimate.probability <= 0.8


@pytest.mark.parametrize(
    ("submission", "requirement"),
    [
        ("Der Zug kommt um 9 Uhr an und fährt dann weiter.", "The train arrives at nine."),
        ("The train arrives at nine and then it goes on.", "Der Zug kommt um neun Uhr an."),
        ("Поезд прибывает в девять часов.", "Names the train."),
    ],
)
def test_another_language_than_the_criterions_is_abstained_on(submission, requirement):
    estimate = Classifier.load().estimate(Inputs(submission, requirement))
    assert estimate.label is None


@pytest.mark.parametrize(
    "text", ["Zn", "NaCl", "x = 5", "El Niño", "la la la", "HTTP 404", "Déjà vu"]
)
def test_a_short_text_is_of_no_other_language(text):
    estimate = Classifier.load().estimate(Inputs(text, "Names the thing that was asked for."))
    assert "submission is" not in estimate.reason
