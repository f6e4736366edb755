"""The index of a thread's assets: conversion to JSON values, and parsing. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from leslied.layout import THREADS_FOLDER, thread_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from leslied.model.file_change import FileChange
    from leslied.threads.progress import ProgressItem, ThreadProgress

MAX_REVISIONS = 200
"""Maximum number of revisions in the history of a file."""
MAX_CALLS = 200
"""Maximum number of calls listed for a file."""
_MAX_REMOVED_FILES = 50
"""Maximum number of removed files whose history is kept."""
_MAX_PROGRESS_ITEMS = 100
_THREAD_FOLDER = re.compile(rf"{re.escape(THREADS_FOLDER)}/[^/]+/")


class AssetFileRevision(Struct, frozen=True):
    """One state of a file, and the tool calls that led to it."""

    at: str
    size: int
    sha256: str
    calls: list[str] = []
    """Ids of the calls."""


class AssetFileHistory(Struct, frozen=True):
    """The revisions of a file in an earlier index."""

    type: str
    path: str
    title: str = ""
    history: list[AssetFileRevision] = []


class _StoredAsset(Struct, frozen=True):
    """The fields of an asset in an earlier index from which histories are read."""

    type: str
    path: str
    title: str = ""
    history: list[AssetFileRevision] = []
    files: list[dict[str, Any]] = []


class _StoredIndex(Struct, frozen=True):
    assets: list[_StoredAsset] = []
    removed: list[_StoredAsset] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetFile:
    """The description of a file that belongs to an asset."""

    path: str
    title: str
    size: int
    sha256: str
    updated_at: datetime
    changes: Sequence[FileChange] = ()
    is_rewound: bool = False
    """Whether it is the transcript of a unit that the user took back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """The description of an asset."""

    type: str
    path: str
    is_folder: bool = False
    is_collected: bool = False
    """Whether leslied collected the asset from tool calls; else an agent wrote it."""
    files: Sequence[AssetFile] = ()
    omitted_files: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadIndex:
    """A thread with its assets and progress, and the histories of an earlier index."""

    id: str
    title: str
    agent: str
    session_id: str
    assets: Sequence[Asset] = ()
    progress: ThreadProgress | None = None
    histories: dict[str, AssetFileHistory] = field(default_factory=dict)


# The schemas contain the fields that the readers of an index require.


class _CallSchema(Struct, frozen=True):
    tool: str
    call_id: str


class _FileSchema(Struct, frozen=True):
    path: str
    title: str
    size: int
    updated_at: str | None
    calls: list[_CallSchema] = []
    history: list[AssetFileRevision] = []


class _AssetSchema(Struct, frozen=True):
    type: str
    path: str
    files: list[_FileSchema] | None = None


class _ItemSchema(Struct, frozen=True):
    text: str
    state: str
    depth: int
    reason: str = ""


class _ProgressSchema(Struct, frozen=True):
    percent: int | None
    done: int
    open: int
    blocked: int
    items: list[_ItemSchema]


class _IndexSchema(Struct, frozen=True):
    thread: str
    title: str | None
    assets: list[_AssetSchema]
    progress: _ProgressSchema | None


def parse_index(text: str) -> dict[str, Any] | None:
    """Parse an index; return None if a required field is missing or invalid."""
    try:
        index: dict[str, Any] = msgspec.json.decode(text)
        typed_index = msgspec.convert(index, _IndexSchema)
        for asset, fields in zip(typed_index.assets, index["assets"], strict=True):
            # An asset that is not a folder has the fields of its only file.
            if asset.files is None:
                msgspec.convert(fields, _FileSchema)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return index


def parse_histories(text: str | None, thread_id: str) -> dict[str, AssetFileHistory]:
    """Return the file histories in an earlier index, by path; empty if damaged.

    The thread may have had another id when the index was written, so each path gets
    the current id, `thread_id`.
    """
    try:
        index = msgspec.json.decode(text or "{}", type=_StoredIndex)
        histories = [
            history
            for asset in (*index.removed, *index.assets)
            for history in _iter_histories(asset)
        ]
        folder = f"{thread_folder(thread_id)}/"
        paths = [
            _THREAD_FOLDER.sub(lambda _: folder, history.path, count=1)
            for history in histories
        ]
        return {
            path: msgspec.structs.replace(history, path=path)
            for path, history in zip(paths, histories, strict=True)
        }
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return {}


def _iter_histories(asset: _StoredAsset) -> Iterable[AssetFileHistory]:
    """Yield the histories of an asset's files; transcripts have none."""
    if asset.type == "transcript":
        return
    if asset.history:
        yield AssetFileHistory(asset.type, asset.path, asset.title, asset.history)
    for file in asset.files:
        yield msgspec.convert({**file, "type": asset.type}, AssetFileHistory)


