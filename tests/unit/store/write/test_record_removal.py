"""Removed records are gone from their table, the text index and the titles."""

from __future__ import annotations

import pytest

from leslied.model.record import Record
from leslied.queries.search_query import parse_query
from leslied.store import Store, StoreReader
from leslied.store.connection import UNLIMITED_INDEX_KEY
from leslied.store.fts_text import extract_index_text
from leslied.store.write import record_versions
from leslied.store.write.record_removal import RecordRemoval
from tests.support.claude import ClaudeHome, ClaudeLogBuilder


def test_records_text_and_titles_are_removed(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("needle"),
        builder.answer("other"),
        {"type": "summary", "summary": "a title", "leafUuid": "elsewhere"},
    )
    claude.sync()
    with Store(claude.store_path, claude.clock) as store, store.pruner():
        query = "SELECT entry FROM record WHERE content IN ('needle', 'a title')"
        entries = [entry for (entry,) in store._db.execute(query)]
        removal = RecordRemoval(store._db, ["claude-code"])
        removal.remove(entries)
        removal.delete_orphan_titles()
        titles = store._db.execute("SELECT count(*) FROM leaf_title").fetchone()
    with StoreReader(claude.store_path) as reader:
        hits = {
            word: len(reader.search(parse_query(word, {})).list_newest(9))
            for word in ("needle", "other")
        }

    assert removal.count == 2
    assert titles == (0,)
    assert hits == {"needle": 0, "other": 1}


@pytest.mark.parametrize("is_old", [True, False])
def test_a_long_text_is_removed_as_it_was_indexed(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch, *, is_old: bool
):
    """Older versions of leslied indexed the whole text."""
    text = "head " * 300_000 + "needle"
    claude.write(ClaudeLogBuilder().prompt(text))
    with Store(claude.store_path, claude.clock) as store, monkeypatch.context() as old:
        if is_old:
            old.setattr(record_versions, "extract_index_text", index_all)
        claude.sync(store)
        if is_old:
            store._db.execute("DELETE FROM meta WHERE key = ?", [UNLIMITED_INDEX_KEY])
    with Store(claude.store_path, claude.clock) as store, store.pruner():
        entries = [entry for (entry,) in store._db.execute("SELECT entry FROM record")]
        RecordRemoval(store._db, ["claude-code"]).remove(entries)
    with StoreReader(claude.store_path) as reader:
        hits = [
            len(reader.search(parse_query(word, {})).list_newest(9))
            for word in ("needle", "head")
        ]
        terms = reader._db.execute("SELECT count(*) FROM record_text('head OR needle')")

        assert terms.fetchone() == (0,)
    assert hits == [0, 0]


def index_all(record: Record) -> str:
    return extract_index_text(record, max_characters=None)
