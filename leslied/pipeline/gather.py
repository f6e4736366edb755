"""One thread: its calls read, its assets described, its index written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from leslied import sinks
from leslied.sessions.touches import LISTS, find_touches
from leslied.sinks._thread_index import render_json
from leslied.threads.assets import (
    describe_file,
    find_assets,
    find_title,
    read_text,
    stamp_assets,
    stamp_file,
    truncate_title,
)
from leslied.threads.collected_assets import COLLECTED_FOLDER, PLAN_FILE, collect_assets
from leslied.threads.index import (
    Asset,
    AssetFile,
    ThreadIndex,
    load_histories,
    thread_index_to_dict,
)
from leslied.threads.progress import parse_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from leslied.model.file_change import FileChange
    from leslied.model.session import SessionSummary
    from leslied.store import Store, StoreReader
    from leslied.threads.assets import ScannedAsset, ScannedFile
    from leslied.threads.collected_assets import CollectedAsset

_THREADS = "/.leslie/threads/"
_WORDS = (".leslie", "plans")
"""A call without any of these words, in a folder without the first, is of no thread."""
_LISTS = ("plan", "todos", "task", "folder")
_LARGEST = 16 * 1024 * 1024
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class KnownFile(msgspec.Struct, frozen=True, array_like=True):
    """What a file was found to be when it had this stamp."""

    stamp: tuple[int, int, int, int]
    sha256: str
    title: str


@dataclass(slots=True)
class Gathered:
    """What was found and written."""

    index: dict[str, Any]
    stamp: bytes
    files: str
    written: int


@dataclass(slots=True, kw_only=True)
class Gather:
    """Everything that belongs to one thread."""

    store: Store
    reader: StoreReader
    session: SessionSummary
    roots: Sequence[Path]
    """Where the thread may have a folder; the first is where we write."""
    redact: Callable[[str], str]
    read_plan: Callable[[str], str | None]
    _known: dict[str, KnownFile] = field(default_factory=dict)
    _now: dict[str, KnownFile] = field(default_factory=dict)
    _written: int = 0

    @property
    def _folder(self) -> str:
        return f".leslie/threads/{self.session.thread_id}"

    def run(self, known_files: str) -> Gathered:
        """The thread's index stands as it should; unchanged files were not read."""
        self._known = msgspec.json.decode(
            known_files or "{}", type=dict[str, KnownFile]
        )
        found = find_in(self.roots, self.session.thread_id)
        assets = [self._describe(root, asset) for root, asset in found]
        assets += self._collect({asset.type for asset in assets})
        base, name = self.roots[0], f"{self._folder}/.meta/assets.json"
        before = read_text(base, name, _LARGEST)
        key = self.session.key
        thread = ThreadIndex(
            id=self.session.thread_id,
            title=self.redact(self.session.title),
            agent=key.agent,
            session_id=key.session_id,
            assets=assets,
            progress=self._find_progress(assets),
            histories=load_histories(before, self.session.thread_id),
        )
        index = thread_index_to_dict(thread)
        self._put(name, render_json(index), before)
        stamp = stamp_thread(self.roots, self.session.thread_id)
        files = msgspec.json.encode(self._now).decode()
        return Gathered(index, stamp, files, self._written)

    def note_touches(self) -> set[int]:
        """What the session and its subagents did is noted, unit by new unit.

        Threads whose folders were touched are due; says which.
        """
        due: set[int] = set()
        for stream in (self.session, *self.reader.list_subagents(self.session.key)):
            with self.store.assets() as rows:
                for unit in rows.list_unread_units(stream.row):
                    folder = rows.find_cwd_before(stream.row, unit) or stream.cwd
                    touches = self._read_unit(stream, unit, folder)
                    rows.replace_file_changes(stream.row, unit, touches)
                    below = (touch.path.partition(_THREADS)[2] for touch in touches)
                    due.update(
                        rows.list_indexed({path.partition("/")[0] for path in below})
                    )
                rows.mark_read(stream.row)
                rows.mark_due(due, is_due=True)
        return due

    def _read_unit(
        self, stream: SessionSummary, unit: int, folder: str
    ) -> list[FileChange]:
        words = ("",) if ".leslie" in folder else _WORDS
        entries = self.reader.list_tool_calls(stream.row, unit, words, LISTS)
        if any(".leslie" in str(p.record.metadata.get("cwd")) for p in entries):
            entries = self.reader.list_tool_calls(stream.row, unit, ("",), LISTS)
        chat_id = self.reader.find_chat_id(stream, unit) if entries else ""
        touches = find_touches(entries, folder, chat_id)
        return [_trim(touch) for touch in touches if _is_wanted(touch)]

    def _describe(self, root: Path, asset: ScannedAsset) -> Asset:
        below = self._find_touches(root, asset)
        files = [self._describe_file(root, file, below) for file in asset.files]
        return Asset(
            type=asset.type,
            path=asset.path,
            is_folder=asset.is_folder,
            files=files,
            omitted_files=asset.omitted_files,
        )

    def _find_touches(self, root: Path, asset: ScannedAsset) -> list[FileChange]:
        """What was done to the asset, under the thread's id now or the one before."""
        touches = []
        with self.store.assets() as rows:
            for thread_id in (
                *rows.list_old_thread_ids(self.session.row),
                self.session.thread_id,
            ):
                old = f"{root}{_THREADS}{thread_id}/{asset.relative_path}"
                found = [
                    *rows.list_file_changes_below(old),
                    *rows.list_file_changes_at(old),
                ]
                new = f"{root}/{asset.path}"
                touches += [
                    msgspec.structs.replace(t, path=new + t.path.removeprefix(old))
                    for t in found
                ]
        return touches

    def _describe_file(
        self, root: Path, file: ScannedFile, below: list[FileChange]
    ) -> AssetFile:
        path = _clean(file.path)
        known = self._known.get(path)
        if known is None or known.stamp != file.stamp or not known.sha256:
            told = describe_file(root, file)
            title = truncate_title(self.redact(told.title))
            known = KnownFile(file.stamp, told.sha256, _clean(title))
        self._now[path] = known
        return AssetFile(
            path=path,
            title=known.title,
            size=file.size,
            sha256=known.sha256,
            updated_at=file.updated_at,
            touches=[touch for touch in below if touch.path == f"{root}/{file.path}"],
        )

    def _collect(self, own: set[str]) -> list[Asset]:
        """Plans and lists from elsewhere, where the thread has none of its own."""
        with self.store.assets() as rows:
            touches = rows.list_file_changes(self.session.row)
        told = {each.type: each for each in collect_assets(touches, self.read_plan)}
        assets = []
        for kind in ("plan", "progress"):
            name = f"{self._folder}/{COLLECTED_FOLDER}/{kind}.md"
            before = read_text(self.roots[0], name, _LARGEST)
            if kind in told and kind not in own:
                data = self.redact(told[kind].text).encode(errors="replace")
                self._put(name, data, before)
                assets.append(self._describe_collected(name, told[kind], data))
            elif before is not None:
                sinks.remove_file(self.roots[0], name)
                self._written += 1
        return assets

    def _describe_collected(
        self, name: str, told: CollectedAsset, data: bytes
    ) -> Asset:
        text = data.decode()
        file = AssetFile(
            path=name,
            title=find_title(text) or f"{told.type}.md",
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            updated_at=told.last_call.at or self.session.ended_at or _LONG_AGO,
            touches=[told.last_call],
        )
        return Asset(type=told.type, path=name, is_collected=True, files=[file])

    def _find_progress(self, assets: list[Asset]) -> Any:
        for asset in assets:
            if asset.type == "progress":
                for root in self.roots:
                    text = read_text(root, asset.path, _LARGEST)
                    if text is not None:
                        return parse_progress(self.redact(text))
        return None

    def _put(self, name: str, data: bytes, before: str | None) -> None:
        if before is None or before.encode(errors="replace") != data:
            sinks.write_file(self.roots[0], name, data)
            self._written += 1


