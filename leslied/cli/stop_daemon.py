"""The advice to stop the daemon, for commands that cannot run beside it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from leslied.errors import AlreadyRunning
from leslied.paths import PLATFORM

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def advising_to_stop_the_daemon(consequence: str) -> Iterator[None]:
    """Add to an AlreadyRunning error how to stop the daemon.

    `consequence` is a sentence such as "Nothing was deleted."
    """
    try:
        yield
    except AlreadyRunning as error:
        from leslied.service.manager import format_stop_hint  # noqa: PLC0415

        raise AlreadyRunning(
            error.message,
            f"{consequence} Stop it first: {format_stop_hint(PLATFORM)}. "
            "Start it again afterwards.",
        ) from error
