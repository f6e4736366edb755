"""What a thread's index says: pure, from what was found, known and done."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from leslied.model.file_change import FileChange
    from leslied.threads.progress import ProgressItem, ThreadProgress

MAX_REVISIONS = 200
"""Of each file, so many hashes are kept."""
MAX_CALLS = 200
_MAX_REMOVED = 50
_THREAD_FOLDER = re.compile(r"\.leslie/threads/[^/]+/")
_MAX_ITEMS = 100


class FileRevision(Struct, frozen=True):
    """One state of a file, and the calls that led to it."""

    at: str
    size: int
    sha256: str
    calls: list[str] = []


class FileHistory(Struct, frozen=True):
    """What an earlier index said of a file."""

    type: str
    path: str
    title: str = ""
    history: list[FileRevision] = []


class _StoredAsset(Struct, frozen=True):
    type: str
    path: str
    title: str = ""
    history: list[FileRevision] = []
    files: list[dict[str, Any]] = []


class _StoredIndex(Struct, frozen=True):
    assets: list[_StoredAsset] = []
    removed: list[_StoredAsset] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetFile:
    """A file of an asset, described."""

    path: str
    title: str
    size: int
    sha256: str
    updated_at: datetime
    touches: Sequence[FileChange] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """An asset, described."""

    type: str
    path: str
    is_folder: bool = False
    is_collected: bool = False
    """Whether it was told by calls and not written by the agent."""
    files: Sequence[AssetFile] = ()
    omitted_files: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadIndex:
    """A thread and what belongs to it."""

    id: str
    title: str
    agent: str
    session_id: str
    assets: Sequence[Asset] = ()
    progress: ThreadProgress | None = None
    histories: dict[str, FileHistory] = field(default_factory=dict)


class _CallSchema(Struct, frozen=True):
    tool: str
    call_id: str


class _FileSchema(Struct, frozen=True):
    path: str
    title: str
    size: int
    updated_at: str | None
    calls: list[_CallSchema] = []
    history: list[FileRevision] = []


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


def load_index(text: str) -> dict[str, Any] | None:
    """An index as plain values; None where it lacks what every index has."""
    try:
        index: dict[str, Any] = msgspec.json.decode(text)
        read = msgspec.convert(index, _IndexSchema)
        for asset, plain in zip(read.assets, index["assets"], strict=True):
            if asset.files is None:
                msgspec.convert(plain, _FileSchema)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return index


def load_histories(text: str | None, thread_id: str) -> dict[str, FileHistory]:
    """What an index that was written before says of each file; nothing if damaged.

    The thread may have had another id then.
    """
    try:
        old = msgspec.json.decode(text or "{}", type=_StoredIndex)
        pasts = [
            past
            for asset in (*old.removed, *old.assets)
            for past in _iter_histories(asset)
        ]
        now = f".leslie/threads/{thread_id}/"
        names = [
            _THREAD_FOLDER.sub(lambda _: now, past.path, count=1) for past in pasts
        ]
        return {
            name: msgspec.structs.replace(past, path=name)
            for name, past in zip(names, pasts, strict=True)
        }
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return {}


def _iter_histories(asset: _StoredAsset) -> Iterable[FileHistory]:
    if asset.type == "transcript":
        return
    if asset.history:
        yield FileHistory(asset.type, asset.path, asset.title, asset.history)
    for file in asset.files:
        yield msgspec.convert({**file, "type": asset.type}, FileHistory)


def thread_index_to_dict(thread: ThreadIndex) -> dict[str, Any]:
    """The thread's index as plain values."""
    assets = [_asset_to_dict(asset, thread.histories) for asset in thread.assets]
    here = {file.path for asset in thread.assets for file in asset.files}
    removed = [past for path, past in thread.histories.items() if path not in here]
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
                "type": past.type,
                "path": past.path,
                "title": past.title,
                "history": [_revision_to_dict(change) for change in past.history],
            }
            for past in removed[-_MAX_REMOVED:]
            if past.history
        ],
    }


def progress_to_dict(progress: ThreadProgress) -> dict[str, Any]:
    """How far the thread is."""
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
    """As many as a list can hold; where they are too many, what is left to do."""
    if len(items) > _MAX_ITEMS:
        items = [item for item in items if item.state != "done"]
    return items[:_MAX_ITEMS]


def call_to_dict(touch: FileChange) -> dict[str, Any]:
    """Which call of which session it was."""
    return {
        "kind": touch.kind,
        "tool": touch.tool,
        "call_id": touch.call_id,
        "chat_id": touch.chat_id,
        "agent": touch.session.agent,
        "session_id": touch.session.session_id,
        "source": touch.session.source,
        "at": _format_time(touch.at),
    }


def _asset_to_dict(asset: Asset, histories: dict[str, FileHistory]) -> dict[str, Any]:
    form = "folder" if asset.is_folder else "file"
    plain = {"type": asset.type, "path": asset.path, "form": form}
    if asset.is_collected:
        plain["collected"] = True  # type: ignore[assignment]
    has_history = asset.type != "transcript"
    files = [_file_to_dict(f, histories, has_history=has_history) for f in asset.files]
    if not asset.is_folder:
        return plain | files[0]
    more = {"left_out": asset.omitted_files} if asset.omitted_files else {}
    return plain | {"files": files} | more


def _file_to_dict(
    file: AssetFile, histories: dict[str, FileHistory], *, has_history: bool
) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "path": file.path,
        "title": file.title,
        "size": file.size,
        "sha256": file.sha256 or None,
    }
    updated_at = _format_time(file.updated_at)
    if not has_history:
        return plain | {"updated_at": updated_at}
    before = histories[file.path].history if file.path in histories else []
    history = extend_history(before, file)
    times = [change.at for change in history] + [
        at for touch in file.touches if (at := _format_time(touch.at))
    ]
    return plain | {
        "created_at": min([*times, updated_at or ""]),
        "updated_at": updated_at,
        "calls": [call_to_dict(touch) for touch in file.touches[-MAX_CALLS:]],
        "history": [_revision_to_dict(change) for change in history],
    }


def extend_history(
    before: Sequence[FileRevision], file: AssetFile
) -> list[FileRevision]:
    """The history with the state the file has now, and with every call in its place.

    A call belongs to the first state that was there after it.
    """
    history = list(before)
    if file.sha256 and (not history or history[-1].sha256 != file.sha256):
        at = _format_time(file.updated_at) or ""
        history.append(FileRevision(at, file.size, file.sha256))
    if not history:
        return []
    known = {call for change in history for call in change.calls}
    new: dict[int, list[str]] = {}
    for touch in file.touches:
        if not touch.call_id or touch.call_id in known:
            continue
        known.add(touch.call_id)
        at = _format_time(touch.at) or ""
        # What was placed in an earlier state's time may have become known only now.
        later = (n for n, change in enumerate(history) if change.at >= at)
        new.setdefault(next(later, len(history) - 1), []).append(touch.call_id)
    told = [
        msgspec.structs.replace(change, calls=[*change.calls, *new.get(n, [])])
        for n, change in enumerate(history)
    ]
    return told[-MAX_REVISIONS:]


def _revision_to_dict(change: FileRevision) -> dict[str, Any]:
    return msgspec.structs.asdict(change)


def _format_time(time: datetime | None) -> str | None:
    if time is None:
        return None
    utc = time.astimezone(UTC)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")
