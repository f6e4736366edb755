"""Leslie's `thread_relations.json`: parsing, validation and encoding.

Unknown fields are preserved. Hooks load this module, so it imports little. Updates on
disk are in `relations_file`.
"""

from __future__ import annotations

import os
import stat

from leslied.fs import FOLDER_FLAGS, READ_FLAGS, open_below
from leslied.layout import RELATIONS_BACKUP, RELATIONS_FILE, is_thread_id
from leslied.mini_json import loads
from leslied.threads.operations import (
    RELATION_KINDS,
    list_leslied_threads,
    rebuild_relations,
)

TYPE_CHECKING = False  # Importing it from `typing` would cost a hook milliseconds.
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from leslied.threads.operations import RelationsData

__all__ = [
    "MAX_RELATIONS_BYTES",
    "InvalidRelationsError",
    "encode_relations",
    "find_claimed_sessions",
    "find_claiming_thread",
    "make_empty_relations",
    "parse_relations",
    "read_relations",
    "rebuild_relations",
]
VERSION = "1.0"
MAX_RELATIONS_BYTES = 4 * 1024 * 1024
"""Largest file that is read; parsing takes several times its size of memory."""
STATUSES = (
    "active",
    "suspended",
    "completed",
    "cancelled",
    "archived",
    "frozen",
    "waiting_human",
)
_OPERATORS = ("user", "system", "agent")
_EXECUTORS = ("human", "agent", "system")


class InvalidRelationsError(ValueError):
    """Leslie would not accept the relations."""


def make_empty_relations() -> RelationsData:
    """Return the data of a relations file without threads."""
    return {
        "version": VERSION,
        "metadata": {"last_updated": "1970-01-01T00:00:00.000Z", "thread_count": 0},
        "threads": {},
        "operations": [],
        "relations": {},
    }


