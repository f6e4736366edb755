"""Erase forgotten sessions and texts from leslied's copies of imported files.

A copy that has nothing else is deleted. In other copies, lines are replaced by spaces,
and strings of a document by empty ones, so that the other entries keep their ids. The
new bytes are decoded before they replace the copy: if they lost an entry, or still have
one to forget, the copy is deleted, because the text must not remain.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from leslied import archive, tail
from leslied.failpoints import failpoint
from leslied.fs import replace_file, sync_folder
from leslied.model.source import RawEntry, Shape
from leslied.pipeline.ingest.decode import Decoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from leslied.agents import AgentAdapter
    from leslied.literal_text import LiteralText
    from leslied.model.record import Record
    from leslied.model.source import Root, SourceRef
    from leslied.store.read.forget_queries import SessionName

_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_JSON_STARTS = (b"{", b"[", b"\xef\xbb\xbf{")


class _Identity(NamedTuple):
    """What makes a record the same after its copy was rewritten."""

    session: tuple[str, ...]
    native_id: str
    """The id in the log, or the record's text if it has none."""
    block: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedCopies:
    """Erases sessions or a text from copies. Doing so twice changes nothing more."""

    folder: Path
    agents: Mapping[str, tuple[AgentAdapter, tuple[Root, ...]]]
    """Each agent's adapter and folders."""
    sessions: frozenset[SessionName] = frozenset()
    text: LiteralText | None = None
    logs: frozenset[str] = frozenset()
    """Paths of logs with entries to forget; a search of their bytes may miss these."""
    warnings: list[str] = field(default_factory=list)

    def erase(self) -> None:
        """Erase the sessions or the text from all copies that have them."""
        for name, (adapter, roots) in self.agents.items():
            if not (self.text or name in {agent for agent, _ in self.sessions}):
                continue
            copies = list(self._iter_copies(adapter, roots))
            if self.text is None:
                # Delete these first: only the other copies in their folders show to
                # which sessions they belong, also after a crash.
                self._delete_copies_without_records(copies)
            for copy in copies:
                if copy.path.exists():
                    self._erase_copy(copy)

    def _iter_copies(
        self, adapter: AgentAdapter, roots: tuple[Root, ...]
    ) -> Iterator[_Copy]:
        for path in sorted((self.folder / adapter.name).rglob("*")):
            source = tail.find_source(adapter.name, roots, path)
            if source and path.is_file():
                yield _Copy(adapter, source, path)

    def _delete_copies_without_records(self, copies: list[_Copy]) -> None:
        """Delete copies without records, if all records beside them are forgotten.

        Such a copy repeats what its neighbours contain: for example, the agent chibi
        has a file with the messages that are in the context window.
        """
        copies_without_records: dict[Path, list[Path]] = {}
        are_forgotten: dict[Path, list[bool]] = {}
        for copy in copies:
            # `AGENT/NAME`: the folder of an import, or a file that was imported alone.
            parts = copy.path.relative_to(self.folder).parts[:2]
            folder = self.folder.joinpath(*parts)
            records = list(copy.decode(copy.path.read_bytes()))
            are_forgotten.setdefault(folder, []).extend(
                map(self._is_forgotten, records)
            )
            if not records:
                copies_without_records.setdefault(folder, []).append(copy.path)
        for folder, paths in copies_without_records.items():
            if are_forgotten[folder] and all(are_forgotten[folder]):
                for path in paths:
                    _delete(path, self.folder)

    def _erase_copy(self, copy: _Copy) -> None:
        """Rewrite a copy without forgotten entries; delete it if no others are left.

        Delete it, too, if the rewritten copy has lost other entries.
        """
        path = copy.path
        data = path.read_bytes()
        has_text = self.text is not None and self.text.is_in(data)
        # The copies in `self.logs` are known to have the text, even if their bytes do
        # not match because it is escaped there.
        if self.text and not has_text and str(path) not in self.logs:
            return
        records = list(copy.decode(data))
        if not has_text and not any(map(self._is_forgotten, records)):
            return
        if all(map(self._is_forgotten, records)):
            _delete(path, self.folder)
            return
        new_data = self._rewrite(copy, data)
        if self._is_clean(copy, data, new_data):
            _replace(path, new_data)
        else:
            _delete(path, self.folder)
            self.warnings.append(
                f"An imported file of {copy.adapter.title} was deleted as a whole; its "
                "other entries are now only in the store."
            )

    def _is_forgotten(self, record: Record) -> bool:
        if self.text is None:
            return tuple(record.session[:2]) in self.sessions
        return self.text.is_in_values(
            record.content,
            record.tool_input,
            record.spilled,
            record.tool_name,
            record.model,
            record.native_id,
            *map(str, record.metadata.values()),
        )

    def _rewrite(self, copy: _Copy, data: bytes) -> bytes:
        """Return the copy's bytes without forgotten entries, if that is possible."""
        if copy.source.shape is Shape.APPEND_LOG:
            erased_offsets = self._find_offsets_to_erase(copy, data)
            lines = archive.split_lines([data])
            return b"".join(
                _blank(line.data) if line.offset in erased_offsets else line.data
                for line in lines
            )
        if self.text is None:
            session_ids = {session_id for _, session_id in self.sessions}
            return copy.adapter.erase_sessions(copy.source.path.name, data, session_ids)
        if not data.lstrip().startswith(_JSON_STARTS):
            return self.text.erase(data)
        holds = self.text.is_in
        return _JSON_STRING.sub(lambda m: b'""' if holds(m[0]) else m[0], data)

    def _find_offsets_to_erase(self, copy: _Copy, data: bytes) -> set[int]:
        """Return the offsets of the lines to erase.

        A line of which no record is known may belong to a forgotten session.
        """
        records = dict(copy.decode_lines(data))
        return {
            line.offset
            for line in archive.split_lines([data])
            if (self.text and self.text.is_in(line.data))
            or any(map(self._is_forgotten, records.get(line.offset, ())))
            or (self.text is None and not records.get(line.offset))
        }

    def _is_clean(self, copy: _Copy, data: bytes, new_data: bytes) -> bool:
        """Return whether new bytes have all other entries, and nothing forgotten."""
        new_records = list(copy.decode(new_data))
        if self.text and self.text.is_in(new_data):
            return False
        if not new_records or any(map(self._is_forgotten, new_records)):
            return False
        if copy.source.shape is Shape.APPEND_LOG:
            erased_offsets = self._find_offsets_to_erase(copy, data)
            old_records = [
                record
                for offset, records in copy.decode_lines(data)
                for record in records
                if offset not in erased_offsets
            ]
        else:
            old_records = [r for r in copy.decode(data) if not self._is_forgotten(r)]
        return _identify(old_records) <= _identify(new_records)


