"""Parts of queries, run by SQLite."""

from __future__ import annotations

import sqlite3

import pytest

from leslied.agents._feed_sql import json_sql, root_sql


@pytest.mark.parametrize(
    ("value", "json"), [("{}", "{}"), ("{", '"{"'), (b"[1]", "[1]"), (7, "7")]
)
def test_invalid_json_becomes_text(value: object, json: str):
    query = f"SELECT {json_sql('?1')}"

    assert sqlite3.connect(":memory:").execute(query, (value,)).fetchone() == (json,)


def test_the_root_of_a_session_is_its_topmost_parent():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE s (id TEXT, up TEXT)")
    rows = [("a", None), ("b", "a"), ("c", "b"), ("x", "y"), ("y", "x")]
    db.executemany("INSERT INTO s VALUES (?, ?)", rows)

    query = f"SELECT {root_sql('s', 'up', 's.id')} FROM s ORDER BY id"
    roots = [root for (root,) in db.execute(query)]

    assert roots[:3] == ["a", "a", "a"]
    assert set(roots[3:]) <= {"x", "y"}
