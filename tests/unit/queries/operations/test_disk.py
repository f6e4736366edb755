"""Disk usage."""

from __future__ import annotations

from leslied.queries.context import QueryContext
from leslied.queries.operations.disk import (
    find_store_copies,
    load_disk_usage,
    measure_sizes,
)
from tests.support.claude import SESSION
from tests.support.queries import SECRET


def test_the_largest_sessions_are_listed_without_secrets(queries: QueryContext):
    usage = load_disk_usage(queries)

    assert [session.id for session in usage.sessions] == [SESSION]
    assert SECRET not in str(usage.to_dict())
    assert usage.to_dict()["total_bytes"] == sum(usage.bytes.values()) > 0


def test_the_sizes_include_every_session(queries: QueryContext):
    sizes = measure_sizes(queries.reader)

    assert [session_id for _, session_id in sizes.store_by_session] == [SESSION]
    assert 0 < sizes.get_session_size(("claude-code", SESSION)) <= sizes.total


def test_copies_of_the_store_are_found(queries: QueryContext):
    path = queries.paths.store_file
    copies = [
        path.with_name(f"{path.name}.{end}") for end in ("before-rebuild", "form3")
    ]
    for copy in copies:
        copy.touch()

    assert find_store_copies(path) == copies
