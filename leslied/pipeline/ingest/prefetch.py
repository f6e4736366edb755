"""Read and decode batches in a forked process while the parent commits them.

Only a first sync has enough to read to be worth a second process. Being forked, it
inherits the sources and settings; it writes nothing and holds no lock.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from leslied.forked import can_fork, iter_in_fork
from leslied.model.decoded_chunk import DecodedEntry
from leslied.model.source import Noise, Rejection
from leslied.store import LongText, may_be_long, prepare_record, take_long_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leslied.model.record import Record
    from leslied.model.source import SourceRef
    from leslied.pipeline.ingest.batch import Batch

MIN_PREFETCH_BYTES = 8 * 1024 * 1024
"""Bytes below which starting a process costs more than it saves."""
_PIECE_CHARACTERS = 1024 * 1024
"""Characters of a long text that are sent at once."""
_Items = tuple[tuple[DecodedEntry, ...], tuple[Noise, ...], tuple[Rejection, ...]]
"""The entries, noise and rejections of a chunk."""
_Packed = str | LongText | tuple["Batch", bytes]
"""What the second process sends: pieces of a text, the place of the text, a batch."""


def can_prefetch(sources: Sequence[SourceRef]) -> bool:
    """Return whether a second process would help and forking one is safe."""
    size = sum(source.stamp.size for source in sources)
    return size >= MIN_PREFETCH_BYTES and can_fork()


def prefetch_batches(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the same batches, each made while the caller works on the previous one.

    Raise LesliedError if the second process fails or ends early.
    """
    decoder = msgspec.msgpack.Decoder(list[_Items])
    with closing(iter_in_fork(_iter_packed(batches))) as packed:
        texts: list[LongText] = []
        pieces: list[str] = []
        for value in packed:
            if isinstance(value, str):
                pieces.append(value)
            elif isinstance(value, LongText):
                texts.append(value._replace(text="".join(pieces)))
                pieces = []
            else:
                batch, items = value
                _add_items(batch, items, decoder)
                _add_long_texts(batch, texts)
                # Free the memory before the commit, and before others need it.
                del value, items
                texts = []
                yield batch
                batch.chunks = []


def _iter_packed(batches: Iterable[Batch]) -> Iterator[_Packed]:
    """Yield each batch with the content of its chunks, encoded as MessagePack.

    That is faster than pickling it. Long texts come before the batch, in pieces,
    because encoding one would copy it twice.
    """
    for batch in batches:
        _prepare_records(batch)
        for long_text in _take_long_texts(batch):
            text = long_text.text
            for start in range(0, len(text), _PIECE_CHARACTERS):
                yield text[start : start + _PIECE_CHARACTERS]
            yield long_text._replace(text="")
        yield batch, _take_items(batch)
        batch.chunks = []


def _take_long_texts(batch: Batch) -> list[LongText]:
    """Replace long texts in the batch by ""; return them with record numbers."""
    long_texts: list[LongText] = []

    def take(record: Record, number: int) -> Record:
        if may_be_long(record):
            record, texts = take_long_texts(record, number)
            long_texts.extend(texts)
        return record

    if any(map(may_be_long, _iter_records(batch))):
        _replace_records(batch, take)
    return long_texts


def _add_long_texts(batch: Batch, long_texts: Iterable[LongText]) -> None:
    """Add the texts that `_take_long_texts` took."""
    fields: dict[int, dict[str, str]] = {}
    for number, column, text in long_texts:
        fields.setdefault(number, {})[column] = text
    if fields:
        _replace_records(
            batch, lambda record, n: structs.replace(record, **fields.get(n, {}))
        )


def _iter_records(batch: Batch) -> Iterator[Record]:
    for chunk in batch.chunks:
        for entry in chunk.entries:
            yield from entry.records


def _replace_records(batch: Batch, change: Callable[[Record, int], Record]) -> None:
    """Replace each record by what the function returns for it and its number."""
    numbers = count()
    batch.chunks = [
        replace(
            chunk,
            entries=tuple(
                structs.replace(
                    entry,
                    records=tuple(change(r, next(numbers)) for r in entry.records),
                )
                for entry in chunk.entries
            ),
        )
        for chunk in batch.chunks
    ]


def _take_items(batch: Batch) -> bytes:
    """Take the content out of a batch's chunks and return it as MessagePack.

    If that is impossible, return b"" and leave the content in the batch.
    """
    try:
        items = msgspec.msgpack.encode(
            [(each.entries, each.noise, each.rejected) for each in batch.chunks]
        )
    except (UnicodeEncodeError, OverflowError):
        # MessagePack has no lone surrogates and no integers of more than 64 bits.
        return b""
    batch.chunks = [
        replace(each, entries=(), noise=(), rejected=()) for each in batch.chunks
    ]
    return items


def _add_items(
    batch: Batch, data: bytes, decoder: msgspec.msgpack.Decoder[list[_Items]]
) -> None:
    """Put the content that `_take_items` took out back into the batch's chunks."""
    if data:
        batch.chunks = [
            replace(chunk, entries=entries, noise=noise, rejected=rejected)
            for chunk, (entries, noise, rejected) in zip(
                batch.chunks, decoder.decode(data), strict=True
            )
        ]


def _prepare_records(batch: Batch) -> None:
    """Add to the entries what a commit would otherwise have to derive from records."""
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
