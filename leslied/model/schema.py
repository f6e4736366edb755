"""JSON Schemas of the published JSON forms, made from the field tables.

`make docs` writes them to `leslied/schemas`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.model.field_tables import (
    RECORD_FIELDS,
    SESSION_FIELDS,
    SUBAGENT_FIELDS,
    UNIT_FIELDS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.field import Field

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def make_record_schema(fields: Iterable[Field] = RECORD_FIELDS) -> dict[str, Any]:
    """Return the schema of a record."""
    return {
        "$schema": _DIALECT,
        "$id": "leslied/record.schema.json",
        "title": "leslied record",
        "description": "The normalized form of one log entry, or of one block of it.",
        "additionalProperties": True,
        **_make_object_schema(fields),
    }


def make_session_schema() -> dict[str, Any]:
    """Return the schema of a session with its units and records."""
    unit = _make_object_schema(UNIT_FIELDS)
    unit["properties"] |= _make_object_schema(SUBAGENT_FIELDS)["properties"]
    return {
        "$schema": _DIALECT,
        "$id": "leslied/session.schema.json",
        "title": "leslied session",
        "description": "A session with its units and every record: what "
        "`leslied export --format json` writes.",
        "type": "object",
        "additionalProperties": True,
        "required": ["schema", "session", "units"],
        "properties": {
            "schema": {"const": "leslied/session.schema.json"},
            "session": {"$ref": "#/$defs/summary"},
            "units": {"type": "array", "items": {"$ref": "#/$defs/unit"}},
        },
        "$defs": {"summary": _make_object_schema(SESSION_FIELDS), "unit": unit},
    }


def _make_object_schema(fields: Iterable[Field]) -> dict[str, Any]:
    """Return the schema of an object in which all fields are present."""
    all_fields = list(fields)
    return {
        "type": "object",
        "required": [field.name for field in all_fields],
        "properties": {
            field.name: {**field.schema, "description": field.about}
            for field in all_fields
        },
    }
