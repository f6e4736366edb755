"""Records of unknown kinds, with the version of the agent that wrote them."""

from __future__ import annotations

from leslied.store import StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder


def test_unknown_records_have_the_version_of_their_session(claude: ClaudeHome):
    log = ClaudeLogBuilder()
    claude.write(
        log.prompt("one", version="2.1.0"),
        {"type": "first-novelty", "sessionId": log.session_id},
        log.prompt("two", version="3.0.0"),
        {"type": "second-novelty", "sessionId": log.session_id},
    )
    claude.sync()

    with StoreReader(claude.store_path) as reader:
        records = reader.unknown.list_newest(10)
        count = reader.unknown.count()

    assert count == 2
    assert [record.metadata["line_type"] for record in records] == [
        "second-novelty",
        "first-novelty",
    ]
    assert {record.session_version for record in records} == {"3.0.0"}
    assert {record.agent for record in records} == {"claude-code"}


def test_no_more_than_the_limit_are_listed(claude: ClaudeHome):
    claude.write(*({"type": "novelty", "number": n} for n in range(5)))
    claude.sync()

    with StoreReader(claude.store_path) as reader:
        assert len(reader.unknown.list_newest(2)) == 2
        assert reader.unknown.count() == 5


def test_the_version_is_empty_if_the_session_has_none(claude: ClaudeHome):
    claude.write({"type": "novelty"})
    claude.sync()

    with StoreReader(claude.store_path) as reader:
        (record,) = reader.unknown.list_newest(10)

    assert record.session_version == ""


def test_unknown_records_are_found_by_an_index(claude: ClaudeHome):
    claude.sync()

    with StoreReader(claude.store_path) as reader:
        plan = reader._db.execute(
            "EXPLAIN QUERY PLAN SELECT count(*) FROM record "
            "WHERE type = 'unknown' AND is_current"
        ).fetchall()

    assert "record_unknown" in str(plan)
