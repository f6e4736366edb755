"""One entry and its line."""

from __future__ import annotations

import json

import pytest

from leslied.errors import UserError
from leslied.model.record import SessionKey
from leslied.queries.context import QueryContext
from leslied.queries.reading.entries import load_entry
from tests.support.claude import SESSION
from tests.support.queries import SECRET

KEY = SessionKey("claude-code", SESSION)


def test_an_entry_has_its_whole_text_and_its_line(queries: QueryContext):
    _, prompt, *_ = queries.reader.reading.list_heads(KEY)

    entry = load_entry(queries, SESSION, prompt.entry_id).to_dict()

    assert entry["text"].startswith("Use [REDACTED")
    assert entry["line"]["message"]["role"] == "user"
    assert entry["entry"]["type"] == "user_message"


@pytest.mark.threat("S1")
def test_the_line_of_an_entry_has_no_secrets(queries: QueryContext):
    _, prompt, *_ = queries.reader.reading.list_heads(KEY)

    entry = load_entry(queries, SESSION, prompt.entry_id).to_dict()

    assert SECRET not in json.dumps(entry)


def test_an_unknown_entry_is_an_error(queries: QueryContext):
    with pytest.raises(UserError, match="no entry"):
        load_entry(queries, SESSION, "f" * 32)
