"""Messages to agents."""

from __future__ import annotations

import pytest

from leslied.errors import UserError
from leslied.hooks import inbox
from leslied.queries.context import QueryContext
from leslied.queries.threads.inbox import load_inbox
from tests.support.queries import SECRET


def test_messages_are_listed_oldest_first_without_secrets(queries: QueryContext):
    folder = str(queries.paths.data_dir)
    inbox.enqueue(folder, "thread-b", f"use {SECRET}", 2_000_000_000)
    inbox.enqueue(folder, "thread-a", "hello", 1_000_000_000)
    messages = load_inbox(queries).to_dict()["messages"]

    assert [message["thread_id"] for message in messages] == ["thread-a", "thread-b"]
    assert {message["state"] for message in messages} == {"queued"}
    assert SECRET not in str(messages)


def test_a_thread_without_messages_is_an_error(queries: QueryContext):
    with pytest.raises(UserError, match="thread-z"):
        load_inbox(queries, "thread-z")
