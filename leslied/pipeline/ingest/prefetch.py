"""Read and decode batches in a forked process while the parent commits them.

Only a first sync has enough to read to be worth a second process. Being forked, it
inherits the sources and settings; it writes nothing and holds no lock.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from leslied.errors import LesliedError
from leslied.model.decoded_chunk import DecodedEntry
from leslied.model.source import Noise, Rejection
from leslied.store import prepare_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from leslied.model.source import SourceRef
    from leslied.pipeline.ingest.batch import Batch

MIN_PREFETCH_BYTES = 8 * 1024 * 1024
"""Bytes below which starting a process costs more than it saves."""
_MAX_FILE_DESCRIPTORS = 65536
"""Limit of the descriptors that the second process closes."""
_PIPE_BYTES = 1024 * 1024
"""Size of the pipe: with Linux's own 64 KiB, the processes wait for each other."""
_Items = tuple[tuple[DecodedEntry, ...], tuple[Noise, ...], tuple[Rejection, ...]]
"""Everything in a chunk of which there may be many."""


def can_prefetch(sources: Sequence[SourceRef]) -> bool:
    """Return whether a second process would help and forking one is safe."""
    return (
        sum(source.stamp.size for source in sources) >= MIN_PREFETCH_BYTES
        and sys.platform == "linux"
        and len(os.sched_getaffinity(0)) > 1
        and threading.active_count() == 1
    )


def prefetch_batches(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the same batches, each made while the caller works on the previous one.

    Raise LesliedError if the second process fails or ends early.
    """
    import multiprocessing  # noqa: PLC0415 - costs 15 ms, and few runs need it

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(batches, sender), daemon=True)
    child.start()
    sender.close()
    try:
        yield from _receive(receiver)
    finally:
        receiver.close()
        child.join()


def _receive(receiver: Connection) -> Iterator[Batch]:
    """Yield what `_send` sends; raise its error, or LesliedError if it ends early."""
    decoder = msgspec.msgpack.Decoder(list[_Items])
    try:
        while (batch := receiver.recv()) is not None:
            if isinstance(batch, BaseException):
                raise batch
            _add_items(batch, receiver.recv_bytes(), decoder)
            yield batch
            # Free the memory before the next batch needs as much.
            batch.chunks = []
    except EOFError as error:
        raise LesliedError(
            "The process that reads the logs ended unexpectedly.",
            "Nothing was lost. To continue, run: leslied sync",
        ) from error


def _add_items(
    batch: Batch, data: bytes, decoder: msgspec.msgpack.Decoder[list[_Items]]
) -> None:
    """Add to each chunk what `_send_batch` sent separately."""
    if data:
        batch.chunks = [
            replace(chunk, entries=entries, noise=noise, rejected=rejected)
            for chunk, (entries, noise, rejected) in zip(
                batch.chunks, decoder.decode(data), strict=True
            )
        ]


def _send(batches: Iterable[Batch], sender: Connection) -> None:
    """Send every batch, then None or the error that ended the reading."""
    # Close the inherited descriptors, so that the store's lock ends with the parent.
    # Ignore Ctrl-C: the parent closes the pipe, which ends this process.
    os.closerange(3, sender.fileno())
    os.closerange(sender.fileno() + 1, _MAX_FILE_DESCRIPTORS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The system limits how much memory a user's pipes take.
    with suppress(OSError):
        fcntl.fcntl(sender, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    try:
        try:
            for batch in batches:
                _prepare_records(batch)
                _send_batch(batch, sender)
            sender.send(None)
        except LesliedError as error:
            sender.send(error)
    except BrokenPipeError:
        pass


def _send_batch(batch: Batch, sender: Connection) -> None:
    """Send a batch, and what is in its chunks, which MessagePack encodes faster."""
    try:
        items = msgspec.msgpack.encode(
            [(each.entries, each.noise, each.rejected) for each in batch.chunks]
        )
    except (UnicodeEncodeError, OverflowError):
        # It has no lone surrogates and no integers of more than 64 bits.
        items = b""
    else:
        batch.chunks = [
            replace(each, entries=(), noise=(), rejected=()) for each in batch.chunks
        ]
    sender.send(batch)
    sender.send_bytes(items)


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
