"""Statements that are built from column names, and fetching of values."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from leslied.store.sql import (
    fetch_column,
    fetch_value,
    list_columns,
    make_insert,
    select_in_batches,
)

MANY = 1200


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    """Yield a database with the numbers below MANY, each next to its double."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE number (n INTEGER, doubled INTEGER)")
        connection.executemany(
            make_insert("number", ("doubled", "n")), [(2 * n, n) for n in range(MANY)]
        )
        yield connection


def test_columns_are_listed_with_the_alias_of_their_table():
    assert list_columns(["a", "b"]) == "a, b"
    assert list_columns(["a", "b"], table="t") == "t.a, t.b"


def test_an_insert_has_a_value_for_each_column(db: sqlite3.Connection):
    assert fetch_value(db, "SELECT doubled FROM number WHERE n = ?", [7]) == 14


def test_a_value_without_a_row_is_the_default(db: sqlite3.Connection):
    query = "SELECT n FROM number WHERE n < 0"

    assert fetch_value(db, query) is None
    assert fetch_value(db, query, default=3) == 3


def test_a_value_is_not_fetched_from_several_columns(db: sqlite3.Connection):
    with pytest.raises(ValueError, match="too many values"):
        fetch_value(db, "SELECT n, doubled FROM number")


def test_a_column_has_one_value_for_each_row(db: sqlite3.Connection):
    assert fetch_column(db, "SELECT n FROM number WHERE n < ?", [3]) == [0, 1, 2]


def test_more_values_than_fit_in_one_query_are_selected(db: sqlite3.Connection):
    query = "SELECT n, doubled FROM number WHERE doubled > ? AND n"

    rows = list(select_in_batches(db, query, range(MANY), [10]))

    assert rows == [(n, 2 * n) for n in range(6, MANY)]
