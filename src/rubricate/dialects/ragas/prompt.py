"""`ragas.prompt`: prompts with an instruction, input and output models, and examples."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NoReturn, Self, TypeVar

from pydantic import BaseModel, ValidationError

from rubricate._documents import input_error
from rubricate.dialects.ragas._rubrics import rubric_lines
from rubricate.errors import InputError

In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out", bound=BaseModel)


class PydanticPrompt(Generic[In, Out]):
    """The prompt of a judge: an instruction, input and output models, and examples.

    Define a subclass that sets the attributes, or pass them as arguments. Prompts are immutable:
    `with_rubrics` and other arguments create new ones.

    Args:
        name: its name in errors. Default: the name of the class.
        instruction: what to do; the first part of the prompt.
        input_model: the fields of a sample that the judge sees, in this order.
        output_model: the reply, with at least the fields `feedback` and `score`.
        examples: pairs of an input and the correct output.

    Raises:
        InputError: an attribute is missing or has another type.
    """

    name: str = ""
    instruction: str = ""
    input_model: type[In]
    output_model: type[Out]
    examples: Sequence[tuple[In, Out]] = ()
    _own_instruction: str = ""

    def __init__(
        self,
        *,
        name: str | None = None,
        instruction: str | None = None,
        input_model: type[In] | None = None,
        output_model: type[Out] | None = None,
        examples: Sequence[tuple[In, Out]] | None = None,
    ) -> None:
        arguments = {
            "name": name or self.name or type(self).__name__,
            "instruction": instruction,
            "input_model": input_model,
            "output_model": output_model,
            "examples": tuple(self.examples if examples is None else examples),
        }
        self.__dict__.update({key: value for key, value in arguments.items() if value is not None})
        self._check()

    def _check(self) -> None:
        if not isinstance(self.instruction, str) or not self.instruction.strip():
            raise InputError(f"the prompt {self.name} has no instruction")
        for field in ("input_model", "output_model"):
            model = getattr(self, field, None)
            if not (isinstance(model, type) and issubclass(model, BaseModel)):
                raise InputError(f"the prompt {self.name} needs a pydantic model as {field}")
        for field in ("feedback", "score"):
            if field not in self.output_model.model_fields:
                raise InputError(
                    f"the output model {self.output_model.__name__} of the prompt {self.name} has "
                    f"no field '{field}'"
                )
        for index, example in enumerate(self.examples):
            if (
                not isinstance(example, tuple)
                or len(example) != 2
                or not isinstance(example[0], self.input_model)
                or not isinstance(example[1], self.output_model)
            ):
                raise InputError(
                    f"examples[{index}] of the prompt {self.name} is not a pair of a "
                    f"{self.input_model.__name__} and a {self.output_model.__name__}"
                )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("prompts are immutable; create another PydanticPrompt")

    def with_rubrics(self, rubrics: Mapping[str, str]) -> Self:
        """Return the prompt with a rubric after its instruction, one line for each level.

        It replaces an existing rubric.
        """
        instruction = self._own_instruction or self.instruction
        prompt = copy.copy(self)
        prompt.__dict__["_own_instruction"] = instruction
        prompt.__dict__["instruction"] = (
            f"{instruction}\n\nScoring rubric:\n{rubric_lines(rubrics)}"
        )
        return prompt

    def check_fields(self, known: Sequence[str]) -> None:
        """Raise `InputError` if the input model needs a field that no sample has."""
        for field, info in self.input_model.model_fields.items():
            if info.is_required() and field not in known:
                raise InputError(
                    f"the input model {self.input_model.__name__} of the prompt {self.name} needs "
                    f"'{field}', which no sample has; there are {', '.join(known)}"
                )

    def fill(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the judge sees of a sample: the fields of the input model that are set.

        Args:
            fields: the sample's fields by name.

        Raises:
            InputError: they do not fit the input model.
        """
        own = {name: fields[name] for name in self.input_model.model_fields if name in fields}
        try:
            filled = self.input_model.model_validate(own)
        except ValidationError as error:
            raise input_error(error) from None
        return shown(filled)

    def to_string(self, fields: Mapping[str, Any]) -> str:
        """Return the text that is sent for a sample: the instruction and its fields."""
        return f"{self.instruction}\n\n{fenced(self.fill(fields))}"


def shown(model: BaseModel) -> dict[str, Any]:
    """Return the fields of a model as JSON values, without those that are None."""
    return model.model_dump(mode="json", exclude_none=True)


def fenced(fields: Mapping[str, Any]) -> str:
    """Format fields between tags that end in a code that the authors of the texts cannot guess.

    The code is a hash of the texts. Each element of a list has its own tags.
    """
    content = json.dumps(dict(fields), sort_keys=True)
    tag = hashlib.blake2b(content.encode(), digest_size=8).hexdigest()
    return "\n\n".join(
        f"<{name}-{tag}>\n{text}\n</{name}-{tag}>"
        for name, value in fields.items()
        for text in (map(_text, value) if isinstance(value, list) else (_text(value),))
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
