"""Removed records are gone from their table, the text index and the titles."""

from __future__ import annotations

from leslied.queries.search_query import parse_query
from leslied.store import Store, StoreReader
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
