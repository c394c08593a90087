"""What traits and model configurations have in common: checked values, errors of one line."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import ValidationError, model_validator

from rubricate._documents import Document, input_error
from rubricate.errors import InputError


class SettingsDocument(Document):
    """Named settings. A setting that is unknown here must be off (False, None, empty, "disabled"):
    it is kept, and has no effect. One that is on is an error, because it would be ignored.

    Raises:
        InputError: a value cannot be used; in one line, with the name of what has it.
    """

    kept: ClassVar[tuple[str, ...]] = ()
    """What the names of further settings begin with that a file may have on without an error."""

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            name = data.get("name", data.get("id"))
            kind = type(self).__name__
            raise input_error(error, (f"{kind} '{name}'" if name else kind,)) from None

    @model_validator(mode="after")
    def _unknown_settings_are_off(self) -> SettingsDocument:
        for name, value in (self.model_extra or {}).items():
            if value and value != "disabled" and not name.startswith(self.kept):
                raise InputError(f"there is no setting '{name}' here: leave it out")
        return self
