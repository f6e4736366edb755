"""Read and decode the new entries of sources, in batches. Nothing is written here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import chain, starmap
from typing import TYPE_CHECKING, Any

import msgspec

from leslied import tail
from leslied.errors import SourceError
from leslied.model.decoded_chunk import DecodedChunk
from leslied.model.source import WAITING, Cursor, Shape
from leslied.pipeline.batch import Batch
from leslied.pipeline.decode import Decoder
from leslied.pipeline.failures import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from leslied.agents import AgentAdapter
    from leslied.model.source import Chunk, SourceRef


_PERSISTENT_STATE_KEYS = ("cwd", "beside")
"""State keys that survive a new generation of a source."""
FIRST_CWD = "first_cwd"
"""State key, set only while folders are excluded: where the session began. A session
of an excluded project stays excluded when the agent changes to another folder."""
_HELD_AT = "held_at"
"""State key of a held-back source: its fingerprint when no folder was found in it."""
_NO_FOLDER = "names no project folder yet, and projects.exclude is set"
_NO_OWN_FOLDER = f"{WAITING}the log {_NO_FOLDER}"
_NO_MAIN_FOLDER = f"{WAITING}the main session's log is missing or {_NO_FOLDER}"


@dataclass(slots=True, kw_only=True)
class SourceReader:
    """Reader of an agent's sources that yields their new entries in batches."""

    adapter: AgentAdapter
    limits: tail.ReadLimits
    is_final: bool
    weight: int
    """Rows plus kilobytes of one batch."""
    is_excluded: Callable[[str], bool] | None = None
    load_saved_state: Callable[[bytes], str] = lambda _: ""
    """Return the decoder state that was saved for the log at a path, or ""."""
    find_source: Callable[[Path], SourceRef | None] = lambda _: None
    """Return the source at a path, or None."""
    _batch: Batch = field(default_factory=Batch)
    _states: dict[bytes, str] = field(default_factory=dict)

    def read(self, sources: Iterable[tuple[SourceRef, Cursor]]) -> Iterator[Batch]:
        """Yield batches of everything new after the cursors."""
        return self.make_batches(
            chain.from_iterable(starmap(self._read_source, sources))
        )

    def make_batches(self, chunks: Iterable[DecodedChunk]) -> Iterator[Batch]:
        """Yield the chunks in groups for one commit; the last one may be empty."""
        for chunk in chunks:
            self._batch.add(chunk)
            if self._batch.weight >= self.weight:
                yield self._take_batch()
        yield self._take_batch()

    def decode(
        self, source: SourceRef, chunk: Chunk, state: dict[str, Any], folder: str = ""
    ) -> tuple[DecodedChunk, dict[str, Any]]:
        """Return the decoded chunk, and the decoder state for the next chunk.

        `folder` is where the session began, if anything is excluded.
        """
        decoder = Decoder(self.adapter, self.limits, state)
        for entry in chunk.entries:
            decoder.add(entry)
        decoder.rejected += chunk.rejected
        self._exclude(source, decoder, folder)
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

        A document that belongs to a log starts with that log's working directory.
        """
        state = parse_state(cursor.state)
        is_held = state.pop(_HELD_AT, None) is not None
        was_read = bool(state) or (bool(cursor.state) and not is_held)
        if was_read and source.shape is not Shape.DOCUMENT:
            return state
        state = {}
        if source.shape is Shape.DOCUMENT:
            name = source.path.name.partition(".")[0] + ".jsonl"
            log = os.fsencode(source.path.with_name(name))
            text = self._states.get(log) or self.load_saved_state(log)
            state["cwd"] = parse_state(text).get("cwd", "")
        if source.side_file:
            state["beside"] = tail.read_side_file(source, self.limits)
        return state

    def _take_batch(self) -> Batch:
        batch, self._batch = self._batch, Batch()
        return batch

    def _read_source(self, source: SourceRef, cursor: Cursor) -> Iterator[DecodedChunk]:
        """Yield the new entries of one source; add its errors to the batch's report."""
        if tail.is_unchanged(source, cursor, is_final=self.is_final):
            return
        try:
            state, generation = self.load_state(source, cursor), cursor.generation
            folder = self._find_folder(source, cursor, state)
            if self._needs_folder(source) and not folder:
                yield from self._hold_back(source, cursor)
                return
            self._batch.report.sources_read += 1
            for chunk in tail.read(source, cursor, self.limits, is_final=self.is_final):
                if chunk.cursor.generation != generation:
                    generation = chunk.cursor.generation
                    state = {
                        name: state[name]
                        for name in _PERSISTENT_STATE_KEYS
                        if name in state
                    }
                decoded, state = self.decode(source, chunk, state, folder)
                yield decoded
        except SourceError as error:
            self._batch.report.errors[source.path] = error.message
        except Exception as error:  # noqa: BLE001 - any bug ends this source only
            self._batch.report.failures[source.path] = describe_error(error)

    def _exclude(self, source: SourceRef, decoder: Decoder, folder: str) -> None:
        """Drop the content of excluded sessions."""
        if self.is_excluded is None:
            return
        is_shared = source.shape is Shape.SQLITE
        folders = [] if is_shared else [folder, *decoder.folders]
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
        path = self.adapter.find_main_log(source)
        if path is None:
            return self._find_own_folder(source, cursor, state)
        name = os.fsencode(path)
        cursor = Cursor(state=self._states.get(name) or self.load_saved_state(name))
        folder = _get_folder(parse_state(cursor.state))
        if folder:
            return folder
        main = self.find_source(path)
        if main is None:
            return ""
        return self._find_own_folder(main, cursor, self.load_state(main, cursor))

    def _find_own_folder(
        self, source: SourceRef, cursor: Cursor, state: dict[str, Any]
    ) -> str:
        """Return the folder in the state, or the first one named after the cursor.

        `claude -p` writes the prompt before the folder, and a chunk may end between the
        two. So entries are read ahead, and dropped, to bound the memory.
        """
        folder = _get_folder(state)
        is_same = parse_state(cursor.state).get(_HELD_AT) == self._fingerprint(source)
        if folder or (is_same and not state.get("beside")):
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
        """Report that the source waits for its folder, and leave its cursor in place.

        Every scan checks the source again. Its fingerprint is saved, so that it is not
        searched again until it changes.
        """
        has_main_log = self.adapter.find_main_log(source) is not None
        self._batch.report.waiting[source.path] = (
            _NO_MAIN_FOLDER if has_main_log else _NO_OWN_FOLDER
        )
        state, fingerprint = parse_state(cursor.state), self._fingerprint(source)
        if state.get(_HELD_AT) == fingerprint:
            return
        text = msgspec.json.encode({**state, _HELD_AT: fingerprint}).decode()
        self._states[os.fsencode(source.path)] = text
        yield DecodedChunk(
            source=source,
            cursor=replace(cursor, state=text),
            decoder_version=self.adapter.decoder_version,
        )

    def _fingerprint(self, source: SourceRef) -> list[int]:
        """Return all numbers that a search for the folder depends on."""
        return [self.adapter.decoder_version, int(self.is_final), *source.stamp]


def _get_folder(state: dict[str, Any]) -> str:
    return str(state.get(FIRST_CWD) or state.get("cwd") or "")


def parse_state(text: str) -> dict[str, Any]:
    """Parse the decoder state saved with a cursor; return {} if there is none."""
    state = msgspec.json.decode(text) if text else {}
    return state if isinstance(state, dict) else {}
