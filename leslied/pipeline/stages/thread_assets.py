"""One thread's assets: record file changes, describe assets, write the thread index."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from leslied import sinks
from leslied.layout import (
    LESLIE_FOLDER,
    assets_file,
    collected_file,
    split_thread_path,
    thread_folder,
)
from leslied.model.times import EPOCH, to_us
from leslied.redact.session import redact_value
from leslied.rendering.text import replace_controls
from leslied.sessions.file_changes import PLAN_AND_TODO_KINDS, find_file_changes
from leslied.sessions.tools import list_tool_names
from leslied.sinks._thread_index import render_json
from leslied.threads.assets import (
    compute_thread_stamp,
    describe_file,
    find_assets,
    find_title,
    read_text,
    truncate_title,
)
from leslied.threads.collected_assets import collect_assets
from leslied.threads.index import (
    Asset,
    AssetFile,
    ThreadIndex,
    parse_histories,
    thread_index_to_dict,
)
from leslied.threads.progress import parse_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from leslied.model.file_change import FileChange
    from leslied.model.record import SessionKey
    from leslied.model.session import SessionSummary
    from leslied.store import Store, StoreReader
    from leslied.threads.assets import ScannedAsset, ScannedFile
    from leslied.threads.collected_assets import CollectedAsset

_CALL_KEYWORDS = (LESLIE_FOLDER, "plans")
"""A tool call can only concern a thread if it contains one of these strings, or if the
first one is part of its working directory."""
_ALWAYS_RELEVANT_KINDS = ("plan", "todos", "task", "folder")
"""Kinds of changes that are relevant whatever their path is."""
_MAX_FILE_BYTES = 4 * 1024 * 1024
"""Larger files are not parsed: JSON takes up to twenty times its size in memory."""


class FileFingerprint(msgspec.Struct, frozen=True, array_like=True):
    """Hash and title of a file when it had this stamp."""

    stamp: tuple[int, int, int, int]
    sha256: str
    """Empty if the file changed while it was read."""
    title: str


@dataclass(slots=True)
class ThreadAssetsReport:
    """The index of a thread, and the state that the next run needs."""

    index: dict[str, Any]
    stamp: bytes
    """The result of `compute_thread_stamp` after the run."""
    fingerprints_json: str
    """The `FileFingerprint` of each file, by path."""
    files_written: int


@dataclass(slots=True, kw_only=True)
class ThreadAssets:
    """The assets of one thread."""

    store: Store
    reader: StoreReader
    session: SessionSummary
    roots: Sequence[Path]
    """Folders that may contain the thread's folder; files are written to the first."""
    redact: Callable[[str], str]
    is_plan_file: Callable[[str], bool]
    """Tells whether an agent keeps a plan at a path."""
    read_plan: Callable[[str], str | None]
    """Returns the text of a plan that an agent stored at a path, or None."""
    _old_fingerprints: dict[str, FileFingerprint] = field(default_factory=dict)
    _fingerprints: dict[str, FileFingerprint] = field(default_factory=dict)
    _rewound_transcripts: set[str] = field(default_factory=set)
    """Paths of the transcripts of units that the user took back."""
    _files_changed: int = 0

    def run(self, fingerprints_json: str) -> ThreadAssetsReport:
        """Write the thread's index if it changed, and return it in a report.

        Unchanged files are not read. `fingerprints_json` is that of the last run's
        report, or "".
        """
        self._old_fingerprints = msgspec.json.decode(
            fingerprints_json or "{}", type=dict[str, FileFingerprint]
        )
        if self.session.rewound:
            paths = self.reader.find_transcript_paths(self.session.key)
            self._rewound_transcripts = {
                path for unit, path in paths.items() if self.session.is_rewound(unit)
            }
        scanned = find_assets_in_roots(self.roots, self.session.thread_id)
        assets = [self._describe_asset(root, asset) for root, asset in scanned]
        assets += self._write_collected_assets({asset.type for asset in assets})
        base, name = self.roots[0], assets_file(self.session.thread_id)
        old_text = read_text(base, name, _MAX_FILE_BYTES)
        key = self.session.key
        thread = ThreadIndex(
            id=self.session.thread_id,
            title=self.session.title,
            agent=key.agent,
            session_id=key.session_id,
            assets=assets,
            progress=self._find_progress(assets),
            histories=parse_histories(old_text, self.session.thread_id),
        )
        index = redact_value(thread_index_to_dict(thread), self.redact)
        # A new index can be written again; if a power loss damages it, its stamp shows
        # that. An existing one must be synced: only it has the histories of files.
        self._write_if_changed(
            name, render_json(index), old_text, is_synced=old_text is not None
        )
        stamp = compute_thread_stamp(self.roots, self.session.thread_id)
        fingerprints = msgspec.json.encode(self._fingerprints).decode()
        return ThreadAssetsReport(index, stamp, fingerprints, self._files_changed)

    def record_changes(self) -> set[SessionKey]:
        """Save the file changes in new units of the session and its subagents.

        Mark as due all threads whose files were changed; return their sessions.
        """
        due: set[SessionKey] = set()
        tools = list_tool_names(PLAN_AND_TODO_KINDS)
        with self.store.assets() as ledger:
            unsearched = ledger.list_unsearched_subagents(self.session.key)
        subagents = self.reader.list_subagents(self.session.key) if unsearched else []
        for session in (
            self.session,
            *(child for child in subagents if child.key in unsearched),
        ):
            with self.store.assets() as ledger:
                newest_entry_by_unit = ledger.list_unsearched_units(session.key)
                for unit in newest_entry_by_unit:
                    folder = ledger.find_cwd_before(session.key, unit) or session.cwd
                    changes = self._find_unit_changes(session, unit, folder, tools)
                    ledger.replace_file_changes(session.key, unit, changes)
                    thread_ids = {split_thread_path(c.path)[0] for c in changes}
                    due.update(ledger.list_indexed(thread_ids))
                if newest_entry_by_unit:
                    newest_entry = max(newest_entry_by_unit.values())
                    ledger.mark_searched(session.key, newest_entry)
                ledger.mark_due(due, is_due=True)
        return due

    def _find_unit_changes(
        self, session: SessionSummary, unit: int, folder: str, tools: Sequence[str]
    ) -> list[FileChange]:
        """Return the relevant file changes of a unit that started in `folder`.

        Calls of these tools are relevant whatever their arguments are.

        All calls are loaded if one of them ran below a `.leslie` folder, because a
        relative path there does not contain a keyword.
        """
        # The keyword "" is in every call.
        keywords = ("",) if LESLIE_FOLDER in folder else _CALL_KEYWORDS
        entries = self.reader.list_tool_calls(session.key, unit, keywords, tools)
        if any(LESLIE_FOLDER in str(e.record.metadata.get("cwd")) for e in entries):
            entries = self.reader.list_tool_calls(session.key, unit, ("",), tools)
        chat_id = self.reader.find_chat_id(session.key, unit) if entries else ""
        changes = find_file_changes(entries, folder, chat_id)
        return [
            self._drop_body(change) for change in changes if self._is_relevant(change)
        ]

    def _drop_body(self, change: FileChange) -> FileChange:
        """Return the change without its body, unless it is of a plan or task list."""
        if change.kind in _ALWAYS_RELEVANT_KINDS or self.is_plan_file(change.path):
            return change
        return msgspec.structs.replace(change, body="")

    def _is_relevant(self, change: FileChange) -> bool:
        return (
            change.kind in _ALWAYS_RELEVANT_KINDS
            or bool(split_thread_path(change.path)[0])
            or self.is_plan_file(change.path)
        )

    def _describe_asset(self, root: Path, scanned: ScannedAsset) -> Asset:
        changes = self._find_changes(root, scanned)
        scanned_files: Sequence[ScannedFile] = scanned.files
        if scanned.type == "transcript":
            scanned_files = self._sort_transcripts(scanned_files)
        files = [self._describe_file(root, file, changes) for file in scanned_files]
        return Asset(
            type=scanned.type,
            path=scanned.path,
            is_folder=scanned.is_folder,
            files=files,
            omitted_files=scanned.omitted_files,
        )

    def _sort_transcripts(self, files: Sequence[ScannedFile]) -> list[ScannedFile]:
        """Sort transcripts by the start of their units; file names have no seconds.

        A file that leslied did not write is sorted by its last write.
        """
        with self.store.transcripts() as ledger:
            start_times = ledger.list_start_times(self.session.key)
        return sorted(
            files,
            key=lambda file: start_times.get(file.path, (to_us(file.updated_at), 0)),
        )

    def _find_changes(self, root: Path, asset: ScannedAsset) -> list[FileChange]:
        """Return the asset's file changes, with those under old thread ids.

        Their paths are replaced with the current ones.
        """
        changes = []
        with self.store.assets() as ledger:
            for thread_id in (
                *ledger.list_old_thread_ids(self.session.key),
                self.session.thread_id,
            ):
                old_path = f"{root}/{thread_folder(thread_id)}/{asset.relative_path}"
                new_path = f"{root}/{asset.path}"
                for change in (
                    *ledger.list_file_changes_below(old_path),
                    *ledger.list_file_changes_at(old_path),
                ):
                    path = new_path + change.path.removeprefix(old_path)
                    changes.append(msgspec.structs.replace(change, path=path))
        return changes

    def _describe_file(
        self, root: Path, file: ScannedFile, changes: list[FileChange]
    ) -> AssetFile:
        path = _to_valid_utf8(file.path)
        fingerprint = self._old_fingerprints.get(path)
        if (
            fingerprint is None
            or fingerprint.stamp != file.stamp
            or not fingerprint.sha256
        ):
            description = describe_file(root, file)
            title = _to_valid_utf8(truncate_title(self.redact(description.title)))
            fingerprint = FileFingerprint(file.stamp, description.sha256, title)
        self._fingerprints[path] = fingerprint
        return AssetFile(
            # Only what the index shows is redacted; the changes have the original path.
            path=self.redact(path),
            title=fingerprint.title,
            size=file.size,
            sha256=fingerprint.sha256,
            updated_at=file.updated_at,
            changes=[c for c in changes if c.path == f"{root}/{file.path}"],
            is_rewound=f"{root}/{file.path}" in self._rewound_transcripts,
        )

    def _write_collected_assets(self, types_in_folder: set[str]) -> list[Asset]:
        """Copy plans and task lists of the session into the thread's folder.

        Skip a type if the thread's folder has its own asset of that type. Delete an
        earlier copy if its type is skipped or the session no longer has the asset.
        """
        with self.store.assets() as ledger:
            changes = [
                change
                for change in ledger.list_file_changes(self.session.key)
                if not self.session.is_rewound(change.unit)
            ]
        collected_by_type = {
            asset.type: asset
            for asset in collect_assets(changes, self.is_plan_file, self.read_plan)
        }
        assets = []
        for asset_type in ("plan", "progress"):
            name = collected_file(self.session.thread_id, asset_type)
            old_text = read_text(self.roots[0], name, _MAX_FILE_BYTES)
            asset = collected_by_type.get(asset_type)
            if asset and asset_type not in types_in_folder:
                data = replace_controls(self.redact(asset.text)).encode()
                self._write_if_changed(name, data, old_text)
                assets.append(self._describe_collected(name, asset, data))
            elif old_text is not None:
                sinks.remove_file(self.roots[0], name)
                self._files_changed += 1
        return assets

    def _describe_collected(
        self, name: str, collected: CollectedAsset, data: bytes
    ) -> Asset:
        text = data.decode()
        file = AssetFile(
            path=name,
            title=find_title(text) or f"{collected.type}.md",
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            updated_at=collected.last_call.at or self.session.ended_at or EPOCH,
            changes=[collected.last_call],
        )
        return Asset(type=collected.type, path=name, is_collected=True, files=[file])

    def _find_progress(self, assets: list[Asset]) -> Any:
        """Return the parsed content of the first progress file, or None."""
        for asset in assets:
            if asset.type == "progress":
                for root in self.roots:
                    text = read_text(root, asset.path, _MAX_FILE_BYTES)
                    if text is not None:
                        return parse_progress(self.redact(text))
        return None

    def _write_if_changed(
        self, name: str, data: bytes, old_text: str | None, *, is_synced: bool = True
    ) -> None:
        if old_text is None or old_text.encode(errors="replace") != data:
            sinks.write_file(self.roots[0], name, data, is_synced=is_synced)
            self._files_changed += 1


def find_assets_in_roots(
    roots: Sequence[Path], thread_id: str
) -> list[tuple[Path, ScannedAsset]]:
    """Return a thread's assets with their roots; the first root has precedence."""
    assets: dict[str, tuple[Path, ScannedAsset]] = {}
    for root in roots:
        for asset in find_assets(root, thread_id):
            assets.setdefault(asset.path, (root, asset))
    return list(assets.values())


def _to_valid_utf8(text: str) -> str:
    """Replace surrogates, which stand for bytes that are not UTF-8."""
    return text.encode(errors="surrogateescape").decode(errors="replace")