def thread_index_to_dict(thread: ThreadIndex) -> dict[str, Any]:
    """Return the thread's index as JSON values."""
    assets = [_asset_to_dict(asset, thread.histories) for asset in thread.assets]
    present_paths = {file.path for asset in thread.assets for file in asset.files}
    removed_files = [
        file for path, file in thread.histories.items() if path not in present_paths
    ]
    return {
        "version": 1,
        "thread": thread.id,
        "title": thread.title or None,
        "agent": thread.agent,
        "session_id": thread.session_id,
        "assets": assets,
        "progress": progress_to_dict(thread.progress) if thread.progress else None,
        "removed": [
            {
                "type": file.type,
                "path": file.path,
                "title": file.title,
                "history": [_revision_to_dict(revision) for revision in file.history],
            }
            for file in removed_files[-_MAX_REMOVED_FILES:]
            if file.history
        ],
    }


def progress_to_dict(progress: ThreadProgress) -> dict[str, Any]:
    """Return the thread's progress as JSON values."""
    return {
        "percent": progress.percent,
        "done": len(progress.list_items("done")),
        "open": len(progress.list_items("open")),
        "blocked": len(progress.list_items("blocked")),
        "items": [
            {
                "text": item.text,
                "state": item.state,
                "depth": item.depth,
                **({"reason": item.reason} if item.reason else {}),
                **({"at": item.at} if item.at else {}),
            }
            for item in _select_items(progress.items)
        ],
    }


def _select_items(items: list[ProgressItem]) -> list[ProgressItem]:
    """Return the first `_MAX_PROGRESS_ITEMS`; if there are more, omit finished ones."""
    if len(items) > _MAX_PROGRESS_ITEMS:
        items = [item for item in items if item.state != "done"]
    return items[:_MAX_PROGRESS_ITEMS]


def call_to_dict(change: FileChange) -> dict[str, Any]:
    """Return the call that made the change, and its session, as JSON values."""
    return {
        "kind": change.kind,
        "tool": change.tool,
        "call_id": change.call_id,
        "chat_id": change.chat_id,
        "agent": change.session.agent,
        "session_id": change.session.session_id,
        "source": change.session.source,
        "at": _format_time(change.at),
    }


def _asset_to_dict(
    asset: Asset, histories: dict[str, AssetFileHistory]
) -> dict[str, Any]:
    form = "folder" if asset.is_folder else "file"
    fields: dict[str, Any] = {"type": asset.type, "path": asset.path, "form": form}
    if asset.is_collected:
        fields["collected"] = True
    has_history = asset.type != "transcript"
    files = [_file_to_dict(f, histories, has_history=has_history) for f in asset.files]
    if not asset.is_folder:
        return fields | files[0]
    omitted = {"left_out": asset.omitted_files} if asset.omitted_files else {}
    return fields | {"files": files} | omitted


def _file_to_dict(
    file: AssetFile, histories: dict[str, AssetFileHistory], *, has_history: bool
) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "path": file.path,
        "title": file.title,
        "size": file.size,
        "sha256": file.sha256 or None,
    }
    if file.is_rewound:
        fields["rewound"] = True
    updated_at = _format_time(file.updated_at)
    if not has_history:
        return fields | {"updated_at": updated_at}
    old_history = histories[file.path].history if file.path in histories else []
    history = extend_history(old_history, file)
    times = [revision.at for revision in history] + [
        at for change in file.changes if (at := _format_time(change.at))
    ]
    return fields | {
        "created_at": min([*times, updated_at or ""]),
        "updated_at": updated_at,
        "calls": [call_to_dict(change) for change in file.changes[-MAX_CALLS:]],
        "history": [_revision_to_dict(revision) for revision in history],
    }


def extend_history(
    old_history: Sequence[AssetFileRevision], file: AssetFile
) -> list[AssetFileRevision]:
    """Return the history with the file's current revision and all its calls added.

    A call belongs to the first revision after it.
    """
    history = list(old_history)
    if file.sha256 and (not history or history[-1].sha256 != file.sha256):
        at = _format_time(file.updated_at) or ""
        history.append(AssetFileRevision(at, file.size, file.sha256))
    if not history:
        return []
    listed_ids = {call_id for revision in history for call_id in revision.calls}
    new_ids_by_position: dict[int, list[str]] = {}
    for change in file.changes:
        if not change.call_id or change.call_id in listed_ids:
            continue
        listed_ids.add(change.call_id)
        at = _format_time(change.at) or ""
        # A call may become known late, when there are already newer revisions.
        later_positions = (n for n, revision in enumerate(history) if revision.at >= at)
        position = next(later_positions, len(history) - 1)
        new_ids_by_position.setdefault(position, []).append(change.call_id)
    extended_history = [
        msgspec.structs.replace(
            revision, calls=[*revision.calls, *new_ids_by_position.get(n, [])]
        )
        for n, revision in enumerate(history)
    ]
    return extended_history[-MAX_REVISIONS:]


def _revision_to_dict(revision: AssetFileRevision) -> dict[str, Any]:
    return msgspec.structs.asdict(revision)


def _format_time(time: datetime | None) -> str | None:
    if time is None:
        return None
    utc = time.astimezone(UTC)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")
