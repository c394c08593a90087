"""Benchmarks' files: tasks with their rubrics, put together with the texts that answer them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rubricate
from rubricate import RubricDataset
from rubricate.dataset import FORMATS, TableColumns, format_of, open_benchmark, open_dataset
from rubricate.errors import InputError

HEALTH = {
    "prompt_id": "p1",
    "prompt": [
        {"role": "user", "content": "My child has a fever."},
        {"role": "assistant", "content": "How high?"},
        {"role": "user", "content": "40 degrees."},
    ],
    "example_tags": ["theme:emergency_referrals"],
    "rubrics": [
        {"criterion": "Advises to see a doctor.", "points": 7, "tags": ["axis:completeness"]},
        {"criterion": "Recommends aspirin.", "points": -9, "tags": ["axis:accuracy"]},
    ],
    "canary": "x",
}
PAPER = {
    "id": "root",
    "requirements": "The paper is reproduced.",
    "weight": 1,
    "sub_tasks": [
        {
            "id": "a",
            "requirements": "The model is there.",
            "weight": 3,
            "sub_tasks": [
                {
                    "id": "a1",
                    "requirements": "It has two layers.",
                    "weight": 2,
                    "sub_tasks": [],
                    "task_category": "Code Development",
                },
                {"id": "a2", "requirements": "It is trained.", "weight": 1, "sub_tasks": []},
            ],
        },
        {"id": "b", "requirements": "The plot is there.", "weight": 1, "sub_tasks": []},
    ],
}
PROFESSION = {
    "task_id": "Chem-0",
    "domain": "Chemistry PhD",
    "prompt": "Find the pH.",
    "rubrics": [
        {
            "criterion_id": "c1",
            "criterion_description": "States the pH.",
            "criterion_type": ["Extraction (recall)", "Reasoning"],
            "criterion_weight": "Critical",
            "o3_fulfilment": True,
        },
        {
            "criterion_id": "c2",
            "criterion_description": "Has a table.",
            "criterion_type": ["Style"],
            "criterion_weight": "Additional",
            "o3_fulfilment": "No",
        },
    ],
    "o3_response": "The pH is 7.",
}
RESEARCH = {
    "id": 1,
    "language": "en",
    "prompt": "Write a report.",
    "dimension_weight": {"insight": 0.6, "readability": 0.4},
    "criterions": {
        "insight": [
            {"criterion": "Depth", "explanation": "How deep it goes.", "weight": 0.7},
            {"criterion": "Novelty", "weight": 0.3},
        ],
        "readability": [{"criterion": "Depth", "explanation": "Of headings.", "weight": 1.0}],
    },
}
REWARD = {
    "question": "Why is the sky blue?",
    "reference_answer": "Rayleigh scattering.",
    "rubric": [
        {"title": "Names it", "description": "Essential Criteria: names it.", "weight": 5},
        {"title": "Names it", "description": "Pitfall Criteria: says mirrors.", "weight": -1},
    ],
}


def written(folder: Path, name: str, *records: object) -> str:
    path = folder / name
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return str(path)


@pytest.mark.parametrize(
    ("record", "format"),
    [
        (HEALTH, "healthbench"),
        (PAPER, "paperbench"),
        ({"id": "paper", "tree": PAPER}, "paperbench"),
        (PROFESSION, "profbench"),
        (RESEARCH, "race"),
        (REWARD, "records"),
        ({"prompt": "p", "rubrics": ["Says so.", "Is short."]}, "records"),
        ({"instruction": "p", "criteria": [{"criterion": "Says so.", "points": 2}]}, "records"),
    ],
)
def test_a_file_of_a_benchmark_is_known_by_its_records(tmp_path, record, format):
    assert format_of(written(tmp_path, "tasks.jsonl", record)).name == format
    whole = tmp_path / "task.json"
    whole.write_text(json.dumps(record))
    assert format_of(str(whole)).name == format


@pytest.mark.parametrize(
    "records",
    [
        [{"prompt": "p", "rubric": [{"requirement": "r"}], "items": []}],
        [{"prompt": "p", "rubric": [{"requirement": "r"}]}, {"submission": "s"}],
        [{"submission": "s", "prompt": "p"}],
        [[1]],
        [{}],
    ],
)
def test_a_dataset_or_a_table_is_no_benchmark(tmp_path, records):
    assert format_of(written(tmp_path, "data.jsonl", *records)) is None


def test_the_shells_help_names_every_format():
    from rubricate.cli._grade_settings import GradeSettings
    from rubricate.settings import options_of

    assert all(name in options_of(GradeSettings)["format"].help for name in FORMATS)


def test_healthbench_gives_points_tags_and_the_conversation(tmp_path):
    tasks = written(tmp_path, "hb.jsonl", HEALTH)
    answers = written(tmp_path, "a.jsonl", {"prompt_id": "p1", "completion": "See a doctor."})
    found = open_benchmark(tasks, answers)
    (item,) = found.items
    assert (item.id, str(item.submission)) == ("p1", "See a doctor.")
    assert item.prompt == ("user: My child has a fever.\nassistant: How high?\nuser: 40 degrees.")
    assert [(one.weight, one.tags) for one in item.rubric] == [
        (7.0, ("axis:completeness",)),
        (-9.0, ("axis:accuracy",)),
    ]
    assert item.metadata == {"tags": ["theme:emergency_referrals"], "task": "p1"}


def test_profbench_gives_weights_of_words_and_labels_of_its_own_responses(tmp_path):
    (item,) = open_benchmark(written(tmp_path, "pb.jsonl", PROFESSION)).items
    assert item.id == "Chem-0/o3"
    assert [one.weight for one in item.rubric] == [4.0, 1.0]
    assert item.rubric[0].tags == ("type:Extraction (recall)", "type:Reasoning")
    assert list(map(str, item.ground_truth)) == ["MET", "UNMET"]


def test_a_record_of_reward_training_keeps_titles_apart_and_signs(tmp_path):
    tasks = written(tmp_path, "rar.jsonl", {**REWARD, "response": "It scatters."})
    (item,) = open_benchmark(tasks).items
    assert item.rubric.names == ["Names it", "Names it (2)"]
    assert [one.weight for one in item.rubric] == [5.0, -1.0]
    assert item.reference_submission == "Rayleigh scattering."


LEVELS = {f"score{level}_description": f"At level {level}." for level in range(1, 6)}
CHAT = [{"role": "user", "content": "Q?", "language": "English", "toxic": False, "timestamp": None}]
LAYOUTS = {
    "ResearchQA": {
        "query": "Q?",
        "field": "Nutrition",
        "rubric": [{"rubric_item": "Cites A", "type": "Citation"}, {"rubric_item": "Says B"}],
    },
    "ResearcherBench": {
        "question": "Q?",
        "rubric": [{"point": "Cites A", "weight": 2}, {"point": "Says B", "weight": 1}],
    },
    "RuVerBench, reports": {
        "question": "Q?",
        "rubric": [{"point": "Cites A"}, {"point": "Says B"}],
    },
    "RuVerBench, code": {
        "instance_id": "a",
        "user_query": ["Q?"],
        "system_prompt": "",
        "checklist": {
            "SP": {"description": "x", "checks": [{"check_id": "SP_a", "description": "Cites A"}]},
            "Task": {"checks": [{"check_id": "b", "description": "Says B", "check_type": "t"}]},
        },
    },
    "BiGGen-Bench": {
        "input": "Q?",
        "reference_answer": "Gold.",
        "score_rubric": {"criteria": "Is it good?", **LEVELS},
    },
    "Feedback Collection": {
        "instruction": "###Task Description: and all the rest",
        "input": "",
        "output": "Good. [RESULT] 4",
        "orig_instruction": "Q?",
        "orig_response": "A.",
        "orig_reference_answer": "Gold.",
        "orig_criteria": "Is it good?",
        **{f"orig_{key}": text for key, text in LEVELS.items()},
        "orig_score": "4",
    },
    "RubricHub, verl": {
        "prompt": CHAT[:1],
        "reward_model": {
            "style": "rubric",
            "ground_truth": "Gold.",
            "rubrics": [
                {
                    "criterion": "Cites A",
                    "points": 5,
                    "tags": {"verifier": "llm", "function": "", "parameters": None},
                },
                {"criterion": "Says B", "points": -1, "tags": {"verifier": "rule"}},
            ],
        },
    },
    "verl, all nested": {
        "prompt": CHAT,
        "reward_model": {"ground_truth": "Gold."},
        "extra_info": {"reward_model": {"rubrics": ["Cites A", "Says B"]}},
    },
    "verl, JSON text": {
        "prompt": CHAT,
        "reward_model": json.dumps({"ground_truth": "Gold.", "rubrics": ["Cites A", "Says B"]}),
    },
    "WildBench": {
        "conversation_input": CHAT,
        "references": {"gpt-4": "Gold."},
        "checklist": ["Cites A", "Says B"],
    },
    "JSON text": {
        "question": "Q?",
        "answer": "Gold.",
        "response": "A.",
        "rubric": json.dumps([{"criterion": "Cites A", "importance": 2}, "Says B"]),
    },
    "texts by name": {"question": "Q?", "rubric": {"a": "Cites A", "b": "Says B"}},
    "weights by text": {"question": "Q?", "rubric": {"Cites A": 2, "Says B": 1}},
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layouts_of_published_files_are_read(tmp_path, name):
    record = {"id": "a", **LAYOUTS[name]}
    texts = None if {"response", "orig_response"} & record.keys() else {"a": "A."}
    (item,) = open_benchmark(written(tmp_path, "tasks.jsonl", record), texts).items
    assert (item.id, item.prompt, str(item.submission)) == ("a", "Q?", "A.")
    assert item.reference_submission == ("Gold." if "Gold." in json.dumps(record) else None)
    if len(item.rubric) == 1:
        (scale,) = item.rubric
        assert (scale.requirement, scale.levels[5]) == ("Is it good?", "At level 5.")
    else:
        assert [one.requirement for one in item.rubric] == ["Cites A", "Says B"]
    if name == "RubricHub, verl":
        assert item.rubric[0].tags == ("verifier:llm",)
    weighted = {"ResearcherBench": 2.0, "RubricHub, verl": 5.0, "JSON text": 2.0}
    assert item.rubric[0].weight == weighted.get(name, 2.0 if name == "weights by text" else 1.0)


def test_a_system_prompt_and_an_input_are_shown_with_the_prompt(tmp_path):
    own = {"rubric": ["Says B"], "response": "A."}
    records = (
        {"system_prompt": "Be brief.", "input": "Q?", **own},
        {"instruction": "Translate.", "input": "Haus", **own},
    )
    asked = [item.prompt for item in open_benchmark(written(tmp_path, "t.jsonl", *records)).items]
    assert asked == ["system: Be brief.\nuser: Q?", "Translate.\n\nHaus"]


def test_records_of_one_task_are_its_answers_with_what_people_say_of_each(tmp_path):
    task = {"id": "g", "task": "travel_plan", **LAYOUTS["BiGGen-Bench"]}
    records = [
        {**task, "model_name": model, "response": model, "human_score": score}
        for model, score in (("x", 4), ("y", 2), ("z", None))
    ]
    items = open_benchmark(written(tmp_path, "t.jsonl", *records)).items
    assert [(item.id, item.metadata["model_name"]) for item in items] == [
        ("g", "x"),
        ("g#2", "y"),
        ("g#3", "z"),
    ]
    assert [item.ground_truth for item in items] == [["4"], ["2"], None]
    assert {item.metadata["task"] for item in items} == {"travel_plan"}  # not the id
    records[1]["input"] = "Another?"
    with pytest.raises(
        InputError, match="record 2: the id 'g' is defined twice, first in record 1"
    ):
        open_benchmark(written(tmp_path, "t.jsonl", *records))


def test_objects_with_a_record_or_a_text_under_each_id_are_read(tmp_path):
    own = {"question": "Q?", "rubric": [{"rubric_item": "Says B"}]}
    tasks, answers, texts, wrong = (
        str(tmp_path / name) for name in ("tasks.json", "answers.json", "texts.json", "wrong.json")
    )
    for path, document in (
        (tasks, {"a": own, "b": {**own, "id": "c"}}),
        (answers, {"a": {"answer": "A."}, "c": {"output": ["C."]}}),
        (texts, {"a": "A.", "c": "C."}),
        (wrong, {"a": "A.", "c": 3}),
    ):
        Path(path).write_text(json.dumps(document))
    for submissions in (answers, texts):
        items = open_benchmark(tasks, submissions).items
        assert [(item.id, str(item.submission)) for item in items] == [("a", "A."), ("c", "C.")]
    with pytest.raises(InputError, match=r"wrong.json: record 1\.c: expected text"):
        open_benchmark(tasks, wrong)
    table = open_dataset(answers, items[0].rubric, {"submission": "answer"})
    assert table.survey(limit=1).items == 1


def test_answers_are_joined_by_the_field_for_ids_that_both_files_have(tmp_path):
    records = [{"id": n, "session": f"s{n}", "query": "P?", "rubric": ["Says B"]} for n in (1, 2)]
    tasks = written(tmp_path, "t.jsonl", *records)
    for field, keys in (("session", ("s2", "s1")), ("key", ("2", "1"))):
        answers = written(tmp_path, "a.jsonl", *({field: key, "output": key} for key in keys))
        columns = TableColumns({"id": field})
        items = open_benchmark(tasks, answers, columns=columns).items
        assert [(item.id, str(item.submission)) for item in items] == [(k, k) for k in keys[::-1]]


def test_samples_of_one_prompt_are_its_answers_under_an_id_of_ones_choice(tmp_path):
    records = [
        {"query": query, "answer": f"{query} {n}", "sample_id": n, "rubrics": ["Says B"]}
        for query in ("P?", "Q?")
        for n in range(2)
    ]
    tasks = written(tmp_path, "t.jsonl", *records)
    with pytest.raises(InputError, match=r"record 3: the id '0' is .* \(--map id=FIELD\)"):
        open_dataset(tasks)
    items = open_dataset(tasks, columns="id=query").items
    assert [(item.id, item.prompt, str(item.submission)) for item in items] == [
        ("P?", "P?", "P? 0"),
        ("P?#2", "P?", "P? 1"),
        ("Q?", "Q?", "Q? 0"),
        ("Q?#2", "Q?", "Q? 1"),
    ]


def test_fields_and_keys_of_criteria_with_other_names_are_mapped(tmp_path):
    rules = {"list": [{"must": "Cites A", "stars": "2"}, {"must": "Says B", "stars": 1}]}
    tasks = written(
        tmp_path, "t.jsonl", {"ask": "Q?", "rules": rules, "reply": "A.", "best": "Gold."}
    )
    with pytest.raises(InputError, match=r"name the field of the rubric .*\(--map rubric=FIELD\)"):
        open_dataset(tasks)
    columns = {"prompt": "ask", "rubric": "rules.list", "submission": "reply", "reference": "best"}
    with pytest.raises(InputError, match=r"rubrics\[0\]: .* \(--criteria-map requirement=FIELD\)"):
        open_dataset(tasks, columns=columns)
    found = open_dataset(tasks, columns=columns, criteria="requirement=must,weight=stars")
    (item,) = found.items
    assert (item.prompt, str(item.submission), item.reference_submission) == ("Q?", "A.", "Gold.")
    assert [(one.requirement, one.weight) for one in item.rubric] == [("Cites A", 2), ("Says B", 1)]
    for wrong, message in (
        ({"columns": {**columns, "rubric": "nothing"}}, "record 1: has no field 'nothing'"),
        ({"columns": columns, "criteria": "text=must"}, "criteria-map: unknown field 'text'"),
        ({"columns": {**columns, "ignore": "x"}}, "'ignore' is for tables"),
        ({"columns": columns, "rubric": item.rubric}, "leave out --rubric"),
    ):
        with pytest.raises(InputError, match=message):
            open_dataset(tasks, **wrong)


@pytest.mark.parametrize(
    ("rubric", "message"),
    [
        ({"a": None}, r"record 1.rubric: expected a criterion, found null"),
        ({"criteria": {"a": {"b": "c"}}}, r"record 1.rubric: expected a criterion"),
        ("[" * 100_000, "expected a list of criteria, or a text"),
        ([{"point": "a", "importance": "high"}], r"rubric\[0\].importance: expected a number"),
    ],
)
def test_a_rubric_of_another_form_is_an_error_that_names_its_field(tmp_path, rubric, message):
    record = {"question": "Q?", "rubric": rubric, "response": "A."}
    with pytest.raises(InputError, match=message):
        open_benchmark(written(tmp_path, "t.jsonl", record))


def test_a_rubric_of_numbered_lines_is_a_list_of_criteria(tmp_path):
    text = "Judge by:\n1. It is a poem. [Hard Rule]\n2. It rhymes\n   throughout. [Principle]"
    record = {"instruction": "Write.", "rubric": text, "response": "roses"}
    (item,) = open_benchmark(written(tmp_path, "o.jsonl", record)).items
    assert [one.requirement for one in item.rubric] == [
        "It is a poem.",
        "It rhymes\n   throughout.",
    ]
    assert [one.tags for one in item.rubric] == [("Hard Rule",), ("Principle",)]


def test_a_document_that_cannot_be_read_is_an_item_that_has_failed_where_errors_are_skipped(
    tmp_path, endpoint
):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "p1.pdf").write_bytes(b"%PDF-1.4 and no more")
    (folder / "p2.md").write_text("See a doctor.")
    second = {**HEALTH, "prompt_id": "p2"}
    tasks = written(tmp_path, "hb.jsonl", HEALTH, second)
    with pytest.raises(InputError, match=r"p1.pdf: cannot be .*; mend it, or let its item fail wi"):
        open_benchmark(tasks, folder)
    dataset = open_benchmark(tasks, folder, on_error="skip")
    assert RubricDataset.from_dict(dataset.to_dict()) == dataset
    result = rubricate.grade(dataset, "m", base_url=endpoint.url)
    broken, read = result.items
    assert {verdict.status for verdict in broken.criteria.values()} == {"failed"}
    (cause,) = {verdict.error.message for verdict in broken.criteria.values()}
    assert "p1.pdf: cannot be converted to text" in cause
    assert broken.score.value is None
    assert {verdict.status for verdict in read.criteria.values()} == {"judged"}
    assert {request.submission for request in endpoint.requests} == {"See a doctor."}


def test_texts_come_from_a_file_a_folder_or_a_mapping(tmp_path):
    tasks = written(tmp_path, "hb.jsonl", HEALTH)
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "p1.md").write_text("See a doctor.")
    table = tmp_path / "a.csv"
    table.write_text("prompt_id,answer_text\np1,See a doctor.\n")
    columns = TableColumns({"submission": "answer_text"})
    for given, how in (({"p1": "See a doctor."}, None), (folder, None), (table, columns)):
        (item,) = open_benchmark(tasks, given, columns=how).items
        assert str(item.submission) == "See a doctor."


def test_several_texts_of_one_task_are_items_of_their_own(tmp_path):
    tasks = written(tmp_path, "hb.jsonl", HEALTH)
    lines = [{"id": "p1", "response": text} for text in ("one", "two", "three")]
    found = open_benchmark(tasks, written(tmp_path, "a.jsonl", *lines))
    assert [item.id for item in found.items] == ["p1", "p1#2", "p1#3"]
    assert {item.metadata["task"] for item in found.items} == {"p1"}


def test_a_task_without_a_text_is_left_out_and_named(tmp_path):
    tasks = written(tmp_path, "hb.jsonl", HEALTH, {**HEALTH, "prompt_id": "p2"})
    found = open_benchmark(tasks, {"p2": "text"})
    assert [item.id for item in found.items] == ["p2"]
    assert found.metadata["without_submission"] == ["p1"]


@pytest.mark.parametrize(
    ("record", "texts", "message"),
    [
        (HEALTH, None, "has tasks and no texts to grade"),
        (HEALTH, {"p9": "x"}, "there is no task 'p9'"),
        ({**HEALTH, "prompt": None}, {"p1": "x"}, "hb.jsonl:1: record 1.prompt: the task needs"),
        (
            {**HEALTH, "rubrics": [{"criterion": "c", "points": "many"}]},
            {"p1": "x"},
            "hb.jsonl:1: record 1.rubrics[0].points: expected a number, found",
        ),
        (
            {**HEALTH, "rubrics": [{"criterion": " ", "points": 1}]},
            {"p1": "x"},
            "record 1.rubrics[0]: a criterion needs its text",
        ),
        (
            {**HEALTH, "rubrics": [{"criterion": "c", "points": 1, "weight": 2}]},
            {"p1": "x"},
            "weight and points differ: 2.0, 1.0",
        ),
        ({**PROFESSION, "rubrics": [{"criterion_weight": "Huge"}]}, None, "known words: Critical"),
        (RESEARCH, {"1": "x"}, "scored against references"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, record, texts, message):
    with pytest.raises(InputError) as raised:
        open_benchmark(written(tmp_path, "hb.jsonl", record), texts)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_no_text_or_no_json_is_one_line(tmp_path):
    path = tmp_path / "task.json"
    for content in (b'{"prompt": "\xff"}', b'{"prompt": ', b""):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"task\.json"):
            open_benchmark(str(path), {"1": "x"})
        assert format_of(str(path)) is None


def graded(first: object) -> dict[str, object]:
    """A paper's record with a submission and the grades of its leaves, that of the first given."""
    tree = json.loads(json.dumps(PAPER))
    leaves = (*tree["sub_tasks"][0]["sub_tasks"], tree["sub_tasks"][1])
    for leaf, score in zip(leaves, (first, 0, None), strict=True):
        leaf["score"] = score
    return {"id": "paper", "tree": tree, "submission": "code"}


