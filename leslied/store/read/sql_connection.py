"""A connection for users' queries, which can only read the views.

The file is opened read-only, `query_only` protects temporary tables, and the authorizer
allows only reading. If secrets are redacted, it also denies the store's tables, so that
text from logs reaches a query only through the views, which redact it.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from leslied.sessions.rewinds import list_rewound
from leslied.sessions.titles import truncate_text
from leslied.store.connection import open_reader
from leslied.store.read.view import MAX_CELL_CHARACTERS
from leslied.store.read.views import (
    SESSION_LIST_TABLE,
    SESSION_NAME_COLUMNS,
    SESSION_NAMES_SQL,
    SESSION_NAMES_TABLE,
    SESSIONS,
    VIEWS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    Redact = Callable[[str], str]
    Rows = Iterable[Sequence[Any]]
    SqlFunction = tuple[int, Callable[..., Any]]
    """Number of arguments, and the implementation."""

_MAX_BYTES = 2**28
"""Largest text, blob or row that a query may produce."""
_READ_ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
_BANNED_FUNCTIONS = {
    "load_extension",
    "fts3_tokenizer",
    "readfile",
    "writefile",
    "edit",
}
_READABLE_TABLES = {view.name for view in VIEWS} | {"json_each", "json_tree"}
_MAX_CACHED_CHARACTERS = 256
"""Longest text whose redaction is cached: only short texts often occur again."""
_CACHE_SIZE = 4096
_KEY = "id INTEGER PRIMARY KEY"
_CUT_CHARACTERS = 64 * 1024
"""Characters removed from the end of a cut text, as a secret may be cut in two."""
_CUT_NOTE = "… [cut: longer than {:,} characters; see it with: leslied show]"


class SqlConnection:
    """Connection with the views; `redact` removes secrets, None reveals them.

    `functions` are those that the views call, by name.
    """

    def __init__(
        self,
        path: Path,
        functions: Mapping[str, SqlFunction],
        redact: Redact | None,
    ) -> None:
        self._redact = _cache_short_texts(redact) if redact else None
        self._token = secrets.token_hex(8)
        """Random suffix of the views that may read tables. The authorizer knows them by
        name only, and SQLite also passes it names that a query chooses for its table
        expressions (`WITH name AS`); so a query must not be able to guess the name."""
        self._function_names = {
            "redact_start",
            "is_rewound",
            "redact_text",
            "redact_json",
        }
        self._function_names |= set(functions)
        self.db = open_reader(path)
        try:
            with self._writing():
                self._define_functions(functions)
                self._make_views()
        except BaseException:
            self.db.close()
            raise

    def fill_sessions(self, rows: Rows) -> None:
        """Replace the rows of view `sessions`."""
        with self._writing():
            self._fill(SESSION_LIST_TABLE, len(SESSIONS.columns), rows)

    def fill_names(self) -> None:
        """Load the names of sessions, without secrets.

        If nothing is redacted, the names are in a view, which needs no loading.
        """
        if self._redact is None:
            return
        redact = self._redact
        with self._writing():
            rows = (
                [redact(cell) if isinstance(cell, str) else cell for cell in row]
                for row in self.db.execute(SESSION_NAMES_SQL).fetchall()
            )
            self._fill(SESSION_NAMES_TABLE, len(SESSION_NAME_COLUMNS), rows)

    def _fill(self, table: str, width: int, rows: Rows) -> None:
        """Replace all rows of a table with `width` columns."""
        placeholders = ", ".join("?" * width)
        self.db.execute("BEGIN")
        self.db.execute(f"DELETE FROM {table}")
        self.db.executemany(f"INSERT INTO {table} VALUES ({placeholders})", rows)
        self.db.execute("COMMIT")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Allow everything in this context."""
        self.db.set_authorizer(None)
        self.db.execute("PRAGMA query_only = 0")
        try:
            yield
        finally:
            self.db.execute("PRAGMA query_only = 1")
            # SQLite now prepares every statement again before it is used, so it also
            # checks those that were allowed in this context.
            self.db.set_authorizer(self._authorize)

    def _define_functions(self, functions: Mapping[str, SqlFunction]) -> None:
        db = self.db
        for name, (arity, function) in functions.items():
            db.create_function(name, arity, function)
        redact = self._redact or str
        for name, arity, function in (
            ("redact_start", 2, partial(_redact_start, redact)),
            ("redact_text", 1, partial(_redact_text, redact)),
            ("redact_json", 1, partial(_redact_json, redact)),
            ("is_rewound", 3, _is_rewound),
        ):
            db.create_function(name, arity, function, deterministic=True)

    def _make_views(self) -> None:
        """Create the views, and the tables that they read.

        Each view that queries use selects from one with the secret suffix `_token`;
        only those may read the store's tables.
        """
        db = self.db
        db.text_factory = partial(str, encoding="utf-8", errors="replace")
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_BYTES)
        db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        columns = ", ".join(column.name for column in SESSIONS.columns)
        db.execute(f"CREATE TEMP TABLE {SESSION_LIST_TABLE} ({columns})")
        db.execute(
            f"CREATE INDEX temp.session_list_id ON {SESSION_LIST_TABLE} (session_id)"
        )
        self._make_names_table()
        for view in VIEWS:
            select = view.make_select(is_redacted=self._redact is not None)
            hidden_name = f"{view.name}_{self._token}"
            db.execute(f"CREATE TEMP VIEW {hidden_name} AS {select}")
            db.execute(f"CREATE TEMP VIEW {view.name} AS SELECT * FROM {hidden_name}")
        # First use of a virtual table writes its schema, which is forbidden later.
        for table in ("json_each('')", "json_tree('')", "record_text"):
            db.execute(f"SELECT 1 FROM {table} LIMIT 0")

    def _make_names_table(self) -> None:
        """Create the table of names, or a view of them if nothing is redacted."""
        name = SESSION_NAMES_TABLE
        if self._redact is None:
            self.db.execute(f"CREATE TEMP VIEW {name} AS {SESSION_NAMES_SQL}")
            return
        columns = ", ".join(SESSION_NAME_COLUMNS).replace("id", _KEY, 1)
        self.db.execute(f"CREATE TEMP TABLE {name} ({columns})")
        self.db.execute(f"CREATE INDEX temp.{name}_id ON {name} (session_id)")

    def _authorize(
        self, action: int, arg1: str | None, arg2: str | None, *context: str | None
    ) -> int:
        """Allow reading and deny everything else.

        For a read, `arg1` is the table and `arg2` the column; for a call, `arg2` is the
        function. The last argument is the view that uses the table or function.
        """
        is_in_view = (context[-1] or "").endswith(self._token)
        if action == sqlite3.SQLITE_FUNCTION:
            name = (arg2 or "").lower()
            is_own = name in self._function_names
            is_allowed = is_in_view if is_own else name not in _BANNED_FUNCTIONS
        elif action == sqlite3.SQLITE_READ:
            is_allowed = (
                self._redact is None
                or is_in_view
                or arg1 in _READABLE_TABLES
                or (arg1 or "").endswith(self._token)
                # There is no column: the rows are only counted.
                or not arg2
            )
        else:
            is_allowed = action in _READ_ACTIONS
        return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _cache_short_texts(redact: Redact) -> Redact:
    """Return a function that does the same and caches the results of short texts."""
    cached = lru_cache(_CACHE_SIZE)(redact)
    return lambda text: (cached if len(text) <= _MAX_CACHED_CHARACTERS else redact)(
        text
    )


