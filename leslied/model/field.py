"""Fields of published objects: their names, descriptions, values and JSON Schemas."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

TEXT: Mapping[str, Any] = {"type": "string"}
TEXT_OR_NULL: Mapping[str, Any] = {"type": ["string", "null"]}
TIME: Mapping[str, Any] = {"type": "string", "format": "date-time"}
TIME_OR_NULL: Mapping[str, Any] = {"type": ["string", "null"], "format": "date-time"}
COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0}


class Field(NamedTuple):
    """One field of a kind of object, such as a record or a session."""

    name: str
    about: str
    """Description for the JSON Schema and the documentation of the SQL views."""
    get: Callable[[Any], Any]
    """Function that returns the value, None if there is none."""
    schema: Mapping[str, Any] = TEXT
    """JSON Schema of the encoded value."""
    encode: Callable[[Any], Any] | None = None
    """Function that returns the JSON form of a value that is not None."""
    is_column: bool = True
    """Whether the SQL view of these objects has a column of this name."""

    def encode_value(self, owner: Any) -> Any:
        """Return the JSON form of the field's value."""
        value = self.get(owner)
        return value if value is None or self.encode is None else self.encode(value)


def encode_fields(fields: Iterable[Field], owner: Any) -> dict[str, Any]:
    """Return the JSON form of an object that has these fields."""
    return {field.name: field.encode_value(owner) for field in fields}


def index_by_name(fields: Iterable[Field]) -> dict[str, Field]:
    """Return the fields by name."""
    return {field.name: field for field in fields}


def get_or_none(path: str) -> Callable[[Any], Any]:
    """Return a function that returns an attribute, None if it is empty."""
    get = attrgetter(path)
    return lambda owner: get(owner) or None
