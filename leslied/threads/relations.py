"""Leslie's `thread_relations.json`: its form, read and written.

Fields we do not know stay as they are. Imports are few, because the hook program reads
this file too; changing it on disk is `relations_file`'s work.
"""

from __future__ import annotations

import os
import stat

from leslied.mini_json import loads
from leslied.threads.layout import RELATIONS_FILE, is_thread_id
from leslied.threads.operations import (
    RELATION_KINDS,
    list_own_threads,
    rebuild_relations,
)

TYPE_CHECKING = False  # the module of that name costs a hook milliseconds
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from leslied.threads.operations import RelationsData

__all__ = [
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
    """The text is not what Leslie would read."""


def make_empty_relations() -> RelationsData:
    """A file without threads."""
    return {
        "version": VERSION,
        "metadata": {"last_updated": "1970-01-01T00:00:00.000Z", "thread_count": 0},
        "threads": {},
        "operations": [],
        "relations": {},
    }


def parse_relations(text: bytes) -> RelationsData:
    """What the file says, with times in UTC and old words as new ones.

    Relations that are missing or make no sense are made from the operations.
    """
    try:
        data = loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRelationsError(f"no JSON: {error}") from error
    if not isinstance(data, dict):
        raise InvalidRelationsError("no object")
    for name, kind in (("threads", dict), ("operations", list), ("metadata", dict)):
        if not isinstance(data.get(name), kind):
            raise InvalidRelationsError(f"{name} is missing")
    _normalize_times(data)
    reason = _find_error(data)
    if reason:
        raise InvalidRelationsError(reason)
    if not _are_relations(data.get("relations")):
        data["relations"] = rebuild_relations(data["operations"])
    return data


def encode_relations(data: RelationsData) -> bytes:
    """The file's bytes; a form that Leslie would not read is refused."""
    reason = _find_error(data)
    if reason:
        raise InvalidRelationsError(reason)
    import json  # noqa: PLC0415 - a hook only reads, and starts in milliseconds

    text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    return text.encode("utf-8", "replace")


def read_relations(base: Path | str) -> RelationsData:
    """What stands in the project now, or in its backup; empty where nothing does.

    Reading takes no lock: the file is replaced whole.
    """
    for name in (RELATIONS_FILE, RELATIONS_FILE + ".bak"):
        try:
            return parse_relations(_read(f"{base}/{name}"))
        except FileNotFoundError:
            if name == RELATIONS_FILE:
                break
        except (OSError, InvalidRelationsError):
            continue
    return make_empty_relations()


def _read(path: str) -> bytes:
    """What a regular file holds; nothing else is waited for."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(path)
        return file.read()


def find_claiming_thread(data: RelationsData, session_id: str) -> str:
    """The thread that Leslie says this session works on; empty where none is."""
    return find_claimed_sessions(data).get(session_id, "")


def find_claimed_sessions(data: RelationsData) -> dict[str, str]:
    """Every session that a thread of Leslie's own works with, and that thread."""
    ours = list_own_threads(data)
    return {
        str(thread["session_id"]): thread_id
        for thread_id, thread in data["threads"].items()
        if thread.get("session_id")
        and thread_id not in ours
        and is_thread_id(thread_id)
    }


def _find_error(data: RelationsData) -> str:
    """What Leslie would refuse; empty when it would not."""
    if not _is_time(data["metadata"].get("last_updated")):
        return "metadata.last_updated is no time in UTC"
    for thread_id, thread in data["threads"].items():
        reason = _find_thread_error(thread_id, thread)
        if reason:
            return f"thread {thread_id!r} {reason}"
    for operation in data["operations"]:
        if not isinstance(operation, dict) or not _is_operation(operation):
            return "an operation makes no sense"
    return ""


def _find_thread_error(thread_id: str, thread: object) -> str:
    if not isinstance(thread, dict) or thread.get("id") != thread_id:
        return "does not name itself"
    for name in ("title", "objective", "storage_path"):
        if not isinstance(thread.get(name), str):
            return f"has no {name}"
    if not _is_time(thread.get("created_at")):
        return "was created at no time in UTC"
    if thread.get("status") not in STATUSES:
        return "has no known status"
    if thread.get("executor", "agent") not in _EXECUTORS:
        return "has no known executor"
    if not isinstance(thread.get("parent_id"), (str, type(None))):
        return "has no known parent"
    return ""


def _is_operation(operation: dict[str, Any]) -> bool:
    return (
        isinstance(operation.get("id"), str)
        and isinstance(operation.get("command"), str)
        and isinstance(operation.get("params"), dict)
        and operation.get("operator") in _OPERATORS
        and _is_time(operation.get("timestamp"))
    )


def _are_relations(relations: object) -> bool:
    return isinstance(relations, dict) and all(
        isinstance(each, dict)
        and all(_are_names(each.get(name)) for name in RELATION_KINDS)
        for each in relations.values()
    )


def _are_names(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(each, str) for each in names)


def _is_time(text: object) -> bool:
    """Whether it is a time in UTC, told by its marks: there are thousands of them."""
    return (
        isinstance(text, str)
        and text[-1:] == "Z"
        and text[4:11:3] == "--T"
        and text[13:14] == ":"
        and text[:4].isdecimal()
        and 17 <= len(text) <= 30
    )


def _normalize_times(data: RelationsData) -> None:
    """Times with an offset become UTC, and the old word for active the new one."""
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


def _normalize_time(holder: dict[str, Any], name: str) -> None:
    text = holder.get(name)
    if isinstance(text, str) and text[-1:] != "Z":
        holder[name] = _to_utc(text)


def _to_utc(text: str) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415 - seldom needed

    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    if time.tzinfo is None:
        return text
    return time.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
