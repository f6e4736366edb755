"""Read-only queries over the changes that tool calls made to files."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from leslied.model.record import SessionKey
from leslied.sessions.path_changes import (
    FILE_KINDS,
    SHELL_KINDS,
    find_changed_paths,
    has_succeeded,
)
from leslied.sessions.tools import list_tool_names
from leslied.store.connection import translate_sqlite_errors
from leslied.store.read.filter_sql import make_project_sql
from leslied.store.read.record_query import (
    IS_VISIBLE,
    SELECT_RECORDS,
    unpack_placed_record,
)
from leslied.store.sql import fetch_value, make_placeholders, select_in_batches

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from leslied.model.file_change import FileChangeKind
    from leslied.model.record import PlacedRecord

Outcome = Literal["done", "failed", "unanswered"]
"""Whether a call changed its file; a call without a result is unanswered."""
_MAX_RESULT_CHARACTERS = 400
"""Characters at the start of a shell's result; they include the exit code."""
_MAX_TEXT_CHARACTERS = 1000
"""Characters read from the start of a prompt or result, to find its first line."""
_MAY_WRITE = " OR ".join(
    f"instr(tool_input, '{text}')" for text in (">", "tee", "apply_patch")
)
"""Condition on the arguments of a shell's call: it may write a file."""


class FileStream(NamedTuple):
    """The session or subagent that made a call."""

    key: SessionKey
    cwd: str
    project: str
    worktree: str


class StoredChange(NamedTuple):
    """A change that a call made to one file, or tried to make."""

    stream: FileStream
    unit: int
    read_order: int
    """`read_order` of the record with the call."""
    created_us: int
    """Time of the call; 0 if the log does not state it."""
    kind: FileChangeKind
    path: str
    moved_from: str
    """The earlier path of a file that the call moved, else ""."""
    outcome: Outcome


_cached_changes: dict[Path, tuple[tuple[int, ...], list[StoredChange]]] = {}
"""Changes in the store that was read last, with its stamp, by the store's path."""


