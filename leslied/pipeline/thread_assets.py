"""One thread: its calls read, its assets described, its index written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from leslied import sinks
from leslied.sessions.file_changes import LIST_TOOLS, find_file_changes
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
_CALL_KEYWORDS = (".leslie", "plans")
"""A call without any of these words, in a folder without the first, is of no thread."""
_LIST_KINDS = ("plan", "todos", "task", "folder")
_MAX_FILE_BYTES = 16 * 1024 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class FileFingerprint(msgspec.Struct, frozen=True, array_like=True):
    """What a file was found to be when it had this stamp."""

    stamp: tuple[int, int, int, int]
    sha256: str
    title: str


@dataclass(slots=True)
class ThreadAssetsReport:
    """What was found and written."""

    index: dict[str, Any]
    stamp: bytes
    cached_files: str
    files_written: int


@dataclass(slots=True, kw_only=True)
class ThreadAssets:
    """Everything that belongs to one thread."""

    store: Store
    reader: StoreReader
    session: SessionSummary
    roots: Sequence[Path]
    """Where the thread may have a folder; the first is where we write."""
    redact: Callable[[str], str]
    read_plan: Callable[[str], str | None]
    _cached_files: dict[str, FileFingerprint] = field(default_factory=dict)
    _current_files: dict[str, FileFingerprint] = field(default_factory=dict)
    _files_written: int = 0

    @property
    def _folder(self) -> str:
        return f".leslie/threads/{self.session.thread_id}"

    def run(self, cached_files: str) -> ThreadAssetsReport:
        """The thread's index stands as it should; unchanged files were not read."""
        self._cached_files = msgspec.json.decode(
            cached_files or "{}", type=dict[str, FileFingerprint]
        )
        found = find_in_roots(self.roots, self.session.thread_id)
        assets = [self._describe_asset(root, asset) for root, asset in found]
        assets += self._import_assets({asset.type for asset in assets})
        base, name = self.roots[0], f"{self._folder}/.meta/assets.json"
        before = read_text(base, name, _MAX_FILE_BYTES)
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
        self._write_if_changed(name, render_json(index), before)
        stamp = stamp_thread(self.roots, self.session.thread_id)
        files = msgspec.json.encode(self._current_files).decode()
        return ThreadAssetsReport(index, stamp, files, self._files_written)

    def record_changes(self) -> set[int]:
        """What the session and its subagents did is noted, unit by new unit.

        Threads whose folders were touched are due; says which.
        """
        due: set[int] = set()
        for stream in (self.session, *self.reader.list_subagents(self.session.key)):
            with self.store.assets() as rows:
                for unit in rows.list_unread_units(stream.row):
                    folder = rows.find_cwd_before(stream.row, unit) or stream.cwd
                    touches = self._find_unit_changes(stream, unit, folder)
                    rows.replace_file_changes(stream.row, unit, touches)
                    below = (touch.path.partition(_THREADS)[2] for touch in touches)
                    due.update(
                        rows.list_indexed({path.partition("/")[0] for path in below})
                    )
                rows.mark_read(stream.row)
                rows.mark_due(due, is_due=True)
        return due

    def _find_unit_changes(
        self, stream: SessionSummary, unit: int, folder: str
    ) -> list[FileChange]:
        words = ("",) if ".leslie" in folder else _CALL_KEYWORDS
        entries = self.reader.list_tool_calls(stream.row, unit, words, LIST_TOOLS)
        if any(".leslie" in str(p.record.metadata.get("cwd")) for p in entries):
            entries = self.reader.list_tool_calls(stream.row, unit, ("",), LIST_TOOLS)
        chat_id = self.reader.find_chat_id(stream, unit) if entries else ""
        touches = find_file_changes(entries, folder, chat_id)
        return [_drop_body(touch) for touch in touches if _is_relevant(touch)]

    def _describe_asset(self, root: Path, found_asset: ScannedAsset) -> Asset:
        below = self._find_changes(root, found_asset)
        files = [self._describe_file(root, file, below) for file in found_asset.files]
        return Asset(
            type=found_asset.type,
            path=found_asset.path,
            is_folder=found_asset.is_folder,
            files=files,
            omitted_files=found_asset.omitted_files,
        )

    def _find_changes(self, root: Path, asset: ScannedAsset) -> list[FileChange]:
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
        self, root: Path, file: ScannedFile, changes: list[FileChange]
    ) -> AssetFile:
        path = _to_valid_utf8(file.path)
        known = self._cached_files.get(path)
        if known is None or known.stamp != file.stamp or not known.sha256:
            told = describe_file(root, file)
            title = truncate_title(self.redact(told.title))
            known = FileFingerprint(file.stamp, told.sha256, _to_valid_utf8(title))
        self._current_files[path] = known
        return AssetFile(
            path=path,
            title=known.title,
            size=file.size,
            sha256=known.sha256,
            updated_at=file.updated_at,
            touches=[touch for touch in changes if touch.path == f"{root}/{file.path}"],
        )

    def _import_assets(self, own_types: set[str]) -> list[Asset]:
        """Plans and lists from elsewhere, where the thread has none of its own."""
        with self.store.assets() as rows:
            touches = rows.list_file_changes(self.session.row)
        told = {each.type: each for each in collect_assets(touches, self.read_plan)}
        assets = []
        for kind in ("plan", "progress"):
            name = f"{self._folder}/{COLLECTED_FOLDER}/{kind}.md"
            before = read_text(self.roots[0], name, _MAX_FILE_BYTES)
            if kind in told and kind not in own_types:
                data = self.redact(told[kind].text).encode(errors="replace")
                self._write_if_changed(name, data, before)
                assets.append(self._describe_imported(name, told[kind], data))
            elif before is not None:
                sinks.remove_file(self.roots[0], name)
                self._files_written += 1
        return assets

    def _describe_imported(
        self, name: str, imported: CollectedAsset, data: bytes
    ) -> Asset:
        text = data.decode()
        file = AssetFile(
            path=name,
            title=find_title(text) or f"{imported.type}.md",
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            updated_at=imported.last_call.at or self.session.ended_at or _EPOCH,
            touches=[imported.last_call],
        )
        return Asset(type=imported.type, path=name, is_collected=True, files=[file])

    def _find_progress(self, assets: list[Asset]) -> Any:
        for asset in assets:
            if asset.type == "progress":
                for root in self.roots:
                    text = read_text(root, asset.path, _MAX_FILE_BYTES)
                    if text is not None:
                        return parse_progress(self.redact(text))
        return None

    def _write_if_changed(self, name: str, data: bytes, before: str | None) -> None:
        if before is None or before.encode(errors="replace") != data:
            sinks.write_file(self.roots[0], name, data)
            self._files_written += 1


def find_in_roots(
    roots: Sequence[Path], thread_id: str
) -> list[tuple[Path, ScannedAsset]]:
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


def _is_relevant(change: FileChange) -> bool:
    if change.kind in _LIST_KINDS:
        return True
    return _THREADS in change.path or PLAN_FILE.fullmatch(change.path) is not None


def _drop_body(change: FileChange) -> FileChange:
    """Only a plan's words are kept a second time."""
    if change.kind in _LIST_KINDS or PLAN_FILE.fullmatch(change.path):
        return change
    return msgspec.structs.replace(change, body="")


def _to_valid_utf8(text: str) -> str:
    """Text that every encoding takes: a name of broken bytes included."""
    return text.encode(errors="surrogateescape").decode(errors="replace")
