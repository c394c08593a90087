"""Probability mode: what is asked, and that planted biases are gone from what comes back."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rubricate
from rubricate import (
    Criterion,
    CriterionOption,
    InputError,
    MetricCriterion,
    ModelError,
    PythonModel,
    Rubric,
    RubricDataset,
    ScaleCriterion,
    Usage,
    Verdict,
)
from rubricate.dataset import Item
from rubricate.judge import (
    MODES,
    Asking,
    BuiltinJudge,
    Completion,
    Examples,
    Explained,
    Message,
    Model,
    ModelJudge,
    Probability,
    Request,
    named_judge,
)
from rubricate.judge.asking._probability import choice_tokens, corrected

CASE = Item("A text", "A task", reference="Another text", guidelines="Be kind")
BINARY = Criterion(name="b", requirement="Says something")
SCALE = ScaleCriterion(name="s", requirement="How clear it is")
NOMINAL = Criterion(
    name="n",
    requirement="Which style",
    options=tuple(CriterionOption(label=f"style {n}", value=n / 2) for n in range(3)),
    scale_type="nominal",
)

Shares = Callable[[str, int, bool], float]
"""What a scripted model thinks of a label, by its place, and whether there is any content."""


def choices(messages: Any) -> list[tuple[str, str]]:
    """The tokens of a prompt with the labels that they stand for."""
    text = next(m["content"] for m in reversed(messages) if "Possible verdicts" in m["content"])
    listed = re.findall(r"^- (?:([A-Z])\. )?([^:\n]+)", text.rpartition("verdicts:")[2], re.M)
    return [(token or label, label) for token, label in listed]


def thinking(shares: Shares, asked: list[Any] | None = None) -> PythonModel:
    """A model whose probabilities follow a rule."""

    def answer(messages: Any) -> Completion:
        if asked is not None:
            asked.append(messages)
        free = "\nN/A\n</submission" in messages[1]["content"]
        found = {
            token: shares(label, place, free)
            for place, (token, label) in enumerate(choices(messages))
        }
        total = sum(found.values())
        probabilities = {token: share / total for token, share in found.items()}
        text = max(probabilities, key=lambda token: probabilities[token])
        return Completion(text, Usage(1, 10, 0, 1, 0.1, 0.0), probabilities=probabilities)

    return PythonModel(answer, name="thinking")


async def send(model: Model, request: Request) -> Completion:
    return await model.complete(request)


def asking(model: Model, reasks: int = 2, **options: Any) -> ModelJudge:
    return ModelJudge(model, Probability(**options), reasks=reasks)


def judged(model: PythonModel, criterion: Criterion = BINARY, **options: Any) -> Verdict:
    return asyncio.run(asking(model, **options).judge(CASE, criterion, send))


def probabilities(verdict: Verdict) -> Mapping[str, float]:
    assert verdict.detail is not None
    return verdict.detail["probabilities"]  # type: ignore[no-any-return]


TRUE = {"MET": 0.4, "UNMET": 0.5, "CANNOT_ASSESS": 0.1}


@pytest.mark.parametrize("liking", [1.0, 2.0, 5.0])
def test_a_liking_for_the_first_place_averages_out(liking: float) -> None:
    def shares(label: str, place: int, free: bool) -> float:
        return (0.45 if label != "CANNOT_ASSESS" else 0.1) * (liking if place == 0 else 1.0)

    one = judged(thinking(shares), permutations=1, correct_prior=False)
    both = judged(thinking(shares), correct_prior=False)
    assert one.label == ("UNMET" if liking == 1.0 else "MET")
    assert probabilities(both)["MET"] == pytest.approx(probabilities(both)["UNMET"])
    assert both.label == "UNMET"  # even: what scores lower


@pytest.mark.parametrize("prior", [1.0, 3.0, 9.0])
def test_a_liking_for_a_label_is_taken_out_by_a_question_without_content(prior: float) -> None:
    def shares(label: str, place: int, free: bool) -> float:
        return (1 / 3 if free else TRUE[label]) * (prior if label == "MET" else 1.0)

    biased = judged(thinking(shares), correct_prior=False)
    assert biased.label == ("UNMET" if prior == 1.0 else "MET")
    verdict = judged(thinking(shares))
    assert verdict.label == "UNMET"
    found = probabilities(verdict)
    assert found["MET"] / found["UNMET"] == pytest.approx(0.8, abs=1e-4)
    assert found["CANNOT_ASSESS"] == probabilities(biased)["CANNOT_ASSESS"]


def test_not_knowing_is_the_right_answer_to_nothing_and_is_left_as_it_is() -> None:
    def shares(label: str, place: int, free: bool) -> float:
        knows_nothing = {"MET": 0.01, "UNMET": 0.01, "CANNOT_ASSESS": 0.98}
        unsure = {"MET": 0.2, "UNMET": 0.1, "CANNOT_ASSESS": 0.7}
        return (knows_nothing if free else unsure)[label]

    verdict = judged(thinking(shares))
    assert (verdict.status, verdict.label, verdict.value) == ("abstained", "CANNOT_ASSESS", None)
    assert verdict.probability == pytest.approx(0.7)


@given(
    st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3),
    st.lists(st.floats(0.2, 1.0), min_size=3, max_size=3),
)
def test_correction_takes_out_any_prior_that_multiplies(
    truth: list[float], prior: list[float]
) -> None:
    labels = ["a", "b", "c"]
    seen = [t * p for t, p in zip(truth, prior, strict=True)]
    shares = {label: one / sum(seen) for label, one in zip(labels, seen, strict=True)}
    known = {label: one / sum(prior) for label, one in zip(labels, prior, strict=True)}
    found = corrected(shares, known, labels)
    assert math.fsum(found.values()) == pytest.approx(1.0)
    for label, one in zip(labels, truth, strict=True):
        assert found[label] == pytest.approx(one / sum(truth))
    assert corrected(shares, {}, labels) == shares


def test_a_scale_gives_the_expected_score_and_a_style_the_most_probable() -> None:
    shares = {"1": 0.0, "2": 0.0, "3": 0.1, "4": 0.5, "5": 0.3, "CANNOT_ASSESS": 0.1}
    verdict = judged(thinking(lambda label, *_: shares[label]), SCALE, correct_prior=False)
    assert verdict.value == pytest.approx((0.1 * 0.5 + 0.5 * 0.75 + 0.3 * 1.0) / 0.9)
    assert (verdict.label, verdict.probability) == ("4", 0.5)
    styles = {"style 0": 0.3, "style 1": 0.5, "style 2": 0.2, "CANNOT_ASSESS": 0.0}
    verdict = judged(thinking(lambda label, *_: styles[label]), NOMINAL, correct_prior=False)
    assert (verdict.label, verdict.value, verdict.probability) == ("style 1", 0.5, 0.5)


def test_options_are_named_by_one_token_each() -> None:
    assert choice_tokens(["MET", "UNMET", "CANNOT_ASSESS"]) == ("A", "B", "C")
    assert choice_tokens(["5", "4", "0", "CANNOT_ASSESS"]) == ("5", "4", "0", "X")
    assert choice_tokens(["9", "10", "CANNOT_ASSESS"]) == ("A", "B", "C")


def test_what_is_asked_is_the_verdict_alone_behind_a_prefix_that_does_not_change() -> None:
    asked: list[Any] = []
    model = thinking(lambda label, *_: 1.0, asked)
    judge = asking(model, correct_prior=False)
    for criterion in (BINARY, SCALE, NOMINAL):
        asyncio.run(judge.judge(CASE, criterion, send))
    assert len(asked) == 6
    beginnings = {
        (one[0]["content"], one[1]["content"].partition("Criterion:")[0]) for one in asked
    }
    assert len(beginnings) == 1
    system, user = asked[0][0]["content"], asked[0][1]["content"]
    assert "no reason" in system
    assert "First give the reason" not in system
    assert "Be kind" in system
    assert "- A. MET: the submission meets the criterion\n- B. UNMET: it does not" in user
    assert user.endswith("Answer with one of A, B, C and nothing else.")
    assert "- A. UNMET" in asked[1][1]["content"]
    assert "- 5\n- 4\n" in asked[3][1]["content"]


def test_the_question_without_content_is_asked_once_for_each_set_of_labels_and_order() -> None:
    asked: list[Any] = []
    judge = asking(thinking(lambda label, *_: 1.0, asked))
    verdicts = [
        asyncio.run(judge.judge(Item(f"text {n}", "t"), criterion, send))
        for n in range(5)
        for criterion in (BINARY, SCALE)
    ]
    free = [one[1]["content"] for one in asked if "\nN/A\n</submission" in one[1]["content"]]
    assert len(free) == len(set(free)) == 4
    assert all("text" not in text and "Says something" not in text for text in free)
    assert len(asked) == 5 * 2 * 2 + 4
    assert sum(verdict.usage.requests for verdict in verdicts) == len(asked)
    assert [verdict.usage.requests for verdict in verdicts] == [4, 4, *[2] * 8]
    assert verdicts[0].usage.cost == pytest.approx(0.4)


def test_probability_outside_the_options_is_left_out_up_to_half() -> None:
    def told(outside: float) -> Verdict:
        shares = {"A": 0.75 * (1 - outside), " A": 0.0, "C": 0.25 * (1 - outside), "The": outside}
        return judged(
            PythonModel(lambda messages: Completion("A", probabilities=shares)),
            permutations=1,
            correct_prior=False,
        )

    assert probabilities(told(0.4)) == {"MET": 0.75, "UNMET": 0.0, "CANNOT_ASSESS": 0.25}
    failed = told(0.6)
    assert failed.status == "failed"
    assert failed.error is not None
    assert failed.error.kind == "unreadable_reply"
    assert "not one of A, B, C: the first token is 'The' 0.60" in failed.error.message
    assert failed.value is None


def test_an_unreadable_reply_is_asked_again_and_then_read() -> None:
    asked: list[Any] = []

    def answer(messages: Any) -> Completion:
        asked.append(messages)
        token = "Well" if len(messages) == 2 else "B"
        return Completion(token, Usage(1), probabilities={token: 1.0})

    verdict = judged(PythonModel(answer), permutations=1, correct_prior=False)
    assert (verdict.label, verdict.usage.requests) == ("UNMET", 2)
    assert asked[1][:2] == asked[0]
    assert asked[1][2]["content"] == "Well"
    assert "Answer with one of A, B, C" in asked[1][3]["content"]


def test_a_question_without_content_that_cannot_be_read_fails_the_verdict_with_advice() -> None:
    def answer(messages: Any) -> Completion:
        free = "\nN/A\n</submission" in messages[1]["content"]
        text = "Hm" if free else "A"
        return Completion(text, Usage(1), probabilities={text: 1.0})

    verdict = judged(PythonModel(answer), permutations=1)
    assert verdict.status == "failed"
    assert verdict.usage.requests == 4
    assert "asked without content" in verdict.error.message  # type: ignore[union-attr]
    assert "--no-correct-prior" in verdict.error.message  # type: ignore[union-attr]


def test_without_probabilities_the_shares_of_sampled_replies_stand_for_them() -> None:
    replies = iter(["A", "B.", "A. MET", "<think>Hm</think>A", "(C)", *"BBABB"])
    verdict = judged(PythonModel(lambda messages: Completion(next(replies), Usage(1))))
    assert verdict.detail is not None
    assert verdict.detail["obtained"] == "replicates"
    one, other = verdict.detail["orders"]
    assert one["probabilities"] == {"MET": 0.6, "UNMET": 0.2, "CANNOT_ASSESS": 0.2}
    assert other["probabilities"] == {"UNMET": 0.2, "MET": 0.8, "CANNOT_ASSESS": 0.0}
    assert (one["prior"], other["prior"]) == (None, None)
    assert (verdict.label, verdict.probability, verdict.usage.requests) == ("MET", 0.7, 10)


@pytest.mark.parametrize("reply", ["A reasonable answer", "", "MET or UNMET", "AB"])
def test_a_sampled_reply_that_is_no_option_is_not_guessed_at(reply: str) -> None:
    verdict = judged(PythonModel(lambda messages: reply), samples=2, reasks=0)
    assert verdict.status == "failed"


def test_what_one_token_cannot_answer_is_judged_in_explained_mode_and_said_once() -> None:
    metric = MetricCriterion(name="parts", requirement="Names parts", tp_instructions=["wheel"])
    wide = ScaleCriterion(name="percent", requirement="How much", low=0, high=100)

    def answer(messages: Any) -> Any:
        if "Items:" in messages[-1]["content"]:
            entry = {"item": "wheel", "classified": "positive", "quote": ""}
            return {"reason": "r", "evidence": [], "verdict": {"items": [entry], "others": []}}
        if "0 to 100" in messages[-1]["content"]:
            return {"reason": "r", "evidence": [], "verdict": 70}
        return Completion("A", probabilities={"A": 1.0})

    rubric = Rubric([BINARY, metric, wide])
    dataset = RubricDataset("t", rubric)
    for n in range(3):
        dataset.add_item(f"text {n}", f"{n}")
    judge = asking(PythonModel(answer), permutations=1, correct_prior=False)
    result = rubricate.grade(dataset, judge)
    assert [v.value for v in result.items[0].criteria.values()] == [1.0, 1.0, 0.7]
    assert result.note == (
        "No single token answers these criteria, which were judged in explained mode: "
        "parts, percent"
    )
    assert asking(PythonModel(answer)).note is None


def test_an_endpoints_error_fails_the_verdict_with_all_that_was_spent() -> None:
    count = iter(range(9))

    def answer(messages: Any) -> Completion:
        if next(count):
            raise ModelError("server", "down")
        return Completion("A", Usage(1), probabilities={"A": 1.0})

    verdict = judged(PythonModel(answer), correct_prior=False)
    assert (verdict.status, verdict.error.kind) == ("failed", "server")  # type: ignore[union-attr]
    assert verdict.usage.requests >= 1


def test_the_key_tells_modes_corrections_orders_and_samples_apart() -> None:
    model = thinking(lambda label, *_: 1.0)
    variants: list[dict[str, Any]] = [
        {},
        {"permutations": 1},
        {"correct_prior": False},
        {"samples": 3},
        {"shuffle": 3},
    ]
    keys = [asking(model, **options).key(CASE, BINARY) for options in variants]
    assert len(set(keys)) == len(keys)
    assert asking(model).key(CASE, BINARY) == keys[0]
    assert asking(model).key(Item("other"), BINARY) != keys[0]


def test_examples_stand_before_the_question_and_in_the_one_without_content() -> None:
    labelled = RubricDataset("t", Rubric([BINARY]))
    labelled.add_item("A labelled text", "x", ground_truth=["MET"])
    asked: list[Any] = []
    judged(thinking(lambda label, *_: 1.0, asked), examples=Examples(labelled))
    assert all("A labelled text" in one[0]["content"] for one in asked)


def test_the_built_in_judge_says_its_own_probabilities() -> None:
    rubric = Rubric(
        [
            Criterion(name="b", requirement="Mentions the speed of light"),
            ScaleCriterion(
                name="s",
                requirement="Names the speed of light",
                levels=["says nothing", "says something", "gives the speed of light"],
                low=1,
                high=3,
            ),
        ]
    )
    text = "The speed of light is 300000 km/s."
    explained = rubricate.grade_one(rubric, text).criteria
    found = rubricate.grade_one(rubric, text, mode="probability").criteria
    assert found["b"].detail is not None
    assert found["b"].detail["obtained"] == "model"
    assert found["b"].probability == explained["b"].probability
    assert (found["b"].label, found["b"].reason) == (explained["b"].label, explained["b"].reason)
    shares = probabilities(found["s"])
    assert math.fsum(shares.values()) == pytest.approx(1.0)
    assert found["s"].value == pytest.approx(0.5 * shares["2"] + shares["3"])
    assert explained["s"].value in (0.0, 0.5, 1.0)
    keys = {BuiltinJudge(mode=mode).key(CASE, BINARY) for mode in ("explained", "probability")}
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("judge", "options", "message"),
    [
        ("m", {"mode": "probabilty"}, "unknown mode 'probabilty'.*did you mean 'probability'"),
        ("m", {"mode": "probability", "criteria_per_call": 2}, "explained mode"),
        ("m", {"samples": 3}, "samples is for probability mode"),
        ("m", {"correct_prior": False}, "correct_prior is for probability mode"),
        ("m", {"mode": "probability", "samples": 0}, "samples must be at least 1"),
        ("m", {"mode": "probability", "permutations": 9}, "from 1 to 6"),
        ("m", {"mode": "probability", "replicates": 2}, "replicates are for explained mode"),
        (None, {"mode": "probability", "permutations": 2}, "builtin is none"),
        (asking(PythonModel(str)), {"mode": "probability"}, "mode is for language models and the"),
    ],
)
def test_what_does_not_fit_the_mode_is_refused(judge: Any, options: Any, message: str) -> None:
    if judge == "m":
        options = {"base_url": "http://127.0.0.1:9/v1", **options}
    with pytest.raises(InputError, match=message):
        rubricate.grade_one(Rubric([BINARY]), "a", judge=judge, **options)


def test_a_note_on_a_criterion_is_shown_but_not_in_the_question_without_content() -> None:
    asked: list[Any] = []
    noted = Criterion(name="b", requirement="Says something", note="Hints count as well")
    judged(thinking(lambda label, *_: 1.0, asked), noted)
    shown = ["Hints count as well" in one[1]["content"] for one in asked]
    assert shown == [True, False, True, False]


def test_a_prompt_of_ones_own_has_no_tokens_and_no_orders(tmp_path: Any) -> None:
    prompt = tmp_path / "own.jinja"
    for options in ({"mode": "probability"}, {"shuffle": 1}):
        with pytest.raises(InputError, match="has its own form"):
            rubricate.grade_one(
                Rubric([BINARY]), "a", judge=lambda messages: "", judge_prompt=prompt, **options
            )


# What an endpoint does not name, and how it writes what it names


def told(
    shares: Mapping[str, Any] | None, text: str = "A", criterion: Criterion = BINARY, **more: Any
) -> Verdict:
    """The verdict of a model that says the same of each question, in one order."""
    options = {"permutations": 1, "correct_prior": False, **more}
    made = Completion(text, probabilities=shares)
    return judged(PythonModel(lambda messages: made), criterion, **options)


def test_what_is_not_named_is_nobodys_and_bounds_the_probability() -> None:
    verdict = told({"A": 0.55})
    assert (verdict.label, verdict.probability) == ("MET", 0.55)
    assert verdict.detail is not None
    assert verdict.detail["unseen"] == 0.45
    assert verdict.detail["obtained"] == "logprobs"
    assert probabilities(verdict) == {"MET": 0.55, "UNMET": 0.0, "CANNOT_ASSESS": 0.0}


def test_a_list_that_is_whole_leaves_nothing_open() -> None:
    verdict = told({"A": 0.6, "B": 0.2, "The": 0.2})
    assert verdict.detail is not None
    assert "unseen" not in verdict.detail
    assert probabilities(verdict)["MET"] == 0.75


@pytest.mark.parametrize(
    ("shares", "turned"),
    [
        ({"A": 0.55}, False),
        ({"A": 0.5}, True),
        ({"A": 0.45, "B": 0.1}, True),
        ({"A": 0.6, "B": 0.3}, False),
        ({"A": 0.51, "B": 0.45}, False),
        ({"A": 0.5, "B": 0.46}, True),
        ({"A": 0.2}, True),
        ({"A": 0.3, "The": 0.2}, True),
    ],
)
def test_where_what_is_not_named_could_turn_the_verdict_replies_are_sampled(
    shares: Mapping[str, float], turned: bool
) -> None:
    verdict = told(shares)
    assert verdict.detail is not None
    assert verdict.detail["obtained"] == ("replicates" if turned else "logprobs")
    assert ("sampled" in verdict.detail) is turned
    if turned:
        assert (verdict.label, verdict.probability) == ("MET", 1.0)
        assert verdict.detail["sampled"] == "its logprobs name too few tokens"


@pytest.mark.parametrize(
    ("text", "shares", "criterion", "label"),
    [
        ("B", {"A": 1.0}, BINARY, "UNMET"),
        ("<think>A? No.</think>B", {"A": 0.9, "B": 0.1}, BINARY, "UNMET"),
        ("A, perhaps.</think>B", {"A": 0.9, "B": 0.1}, BINARY, "UNMET"),
        ("4", {"1": 0.99}, SCALE, "4"),
        ("10", {"1": 0.99, "0": 0.01}, SCALE, None),
        ("1.5", {"1": 0.99}, SCALE, None),
        ("", {"A": 1.0}, BINARY, None),
        (" \n", {"A": 1.0}, BINARY, None),
        ("<think>A", {"A": 1.0}, BINARY, None),
        ("** B", {"B": 0.9, "A": 0.1}, BINARY, "UNMET"),
        ("40", {"40": 0.5, "4": 0.49}, SCALE, None),
        ("-4", {"4": 0.99}, SCALE, None),
        ("<4", {"4": 0.99}, SCALE, None),
        ("4\n2", {"4": 0.99}, SCALE, None),
        ("4\n\nNo, 2.", {"4": 0.99}, SCALE, None),
    ],
)
def test_only_the_token_that_the_reply_begins_with_says_how_probable_a_verdict_is(
    text: str, shares: Mapping[str, float], criterion: Criterion, label: str | None
) -> None:
    assert told(shares, text, criterion).label == label


def test_replies_of_a_model_that_reasons_past_the_limit_are_sampled() -> None:
    replies = iter([Completion("", cut_off=True), *[Completion("B")] * 5])
    verdict = judged(PythonModel(lambda messages: next(replies)), permutations=1)
    assert (verdict.label, verdict.probability, verdict.usage.requests) == ("UNMET", 1.0, 6)


def test_a_lone_letter_in_both_orders_says_nothing_and_is_sampled() -> None:
    replies = iter("AA" + "AABAA" + "BBABB")

    def answer(messages: Any) -> Completion:
        return Completion(next(replies), probabilities={"A": 0.55})

    verdict = judged(PythonModel(answer), correct_prior=False)
    assert verdict.detail is not None
    assert verdict.detail["obtained"] == "replicates"
    assert (verdict.label, verdict.probability) == ("MET", 0.8)


def test_an_expected_score_takes_nearly_all_of_the_probability() -> None:
    levels = {"5": 0.5, "4": 0.3}
    assert told(levels, "5", SCALE).detail["obtained"] == "replicates"  # type: ignore[index]
    verdict = told({**levels, "3": 0.15}, "5", SCALE)
    assert verdict.detail is not None
    assert (verdict.detail["obtained"], verdict.detail["unseen"]) == ("logprobs", 0.05)


@given(
    st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4).filter(sum),
    st.floats(0.0, 1.0),
)
def test_probabilities_and_what_is_not_named_are_one(parts: list[float], listed: float) -> None:
    scale = listed / sum(parts)
    shares = dict(zip("ABC", [part * scale for part in parts[:3]], strict=True))
    verdict = told(shares | {"Well": parts[3] * scale}, reasks=0)
    if verdict.status == "failed":
        return
    assert verdict.detail is not None
    found = math.fsum(probabilities(verdict).values()) + verdict.detail.get("unseen", 0.0)
    assert found == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    "spellings",
    [
        {"A": 0.3, "a": 0.4, "B": 0.3},
        {"\u2581A": 0.7, "\u2581B": 0.3},
        {"\u0120A": 0.5, "A": 0.2, "\u0120B": 0.3},
        {"\u010aA": 0.7, "B": 0.3},
        {" A": 0.4, "A ": 0.3, "B": 0.3},
        {"A.": 0.2, "A:": 0.2, "A)": 0.1, "(A": 0.1, "**A": 0.05, '"A': 0.05, "B": 0.3},
        {"<0x41>": 0.7, "<0x42>": 0.3},
        {"\uff21": 0.7, "B": 0.3},
    ],
    ids=["case", "sentencepiece", "byte-level", "line", "space", "marks", "bytes", "full width"],
)
def test_spellings_of_a_choice_add_up(spellings: Mapping[str, float]) -> None:
    verdict = told(spellings)
    assert verdict.label == "MET"
    assert probabilities(verdict) == {"MET": 0.7, "UNMET": 0.3, "CANNOT_ASSESS": 0.0}


def test_a_word_that_begins_with_a_choice_is_another() -> None:
    words = {"Answer": 0.25, "An": 0.1, "AB": 0.1, "A1": 0.05, "①": 0.05, "-A": 0.05}
    verdict = told({**words, "B": 0.4}, "B", reasks=0)
    assert verdict.status == "failed"


@pytest.mark.parametrize(
    ("text", "cut_off", "is_read"),
    [
        ("A", False, True),
        ("A", True, True),
        ("A. ME", True, True),
        ("A. MET because", True, True),
        ("A\n\nThe submission", True, True),
        ("B", False, True),
        ("A reasonable", True, False),
        ("A. Einstein said", True, False),
        ("A.I. is", True, False),
        ("A\nUNMET", True, False),
        ("A\nUN", True, False),
        ("A\n\nWait, no", True, False),
        ("A\nB", True, False),
        ("A\nB", False, False),
        ("A\nUNMET", False, False),
        ("A\n\nThe submission says so.", False, False),
        ("A\n\nWait, no.", False, False),
        ("A. MET: the submission meets the criterion\nB. UNMET: it does not", False, False),
        ("A. MET\nB. UNMET", False, False),
        ("A. MET", False, True),
        ("- A", False, True),
        ("-A", False, False),
        ("~A", False, False),
        ("not A", False, False),
        ("AB", False, False),
        ("A. ME", False, False),
    ],
)
def test_a_sentence_that_begins_with_a_letter_chooses_nothing(
    text: str, cut_off: bool, is_read: bool
) -> None:
    made = Completion(text, probabilities={"A": 0.9, "B": 0.1}, cut_off=cut_off)
    options = {"permutations": 1, "correct_prior": False, "reasks": 0}
    verdict = judged(PythonModel(lambda messages: made), **options)
    assert verdict.status == ("judged" if is_read else "failed")


@pytest.mark.parametrize(
    ("shares", "wrong"),
    [
        ({"A": math.nan, "B": 0.1}, "that of 'A' is nan"),
        ({"A": -0.5}, "that of 'A' is -0.5"),
        ({"A": "high"}, "that of 'A' is 'high'"),
        ({"A": None}, "that of 'A' is None"),
        ({"A": 0.9, "B": 0.8}, "they add up to 1.70"),
        ({"A": math.inf}, "that of 'A' is inf"),
    ],
)
def test_probabilities_that_cannot_be_are_named_and_replies_are_sampled(
    shares: Any, wrong: str
) -> None:
    model = PythonModel(lambda messages: Completion("B", probabilities=shares))
    judge = asking(model, permutations=1)
    verdict = asyncio.run(judge.judge(CASE, BINARY, send))
    assert (verdict.label, verdict.usage.requests) == ("UNMET", 5)
    assert verdict.detail is not None
    assert verdict.detail["obtained"] == "replicates"
    assert wrong in verdict.detail["sampled"]
    assert judge.note is not None
    assert wrong in judge.note


def test_a_prior_that_is_not_all_named_is_even_in_the_rest() -> None:
    def answer(messages: Any) -> Completion:
        free = "\nN/A\n</submission" in messages[1]["content"]
        return Completion("A", probabilities={"A": 0.4} if free else {"A": 0.6, "B": 0.4})

    verdict = judged(PythonModel(answer), permutations=1)
    assert verdict.detail is not None
    prior = verdict.detail["orders"][0]["prior"]
    assert prior == {"MET": 0.6, "UNMET": 0.2, "CANNOT_ASSESS": 0.2}


def test_a_way_of_asking_that_has_a_name_takes_the_options_of_its_constructor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Brief(Explained):
        version = "brief-1"

        def __init__(self, examples: Examples | None = None) -> None:
            super().__init__(examples=examples)

        def request(self, item: Item, criterion: Criterion) -> Request:
            asked = super().request(item, criterion)
            return replace(
                asked, messages=(*asked.messages[:-1], Message(role="user", content="?"))
            )

    monkeypatch.setitem(cast("dict[str, Any]", MODES), "brief", Brief)
    judge = named_judge(PythonModel(str), asking=Asking(mode="brief"))
    assert isinstance(judge, ModelJudge)
    assert judge.prompting.request(CASE, BINARY).messages[-1]["content"] == "?"
    with pytest.raises(InputError, match="shuffle is for explained and probability mode"):
        Asking(mode="brief", shuffle=1)
    with pytest.raises(InputError, match="brief mode is for language models; builtin is none"):
        named_judge(None, asking=Asking(mode="brief"))
