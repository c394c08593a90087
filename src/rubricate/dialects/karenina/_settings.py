"""What traits and model configurations have in common: checked values, errors of one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import ValidationError, model_validator

from rubricate._documents import Document, check_keys, input_error
from rubricate.errors import InputError


class SettingsDocument(Document):
    """Named settings. One that is not known must be off (False, None, empty, "disabled"): it is
    kept, and has no effect; one that is on is an error, since nothing here would heed it.

    Raises:
        InputError: a value cannot be used; in one line, with the name of what has it.
    """

    kept: ClassVar[frozenset[str]] = frozenset()
    """Settings that concern nothing here: they are kept and written back, whatever they say."""
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Settings of Karenina's that are refused where they are on, with what to do instead."""

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise input_error(error, (self._shown(data),)) from None

    @classmethod
    def _shown(cls, data: dict[str, Any]) -> str:
        """What errors call this one."""
        name = data.get("name", data.get("id"))
        return f"{cls.__name__} '{name}'" if isinstance(name, str) else cls.__name__

    @model_validator(mode="before")
    @classmethod
    def _refuse_near_misses(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            check_keys(data, cls.model_fields.keys() | cls.kept | cls.elsewhere.keys())
        return data

    @model_validator(mode="after")
    def _unknown_settings_are_off(self) -> SettingsDocument:
        for name, value in (self.model_extra or {}).items():
            if value and value != "disabled" and name not in self.kept:
                way = self.elsewhere.get(name, "leave it out")
                raise InputError(f"there is no setting '{name}' here; {way}")
        return self
