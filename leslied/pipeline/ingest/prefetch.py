"""Read and decode batches in a forked process while the parent commits them.

Only a first sync has enough to read to be worth a second process. Being forked, it
inherits the sources and settings; it writes nothing and holds no lock.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from leslied.forked import can_fork, iter_in_fork
from leslied.model.decoded_chunk import DecodedEntry
from leslied.model.source import Noise, Rejection
from leslied.store import prepare_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leslied.model.source import SourceRef
    from leslied.pipeline.ingest.batch import Batch

MIN_PREFETCH_BYTES = 8 * 1024 * 1024
"""Bytes below which starting a process costs more than it saves."""
_Items = tuple[tuple[DecodedEntry, ...], tuple[Noise, ...], tuple[Rejection, ...]]
"""Everything in a chunk of which there may be many."""


def can_prefetch(sources: Sequence[SourceRef]) -> bool:
    """Return whether a second process would help and forking one is safe."""
    size = sum(source.stamp.size for source in sources)
    return size >= MIN_PREFETCH_BYTES and can_fork()


def prefetch_batches(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the same batches, each made while the caller works on the previous one.

    Raise LesliedError if the second process fails or ends early.
    """
    decoder = msgspec.msgpack.Decoder(list[_Items])
    with closing(iter_in_fork(map(_pack, batches))) as packed:
        for batch, items in packed:
            _add_items(batch, items, decoder)
            yield batch
            # Free the memory before the next batch needs as much.
            batch.chunks = []


def _pack(batch: Batch) -> tuple[Batch, bytes]:
    """Return a batch, and what is in its chunks, which MessagePack encodes faster."""
    _prepare_records(batch)
    try:
        items = msgspec.msgpack.encode(
            [(each.entries, each.noise, each.rejected) for each in batch.chunks]
        )
    except (UnicodeEncodeError, OverflowError):
        # It has no lone surrogates and no integers of more than 64 bits.
        return batch, b""
    batch.chunks = [
        replace(each, entries=(), noise=(), rejected=()) for each in batch.chunks
    ]
    return batch, items


def _add_items(
    batch: Batch, data: bytes, decoder: msgspec.msgpack.Decoder[list[_Items]]
) -> None:
    """Add to each chunk what `_pack` took from it."""
    if data:
        batch.chunks = [
            replace(chunk, entries=entries, noise=noise, rejected=rejected)
            for chunk, (entries, noise, rejected) in zip(
                batch.chunks, decoder.decode(data), strict=True
            )
        ]


def _prepare_records(batch: Batch) -> None:
    """Compute what a commit derives from records, so that the parent need not."""
    batch.chunks = [
        replace(
            chunk,
            entries=tuple(
                structs.replace(
                    entry, prepared=tuple(map(prepare_record, entry.records))
                )
                for entry in chunk.entries
            ),
        )
        for chunk in batch.chunks
    ]
