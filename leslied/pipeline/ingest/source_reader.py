"""Read and decode the new entries of sources, in batches. Nothing is written here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from leslied import tail
from leslied.errors import SourceError, describe_error
from leslied.model.decoded_chunk import DecodedChunk
from leslied.model.source import WAITING, Cursor, Shape
from leslied.pipeline.ingest.batch import Batch
from leslied.pipeline.ingest.decode import Decoder, mask_text
from leslied.pipeline.ingest.exclude import FIRST_CWD, parse_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from leslied.agents import AgentAdapter
    from leslied.model.source import Chunk, SourceRef
    from leslied.pipeline.ingest.batch import Slice
    from leslied.pipeline.ingest.decode import Mask


_PERSISTENT_STATE_KEYS = ("cwd", "beside")
"""State keys that survive a new generation: working directory, text of a side file."""
_MAX_HELD_BYTES = 1024 * 1024
"""Longest entry whose bytes stay in memory until it is committed."""
_HELD_AT = "held_at"
"""State key with the fingerprint of a source when no folder was found in it."""
_NO_FOLDER = "names no project folder yet, and projects.exclude is set"
_NO_OWN_FOLDER = f"{WAITING}the log {_NO_FOLDER}"
_NO_MAIN_FOLDER = f"{WAITING}the main session's log is missing or {_NO_FOLDER}"


@dataclass(slots=True, kw_only=True)
class SourceReader:
    """Reader of an agent's sources that yields their new entries in batches."""

    adapter: AgentAdapter
    limits: tail.ReadLimits
    is_final: bool
    """As in `Ingest`."""
    weight: int
    """Rows plus kilobytes after which a batch is complete."""
    slice: Slice | None = None
    """As in `Ingest`."""
    is_excluded: Callable[[str], bool] | None = None
    """As in `Ingest`."""
    mask: Mask | None = None
    """As in `Ingest`."""
    load_saved_state: Callable[[bytes], str] = lambda _: ""
    """Returns the decoder state that was saved for the log at a path, or ""."""
    find_source: Callable[[Path], SourceRef | None] = lambda _: None
    """Returns the source at a path, or None."""
    on_read: Callable[[SourceRef, Cursor], None] = lambda *_: None
    """Called before each read of a source, with the cursor where reading began."""
    _batch: Batch = field(default_factory=Batch)
    """The batch that is not complete yet."""
    _states: dict[bytes, str] = field(default_factory=dict)
    """The decoder state of each source that this reader has read, by path."""

    def read(self, sources: Iterable[tuple[SourceRef, Cursor]]) -> Iterator[Batch]:
        """Yield batches of everything new after the cursors."""
        chunks = (
            chunk
            for source, cursor in sources
            for chunk in self._read_source(source, cursor)
        )
        return self.make_batches(chunks)

    def make_batches(self, chunks: Iterable[DecodedChunk]) -> Iterator[Batch]:
        """Yield the chunks in batches, one for each commit; the last may be empty."""
        for chunk in chunks:
            self._batch.add(chunk)
            if self._batch.weight >= self.weight:
                yield self._take_batch()
        yield self._take_batch()

    def decode(
        self, source: SourceRef, chunk: Chunk, state: dict[str, Any], folder: str = ""
    ) -> tuple[DecodedChunk, dict[str, Any]]:
        """Return the decoded chunk, and the decoder state for the next chunk.

        Add its counts to the report of the next batch. `folder` is the directory in
        which the session began; it is needed only if the settings exclude folders.
        """
        decoder = Decoder(self.adapter, self.limits, state, self.mask)
        for entry in chunk.entries:
            decoder.add(entry)
            if entry.length > _MAX_HELD_BYTES:
                # The suspended generators that read the chunk still refer to the entry.
                structs.force_setattr(entry, "data", b"")
        decoder.add_rejected(chunk.rejected)
        self._drop_excluded(source, decoder, folder)
        if folder and decoder.state.get("cwd") != folder:
            decoder.state = {**decoder.state, FIRST_CWD: folder}
        self._batch.report.entries += len(chunk.entries)
        self._batch.report.bytes_read += chunk.bytes_read
        state_text = msgspec.json.encode(decoder.state).decode()
        self._states[os.fsencode(source.path)] = state_text
        decoded = DecodedChunk(
            source=source,
            cursor=replace(chunk.cursor, state=state_text),
            decoder_version=self.adapter.decoder_version,
            entries=tuple(decoder.entries),
            noise=tuple(decoder.noise),
            rejected=tuple(decoder.rejected),
        )
        return decoded, decoder.state

    def load_state(self, source: SourceRef, cursor: Cursor) -> dict[str, Any]:
        """Return the decoder state at the cursor.

        A source that is read from its start gets the text of its side file, and a
        document that belongs to a log gets that log's working directory.
        """
        state = parse_state(cursor.state)
        is_held = state.pop(_HELD_AT, None) is not None
        # A source that was held back before its first read has no other state.
        was_read = bool(state) or (bool(cursor.state) and not is_held)
        if was_read and source.shape is not Shape.DOCUMENT:
            return state
        state = {}
        if source.shape is Shape.DOCUMENT:
            log_name = source.path.name.partition(".")[0] + ".jsonl"
            log_path = os.fsencode(source.path.with_name(log_name))
            state_text = self._states.get(log_path) or self.load_saved_state(log_path)
            state["cwd"] = parse_state(state_text).get("cwd", "")
        if source.side_file:
            text = tail.read_side_file(source)
            state["beside"] = mask_text(text, self.mask)
        return state

    def _take_batch(self) -> Batch:
        batch, self._batch = self._batch, Batch()
        return batch

    def _read_source(self, source: SourceRef, cursor: Cursor) -> Iterator[DecodedChunk]:
        """Yield the new entries of one source; add its errors to the batch's report."""
        if tail.is_unchanged(source, cursor, is_final=self.is_final):
            return
        self.on_read(source, cursor)
        try:
            state, generation = self.load_state(source, cursor), cursor.generation
            folder = self._find_folder(source, cursor, state)
            if self._needs_folder(source) and not folder:
                yield from self._hold_back(source, cursor)
                return
            self._batch.report.sources_read += 1
            for chunk in self._read_slice(source, cursor):
                if chunk.cursor.generation != generation:
                    generation = chunk.cursor.generation
                    state = {
                        name: state[name]
                        for name in _PERSISTENT_STATE_KEYS
                        if name in state
                    }
                decoded, state = self.decode(source, chunk, state, folder)
                yield decoded
                self.on_read(source, cursor)
        except SourceError as error:
            self._batch.report.unreadable[source.path] = error.message
        except Exception as error:  # noqa: BLE001 - any bug ends this source only
            self._batch.report.failures[source.path] = describe_error(error)

    def _read_slice(self, source: SourceRef, cursor: Cursor) -> Iterator[Chunk]:
        """Yield the new chunks of one source, but no more after its slice.

        A tree is read as a whole, because every read repeats some of its files.
        """
        chunks = tail.read(source, cursor, self.limits, is_final=self.is_final)
        if self.slice is None or source.shape is Shape.JSON_TREE:
            yield from chunks
            return
        bytes_read = entries = 0
        for chunk in chunks:
            bytes_read += chunk.bytes_read
            entries += len(chunk.entries)
            # Only the last chunk has a new stamp.
            is_last = chunk.cursor.stamp not in (None, cursor.stamp)
            if not is_last and self.slice.is_used_up(bytes_read, entries):
                self._batch.report.unfinished.add(source.path)
                yield replace(chunk, cursor=tail.stamp_unfinished(source, chunk.cursor))
                return
            yield chunk

    def _drop_excluded(self, source: SourceRef, decoder: Decoder, folder: str) -> None:
        """Drop the content of excluded sessions from the decoder."""
        if self.is_excluded is None:
            return
        is_shared = source.shape is Shape.SQLITE
        folders = [] if is_shared else [folder, *decoder.folders]
        # The predicate is true for "" if everything is excluded.
        if any(map(self.is_excluded, ["", *folders])):
            decoder.drop_content()
        elif is_shared:
            decoder.drop_excluded(self.is_excluded)

    def _needs_folder(self, source: SourceRef) -> bool:
        """Return whether nothing may be stored before the session's folder is known.

        Rows of a shared database name their folder one by one.
        """
        is_partly_excluded = self.is_excluded is not None and not self.is_excluded("")
        return is_partly_excluded and source.shape is not Shape.SQLITE

    def _find_folder(
        self, source: SourceRef, cursor: Cursor, state: dict[str, Any]
    ) -> str:
        """Return the folder that decides about exclusion, or "" if unknown or unneeded.

        It is the folder where the session began. For a subagent or a side file it is
        the folder of the main session; if that was not read yet, its log is searched.
        """
        if not self._needs_folder(source):
            return ""
        main_log = self.adapter.find_main_log(source)
        if main_log is None:
            return self._find_own_folder(source, cursor, state)
        main_path = os.fsencode(main_log)
        state_text = self._states.get(main_path) or self.load_saved_state(main_path)
        folder = _get_folder(parse_state(state_text))
        if folder:
            return folder
        main = self.find_source(main_log)
        if main is None:
            return ""
        # Without a folder in its state, the main log must be searched from its start.
        start = Cursor(state=state_text)
        return self._find_own_folder(main, start, self.load_state(main, start))

    def _find_own_folder(
        self, source: SourceRef, cursor: Cursor, state: dict[str, Any]
    ) -> str:
        """Return the folder in the state, or else the first that a new entry names.

        `claude -p` writes the prompt before the folder, and a chunk may end between the
        two. So entries after the cursor are read ahead; they are dropped, to bound the
        memory. Return "" if no entry names a folder.
        """
        folder = _get_folder(state)
        fingerprint = self._compute_fingerprint(source)
        was_searched = parse_state(cursor.state).get(_HELD_AT) == fingerprint
        if folder or (was_searched and not state.get("beside")):
            return folder
        start = Cursor() if source.shape is Shape.DOCUMENT else cursor
        for chunk in tail.read(source, start, self.limits, is_final=self.is_final):
            decoder = Decoder(self.adapter, self.limits, state)
            for entry in chunk.entries:
                decoder.add(entry)
                if decoder.folders:
                    return next(iter(decoder.folders))
            state = decoder.state
        return ""

    def _hold_back(self, source: SourceRef, cursor: Cursor) -> Iterator[DecodedChunk]:
        """Report that the log does not name a working directory yet; keep its cursor.

        Every scan tries again, but searches the log only if its fingerprint, which is
        saved, has changed.
        """
        has_main_log = self.adapter.find_main_log(source) is not None
        self._batch.report.waiting[source.path] = (
            _NO_MAIN_FOLDER if has_main_log else _NO_OWN_FOLDER
        )
        state = parse_state(cursor.state)
        fingerprint = self._compute_fingerprint(source)
        if state.get(_HELD_AT) == fingerprint:
            return
        state_text = msgspec.json.encode({**state, _HELD_AT: fingerprint}).decode()
        self._states[os.fsencode(source.path)] = state_text
        yield DecodedChunk(
            source=source,
            cursor=replace(cursor, state=state_text),
            decoder_version=self.adapter.decoder_version,
        )

    def _compute_fingerprint(self, source: SourceRef) -> list[int]:
        """Return all numbers that the result of a search for the folder depends on."""
        return [self.adapter.decoder_version, int(self.is_final), *source.stamp]


def _get_folder(state: dict[str, Any]) -> str:
    """Return the folder where the session began, or "" if the state has none."""
    return str(state.get(FIRST_CWD) or state.get("cwd") or "")
