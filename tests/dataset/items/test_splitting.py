"""What a stratified split promises about sizes, chance and balance."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricate.dataset.items._splitting import stratified_split
from rubricate.errors import InputError

Labels = list[dict[int, str | None]]

SEEDS = st.integers(0, 2**32)


@st.composite
def splits(draw: st.DrawFn, most_criteria: int = 10) -> tuple[Labels, int]:
    """Labels, some None and some missing, and a size of the first part."""
    label = st.sampled_from([None, *"abcdef"[: draw(st.integers(1, 6))]])
    criterion = st.integers(0, draw(st.integers(0, most_criteria - 1)))
    every = draw(st.booleans())
    row = (
        st.lists(label, min_size=most_criteria, max_size=most_criteria).map(enumerate).map(dict)
        if every
        else st.dictionaries(criterion, label)
    )
    labels = draw(st.lists(row, max_size=60))
    return labels, draw(st.integers(0, len(labels)))


def random_labels(n_items: int, n_criteria: int, rng: random.Random) -> Labels:
    """Labels of which the first is common and the last is rare."""
    names = ["MET", "UNMET", "PARTLY", "OTHER"]
    return [
        dict(enumerate(rng.choices(names, [12, 6, 3, 1], k=n_criteria))) for _ in range(n_items)
    ]


def deviations(labels: Labels, train: Sequence[int]) -> dict[tuple[int, str], float]:
    """|count in train - expected count| of each label on each criterion."""
    everywhere, in_train = (
        Counter(
            (criterion, label)
            for index in indices
            for criterion, label in labels[index].items()
            if label is not None
        )
        for indices in (range(len(labels)), train)
    )
    share = len(train) / max(len(labels), 1)
    return {key: abs(in_train[key] - count * share) for key, count in everywhere.items()}


def largest_deviation(labels: Labels, train: Sequence[int]) -> float:
    return max(deviations(labels, train).values(), default=0.0)


# Sizes


@given(splits(), SEEDS)
def test_sizes_are_exact_and_every_index_occurs_once(split: tuple[Labels, int], seed: int) -> None:
    labels, n_train = split
    train, test = stratified_split(labels, n_train, random.Random(seed))
    assert len(train) == n_train
    assert sorted(train + test) == list(range(len(labels)))


def test_either_part_may_be_empty() -> None:
    labels = random_labels(9, 3, random.Random(0))
    assert stratified_split([], 0, random.Random(0)) == ([], [])
    assert stratified_split(labels, 0, random.Random(0))[0] == []
    assert stratified_split(labels, 9, random.Random(0))[1] == []


@pytest.mark.parametrize("n_train", [-1, 4])
def test_a_size_that_does_not_fit_is_an_input_error(n_train: int) -> None:
    with pytest.raises(InputError, match=f"n_train is {n_train}; it must be from 0 to 3"):
        stratified_split([{0: "a"}, {0: "b"}, {0: "a"}], n_train, random.Random(0))


# Chance


@given(splits(), SEEDS)
def test_the_same_seed_gives_the_same_split(split: tuple[Labels, int], seed: int) -> None:
    labels, n_train = split
    first = stratified_split(labels, n_train, random.Random(seed))
    assert stratified_split(labels, n_train, random.Random(seed)) == first


def test_another_process_gives_the_same_split() -> None:
    program = (
        "import json, random, sys\n"
        "from rubricate.dataset.items._splitting import stratified_split\n"
        "print(json.dumps(stratified_split(json.load(sys.stdin), 23, random.Random(5))))"
    )
    labels = random_labels(70, 5, random.Random(0))
    for hash_seed in ("1", "2"):
        process = subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(labels),
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        expected = stratified_split(labels, 23, random.Random(5))
        assert json.loads(process.stdout) == [*expected]


@given(splits(), SEEDS)
def test_renaming_criteria_and_labels_changes_nothing(split: tuple[Labels, int], seed: int) -> None:
    labels, n_train = split
    renamed = [
        {f"criterion {key}": None if label is None else label.upper() for key, label in row.items()}
        for row in labels
    ]
    expected = stratified_split(labels, n_train, random.Random(seed))
    assert stratified_split(renamed, n_train, random.Random(seed)) == expected


def test_different_seeds_give_different_splits() -> None:
    labels = random_labels(60, 4, random.Random(0))
    parts = {frozenset(stratified_split(labels, 20, random.Random(seed))[0]) for seed in range(50)}
    assert len(parts) == 50


@pytest.mark.parametrize("n_train", [0, 30, 60])
def test_both_parts_are_in_shuffled_order(n_train: int) -> None:
    labels = random_labels(60, 4, random.Random(0))
    for seed in range(20):
        for part in stratified_split(labels, n_train, random.Random(seed)):
            assert part == [] or part != sorted(part)


@pytest.mark.parametrize("n_train", [6, 11, 15, 24])
def test_every_item_lands_in_both_parts_where_no_two_have_the_same_labels(n_train: int) -> None:
    labels: Labels = [{0: f"{index}", 1: f"{index % 5}", 2: f"{index // 5}"} for index in range(30)]
    counts: Counter[int] = Counter()
    for seed in range(200):
        counts.update(stratified_split(labels, n_train, random.Random(seed))[0])
    assert all(0 < counts[index] < 200 for index in range(30))


@pytest.mark.parametrize("n_train", [2, 5, 8])
def test_an_item_unlike_all_others_has_the_same_chance_as_they_have(n_train: int) -> None:
    labels: Labels = [
        dict.fromkeys(range(4), "odd" if index == 0 else "even") for index in range(10)
    ]
    counts: Counter[int] = Counter()
    for seed in range(1000):
        counts.update(stratified_split(labels, n_train, random.Random(seed))[0])
    assert all(counts[index] / 1000 == pytest.approx(n_train / 10, abs=0.06) for index in range(10))


# Balance


@given(splits(), SEEDS)
def test_no_label_is_further_off_than_one_and_a_third_of_the_criteria(
    split: tuple[Labels, int], seed: int
) -> None:
    labels, n_train = split
    n_criteria = len({criterion for row in labels for criterion in row})
    train, _ = stratified_split(labels, n_train, random.Random(seed))
    assert largest_deviation(labels, train) <= 1 + n_criteria / 3


@pytest.mark.parametrize("n_items", [100, 500, 2000])
def test_the_largest_deviation_does_not_grow_with_the_number_of_items(n_items: int) -> None:
    labels = random_labels(n_items, 10, random.Random(0))
    for seed, n_train in enumerate((n_items // 2, n_items // 3, n_items // 10)):
        train, _ = stratified_split(labels, n_train, random.Random(seed))
        assert largest_deviation(labels, train) < 3


@pytest.mark.parametrize(("n_items", "n_train"), [(20, 10), (50, 40), (200, 60)])
def test_balance_is_far_better_than_by_a_plain_random_split(n_items: int, n_train: int) -> None:
    stratified, plain = [], []
    for seed in range(50):
        rng = random.Random(seed)
        labels = random_labels(n_items, 5, rng)
        stratified.append(largest_deviation(labels, stratified_split(labels, n_train, rng)[0]))
        plain.append(largest_deviation(labels, rng.sample(range(n_items), n_train)))
    assert mean(stratified) < 0.5 * mean(plain)


def test_later_criteria_are_balanced_as_well_as_the_first() -> None:
    by_criterion: list[list[float]] = [[] for _ in range(3)]
    for seed in range(200):
        rng = random.Random(seed)
        labels = random_labels(60, 3, rng)
        train, _ = stratified_split(labels, 20, rng)
        for (criterion, _), deviation in deviations(labels, train).items():
            by_criterion[criterion].append(deviation)
    first, *later = map(mean, by_criterion)
    assert all(criterion == pytest.approx(first, rel=0.15) for criterion in later)
    assert first < 0.5


def test_one_label_on_every_item_leaves_a_plain_random_split() -> None:
    labels: Labels = [{0: "MET", 1: "MET"} for _ in range(12)]
    counts: Counter[int] = Counter()
    for seed in range(200):
        train, test = stratified_split(labels, 5, random.Random(seed))
        assert (len(train), len(test)) == (5, 7)
        counts.update(train)
    assert all(0 < counts[index] < 200 for index in range(12))


def test_a_rare_label_is_shared_out_even_where_most_items_are_unlabelled() -> None:
    labels: Labels = [{0: "rare" if index < 10 else None, 1: None} for index in range(200)]
    for seed in range(50):
        train, _ = stratified_split(labels, 100, random.Random(seed))
        assert sum(index < 10 for index in train) == 5


def test_items_without_any_label_are_split_too() -> None:
    train, test = stratified_split([{}, {0: None}, {0: None, 1: None}, {}], 3, random.Random(0))
    assert sorted(train + test) == [0, 1, 2, 3]
    assert len(train) == 3


def test_rubrics_of_the_items_own_are_each_balanced() -> None:
    rng = random.Random(0)
    labels: Labels = [
        {10 * rubric + criterion: rng.choice(["MET", "UNMET"]) for criterion in range(3 + rubric)}
        for rubric in range(4)
        for _ in range(20)
    ]
    for seed in range(20):
        train, _ = stratified_split(labels, 40, random.Random(seed))
        assert largest_deviation(labels, train) <= 2
        by_rubric = Counter(index // 20 for index in train)
        assert all(abs(by_rubric[rubric] - 10) <= 2 for rubric in range(4))
