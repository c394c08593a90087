"""Criteria that count."""

from __future__ import annotations

import pytest

from rubricate import CounterCriterion, InputError, Rubric, grade_one
from rubricate.rubric import COUNTERS, document_counts

TEXT = """\
# A report [1]

Two sentences here. It's well-known [2, 4-6] that 3.5 is more than 3 (Smith et al., 2020).

## Sources

- [Example](https://example.org/a) and <https://example.org/b>
- https://example.org/c
- ![a chart](chart.png)

| a | b |
|---|---|
| one | [^note] |

```python
x = [1]
```
"""


def test_everything_is_counted_as_a_reader_would():
    assert document_counts(TEXT) == {
        "words": 32,
        "characters": len(TEXT),
        "paragraphs": 1,
        "headings": 2,
        "list_items": 3,
        "tables": 1,
        "code_blocks": 1,
        "links": 3,
        "images": 1,
        "citations": 4,
    }
    assert document_counts("") == dict.fromkeys(COUNTERS, 0)


@pytest.mark.parametrize(
    ("bounds", "label"),
    [
        ({"at_least": 2}, "MET"),
        ({"at_least": 3}, "UNMET"),
        ({"at_most": 2}, "MET"),
        ({"at_most": 1}, "UNMET"),
        ({"at_least": 1, "at_most": 3}, "MET"),
    ],
)
def test_a_bound_decides_without_a_judge(bounds, label):
    rubric = Rubric([CounterCriterion(name="c", counter="headings", **bounds)])
    verdict = grade_one(rubric, TEXT).criteria["c"]
    assert (verdict.label, verdict.reason, verdict.judge) == (label, "headings: 2", "code")


def test_a_rubric_file_has_counters_and_keeps_them():
    data = [{"name": "short", "kind": "counter", "counter": "words", "at_most": 5000}]
    rubric = Rubric.from_dict(data)
    assert rubric.to_dict() == [{**data[0], "weight": 1.0}]
    assert rubric[0].described() == "The submission has at most 5000 words"


def test_a_long_text_is_counted_too():
    rubric = Rubric([CounterCriterion(name="c", counter="words", at_least=40_000)])
    assert grade_one(rubric, "word " * 40_000).criteria["c"].label == "MET"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"counter": "word", "at_most": 5}, "unknown counter 'word'.*did you mean 'words'"),
        ({"counter": "qubits", "at_most": 5}, "known: words, characters"),
        ({"counter": "words"}, "give at_least or at_most"),
        (
            {"counter": "words", "at_most": -1},
            "at_most: must be at least 0",
        ),
        ({"counter": "words", "at_least": 5, "at_most": 4}, "at_least 5 is above at_most 4"),
        ({"counter": "words", "at_mots": 4}, "did you mean 'at_most'"),
    ],
)
def test_what_cannot_be_counted_is_refused_with_a_suggestion(given, message):
    with pytest.raises(InputError, match=message):
        Rubric.from_dict([{"name": "c", "kind": "counter", **given}])
