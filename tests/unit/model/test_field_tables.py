"""One table of fields feeds JSON, JSON Schema, SQL views and the API."""

from __future__ import annotations

from dataclasses import fields as dataclass_fields

from leslied import api
from leslied.app import App
from leslied.model.field import TEXT_OR_NULL, Field, encode_fields, get_or_none
from leslied.model.field_tables import (
    RECORD_FIELDS,
    SESSION_FIELDS,
    USAGE_FIELDS,
    record_to_dict,
    session_to_dict,
    unit_to_dict,
)
from leslied.model.schema import make_record_schema
from leslied.queries.show import show_session
from leslied.queries.unit_selection import UnitSelection
from leslied.store.read.view import REDACT_TEXT
from leslied.store.read.views import SESSIONS, make_entry_columns
from tests.support.claude import ClaudeHome
from tests.support.queries import make_home_with_session

EXAMPLE = Field(
    "native_id", "an example", get_or_none("record.native_id"), TEXT_OR_NULL
)
"""A field that records have, but that the table does not list."""


def test_a_record_field_that_is_added_to_the_table_appears_everywhere(
    claude: ClaudeHome,
):
    """Its other places are the record itself, and its column in the store."""
    table = (*RECORD_FIELDS, EXAMPLE)
    app: App = make_home_with_session(claude)
    with app.open_queries() as queries:
        unit = next(show_session(queries, "last", UnitSelection()).iter_units())
    columns = {column.name: column for column in make_entry_columns(table)}

    assert encode_fields(table, unit.entries[0])["native_id"]
    assert "native_id" in make_record_schema(table)["required"]
    assert columns["native_id"] == (
        "native_id",
        "an example",
        "nullif(r.native_id, '')",
        REDACT_TEXT,
    )


def test_every_attribute_of_an_entry_in_the_api_is_a_field_of_records():
    names = {field.name for field in dataclass_fields(api.Entry)}

    assert names - {field.name for field in RECORD_FIELDS} == {"unit"}


def test_the_view_of_sessions_has_the_fields_of_sessions():
    names = {field.name for field in (*SESSION_FIELDS, *USAGE_FIELDS)}
    columns = {column.name for column in SESSIONS.columns}

    assert columns - names == {"session_id"}
    assert names - columns == {"id", "usage"}


def test_the_json_form_has_every_field_in_order(claude: ClaudeHome):
    with make_home_with_session(claude).open_queries() as queries:
        shown = show_session(queries, "last", UnitSelection())
        unit = next(shown.iter_units())

    assert list(session_to_dict(shown)) == [field.name for field in SESSION_FIELDS]
    assert list(record_to_dict(unit.entries[0])) == [f.name for f in RECORD_FIELDS]
    assert unit_to_dict(unit)["chat_id"] == unit.chat_id
