"""Prompts that users write: what a header declares, what a template is given, what is refused."""

from __future__ import annotations

import pytest

from rubricate import ContextDocument, Criterion, InputError
from rubricate.dataset import Item
from rubricate.judge import (
    Asking,
    Examples,
    ModelJudge,
    PromptTemplate,
    PythonModel,
    Templated,
    named_judge,
)

CRITERION = Criterion(name="units", requirement="Gives units", note="km/s counts")
CASE = Item(
    "Light is fast.",
    "How fast?",
    "299792 km/s",
    "Be fair.",
    (ContextDocument("One."), ContextDocument("Two.", "Second")),
)
MODEL = PythonModel(lambda messages: "", name="one")


def template(body: str, variables: str = "submission, criterion", more: str = "") -> PromptTemplate:
    return PromptTemplate(f"---\nvariables: [{variables}]\n{more}---\n{body}")


def user(body: str, variables: str = "submission, criterion", case: Item = CASE) -> str:
    return template(body, variables).render(case, CRITERION)[1]


def test_each_variable_is_what_its_name_says_and_material_is_fenced():
    body = (
        "{{ prompt }}|{{ reference }}|{{ context }}|{{ submission }}|{{ tag }}|{{ guidelines }}|"
        "{{ criterion }}|{{ options }}|{{ answer_form }}"
    )
    names = "prompt,reference,context,submission,tag,guidelines,criterion,options,answer_form"
    task, reference, context, submission, tag, guidelines, asked, options, form = user(
        body, names
    ).split("|")
    assert task == f"<task-{tag}>\nHow fast?\n</task-{tag}>"
    assert reference == f"<reference-{tag}>\n299792 km/s\n</reference-{tag}>"
    one, two = context.split("\n\n")
    assert one == f"<context-{tag}>\nOne.\n</context-{tag}>"
    assert two == f"<context-{tag}>\nTitle: Second\nTwo.\n</context-{tag}>"
    assert submission == f"<submission-{tag}>\nLight is fast.\n</submission-{tag}>"
    assert guidelines == "Be fair."
    assert asked == "Gives units\n\nNote on this criterion:\nkm/s counts"
    assert [line.partition(":")[0] for line in options.split("\n")] == [
        "- MET",
        "- UNMET",
        "- CANNOT_ASSESS",
    ]
    assert form.startswith("Answer with one JSON object")


def test_an_author_can_do_without_the_fence_and_take_the_parts():
    body = (
        "{{ submission.text }} {% for one in context %}{{ one.title }}{{ one.text }}{% endfor %} "
        "{% for answer in options %}{{ answer.label }},{% endfor %} "
        "{{ criterion.requirement }}/{{ criterion.note }}"
    )
    text = user(body, "submission, context, options, criterion").partition("\n")[0]
    assert text == (
        "Light is fast. One.SecondTwo. MET,UNMET,CANNOT_ASSESS, Gives units/km/s counts"
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("{{ '=' * 40 }}", "=" * 40),
        ("{{ '-'.join(['a', 'b']) ~ 1 ~ none }}", "a-b1None"),
        (
            "{% for one in range(1, 4) %}{{ loop.index ~ '.' }}{% if not loop.last %} {% endif %}",
            "1. 2. 3.",
        ),
        ("{% for a, b in [(1, 2), (3, 4)] %}{{ a + b }};{% else %}never", "3;7;"),
        ("{% for one in context|sort(attribute='title') if one.title %}{{ one.title }}", "Second"),
        ("{{ submission.text|indent(2, first=true)|truncate(9, true)|upper }}", "  LIGH..."),
        ("{{ submission.text.split()|map('lower')|join(', ', attribute=0) }}", "l, i, f"),
        ("{{ context|map(attribute='text')|join(' / ') }}", "One. / Two."),
        ("{{ '%02d %s' % (7, 'x') }} {{ '{:>3}|{n}'.format(1, n=2) }}", "07 x   1|2"),
        (
            "{% macro row(a, b='-') %}{{ a }}{{ b }}{% endmacro %}{{ row(1) }}{{ row(1, b=2) }}",
            "1-12",
        ),
        ("{% set all %}{{ tag }}{% endset %}{{ all == tag }}{{ 7 // 2 }}{{ 7 % 4 }}", "True33"),
        (
            "{% filter upper %}a{% endfilter %}{{ {'a': [1]}|tojson }}{{ 'a b'|wordwrap(1) }}",
            'A{"a": [1]}a\nb',
        ),
        ("{{ submission.text[:5] }}{{ submission.text|length > 99999 }}", "LightFalse"),
    ],
)
def test_what_templates_usually_do_is_done(body: str, text: str):
    body += "{% endfor %}" * ("{% for" in body)
    variables = [name for name in ("submission", "criterion", "context", "tag") if name in body]
    more = [f"{{{{ {name} }}}}" for name in ("submission", "criterion") if name not in variables]
    names = ", ".join({*variables, "submission", "criterion"})
    assert user(f"{body}END{''.join(more)}", names).partition("END")[0] == text


def test_what_an_item_does_not_have_is_empty_and_false():
    body = "{{ submission }}{{ criterion }}[{{ reference }}{{ prompt }}{{ context }}]"
    body += "{% if reference or context %}never{% endif %}"
    text = user(body, "submission, criterion, reference, prompt, context", Item("x"))
    assert "[]" in text
    assert "never" not in text


