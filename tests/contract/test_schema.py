"""Test that the published schema describes the records that commands print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from jsonschema import Draft202012Validator

import leslied
from leslied.model import record as record_model
from leslied.model.field_tables import record_to_dict
from leslied.store import StoreReader
from tests.support.claude import ClaudeHome
from tests.support.golden import FIXTURES, copy_home

PATH = Path(leslied.__file__).parent / "schemas" / "record.schema.json"
SCHEMA = json.loads(PATH.read_text())
CASES = sorted(path.name for path in (FIXTURES / "claude_code").iterdir())


def test_the_schema_is_valid():
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_lists_every_type_role_kind_and_origin():
    properties = SCHEMA["properties"]

    assert properties["type"]["enum"] == list(get_args(record_model.RecordType))
    assert properties["role"]["enum"] == list(get_args(record_model.Role))
    metadata = properties["metadata"]["properties"]
    assert metadata["kind"]["enum"] == list(get_args(record_model.EventKind))
    assert metadata["origin"]["enum"] == list(get_args(record_model.Origin))


@pytest.mark.parametrize("case", CASES)
def test_every_record_of_claude_fixtures_matches_the_schema(
    claude: ClaudeHome, case: str
):
    copy_home(FIXTURES / "claude_code" / case, claude.home)
    claude.sync(is_final=True)
    validator = Draft202012Validator(SCHEMA)

    with StoreReader(claude.store_path) as reader:
        for session in reader.list_sessions():
            for placed in reader.list_records(session.key):
                validator.validate(record_to_dict(placed))
