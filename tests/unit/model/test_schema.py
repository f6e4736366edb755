"""JSON Schemas made from the field tables."""

from __future__ import annotations

from jsonschema import Draft202012Validator

from leslied.model.field_tables import RECORD_FIELDS, UNIT_FIELDS
from leslied.model.schema import make_record_schema, make_session_schema


def test_both_schemas_are_valid():
    for schema in (make_record_schema(), make_session_schema()):
        Draft202012Validator.check_schema(schema)


def test_every_field_is_required_and_described():
    schema = make_record_schema()

    assert schema["required"] == [field.name for field in RECORD_FIELDS]
    assert all(each["description"] for each in schema["properties"].values())


def test_the_fields_of_subagents_are_optional():
    unit = make_session_schema()["$defs"]["unit"]

    assert unit["required"] == [field.name for field in UNIT_FIELDS]
    assert "spawn_call_id" in unit["properties"]
