"""Build statements from column names, and fetch values and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator

_BATCH_SIZE = 500
"""Values in one query; SQLite limits the number of placeholders."""


def list_columns(names: Iterable[str], table: str = "") -> str:
    """Return the columns for a statement, each with the alias of its table if given."""
    prefix = f"{table}." if table else ""
    return ", ".join(prefix + name for name in names)


def make_placeholders(values: Collection[Any]) -> str:
    """Return one placeholder for each value."""
    return ", ".join("?" * len(values))


def make_insert(table: str, names: Collection[str], verb: str = "INSERT") -> str:
    """Return a statement that inserts a row with values for these columns."""
    placeholders = make_placeholders(names)
    return f"{verb} INTO {table} ({list_columns(names)}) VALUES ({placeholders})"


def fetch_value(
    db: sqlite3.Connection, query: str, values: Iterable[Any] = (), default: Any = None
) -> Any:
    """Return the only column of the first row, or `default` without a row."""
    row = db.execute(query, tuple(values)).fetchone()
    if row is None:
        return default
    (value,) = row
    return value


def fetch_column(
    db: sqlite3.Connection, query: str, values: Iterable[Any] = ()
) -> list[Any]:
    """Return the only column of all rows."""
    return [value for (value,) in db.execute(query, tuple(values))]


def select_in_batches(
    db: sqlite3.Connection,
    query: str,
    values: Iterable[Any],
    first_values: Iterable[Any] = (),
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `query IN (values)`, selected in batches.

    The query must end in a column name. `first_values` are the values of the
    placeholders that it contains.
    """
    all_values, first = list(values), tuple(first_values)
    for start in range(0, len(all_values), _BATCH_SIZE):
        batch = all_values[start : start + _BATCH_SIZE]
        yield from db.execute(
            f"{query} IN ({make_placeholders(batch)})", (*first, *batch)
        )