def _redact_text(redact: Redact, value: Any) -> Any:
    """Implement the SQL function `redact_text`.

    The view cuts texts after MAX_CELL_CHARACTERS. If this text is that long, remove its
    end, where a secret may be cut in two, and add a note.
    """
    if not isinstance(value, str):
        return value
    redacted = redact(value)
    if len(value) < MAX_CELL_CHARACTERS:
        return redacted
    return redacted[:-_CUT_CHARACTERS] + _CUT_NOTE.format(MAX_CELL_CHARACTERS)


def _redact_json(redact: Redact, value: Any) -> Any:
    """Implement the SQL function `redact_json`.

    JSON that is not valid any more becomes a JSON string, so that functions for JSON
    do not fail.
    """
    redacted = _redact_text(redact, value)
    if redacted != value:
        try:
            json.loads(redacted)
        except (ValueError, RecursionError):
            return json.dumps(redacted, ensure_ascii=False)
    return redacted


def _redact_start(redact: Redact, text: Any, limit: int) -> Any:
    """Implement the SQL function `redact_start`: the beginning of a redacted text."""
    return truncate_text(redact(text), limit) if text else text


def _is_rewound(forks: str, units: int, unit: int) -> bool:
    """Implement the SQL function `is_rewound`."""
    return any(unit in numbers for numbers in list_rewound(forks, units))
