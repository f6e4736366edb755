"""Facts about logs, store and archive."""

from __future__ import annotations

from leslied.queries.context import QueryContext
from leslied.queries.health import check_archive, check_store, discover_logs
from tests.support.claude import ADAPTER, ClaudeHome
from tests.support.prune import sync_and_archive
from tests.support.queries import make_app, write_session


def test_the_logs_of_each_agent_are_counted(queries: QueryContext):
    counts = {logs.title: logs.log_count for logs in discover_logs(queries)}

    assert counts[ADAPTER.title] == 1
    assert sum(counts.values()) == 1


def test_an_undamaged_store_has_no_damage(queries: QueryContext):
    assert check_store(queries) == ("", 0)


def test_a_damaged_file_of_the_archive_is_reported(claude: ClaudeHome):
    write_session(claude)
    sync_and_archive(claude)
    with make_app(claude).open_queries() as queries:
        (file,) = check_archive(queries)
        data = bytearray(file.path.read_bytes())
        data[-20] ^= 255
        file.path.write_bytes(data)
        (damaged_file,) = check_archive(queries)

    assert (file.damage, file.error) == ("", None)
    assert damaged_file.damage or damaged_file.error
