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
    from leslied.threads.progress import Item, Progress

MOST_CHANGES = 200
"""Of each file, so many hashes are kept."""
MOST_CALLS = 200
_MOST_REMOVED = 50
_PLACE = re.compile(r"\.leslie/threads/[^/]+/")
_MOST_ITEMS = 100


class Change(Struct, frozen=True):
    """One state of a file, and the calls that led to it."""

    at: str
    size: int
    sha256: str
    calls: list[str] = []


class Past(Struct, frozen=True):
    """What an earlier index said of a file."""

    type: str
    path: str
    title: str = ""
    history: list[Change] = []


class _OldAsset(Struct, frozen=True):
    type: str
    path: str
    title: str = ""
    history: list[Change] = []
    files: list[dict[str, Any]] = []


class _OldIndex(Struct, frozen=True):
    assets: list[_OldAsset] = []
    removed: list[_OldAsset] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
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
    files: Sequence[File] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A thread and what belongs to it."""

    id: str
    title: str
    agent: str
    session_id: str
    assets: Sequence[Asset] = ()
    progress: Progress | None = None
    past: dict[str, Past] = field(default_factory=dict)


class _ReadCall(Struct, frozen=True):
    tool: str
    call_id: str


class _ReadFile(Struct, frozen=True):
    path: str
    title: str
    size: int
    updated_at: str | None
    calls: list[_ReadCall] = []
    history: list[Change] = []


class _ReadAsset(Struct, frozen=True):
    type: str
    path: str
    files: list[_ReadFile] | None = None


class _ReadItem(Struct, frozen=True):
    text: str
    state: str
    depth: int
    reason: str = ""


class _ReadProgress(Struct, frozen=True):
    percent: int | None
    done: int
    open: int
    blocked: int
    items: list[_ReadItem]


class _ReadIndex(Struct, frozen=True):
    thread: str
    title: str | None
    assets: list[_ReadAsset]
    progress: _ReadProgress | None


def load_index(text: str) -> dict[str, Any] | None:
    """An index as plain values; None where it lacks what every index has."""
    try:
        index: dict[str, Any] = msgspec.json.decode(text)
        read = msgspec.convert(index, _ReadIndex)
        for asset, plain in zip(read.assets, index["assets"], strict=True):
            if asset.files is None:
                msgspec.convert(plain, _ReadFile)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return index


def load_past(text: str | None, thread_id: str) -> dict[str, Past]:
    """What an index that was written before says of each file; nothing if damaged.

    The thread may have had another id then.
    """
    try:
        old = msgspec.json.decode(text or "{}", type=_OldIndex)
        pasts = [
            past for asset in (*old.removed, *old.assets) for past in _pasts(asset)
        ]
        now = f".leslie/threads/{thread_id}/"
        names = [_PLACE.sub(lambda _: now, past.path, count=1) for past in pasts]
        return {
            name: msgspec.structs.replace(past, path=name)
            for name, past in zip(names, pasts, strict=True)
        }
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return {}


def _pasts(asset: _OldAsset) -> Iterable[Past]:
    if asset.type == "transcript":
        return
    if asset.history:
        yield Past(asset.type, asset.path, asset.title, asset.history)
    for file in asset.files:
        yield msgspec.convert({**file, "type": asset.type}, Past)


def plain_thread(thread: Thread) -> dict[str, Any]:
    """The thread's index as plain values."""
    assets = [_plain_asset(asset, thread.past) for asset in thread.assets]
    here = {file.path for asset in thread.assets for file in asset.files}
    removed = [past for path, past in thread.past.items() if path not in here]
    return {
        "version": 1,
        "thread": thread.id,
        "title": thread.title or None,
        "agent": thread.agent,
        "session_id": thread.session_id,
        "assets": assets,
        "progress": plain_progress(thread.progress) if thread.progress else None,
        "removed": [
            {
                "type": past.type,
                "path": past.path,
                "title": past.title,
                "history": [_plain_change(change) for change in past.history],
            }
            for past in removed[-_MOST_REMOVED:]
            if past.history
        ],
    }