class _Copy(NamedTuple):
    """A copy of an imported file, as its agent's adapter reads it."""

    adapter: AgentAdapter
    source: SourceRef
    path: Path

    def decode(self, data: bytes) -> Iterator[Record]:
        """Yield the records in these bytes of the copy."""
        for _, records in self.decode_lines(data):
            yield from records

    def decode_lines(self, data: bytes) -> Iterator[tuple[int, list[Record]]]:
        """Yield the offset and the records of every line, or of the whole document."""
        decoder = Decoder(self.adapter, tail.ReadLimits(), {})
        is_log = self.source.shape is Shape.APPEND_LOG
        lines = archive.split_lines([data]) if is_log else [archive.Line(0, data)]
        for line in lines:
            if line.data.strip():
                count = len(decoder.entries)
                data = line.data.rstrip(b"\n") if is_log else line.data
                decoder.add(RawEntry(self.source, line.offset, data))
                entries = decoder.entries[count:]
                yield line.offset, [r for entry in entries for r in entry.records]


def _identify(records: Iterable[Record]) -> set[_Identity]:
    return {
        _Identity(tuple(r.session), r.native_id or f"{r.type} {r.content}", r.block)
        for r in records
    }


def _blank(line: bytes) -> bytes:
    end = b"\n" if line.endswith(b"\n") else b""
    return b" " * (len(line) - len(end)) + end


def _replace(path: Path, data: bytes) -> None:
    """Replace a copy atomically; it keeps its time, by which copies are ordered."""
    status = path.stat()
    replace_file(path, data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    failpoint("forget.copy")


def _delete(path: Path, folder: Path) -> None:
    """Delete a copy durably, and the folders that are empty then."""
    path.unlink()
    sync_folder(path.parent)
    failpoint("forget.copy")
    for parent in path.parents:
        if not parent.is_relative_to(folder):
            break
        with suppress(OSError):
            parent.rmdir()