class FileQueries:
    """Read-only queries over calls that change files.

    The queries read the calls themselves: the whole index over the names of tools, and
    then only the calls of tools that change files. That takes about 0.2 s for each GB
    of logs.
    """

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path
        self._streams: dict[int, FileStream] = {}

    @translate_sqlite_errors
    def list_changes(self) -> list[StoredChange]:
        """List all changes, also failed ones: first by file tools, then by shells.

        Both parts are in the order of the records. A copy in a fork is left out if the
        fork has entries of its own. The list is cached until the store changes, because
        a search asks for it at every keystroke.
        """
        stamp = _read_stamp(self.path)
        cached_stamp, changes = _cached_changes.get(self.path, ((), []))
        if stamp != cached_stamp:
            changes = self._read_changes()
            _cached_changes.clear()
            _cached_changes[self.path] = (stamp, changes)
        return changes

    def _read_changes(self) -> list[StoredChange]:
        """Read all changes. Only for calls of shells, read the text of the result."""
        shells = list_tool_names(SHELL_KINDS)
        result = f"substr(x.content, 1, {_MAX_RESULT_CHARACTERS})"
        return [
            *self._iter_changes(
                list_tool_names(FILE_KINDS), condition="1", result="''"
            ),
            *self._iter_changes(shells, _MAY_WRITE, result, is_shell=True),
        ]

    @translate_sqlite_errors
    def load_calls(self, read_orders: Iterable[int]) -> dict[int, PlacedRecord]:
        """Return the calls at these positions, by `read_order`."""
        rows = select_in_batches(self._db, f"{SELECT_RECORDS} WHERE p.id", read_orders)
        records = [unpack_placed_record(row, 0) for row in rows]
        return {placed.read_order: placed for placed in records}

    @translate_sqlite_errors
    def find_prompt(self, read_order: int) -> str:
        """Return the start of the prompt that led to a call, or ""."""
        query = (
            f"SELECT substr(r.content, 1, {_MAX_TEXT_CHARACTERS}) FROM placement c "
            "JOIN placement p ON p.session = c.session AND p.unit = c.unit "
            "JOIN record r ON r.entry = p.entry AND r.is_current "
            "WHERE c.id = ? AND r.type = 'user_message' ORDER BY p.id LIMIT 1"
        )
        return str(fetch_value(self._db, query, (read_order,), default=""))

    @translate_sqlite_errors
    def find_result(self, call_id: str) -> str:
        """Return the start of the result of a call, or ""."""
        query = (
            f"SELECT substr(content, 1, {_MAX_TEXT_CHARACTERS}) FROM record "
            "WHERE type = 'tool_result' AND tool_call_id = ? AND is_current"
        )
        return str(fetch_value(self._db, query, (call_id,), default=""))

    @translate_sqlite_errors
    def find_entry_id(self, call_id: str) -> str:
        """Return the id of the entry that made a call, or ""."""
        query = (
            "SELECT lower(hex(entry_id)) FROM record "
            "WHERE type = 'tool_use' AND tool_call_id = ? AND is_current"
        )
        return str(fetch_value(self._db, query, (call_id,), default=""))

    def _iter_changes(
        self,
        tools: Collection[str],
        condition: str,
        result: str,
        *,
        is_shell: bool = False,
    ) -> Iterator[StoredChange]:
        """Yield the changes by these tools, if their calls match the condition.

        `condition` is SQL on a call, and `result` SQL for a text of its result.
        """
        rows = self._db.execute(_make_query(tools, condition, result), tuple(tools))
        last_order = 0
        for stream_id, unit, read_order, created_us, tool, tool_input, *answer in rows:
            # Several results may have the id of the call.
            if read_order == last_order:
                continue
            last_order = read_order
            stream = self._get_stream(stream_id)
            outcome: Outcome | None = None
            for change in find_changed_paths(tool, tool_input, stream.cwd):
                outcome = outcome or _find_outcome(*answer, is_shell=is_shell)
                yield StoredChange(
                    stream,
                    unit,
                    read_order,
                    created_us,
                    change.kind,
                    change.path,
                    change.moved_from,
                    outcome,
                )

    def _get_stream(self, stream_id: int) -> FileStream:
        stream = self._streams.get(stream_id)
        if stream is None:
            query = (
                f"SELECT agent, session_id, source, cwd, {make_project_sql('s')}, "
                "ifnull((SELECT worktree FROM project_folder WHERE path = s.cwd), '') "
                "FROM session s WHERE id = ?"
            )
            ((agent, session_id, source, *folders),) = self._db.execute(
                query, (stream_id,)
            )
            stream = FileStream(SessionKey(agent, session_id, source), *folders)
            self._streams[stream_id] = stream
        return stream


def _make_query(tools: Collection[str], condition: str, result: str) -> str:
    """Return the query of calls with their results, in the order of their records."""
    return (
        "SELECT p.session, p.unit, p.id, ifnull(r.created_us, 0), r.tool_name, "
        f"r.tool_input, x.metadata, {result} FROM "
        "(SELECT entry, tool_name, tool_call_id, created_us, tool_input "
        # The list of ids is sorted, so that the records are read in their order.
        "FROM record WHERE id IN (SELECT id FROM record INDEXED BY record_tool "
        "WHERE type = 'tool_use' AND tool_name IN "
        f"({make_placeholders(tools)})) AND is_current AND ({condition})) r "
        "CROSS JOIN placement p ON p.entry = r.entry "
        "CROSS JOIN session s ON s.id = p.session "
        "LEFT JOIN record x ON x.type = 'tool_result' AND x.is_current "
        "AND x.tool_call_id = r.tool_call_id AND r.tool_call_id <> '' "
        f"WHERE {IS_VISIBLE}"
    )


def _read_stamp(path: Path) -> tuple[int, ...]:
    """Return numbers that differ after every commit to the store."""
    stamp: list[int] = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        with suppress(OSError):
            status = file.stat()
            stamp += (status.st_ino, status.st_size, status.st_mtime_ns)
    return tuple(stamp)


def _find_outcome(metadata: str | None, result: str, *, is_shell: bool) -> Outcome:
    """Return the outcome of a call.

    `metadata` and `result` are the metadata and the text of its result; `metadata` is
    None if there is no result.
    """
    if metadata is None:
        return "unanswered"
    fields: dict[str, Any] = msgspec.json.decode(metadata) if metadata else {}
    return "done" if has_succeeded(fields, result, is_shell=is_shell) else "failed"
