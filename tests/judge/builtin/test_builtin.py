"""The built-in judge: what it promises about verdicts, evidence, abstention and refitting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib import resources
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Criterion, Rubric, RubricDataset, grade, grade_one
from rubricate.errors import InputError
from rubricate.judge import BuiltinJudge
from rubricate.judge.builtin import (
    FEATURE_NAMES,
    Classifier,
    Inputs,
    Labelled,
    Option,
    _features,
    refit,
)
from rubricate.judge.builtin._classifier import level_probabilities
from rubricate.judge.builtin._features import target
from rubricate.judge.builtin._fit import examine, figures, solve
from rubricate.judge.builtin._text import analyse, spans, stem

CONSERVATION = "Mentions conservation of energy."
HELD = "By conservation of energy both swimmers arrive at the same speed."
LACKING = "The second slide is steeper, which builds more momentum."
GRADES = (Option("correct", 1.0), Option("contradictory", 0.0), Option("incorrect", 0.0))
THREE = (Option("Correct", 1.0), Option("Partially correct", 0.5), Option("Incorrect", 0.0))
REFERENCE = "The water was evaporated, leaving the salt."
COMPARE = "Compare with the reference answer."


@pytest.fixture(scope="module")
def judge() -> Classifier:
    return Classifier.load()


def judged(submission: str, requirement: str = CONSERVATION, **rest):
    return Classifier.load().estimate(Inputs(submission, requirement, **rest))


def test_the_verdict_changes_when_the_submission_does():
    assert judged(HELD).label == "MET"
    assert judged(LACKING).label == "UNMET"


def test_equal_inputs_give_equal_estimates_in_another_process_which_needs_no_numpy():
    program = (
        "import sys; from rubricate.judge.builtin import Classifier, Inputs;"
        f"print(repr(Classifier.load().estimate(Inputs({HELD!r}, {CONSERVATION!r}))));"
        "print([name for name in ('numpy', 'sklearn', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{judged(HELD)!r}\n[]\n"


def test_the_reason_counts_the_words_found_and_names_those_missing():
    reason = judged("Paris is large.", "Names Paris and the river Seine").reason
    assert "1 of 3 content words of the criterion appear" in reason
    assert "Seine" in reason
    assert "0 of" not in judged("By consrvation of enrgy.").reason  # a near spelling counts


def test_evidence_is_the_sentence_of_the_submission_that_matches_best_or_none():
    submission = "I looked at both slides.  " + HELD + " That is all."
    estimate = judged(submission)
    assert estimate.evidence is not None
    start, end = estimate.evidence
    assert submission[start:end] == HELD
    assert judged("Bananas are yellow.").evidence is None


@pytest.mark.parametrize(
    ("plain", "against", "requirement"),
    [
        ("Energy is conserved.", "Energy is not conserved.", "States that energy is conserved."),
        ("The pitch is higher.", "The pitch is lower.", "The pitch becomes higher."),
        ("Water boils at 100 degrees.", "It boils at 90 degrees.", "It boils at 100 degrees."),
    ],
)
def test_a_denial_an_opposite_or_another_number_lowers_the_probability(plain, against, requirement):
    kept, lowered = judged(plain, requirement), judged(against, requirement)
    assert lowered.probability_met < kept.probability_met - 0.02


@pytest.mark.parametrize("submission", ["", "  \n", "...", "No response.", "N/A"])
def test_an_empty_submission_is_unmet_with_high_probability_and_says_so(submission):
    estimate = judged(submission)
    assert estimate.label == "UNMET"
    assert estimate.probability > 0.9
    assert "empty" in estimate.reason


@pytest.mark.parametrize(
    "requirement",
    [
        "Is concise and well written.",
        "The tone is formal and polite.",
        "The response is under 200 words.",
        "Uses correct grammar and spelling.",
        "The structure of the essay is logical.",
        "Fluency: the text reads naturally",
        "Avoids jargon",
    ],
)
def test_a_criterion_about_form_is_abstained_on(requirement):
    estimate = judged(HELD, requirement)
    assert (estimate.label, estimate.probability, estimate.evidence) == (None, None, None)
    assert "form" in estimate.reason


@pytest.mark.parametrize(
    "requirement", ["Mentions the structure of DNA", "Provides the length of the Nile"]
)
def test_a_criterion_about_content_is_judged_though_it_has_a_word_of_form(requirement):
    assert judged(HELD, requirement).label == "UNMET"


@pytest.mark.parametrize(
    "requirement",
    [
        "",
        "  ",
        "!!!",
        "The answer is correct.",
        "Is helpful",
        "Does the story contain turns that are both surprising and appropriate?",
    ],
)
def test_a_criterion_that_names_no_content_is_abstained_on(requirement):
    estimate = judged(HELD, requirement)
    assert estimate.label is None
    assert estimate.reason


def test_a_criterion_that_only_asks_for_correctness_is_compared_with_the_reference():
    rest = {"reference": REFERENCE}
    assert judged("The water evaporated.", "Is the answer correct?", **rest).label == "MET"
    assert judged("We used a magnet.", "Is the answer correct?", **rest).label == "UNMET"


def test_met_means_present_for_a_fault_as_for_a_merit():
    assert judged("This is caused by momentum.", "Blames momentum.").label == "MET"


def test_a_criterion_of_absence_is_met_where_the_content_is_absent():
    requirement = "The response does not mention momentum."
    assert judged(HELD, requirement).label == "MET"
    assert judged("Momentum makes it faster.", requirement).label == "UNMET"


def test_options_with_values_are_chosen_by_the_match_with_the_reference():
    rest = {"reference": REFERENCE, "options": GRADES}
    assert judged("The water evaporated and left salt.", COMPARE, **rest).label == "correct"
    assert judged("We used a magnet.", COMPARE, **rest).label == "incorrect"


def test_the_order_in_which_options_are_listed_does_not_change_the_choice():
    rest = {"reference": REFERENCE}
    for submission in ("The water evaporated.", "We used a magnet.", ""):
        labels = {
            judged(submission, COMPARE, options=options, **rest).label
            for options in (THREE, THREE[::-1])
        }
        assert len(labels) == 1


def test_an_na_option_is_never_chosen():
    options = (*THREE, Option("Not applicable", None, na=True))
    estimate = judged("We used a magnet.", COMPARE, reference=REFERENCE, options=options)
    assert estimate.label == "Incorrect"


def test_options_without_order_are_told_apart_by_their_descriptions():
    options = (
        Option("refund", None, "asks for money back"),
        Option("delivery", None, "asks where the parcel is"),
    )
    rest = {"options": options, "ordinal": False}
    assert judged("I want my money back.", "Which topic?", **rest).label == "refund"
    assert judged("Where is the parcel?", "Which topic?", **rest).label == "delivery"
    assert judged("Good morning.", "Which topic?", **rest).label is None


@pytest.mark.parametrize(
    ("options", "ordinal"),
    [
        ((Option("good", 1.0), Option("bad", 0.0)), True),
        ((Option("A", None), Option("B", None)), False),
        ((Option("only", 1.0),), True),
    ],
)
def test_options_that_nothing_can_be_compared_with_are_abstained_on(options, ordinal):
    estimate = judged(HELD, "How is it?", options=options, ordinal=ordinal)
    assert estimate.label is None
    assert estimate.reason


def test_level_probabilities_sum_to_one_and_favour_the_top_with_the_logit():
    low, high = (level_probabilities(logit, [0.0, 0.25, 1.0], 0.7) for logit in (-3.0, 3.0))
    assert sum(low) == pytest.approx(1.0)
    assert min(low + high) >= 0.0
    assert high[-1] > low[-1]
    assert high[0] < low[0]


RUNS = int(os.environ.get("RUBRICATE_BUILTIN_RUNS", "400"))
"""Examples of the fuzz below; 30,000 take a minute."""
HOSTILE = """
    4:04.49 1:2.5 3:45:10.2 24:00 ::1 2014 2014–15 3-5 1,000 1.000,50 12,345,678.90 0.10 .5 -5 1/0 ½
    ² ٣٫٥ १२ 1e999 0x1F nan -inf 50% $5 €5,5 5kg 5 kg 10° XIV one two half hundred first Simon
    Simmon simons SIMON Carly not no don't don’t dont cannot only that before after above below up
    down more less increase decrease false myth the of a in was because or and The salt stays when
    water evaporates. Mentions Must avoids I agree. yes No. A. (B) C) 1) - * # > • ; 水が蒸発 。
    Вода νερό الماء מים पानी น้ำ Größe ﬁ İ ı e\u0301 \u0301 \u200d \u202e 👩\u200d👧 \ud800 \udfff
    \0 \x1b[31m \x7f n/a idk ? ... '' " ( ] { <b> ``` f(x)=={'a':1} x_1 $x^2$ a@b.c
"""
BREAKS = ["", "\n", "\r\n", "\u2028", "9" * 400, "a" * 100_000, "1:" * 30 + "1", "1" + ",000" * 20]
text = st.text(max_size=200)
pieces = st.lists(st.sampled_from([*HELD.split(), *HOSTILE.split(), *BREAKS]), max_size=12)


@st.composite
def alike(draw):
    """A text, and two that have many of its words, in the same or another order."""
    words = draw(pieces)
    texts = [words]
    for _ in range(2):
        other = draw(st.permutations(words)) if draw(st.booleans()) else words
        texts.append(other + draw(pieces) if draw(st.booleans()) else other)
    return tuple(" ".join(one) for one in texts)


@settings(max_examples=RUNS, deadline=None, derandomize=True)
@given(
    texts=alike() | st.tuples(text, text, text),
    asks=st.sampled_from(["{}", "The answer is correct.", "Mentions {}", "Must not mention {}"]),
    prompt=text | pieces.map(" ".join),
    has_reference=st.booleans(),
)
def test_no_text_makes_it_fail_and_every_probability_is_one(texts, asks, prompt, has_reference):
    submission, asked, reference = texts
    requirement = asks.format(asked)
    if not has_reference:
        reference = None
    for options in ((), GRADES, THREE):
        rest = {"prompt": prompt, "reference": reference, "options": options}
        estimate = judged(submission, requirement, **rest)
        assert estimate.reason
        if estimate.label is None:
            assert estimate.probability is None
            continue
        assert 0.0 <= estimate.probability_met <= 1.0
        assert (0.0 if options else 0.5) <= estimate.probability <= 1.0
        if estimate.evidence is not None:
            start, end = estimate.evidence
            assert 0 <= start < end <= len(submission)
            assert submission[start:end] == submission[start:end].strip()


@pytest.mark.parametrize(
    ("submission", "requirement", "reference"),
    [
        ("She won in 4:04.49, a record.", "States the winning time.", None),
        ("At 1:2.5, then at 3:45:10.2", "The answer is correct.", "1:2,5 and 3:45:10.20"),
        ("Carly Simon.", "The answer is correct.", "Carly Simmon or CARLY SIMON or Carly Simon"),
        ("2014\u201315", "The answer is correct.", "2015, or 2015 or 2014\u201315 or 2016"),
    ],
    ids=["a time with a fraction", "times", "one word for two", "a number and a range"],
)
def test_answers_of_public_sets_that_it_could_not_read_are_judged(
    submission, requirement, reference
):
    assert judged(submission, requirement, reference=reference).label in ("MET", "UNMET")


@settings(max_examples=150, deadline=None)
@given(text)
def test_sentences_are_in_order_and_do_not_overlap(source):
    places = spans(source)
    assert all(start < end for start, end in places)
    assert all(before[1] <= after[0] for before, after in pairwise(places))


@pytest.mark.parametrize(
    "source",
    ["energy " * 100_000, "." * 100_000 + "x", "no, " * 50_000, "a" * 200_000, "\n- " * 50_000],
    ids=["words", "dots", "negations", "one word", "list marks"],
)
def test_a_very_long_text_is_judged(source):
    assert judged(source).label in ("MET", "UNMET")
    assert judged(HELD, source).reason
    assert judged(HELD, prompt=source, reference=source).label == "MET"


def test_two_long_texts_of_the_same_words_take_a_bounded_number_of_steps(judge, monkeypatch):
    """The places of their words grow with the product of the lengths: gigabytes, if all are."""
    given, asked = ("".join(f"{n}{end}. the salt\n" for n in range(1_000)) for end in "17")
    aim, submission = target(asked, "", judge.lexicon, False), analyse(given)
    found = _features._near_matches(submission, aim)
    monkeypatch.setattr(_features, "MOST_PLACES", 10_000)
    coverage, held = _features._clause_coverage(submission, aim, found)
    assert sum(len(shares) for _, shares in held) < 10_000 + 2 * 1_000
    monkeypatch.undo()
    assert _features._clause_coverage(submission, aim, found)[0] == coverage


def test_words_of_one_family_share_a_stem():
    assert stem("evaporated") == stem("evaporation") == stem("evaporating")
    assert stem("conserved") == stem("conservation")
    assert stem("related") == stem("relation") == stem("relates")
    assert stem("energies") == stem("energy")


def test_numbers_are_compared_by_value_and_units_by_name():
    assert analyse("5.0 kg").sentences[0].amounts == analyse("5 kilograms").sentences[0].amounts
    assert analyse("1,250 m").numbers == analyse("1250 m").numbers
    assert analyse("1. First\n2. Second").numbers == frozenset()


def rows(*, strict: bool) -> list[Labelled]:
    """Half of the submissions name one of the two words asked for; the strict want both."""
    found = []
    for number in range(60):
        full, half = number % 3 == 0, number % 3 == 1
        submission = (
            f"Case {number}: there is copper and zinc here."
            if full
            else f"Case {number}: there is copper here."
            if half
            else f"Case {number}: only sand."
        )
        met = full or (half and not strict)
        inputs = Inputs(submission, "Mentions copper and zinc")
        found.append(Labelled(inputs, "MET" if met else "UNMET", f"case {number}"))
    return found


def test_a_refit_follows_the_labels_that_it_is_given(judge):
    half = Inputs("There is copper here.", "Mentions copper and zinc")
    fitted, report = refit(rows(strict=False) * 2)
    assert report.kept == "fitted"
    assert fitted.estimate(half).probability_met > judge.estimate(half).probability_met
    assert fitted.identity != judge.identity


def test_a_refit_that_is_not_shown_to_be_better_is_not_taken(judge):
    noisy = [
        replace(row, label="MET" if index * 7 % 11 < 5 else "UNMET")
        for index, row in enumerate(rows(strict=True))
    ]
    kept, report = refit(noisy[:14])
    assert report.kept == "shipped"
    assert report.gain.low is None or report.gain.low <= 0.0
    assert kept.identity == judge.identity
    _, report = refit(noisy)  # labels without a pattern show none out of fold
    assert report.auc < 0.75
    assert report.kept == "shipped"


def test_criteria_that_were_labelled_have_an_effect_of_their_own():
    often, seldom = "Mentions copper", "Mentions zinc"
    labels = [
        Labelled(Inputs("Sand, " * (n % 3) + "and copper.", often), "MET", f"case {n}")
        for n in range(40)
    ]
    labels += [
        Labelled(Inputs("Sand, " * (n % 3) + "and lead, zinc.", seldom), "UNMET", f"case {n}")
        for n in range(40)
    ]
    fitted, report = refit(labels)
    assert report.kept == "fitted"
    assert len(fitted.effects) == 2
    copper = fitted.estimate(Inputs("Lead, copper.", often)).probability_met
    zinc = fitted.estimate(Inputs("Lead, zinc.", seldom)).probability_met
    assert copper > 0.9
    assert zinc < 0.5


def test_a_refit_reports_figures_out_of_fold():
    _, report = refit(rows(strict=True))
    assert (report.n, report.folds, report.abstained) == (60, 5, 0)
    assert report.auc > 0.9
    assert report.kappa > 0.8
    assert 0.0 <= report.ece <= 1.0


def test_few_labels_move_the_shipped_judge_little(judge):
    labels = [
        replace(row, label="UNMET" if index % 4 else row.label)
        for index, row in enumerate(rows(strict=False))
    ]
    examples = examine(labels, judge)
    few = np.arange(len(examples.targets)) < 10

    def moved(use):
        offset, slope, effects = solve(examples, use)
        return offset**2 + (slope - 1.0) ** 2 + sum(effect**2 for effect in effects.values())

    assert 0.0 < moved(few) < moved(~np.zeros_like(few))


def test_refits_with_one_seed_are_equal_and_survive_a_round_trip():
    one, first = refit(rows(strict=True), seed=3)
    two, second = refit(rows(strict=True), seed=3)
    assert one.to_json() == two.to_json()
    assert first == second
    back = Classifier.from_json(one.to_json())
    assert back.identity == one.identity
    assert back.estimate(Inputs(HELD, CONSERVATION)) == one.estimate(Inputs(HELD, CONSERVATION))


def test_one_group_cannot_be_measured_out_of_fold():
    _, report = refit([replace(row, group="one") for row in rows(strict=True)])
    assert (report.folds, report.auc, report.ece) == (0, None, None)


def test_rows_that_the_judge_abstains_on_are_counted_and_left_out():
    form = Labelled(Inputs("Short.", "Is concise."), "MET", "form")
    _, report = refit([*rows(strict=True), form])
    assert (report.n, report.abstained) == (60, 1)


def test_a_refit_on_options_learns_from_their_labels():
    labelled = [
        Labelled(
            Inputs(
                f"Probe {n}: " + ("the salt stays" if n % 2 else "it is red"),
                COMPARE,
                reference="The salt stays behind.",
                options=THREE,
            ),
            "Partially correct" if n % 2 else "Incorrect",
            f"probe {n}",
        )
        for n in range(20)
    ]
    labelled += [
        replace(row, label="Correct", inputs=replace(row.inputs, submission="Salt stays behind."))
        for row in labelled[:10]
    ]
    classifier, report = refit(labelled)
    assert report.n == 30
    full = Inputs("The salt stays behind.", COMPARE, reference=REFERENCE, options=THREE)
    assert classifier.estimate(full).label in {option.label for option in THREE}


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (rows(strict=True)[:5], "at least 10"),
        ([], "at least 10"),
        ([replace(row, label="MET") for row in rows(strict=True)], "one class"),
        ([replace(row, label="maybe") for row in rows(strict=True)], "MET or UNMET"),
    ],
    ids=["few", "none", "one class", "no label"],
)
def test_labels_that_cannot_be_fitted_are_refused_in_one_line(chosen, message):
    with pytest.raises(InputError, match=message) as caught:
        refit(chosen)
    assert "\n" not in str(caught.value)


def test_the_shipped_file_is_small_and_says_what_it_was_fitted_on(judge):
    source = resources.files("rubricate.judge.builtin").joinpath("weights.json").read_bytes()
    assert len(source) < 60_000
    training = json.loads(source)["training"]
    assert set(training["data"]) == {"physics", "kqa", "semeval2013", "saf_en"}
    assert all(entry["licence"] for entry in training["data"].values())
    assert {"date", "seed"} <= set(training)
    assert judge.training == training


def test_the_judge_says_that_it_is_a_baseline():
    note = BuiltinJudge().note
    assert "not a replacement for a language model" in note
    assert note == BuiltinJudge(Classifier.load()).note


def test_the_page_has_the_figures_of_every_set():
    page = (Path(__file__).parents[3] / "docs/builtin-figures.md").read_text("utf-8")
    source = resources.files("rubricate.judge.builtin").joinpath("figures.json").read_text("utf-8")
    for sets in json.loads(source).values():
        mean = sets.pop("mean")
        assert list(sets) == ["physics", "kqa", "semeval2013", "saf_en"]
        assert mean["auc"] >= 0.78
        for name, of in sets.items():
            figures = f"{of['auc']:.3f} | {of['kappa']:.3f} | {of['ece']:.3f}"
            assert f" | {name} | {of['labels']:,} | {figures} |" in page


def test_the_shipped_file_is_what_its_classifier_writes(judge):
    source = resources.files("rubricate.judge.builtin").joinpath("weights.json").read_text("utf-8")
    assert judge.to_json() == source


def test_weights_of_other_features_are_refused(judge):
    data = json.loads(judge.to_json())
    del data["features"][FEATURE_NAMES[0]]
    with pytest.raises(InputError, match="other features or rules"):
        Classifier.from_json(json.dumps(data))


def test_the_identity_changes_with_a_number_and_not_with_the_notes(judge):
    assert replace(judge, training={}).identity == judge.identity
    assert replace(judge, intercept=judge.intercept + 0.001).identity != judge.identity


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=60))
def test_figures_agree_with_scikit_learn(pairs):
    numpy = pytest.importorskip("numpy")
    metrics = pytest.importorskip("sklearn.metrics")
    chance = numpy.array([first for first, _ in pairs])
    truth = numpy.array([float(second) for _, second in pairs])
    if len(set(truth)) < 2:
        assert figures(chance, truth)["auc"] is None
        return
    assert figures(chance, truth)["auc"] == pytest.approx(metrics.roc_auc_score(truth, chance))
    expected = metrics.cohen_kappa_score(truth, chance >= 0.5)
    assert figures(chance, truth)["kappa"] == pytest.approx(expected)
    assert 0.0 <= figures(chance, truth)["ece"] <= 1.0


def test_an_option_for_the_endpoints_cache_is_refused_where_none_is_asked():
    rubric = Rubric([Criterion(name="a", requirement=CONSERVATION)])
    with pytest.raises(InputError, match="leader_first is for language models; builtin is none"):
        grade_one(rubric, HELD, leader_first=True)
    assert grade_one(rubric, HELD).criteria["a"].label == "MET"


def test_of_a_very_long_submission_the_beginning_is_looked_at_and_that_is_said(monkeypatch):
    from rubricate.judge.builtin import _judge as _builtin

    sizes: list[int] = []
    inputs = _builtin._inputs
    monkeypatch.setattr(
        _builtin,
        "_inputs",
        lambda *given: [found := inputs(*given), sizes.append(len(found.submission))][0],
    )
    text = "A sentence is about speed and light. " * 200_000
    rubric = Rubric([Criterion(name="a", requirement="Mentions the speed of light")])
    verdict = grade_one(rubric, text).criteria["a"]
    assert max(sizes) == 2_000_000
    read = f"Only the first 2,000,000 of its {len(text):,} characters were looked at."
    assert verdict.reason.endswith(read)
    assert "Only the first" not in grade_one(rubric, text[:1000]).criteria["a"].reason


def statuses(submissions, requirement, judge="builtin", **options):
    dataset = RubricDataset("", Rubric([Criterion(name="c", requirement=requirement)]))
    for submission in submissions:
        dataset.add_item(submission)
    result = grade(dataset, judge, cache=None, **options)
    return [item.criteria["c"].status for item in result.items], result


def test_behaviour_is_judged_only_where_a_submission_has_all_words_of_the_criterion():
    replies = ["We are sorry. Your money is on its way.", "Please try again tomorrow."]
    asks = "The reply offers a refund"
    found, result = statuses(replies, asks)
    assert found == ["abstained", "abstained"]
    assert "use a language model" in result.summary().first_abstention
    found, result = statuses([*replies, "We offer a refund."], asks)
    assert found == ["abstained", "abstained", "judged"]
    assert result.items[2].criteria["c"].label == "MET"
    for fact in ("Mentions a refund", "The answer gives a price of 20 dollars"):
        assert statuses(replies, fact)[0] == ["judged", "judged"]


@pytest.mark.parametrize(
    ("requirement", "submission"),
    [
        ("Says sorry", "We apologise for the delay."),
        ("Does not blame the customer", "We made an error."),
        ("Admits that it does not know", "I have no idea."),
        ("Acknowledges the customer's frustration", "I see how annoying this is."),
        ("Is the reply sarcastic?", "Oh great, another genius."),
        ("Gives a percentage", "It grew by 12 %."),
        ("Contains at least three examples", "A cat, a dog and a cow."),
        ("The total is at most 100 words", "One, two, three."),
        ("Names Marie Curie", "It was Pierre Curie."),
        ("Names the composer Giuseppe Verdi", "Puccini composed it."),
        ("States that the battery lasts 10 hours", "It lasts 100 hours."),
        ("Mentions the refund", "Es tut uns sehr leid."),
    ],
)
def test_where_words_cannot_decide_the_judge_abstains(requirement, submission):
    assert statuses([submission], requirement)[0] == ["abstained"]


TEXT = "The company said on Monday that it would close plants in the north this year. " * 5


@pytest.mark.parametrize(
    ("requirement", "text", "prompt", "status"),
    [
        ("The company will close three plants in the north.", TEXT, "", "abstained"),
        ("The company will close three plants in the north.", TEXT, "What is planned?", "judged"),
        ("The company will close three plants in the north.", TEXT[:80], "", "judged"),
        ("Says that the company will close three plants.", TEXT, "", "judged"),
        ("The text supports the claim that plants close.", TEXT, "What?", "abstained"),
    ],
)
def test_whether_a_text_supports_a_statement_is_judged_only_by_a_fitted_judge(
    requirement, text, prompt, status
):
    rubric = Rubric([Criterion(name="c", requirement=requirement)])
    verdict = grade_one(rubric, text, prompt=prompt).criteria["c"]
    assert verdict.status == status
    if status == "abstained":
        assert "--examples" in verdict.reason


def test_a_judge_that_was_fitted_to_labels_judges_statements_against_a_text():
    dataset = RubricDataset("", Rubric([Criterion(name="c", requirement=STATEMENT)]))
    filler = "Nothing else of note was said at the meeting that afternoon by anyone there. " * 5
    for number in range(40):
        held = number % 2 == 0
        words = "The company will close three plants." if held else "It rained all day."
        label = ["MET" if held else "UNMET"]
        dataset.add_item(f"{words} {filler}{number}", ground_truth=label)
    fitted = BuiltinJudge.trained_on(dataset)
    assert fitted.report.kept == "fitted"
    shown = [dataset.items[number].submission for number in (0, 1)]
    assert statuses(shown, STATEMENT)[0] == ["abstained", "abstained"]
    assert statuses(shown, STATEMENT, fitted)[0] == ["judged", "judged"]


STATEMENT = "The company will close three plants."
