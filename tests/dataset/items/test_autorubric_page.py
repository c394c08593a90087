"""AutoRubric's dataset page: its own examples run as written, under both names."""

from __future__ import annotations

from pathlib import Path

import pytest

import rubricate
from rubricate.dialects import autorubric
from rubricate.dialects.autorubric import dataset as autorubric_dataset

QUICK_EXAMPLE = """
from autorubric import Rubric, Criterion, CriterionVerdict, DataItem, RubricDataset

# Create a rubric
rubric = Rubric([
    Criterion(name="accuracy", weight=10.0, requirement="Factually correct"),
    Criterion(name="clarity", weight=5.0, requirement="Clear and concise"),
])

# Create a dataset
dataset = RubricDataset(
    name="photosynthesis-eval",
    prompt="Explain photosynthesis",
    rubric=rubric,
)

# Add items with ground truth
dataset.add_item(
    submission="Photosynthesis is the process by which plants convert sunlight...",
    description="Good response",
    ground_truth=[CriterionVerdict.MET, CriterionVerdict.MET]
)

# Serialize
dataset.to_file("dataset.json")

# Load
loaded = RubricDataset.from_file("dataset.json")
"""

PER_ITEM_RUBRIC = """
item = DataItem(
    submission="Answer to question 1...",
    description="Q1",
    rubric=Rubric([
        Criterion(weight=1.0, requirement="Correct answer for Q1"),
    ])
)

dataset = RubricDataset(
    prompt="Answer the question",
    rubric=None,  # No global rubric
    items=[item],
)

# Get effective rubric for an item
rubric = dataset.get_item_rubric(0)  # Returns item's rubric
"""

REFERENCE = """
# Global reference for all items
dataset = RubricDataset(
    prompt="Explain photosynthesis",
    rubric=rubric,
    reference_submission="Detailed explanation of photosynthesis...",
)

# Per-item reference (overrides global)
dataset.add_item(
    submission="Student answer...",
    description="Q1",
    reference_submission="Custom reference for this item",
)

# Get effective reference
ref = dataset.get_item_reference_submission(0)
"""

ITEMS = """
item = DataItem(
    submission="The Industrial Revolution began in Britain around 1760...",
    description="Excellent essay covering all criteria",
    ground_truth=[CriterionVerdict.MET, CriterionVerdict.MET, CriterionVerdict.UNMET]
)
mixed = DataItem(
    submission="The assistant responded helpfully...",
    description="Good dialogue",
    ground_truth=[CriterionVerdict.MET, "Very satisfied", "Yes - reasonable"]
)
"""


@pytest.fixture(params=["rubricate", "rubricate.dialects.autorubric"])
def package(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The names that the page's quick example leaves behind."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(QUICK_EXAMPLE.replace("from autorubric", f"from {package}"), names)
    return names


def test_the_quick_example_runs_as_written(page: dict[str, object], tmp_path: Path) -> None:
    assert page["loaded"] == page["dataset"]
    assert (tmp_path / "dataset.json").exists()


def test_the_example_with_a_rubric_per_item_runs_as_written(page: dict[str, object]) -> None:
    exec(PER_ITEM_RUBRIC, page)
    assert page["rubric"] is page["item"].rubric  # type: ignore[attr-defined]


def test_the_example_with_references_runs_as_written(page: dict[str, object]) -> None:
    exec(REFERENCE, page)
    assert page["ref"] == "Custom reference for this item"


def test_the_examples_of_items_run_as_written(page: dict[str, object]) -> None:
    exec(ITEMS, page)
    assert page["mixed"].ground_truth[1] == "Very satisfied"  # type: ignore[attr-defined]


def test_the_example_of_a_split_runs_as_written(page: dict[str, object]) -> None:
    exec("for n in range(120): dataset.items.append(dataset.items[0])", page)
    exec(
        "train_data, test_data = dataset.split_train_test(n_train=100, stratify=True, seed=42)",
        page,
    )
    assert [len(page[name]) for name in ("train_data", "test_data")] == [100, 21]  # type: ignore[arg-type]


def test_the_dialects_names_are_the_cores_own_or_derive_from_them() -> None:
    for name in ("Criterion", "CriterionOption", "DataItem", "Rubric"):
        assert issubclass(getattr(autorubric, name), getattr(rubricate, name))
    assert issubclass(autorubric.RubricDataset, rubricate.RubricDataset)
    assert list(autorubric.CriterionVerdict) == list(rubricate.CriterionVerdict)


def test_the_pages_module_has_its_place_too() -> None:
    assert autorubric_dataset.RubricDataset is autorubric.RubricDataset
    assert autorubric_dataset.DataItem is rubricate.DataItem