def plain_progress(progress: Progress) -> dict[str, Any]:
    """How far the thread is."""
    return {
        "percent": progress.percent,
        "done": len(progress.of("done")),
        "open": len(progress.of("open")),
        "blocked": len(progress.of("blocked")),
        "items": [
            {
                "text": item.text,
                "state": item.state,
                "depth": item.depth,
                **({"reason": item.reason} if item.reason else {}),
                **({"at": item.at} if item.at else {}),
            }
            for item in _choose(progress.items)
        ],
    }


def _choose(items: list[Item]) -> list[Item]:
    """As many as a list can hold; where they are too many, what is left to do."""
    if len(items) > _MOST_ITEMS:
        items = [item for item in items if item.state != "done"]
    return items[:_MOST_ITEMS]


def plain_touch(touch: FileChange) -> dict[str, Any]:
    """Which call of which session it was."""
    return {
        "kind": touch.kind,
        "tool": touch.tool,
        "call_id": touch.call_id,
        "chat_id": touch.chat_id,
        "agent": touch.session.agent,
        "session_id": touch.session.session_id,
        "source": touch.session.source,
        "at": _plain_time(touch.at),
    }


def _plain_asset(asset: Asset, past: dict[str, Past]) -> dict[str, Any]:
    form = "folder" if asset.is_folder else "file"
    plain = {"type": asset.type, "path": asset.path, "form": form}
    if asset.is_collected:
        plain["collected"] = True  # type: ignore[assignment]
    has_history = asset.type != "transcript"
    files = [_plain_file(f, past, has_history=has_history) for f in asset.files]
    if not asset.is_folder:
        return plain | files[0]
    more = {"left_out": asset.left_out} if asset.left_out else {}
    return plain | {"files": files} | more


def _plain_file(
    file: File, past: dict[str, Past], *, has_history: bool
) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "path": file.path,
        "title": file.title,
        "size": file.size,
        "sha256": file.sha256 or None,
    }
    updated_at = _plain_time(file.updated_at)
    if not has_history:
        return plain | {"updated_at": updated_at}
    before = past[file.path].history if file.path in past else []
    history = extend(before, file)
    times = [change.at for change in history] + [
        at for touch in file.touches if (at := _plain_time(touch.at))
    ]
    return plain | {
        "created_at": min([*times, updated_at or ""]),
        "updated_at": updated_at,
        "calls": [plain_touch(touch) for touch in file.touches[-MOST_CALLS:]],
        "history": [_plain_change(change) for change in history],
    }


def extend(before: Sequence[Change], file: File) -> list[Change]:
    """The history with the state the file has now, and with every call in its place.

    A call belongs to the first state that was there after it.
    """
    history = list(before)
    if file.sha256 and (not history or history[-1].sha256 != file.sha256):
        at = _plain_time(file.updated_at) or ""
        history.append(Change(at, file.size, file.sha256))
    if not history:
        return []
    known = {call for change in history for call in change.calls}
    new: dict[int, list[str]] = {}
    for touch in file.touches:
        if not touch.call_id or touch.call_id in known:
            continue
        known.add(touch.call_id)
        at = _plain_time(touch.at) or ""
        # What was placed in an earlier state's time may have become known only now.
        later = (n for n, change in enumerate(history) if change.at >= at)
        new.setdefault(next(later, len(history) - 1), []).append(touch.call_id)
    told = [
        msgspec.structs.replace(change, calls=[*change.calls, *new.get(n, [])])
        for n, change in enumerate(history)
    ]
    return told[-MOST_CHANGES:]


def _plain_change(change: Change) -> dict[str, Any]:
    return msgspec.structs.asdict(change)


def _plain_time(time: datetime | None) -> str | None:
    if time is None:
        return None
    utc = time.astimezone(UTC)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")
