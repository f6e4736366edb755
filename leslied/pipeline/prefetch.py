"""Reading ahead: one process reads and decodes while the other writes.

Only a first sync has so much to read that a second process pays. It is forked, so it
has every source and setting at hand; it writes nothing and holds no lock.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from leslied.errors import LesliedError
from leslied.store import prepare_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from leslied.model.source import SourceRef
    from leslied.pipeline.batch import Batch

MIN_PREFETCH_BYTES = 8 * 1024 * 1024
"""With less to read, starting a process costs more than it brings."""
_MAX_FILE_DESCRIPTORS = 65536


def can_prefetch(sources: Sequence[SourceRef]) -> bool:
    """Whether a second process would help, and forking one is safe here."""
    return (
        sum(source.stamp.size for source in sources) >= MIN_PREFETCH_BYTES
        and sys.platform == "linux"
        and len(os.sched_getaffinity(0)) > 1
        and threading.active_count() == 1
    )


def prefetch_batches(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The same batches: each is made while the caller is busy with the one before."""
    import multiprocessing  # noqa: PLC0415 - costs 15 ms, and few runs need it

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    helper = context.Process(target=_send, args=(batches, theirs), daemon=True)
    helper.start()
    theirs.close()
    try:
        yield from _receive(ours)
    finally:
        ours.close()
        helper.join()


def _receive(receiver: Connection) -> Iterator[Batch]:
    try:
        while (batch := receiver.recv()) is not None:
            if isinstance(batch, BaseException):
                raise batch
            yield batch
    except EOFError as error:
        raise LesliedError(
            "The process that reads the logs ended too early.",
            "Nothing was lost. Go on with: leslied sync",
        ) from error


def _send(batches: Iterable[Batch], sender: Connection) -> None:
    """Every batch is sent, then the end, or the error that came before it."""
    # The lock on the store must go with the parent; its interrupt ends us, too.
    os.closerange(3, sender.fileno())
    os.closerange(sender.fileno() + 1, _MAX_FILE_DESCRIPTORS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        try:
            for batch in batches:
                _prepare(batch)
                sender.send(batch)
            sender.send(None)
        except LesliedError as error:
            sender.send(error)
    except BrokenPipeError:
        pass


def _prepare(batch: Batch) -> None:
    """The store has less to work out when it writes the batch."""
    batch.readings = [
        replace(
            reading,
            entries=tuple(
                structs.replace(
                    entry, prepared=tuple(map(prepare_record, entry.records))
                )
                for entry in reading.entries
            ),
        )
        for reading in batch.readings
    ]
