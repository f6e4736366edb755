"""Reading and decoding what is new in some sources; nothing is written here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import chain, starmap
from typing import TYPE_CHECKING, Any

import msgspec

from leslied import tail
from leslied.errors import SourceError
from leslied.model.reading import Reading
from leslied.model.source import Shape
from leslied.pipeline.batch import Batch
from leslied.pipeline.decode import Decoder
from leslied.pipeline.failures import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leslied.agents import AgentAdapter
    from leslied.model.source import Chunk, Cursor, SourceRef


_LASTING = ("cwd", "beside")
"""What is remembered of a source that is read anew."""


@dataclass(slots=True, kw_only=True)
class Look:
    """One look at some sources: what is new in them comes out in batches."""

    adapter: AgentAdapter
    limits: tail.ReadLimits
    is_final: bool
    weight: int
    """So much is committed at once."""
    is_excluded: Callable[[str], bool]
    recall: Callable[[bytes], str] = lambda _: ""
    """What an earlier look left to remember of the log with this path."""
    _batch: Batch = field(default_factory=Batch)
    _states: dict[bytes, str] = field(default_factory=dict)

    def over(self, sources: Iterable[tuple[SourceRef, Cursor]]) -> Iterator[Batch]:
        """Everything new after the cursors, and the work of finding it."""
        return self.gather(chain.from_iterable(starmap(self._read, sources)))

    def gather(self, readings: Iterable[Reading]) -> Iterator[Batch]:
        """The readings, as many together as a commit takes."""
        for reading in readings:
            self._batch.add(reading)
            if self._batch.weight >= self.weight:
                yield self._take()
        yield self._take()

    def decode(
        self, source: SourceRef, chunk: Chunk, state: dict[str, Any]
    ) -> tuple[Reading, dict[str, Any]]:
        """The chunk's records, and what to remember for the next chunk."""
        decoder = Decoder(self.adapter, self.limits, state)
        for entry in chunk.entries:
            decoder.add(entry)
        decoder.rejected += chunk.rejected
        is_shared = source.shape is Shape.ROWS
        if self.is_excluded("") or (
            not is_shared and any(map(self.is_excluded, decoder.folders))
        ):
            decoder.forget_content()
        elif is_shared:
            decoder.forget_folders(self.is_excluded)
        self._batch.work.entries += len(chunk.entries)
        self._batch.work.bytes_read += chunk.bytes_read
        remembered = msgspec.json.encode(decoder.state).decode()
        self._states[os.fsencode(source.path)] = remembered
        reading = Reading(
            source=source,
            cursor=replace(chunk.cursor, state=remembered),
            decoder_version=self.adapter.decoder_version,
            entries=tuple(decoder.entries),
            noise=tuple(decoder.noise),
            rejected=tuple(decoder.rejected),
        )
        return reading, decoder.state

    def remember(self, source: SourceRef, cursor: Cursor) -> dict[str, Any]:
        """What earlier entries left; a side file asks the log beside it."""
        if cursor.state and source.shape is not Shape.DOCUMENT:
            return _load_state(cursor.state)
        state: dict[str, Any] = {}
        if source.shape is Shape.DOCUMENT:
            name = source.path.name.partition(".")[0] + ".jsonl"
            log = os.fsencode(source.path.with_name(name))
            text = self._states.get(log) or self.recall(log)
            state["cwd"] = _load_state(text).get("cwd", "")
        if source.beside:
            state["beside"] = tail.read_beside(source, self.limits)
        return state

    def _take(self) -> Batch:
        batch, self._batch = self._batch, Batch()
        return batch

    def _read(self, source: SourceRef, cursor: Cursor) -> Iterator[Reading]:
        """What is new in one source; trouble with it stays with it."""
        if tail.is_unchanged(source, cursor, is_final=self.is_final):
            return
        self._batch.work.looked += 1
        try:
            state, generation = self.remember(source, cursor), cursor.generation
            for chunk in tail.read(source, cursor, self.limits, is_final=self.is_final):
                if chunk.cursor.generation != generation:
                    generation = chunk.cursor.generation
                    state = {name: state[name] for name in _LASTING if name in state}
                reading, state = self.decode(source, chunk, state)
                yield reading
        except SourceError as error:
            self._batch.work.troubles[source.path] = error.message
        except Exception as error:  # noqa: BLE001 - any bug ends this source only
            self._batch.work.failures[source.path] = describe_error(error)


def _load_state(text: str) -> dict[str, Any]:
    state = msgspec.json.decode(text) if text else {}
    return state if isinstance(state, dict) else {}
