"""A view for `leslied sql`, and how its columns are redacted.

Text from logs is redacted inside the views, so that no function of a query, such as
`hex` or `substr`, gets to see a secret. A column is redacted unless it says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

MAX_CELL_CHARACTERS = 4 * 1024 * 1024
"""Longest text that a redacted column contains; longer ones are cut."""
REDACT_TEXT = "redact_text"
NO_REDACTION = ""
"""Marks a column that cannot contain a secret."""


class Column(NamedTuple):
    """Column of a view: name, description and SQL."""

    name: str
    about: str
    sql: str
    redact: str = REDACT_TEXT
    """SQL function that redacts it; none if it cannot contain text of a log."""

    def make_sql(self, *, is_redacted: bool) -> str:
        """Return the column's SQL, with or without redaction."""
        if not (is_redacted and self.redact):
            return self.sql
        return f"{self.redact}(substr({self.sql}, 1, {MAX_CELL_CHARACTERS}))"


def make_plain(name: str, about: str, sql: str) -> Column:
    """Return a column that cannot contain text of a log, or is redacted already."""
    return Column(name, about, sql, NO_REDACTION)


@dataclass(frozen=True, slots=True)
class View:
    """A view with its description, from which documentation and SQL are generated."""

    name: str
    about: str
    columns: tuple[Column, ...]
    from_sql: str
    """SQL of the FROM clause and everything after it."""

    def make_select(self, *, is_redacted: bool) -> str:
        """Return the query behind the view."""
        columns = ", ".join(
            f"{column.make_sql(is_redacted=is_redacted)} AS {column.name}"
            for column in self.columns
        )
        return f"SELECT {columns} {self.from_sql}"