def test_peoples_grades_of_a_paper_are_labels_and_half_a_grade_is_none(tmp_path):
    (item,) = open_benchmark(written(tmp_path, "p.jsonl", graded(1))).items
    assert item.ground_truth == ["MET", "UNMET", None]
    assert item.rubric.groups["1"].requirement == "The model is there."
    for grade in (0.5, "0", 2):
        with pytest.raises(
            InputError, match=r"tree\.sub_tasks\[0\]\.sub_tasks\[0\]\.score: expected"
        ):
            open_benchmark(written(tmp_path, "p.jsonl", graded(grade)))
        ungraded = {key: value for key, value in graded(grade).items() if key != "submission"}
        (item,) = open_benchmark(written(tmp_path, "p.jsonl", ungraded), {"paper": "x"}).items
        assert item.ground_truth is None


def test_a_text_that_is_none_is_told_with_its_record(tmp_path):
    tasks = written(tmp_path, "rar.jsonl", {**REWARD, "response": {"text": "no"}})
    with pytest.raises(
        InputError, match=r"rar\.jsonl:1: record 1: expected text or a list of chat"
    ):
        open_benchmark(tasks)


def test_two_files_for_one_task_are_refused(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("p1.md", "p1.txt"):
        (folder / name).write_text("text")
    with pytest.raises(InputError, match=r"two files for one task: p1\.md and p1\.txt"):
        open_benchmark(written(tmp_path, "hb.jsonl", HEALTH), folder)


def test_an_id_that_stands_twice_is_refused(tmp_path):
    with pytest.raises(
        InputError, match="record 2: the id 'p1' is defined twice, first in record 1"
    ):
        open_benchmark(written(tmp_path, "hb.jsonl", HEALTH, HEALTH), {"p1": "x"})


def test_a_format_can_be_told_and_its_name_is_checked(tmp_path):
    tasks = written(tmp_path, "hb.jsonl", HEALTH)
    found = open_benchmark(tasks, {"p1": "x"}, format="records")
    assert found.metadata["benchmark"] == "records"
    with pytest.raises(InputError, match="did you mean 'healthbench'"):
        open_benchmark(tasks, {"p1": "x"}, format="healtbench")
    with pytest.raises(InputError, match="is no task of the format race"):
        open_benchmark(tasks, {"p1": "x"}, format="race", references={"p1": "y"})


def test_items_own_criteria_without_names_are_counted_and_not_listed_by_number(tmp_path, run_here):
    lines = [
        {"prompt": "p", "rubric": [f"Says {word}.", *["Is short."] * place], "response": "alpha"}
        for place, word in enumerate(("alpha", "beta"))
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run_here(tmp_path, "grade", "tasks.jsonl")
    assert "2 items with 3 criteria of their own" in done.stdout
    assert "\ncriterion_" not in done.stdout
    assert json.loads(run_here(tmp_path, "grade", "tasks.jsonl", "--json").stdout)["criteria"][1][
        "only_number"
    ]