def parse_relations(text: bytes) -> RelationsData:
    """Parse the file; convert times to UTC and old status names to new ones.

    Relations that are missing or invalid are rebuilt from the operations. Raise
    InvalidRelationsError if Leslie would not accept the file or it is too large.
    """
    if len(text) > MAX_RELATIONS_BYTES:
        raise InvalidRelationsError(f"larger than {MAX_RELATIONS_BYTES} bytes")
    try:
        data = loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRelationsError(f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise InvalidRelationsError("not a JSON object")
    required_types = {"threads": dict, "operations": list, "metadata": dict}
    for name, required_type in required_types.items():
        if not isinstance(data.get(name), required_type):
            raise InvalidRelationsError(f"{name} is missing or has the wrong type")
    _normalize(data)
    reason = _find_error(data)
    if reason:
        raise InvalidRelationsError(reason)
    if not _are_valid_relations(data.get("relations")):
        data["relations"] = rebuild_relations(data["operations"])
    return data


def encode_relations(data: RelationsData) -> bytes:
    """Encode the file; raise InvalidRelationsError if Leslie would not accept it."""
    reason = _find_error(data)
    if reason:
        raise InvalidRelationsError(reason)
    # Hooks only read, and start faster without these modules.
    import json  # noqa: PLC0415

    from leslied.control_characters import escape_control_characters  # noqa: PLC0415

    text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    text = text.encode("utf-8", "replace").decode()
    return escape_control_characters(text).encode()


def read_relations(base: Path | str) -> RelationsData:
    """Read the project's relations, or their backup if the file is damaged.

    If there is no file, return empty relations. Reading needs no lock, because the file
    is replaced atomically.
    """
    for name in (RELATIONS_FILE, RELATIONS_BACKUP):
        try:
            return parse_relations(_read_regular_file(base, name))
        except FileNotFoundError:
            if name == RELATIONS_FILE:
                break
        except (OSError, InvalidRelationsError):
            continue
    return make_empty_relations()


def _read_regular_file(base: Path | str, name: str) -> bytes:
    """Return the file's bytes; raise OSError for a link or pipe on the way to it."""
    base_fd = os.open(base, FOLDER_FLAGS)
    try:
        fd = open_below(base_fd, name, READ_FLAGS)
    finally:
        os.close(base_fd)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(name)
        return file.read(MAX_RELATIONS_BYTES + 1)


def find_claiming_thread(data: RelationsData, session_id: str) -> str:
    """Return the id of Leslie's thread for this session; empty if there is none."""
    return find_claimed_sessions(data).get(session_id, "")


def find_claimed_sessions(data: RelationsData) -> dict[str, str]:
    """Return the thread id of each session for which Leslie recorded a thread."""
    leslied_ids = list_leslied_threads(data)
    return {
        str(thread["session_id"]): thread_id
        for thread_id, thread in data["threads"].items()
        if thread.get("session_id")
        and thread_id not in leslied_ids
        and is_thread_id(thread_id)
    }


def _find_error(data: RelationsData) -> str:
    """Return the reason why Leslie would refuse the data; empty if it would not."""
    if not _is_time(data["metadata"].get("last_updated")):
        return "metadata.last_updated is not a UTC time"
    for thread_id, thread in data["threads"].items():
        reason = _find_thread_error(thread_id, thread)
        if reason:
            return f"thread {thread_id!r} {reason}"
    for operation in data["operations"]:
        if not isinstance(operation, dict) or not _is_operation(operation):
            return "an operation is invalid"
    return ""


def _find_thread_error(thread_id: str, thread: object) -> str:
    """Return why Leslie would refuse the thread; empty if it would not.

    The reason is the end of a sentence, such as `has no title`.
    """
    if not isinstance(thread, dict) or thread.get("id") != thread_id:
        return "is not an object with this id"
    for name in ("title", "objective", "storage_path"):
        if not isinstance(thread.get(name), str):
            return f"has no {name}"
    if not _is_time(thread.get("created_at")):
        return "has a created_at that is not a UTC time"
    if thread.get("status") not in STATUSES:
        return "has an unknown status"
    if thread.get("executor", "agent") not in _EXECUTORS:
        return "has an unknown executor"
    if not isinstance(thread.get("parent_id"), (str, type(None))):
        return "has an invalid parent_id"
    return ""


def _is_operation(operation: dict[str, Any]) -> bool:
    return (
        isinstance(operation.get("id"), str)
        and isinstance(operation.get("command"), str)
        and isinstance(operation.get("params"), dict)
        and operation.get("operator") in _OPERATORS
        and _is_time(operation.get("timestamp"))
    )


def _are_valid_relations(relations: object) -> bool:
    """Return whether every thread has a list of ids for each kind of relation."""
    return isinstance(relations, dict) and all(
        isinstance(lists, dict)
        and all(_is_string_list(lists.get(kind)) for kind in RELATION_KINDS)
        for lists in relations.values()
    )


def _is_string_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_time(value: object) -> bool:
    """Return whether the value looks like a UTC time.

    A file has thousands of times, so only the year and the punctuation are checked.
    """
    return (
        isinstance(value, str)
        and value[-1:] == "Z"
        and value[4:11:3] == "--T"
        and value[13:14] == ":"
        and value[:4].isdecimal()
        # From minutes, `2026-11-16T12:00Z`, to nanoseconds.
        and 17 <= len(value) <= 30
    )


def _normalize(data: RelationsData) -> None:
    """Convert times with an offset to UTC, and the old status `pending` to `active`."""
    _normalize_time(data["metadata"], "last_updated")
    for thread in data["threads"].values():
        if isinstance(thread, dict):
            _normalize_time(thread, "created_at")
            _normalize_time(thread, "updated_at")
            if thread.get("status") == "pending":
                thread["status"] = "active"
    for operation in data["operations"]:
        if isinstance(operation, dict):
            _normalize_time(operation, "timestamp")


def _normalize_time(fields: dict[str, Any], name: str) -> None:
    text = fields.get(name)
    if isinstance(text, str) and text[-1:] != "Z":
        fields[name] = _to_utc(text)


def _to_utc(text: str) -> str:
    """Return the time in UTC; the text itself if it is not a time with an offset."""
    from datetime import UTC, datetime  # noqa: PLC0415 - rarely needed, slow to import

    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    if time.tzinfo is None:
        return text
    return time.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
