"""What a stratified split promises about sizes, chance and balance."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricate.dataset.items._splitting import stratified_split

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


# Chance


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


def test_a_rare_label_is_shared_out_even_where_most_items_are_unlabelled() -> None:
    labels: Labels = [{0: "rare" if index < 10 else None, 1: None} for index in range(200)]
    for seed in range(50):
        train, _ = stratified_split(labels, 100, random.Random(seed))
        assert sum(index < 10 for index in train) == 5


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
