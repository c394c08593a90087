"""A benchmark: questions with reference answers, rubrics, templates, and the last results."""

from __future__ import annotations

import hashlib
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rubricate._documents import read_document
from rubricate._files import Replacement
from rubricate._sync import run_sync
from rubricate._terminal import one_line
from rubricate.dialects.karenina import _jsonld
from rubricate.dialects.karenina._results import VerificationResults
from rubricate.dialects.karenina._template import Template
from rubricate.dialects.karenina._traits import (
    Question,
    CallableRubricTrait,
    Rubric,
    StoredTrait,
    Trait,
    union,
)
from rubricate.dialects.karenina._verification import (
    TemplatesCall,
    VerificationCall,
    answers,
    check_config,
    judgements,
    templates,
)
from rubricate.errors import InputError, errors_within
from rubricate.rubric import Failure
from rubricate.settings import takes_as_method


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass
class Benchmark(_jsonld.BenchmarkData):
    """Questions with reference answers, judged by templates and rubrics.

        benchmark = Benchmark.create(name="Genomics")
        benchmark.add_question("How many chromosomes has a human somatic cell?", "46")
        benchmark.set_global_rubric(rubric)
        results = benchmark.run_verification(config)
        benchmark.save("genomics.jsonld")

    Attributes:
        name, description, version, creator: its name, description, version and author.
        questions: the questions in order.
        global_rubric: the traits for all answers.
        results: the results of the last verification, which are saved as well.
        id: its identifier in files.
        date_created, date_modified: ISO 8601.
        node: the document that it was read from; its other contents are written back.
    """

    @classmethod
    def create(
        cls, name: str, description: str = "", version: str = "0.1.0", creator: str = ""
    ) -> Benchmark:
        """Create a benchmark without questions.

        Raises:
            InputError: the name is empty.
        """
        if not isinstance(name, str) or not name.strip():
            raise InputError("a benchmark needs a name")
        now = _now()
        return cls(
            name,
            description,
            version,
            creator,
            id=f"urn:uuid:{uuid.uuid4()}",
            date_created=now,
            date_modified=now,
        )

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    def _check_used(self, code: Mapping[str, Any]) -> None:
        traits = [trait for trait in self._traits() if isinstance(trait, CallableRubricTrait)]
        unused = code.keys() - {trait.name for trait in traits}
        if unused:
            raise InputError(f"code: no trait with the name '{min(unused)}' is code in this file")

    def _traits(self) -> Iterator[Trait]:
        """The traits of all rubrics."""
        yield from self.global_rubric or ()
        for question in self.questions:
            yield from question.rubric or ()

    @property
    def not_judged(self) -> dict[str, str]:
        """The traits of its file that are kept but cannot be judged here, with the reason."""
        traits = [trait for trait in self._traits() if isinstance(trait, StoredTrait)]
        return {trait.name: trait.problem for trait in traits}

    def add_question(
        self,
        question: str,
        raw_answer: str,
        rubric: Rubric | None = None,
        *,
        template: Template | None = None,
        id: str = "",
    ) -> Question:
        """Add a question.

        Args:
            question: its text.
            raw_answer: the reference answer.
            rubric: traits for this question only, in addition to the global rubric.
            template: defines when an answer is correct, unless a model should generate that.
            id: its identifier. Default: a hash of question and answer.

        Raises:
            InputError: a text is empty or of another type, the global rubric also has one of the
                traits, or the id already exists.
        """
        for what, text in (("question", question), ("raw_answer", raw_answer)):
            if not isinstance(text, str) or not text.strip():
                raise InputError(f"{what}: expected text, found {text!r}")
        for what, part, wanted in (("rubric", rubric, Rubric), ("template", template, Template)):
            if part is not None and not isinstance(part, wanted):
                raise InputError(_not_ours(what, wanted, part))
        ids = {other.id for other in self.questions}
        if id in ids:
            raise InputError(f"the benchmark has a question with the id '{id}' already")
        now = _now()
        new = Question(
            question,
            raw_answer,
            rubric,
            template,
            id=id or _free_id(question, raw_answer, ids),
            date_created=now,
            date_modified=now,
        )
        union(self.global_rubric, rubric, _of_question(new))
        self.questions.append(new)
        self.date_modified = now
        return new

    def set_global_rubric(self, rubric: Rubric | None) -> None:
        """Set the traits for all answers; None removes them.

        Raises:
            InputError: a question's own rubric has a trait of the same name.
        """
        if rubric is not None and not isinstance(rubric, Rubric):
            raise InputError(_not_ours("rubric", Rubric, rubric))
        for question in self.questions:
            union(rubric, question.rubric, _of_question(question))
        self.global_rubric = rubric
        self.date_modified = _now()

    def add_global_rubric_trait(self, trait: Trait) -> None:
        """Judge all answers by this trait, too.

        Raises:
            InputError: it is not a trait, or a trait of that name exists.
        """
        self.set_global_rubric(_with(self.global_rubric, trait, "global rubric"))

    def add_question_rubric_trait(self, question: Question | str, trait: Trait) -> None:
        """Judge the answers to one question by this trait, too.

        Args:
            question: the question, or its id.
            trait: the trait.

        Raises:
            InputError: there is no such question, it is not a trait, or a trait of that name
                exists.
        """
        asked_about = question if isinstance(question, Question) else self.get_question(question)
        rubric = _with(asked_about.rubric, trait, "question rubric")
        union(self.global_rubric, rubric, _of_question(asked_about))
        asked_about.rubric = rubric
        self.date_modified = asked_about.date_modified = _now()

    @property
    def question_count(self) -> int:
        """The number of questions."""
        return len(self.questions)

    def get_global_rubric(self) -> Rubric | None:
        """Return the traits for all answers; None if there are none."""
        return self.global_rubric

    def has_template(self, id: str) -> bool:
        """Whether the question with this id has a template that is data."""
        return self.get_question(id).template is not None

    def get_question_ids(self) -> list[str]:
        """Return the ids of the questions in order."""
        return [question.id for question in self.questions]

    def get_question(self, id: str) -> Question:
        """Return the question with this id.

        Raises:
            InputError: there is no such question.
        """
        for question in self.questions:
            if question.id == id:
                return question
        raise InputError(f"the benchmark has no question with the id '{id}'")

    @takes_as_method(TemplatesCall)
    def generate_all_templates(self, call: TemplatesCall) -> dict[str, Failure]:
        """Let a model write an answer template for every question that has none.

        If there is no usable template for a question, the reason is in its `template_failure`, and
        the correctness of its answers is failed, neither correct nor incorrect.

        Args:
            model_config: the model.
            stop: set this to end the run early and cleanly.

        Returns:
            The failures with their causes, by question id; empty if all succeeded.

        Raises:
            InputError: there are no questions; nothing has been sent.
            RunStopped: the model cannot be reached.
        """
        return run_sync(lambda: self._generate(call))

    @takes_as_method(TemplatesCall)
    async def agenerate_all_templates(self, call: TemplatesCall) -> dict[str, Failure]:
        """Async version of `generate_all_templates`.

        Args:
            model_config, stop: as for `generate_all_templates`.
        """
        return await self._generate(call)

    async def _generate(self, call: TemplatesCall) -> dict[str, Failure]:
        self._need_questions()
        lacking = [question for question in self.questions if question.template is None]
        if not lacking:
            return {}
        written = await templates(lacking, call.model_config, call)
        for question, verdict in zip(lacking, written, strict=True):
            question.template_failure = verdict.error
            if verdict.error is None:
                question.template = Template(**verdict.answer)
            question.date_modified = self.date_modified = _now()
        return {
            question.id: question.template_failure
            for question in lacking
            if question.template_failure
        }

    @takes_as_method(VerificationCall)
    def run_verification(self, call: VerificationCall) -> VerificationResults:
        """Let each answering model answer all questions, and each parsing model judge the answers.

        Each answer is judged by the question's template, the traits of the global rubric, and the
        question's own traits. Every failure is a failed verdict with its cause.

        `run_dir` is the parent of the models' run folders. `concurrency` applies to all models
        together; other limits apply to each model.

        Args:
            config: the answering and the parsing models.
            question_ids: the questions to answer. Default: all.
            stop: set this to end the runs early and cleanly.

        Returns:
            One result per question, answering model and parsing model; also stored in `results`.

        Raises:
            InputError: an argument cannot be used; nothing has been sent.
            RunStopped: no model answered anything.
        """
        return run_sync(lambda: self._verify(call))

    @takes_as_method(VerificationCall)
    async def arun_verification(self, call: VerificationCall) -> VerificationResults:
        """Async version of `run_verification`.

        Args:
            config, question_ids, stop: as for `run_verification`.
        """
        return await self._verify(call)

    async def _verify(self, call: VerificationCall) -> VerificationResults:
        self._need_questions()
        questions = self.questions
        if call.question_ids is not None:
            questions = [self.get_question(id) for id in call.question_ids]
        judged_by = [
            (question, union(self.global_rubric, question.rubric, _of_question(question)))
            for question in questions
        ]
        check_config(judged_by, call.config)
        answered, stopped = await answers(judged_by, call.config, call.running())
        judged = await judgements(answered, call.config, call.running())
        self.results = VerificationResults(judged.results, {**stopped, **judged.stopped})
        self.date_modified = _now()
        return self.results

    def _need_questions(self) -> None:
        if not self.questions:
            raise InputError(f"the benchmark '{self.name}' has no questions: add_question first")

    def save(self, path: str | Path) -> None:
        """Write the benchmark to a JSON-LD file, with its templates and its last results.

        Raises:
            InputError: something in it cannot be written as JSON, or the file cannot be written.
        """
        text = _jsonld.text_of(_jsonld.to_document(self))
        with Replacement(Path(path)) as file:  # a full disk must not destroy an existing file
            file.write(text.encode())

    @classmethod
    def load(
        cls, path: str | Path, code: Mapping[str, Callable[[str], Any]] | None = None
    ) -> Benchmark:
        """Read a benchmark from a JSON-LD file.

        Python code in the file (templates or traits) is kept and written back but never run; see
        `Question.template_code` and `StoredTrait`. The same applies to traits of an unknown kind or
        with an unknown setting: they are in `not_judged`, and a warning names them.

        Args:
            path: the file.
            code: your functions for traits that are code in the file, by the name of the trait; see
                `CallableRubricTrait`.

        Raises:
            InputError: the file cannot be read, or has something that rubricate cannot represent,
                which the message names.
        """
        with errors_within(file=path):
            loaded = cls(**_jsonld.from_document(read_document(path), code or {}))
            loaded._check_used(code or {})
        if stored := loaded.not_judged:
            problems = "; ".join(
                f"{name!r}: {one_line(problem)}" for name, problem in stored.items()
            )
            warnings.warn(f"{path}: traits are kept but not judged: {problems}", stacklevel=2)
        return loaded


def _with(rubric: Rubric | None, trait: Trait, name: str) -> Rubric:
    """Return a rubric with one more trait, or a new one of this name if there was none."""
    if rubric is None:
        return Rubric(name, [trait])
    return Rubric(rubric.name, [*rubric, trait])


def _not_ours(what: str, wanted: type, value: object) -> str:
    kind = type(value)
    return (
        f"{what}: expected a {wanted.__name__} of rubricate.dialects.karenina.schemas, found a "
        f"{kind.__module__}.{kind.__qualname__}"
    )


def _of_question(question: Question) -> str:
    shown = question.question if len(question.question) <= 60 else f"{question.question[:57]}..."
    return f" of the question '{shown}'"


def _free_id(question: str, raw_answer: str, ids: set[str]) -> str:
    text = f"{question}\0{raw_answer}".encode("utf-8", "surrogatepass")
    first = name = f"urn:karenina:question:{hashlib.blake2b(text, digest_size=6).hexdigest()}"
    number = 1
    while name in ids:
        number += 1
        name = f"{first}-{number}"
    return name