def find_in(roots: Sequence[Path], thread_id: str) -> list[tuple[Path, ScannedAsset]]:
    """The assets, each once, though the thread may have two folders."""
    found: dict[str, tuple[Path, ScannedAsset]] = {}
    for root in roots:
        for asset in find_assets(root, thread_id):
            found.setdefault(asset.path, (root, asset))
    return list(found.values())


def stamp_thread(roots: Sequence[Path], thread_id: str) -> bytes:
    """Changes whenever an asset does, or somebody else writes to the index."""
    index = stamp_file(roots[0], f".leslie/threads/{thread_id}/.meta/assets.json")
    found = [
        asset
        for root in roots
        for asset in find_assets(root, thread_id, include_transcripts=False)
    ]
    return stamp_assets(found) + repr(index).encode()


def _is_wanted(touch: FileChange) -> bool:
    if touch.kind in _LISTS:
        return True
    return _THREADS in touch.path or PLAN_FILE.fullmatch(touch.path) is not None


def _trim(touch: FileChange) -> FileChange:
    """Only a plan's words are kept a second time."""
    if touch.kind in _LISTS or PLAN_FILE.fullmatch(touch.path):
        return touch
    return msgspec.structs.replace(touch, body="")


def _clean(text: str) -> str:
    """Text that every encoding takes: a name of broken bytes included."""
    return text.encode(errors="surrogateescape").decode(errors="replace")