def test_the_form_of_the_answer_stands_behind_a_prompt_that_does_not_place_it():
    assert user("{{ submission }} {{ criterion }}").count("Answer with one JSON object") == 1


def test_without_a_system_part_the_usual_system_message_stands():
    system, _ = template("{{ submission }}{{ criterion }}").render(CASE, CRITERION)
    assert "never addressed to you" in system
    assert "Be fair." in system
    own = template(
        "{{ submission }}{{ criterion }}",
        "submission, criterion, guidelines",
        "system: 'Examine. {{ guidelines }}'\n",
    )
    assert own.render(CASE, CRITERION)[0] == "Examine. Be fair."


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("{{ submission }}", 1, "begins with a header"),
        ("---\nvariable: [x]\n---\n", 2, "no 'variables"),
        ("---\nvariables: submission\n---\n", 2, "a list of names"),
        ("---\nvariables: []\nsistem: x\n---\n", 3, "unknown key 'sistem'.*did you mean 'system'"),
        ("---\nvariables: []\nsystem: 3\n---\n", 3, "system must be text"),
        ("---\nvariables: [}\n---\n", 2, "Failed to parse YAML"),
        (
            "---\nvariables:\n- submission\n- criterium\n---\n{{ submission }}",
            4,
            "unknown variable 'criterium'.*did you mean 'criterion'",
        ),
        (
            "---\nvariables: [submission, criterion]\n---\n{{ submission }}\n\n{{ criterium }}",
            6,
            "unknown variable 'criterium'.*did you mean 'criterion'",
        ),
        (
            "---\nvariables: [submission, criterion]\n---\n"
            "{{ submission }}\n{{ criterion }}\n{{ reference }}",
            6,
            "'reference' is used, but not declared",
        ),
        (
            "---\nvariables:\n- submission\n- criterion\n- reference\n---\n"
            "{{ submission }}{{ criterion }}",
            5,
            "'reference' is declared, but not used",
        ),
        ("---\nvariables: [criterion]\n---\n{{ criterion }}", 2, "must use 'submission'"),
        ("---\nvariables: [submission]\n---\n{{ submission }}", 2, "must use 'criterion'"),
        (
            "---\nvariables: [submission, criterion]\n---\n{{ submission }}\n{% if criterion %}",
            5,
            "end of template",
        ),
        (
            "---\nvariables: [submission, criterion]\n---\n{{ submission }}\n{{ criterion.x }}",
            5,
            "has no attribute 'x'",
        ),
        (
            "---\nvariables: [submission, criterion]\n---\n{{ submission }}{{ criterion }}\n"
            "{% include 'other.jinja' %}",
            None,
            "loader",
        ),
        (
            "---\nvariables: [submission, criterion]\nsystem: |\n  {{ sub }}\n---\n"
            "{{ submission }}{{ criterion }}",
            None,
            "unknown variable 'sub'",
        ),
    ],
)
def test_a_prompt_that_cannot_be_used_is_refused_with_file_and_line(tmp_path, text, line, problem):
    path = tmp_path / "own.jinja"
    path.write_text(text)
    with pytest.raises(InputError, match=problem) as caught:
        PromptTemplate.from_file(path)
    assert str(caught.value).startswith(str(path))
    if line is not None:
        assert caught.value.line == line


@pytest.mark.parametrize(
    "attack",
    [
        "{{ submission.__class__.__mro__ }}",
        "{{ criterion.ask.__globals__ }}",
        "{{ ''.__class__ }}",
        "{{ '{0.__class__.__init__.__globals__}'.format(criterion) }}",
        "{{ options.append(1) }}",
        "{{ range(10000000) | list | length }}",
    ],
)
def test_a_prompt_from_somebody_else_runs_no_code(attack):
    with pytest.raises(InputError):
        template("{{ submission }}{{ criterion }}" + attack)


def test_another_wording_is_another_key_and_another_version():
    judges = [
        ModelJudge(MODEL, Templated(template("{{ submission }} {{ criterion }}" + end)))
        for end in ("", "!", "")
    ]
    keys = [judge.key(CASE, CRITERION) for judge in judges]
    versions = [judge.prompt_version for judge in judges]
    assert (keys[0] == keys[2], keys[0] == keys[1]) == (True, False)
    assert (versions[0] == versions[2], versions[0] == versions[1]) == (True, False)
    assert judges[0].fingerprint() != judges[1].fingerprint()


def test_a_prompt_needs_a_language_model_one_criterion_a_call_and_room_for_examples():
    own = template("{{ submission }}{{ criterion }}")
    with pytest.raises(InputError, match="for language models; builtin is none"):
        named_judge("builtin", asking=Asking(judge_prompt=own))
    with pytest.raises(InputError, match="one criterion"):
        named_judge(MODEL, asking=Asking(judge_prompt=own, criteria_per_call=2))
    silent = template("{{ submission }}{{ criterion }}", more="system: Examine.\n")
    examples = object.__new__(Examples)
    with pytest.raises(InputError, match="does not use 'examples'"):
        Templated(silent, examples=examples)
