"""Disk usage."""

from __future__ import annotations

import pytest

from leslied.queries.context import QueryContext
from leslied.queries.operations.disk import (
    find_store_copies,
    load_disk_usage,
    measure_sizes,
)
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.queries import SECRET


@pytest.fixture
def large_session(claude: ClaudeHome, queries: QueryContext) -> str:
    """Ingest a second session that is larger than the first; return its id."""
    claude.write(ClaudeLogBuilder("large").prompt("y" * 9000), name="-app/large.jsonl")
    claude.sync()
    return "large"


def test_the_largest_sessions_are_listed_first_without_secrets(
    queries: QueryContext, large_session: str
):
    usage = load_disk_usage(queries)

    assert [session.id for session in usage.sessions] == [large_session, SESSION]
    assert SECRET not in str(usage.to_dict())
    assert usage.to_dict()["total_bytes"] == sum(usage.bytes.values()) > 0


def test_the_sizes_include_every_session(queries: QueryContext, large_session: str):
    sizes = measure_sizes(queries.reader)

    assert {session_id for _, session_id in sizes.store_by_session} == {
        SESSION,
        large_session,
    }
    assert 0 < sizes.get_session_size(("claude-code", SESSION)) <= sizes.total


def test_copies_of_the_store_are_found(queries: QueryContext):
    path = queries.paths.store_file
    copies = [
        path.with_name(f"{path.name}.{end}") for end in ("before-rebuild", "form3")
    ]
    for copy in copies:
        copy.touch()

    assert find_store_copies(path) == copies
