"""Telling the service manager how it goes: sd_notify(3), without its library."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SEND_TIMEOUT_SECONDS = 1.0
"""A manager that does not take a word in this time does not get it."""


class Notifier:
    """Speaks to the socket that the environment names; without one, to nobody.

    Nothing here ever fails: the daemon's work does not depend on who listens.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        name = os.fsencode(environ.get("NOTIFY_SOCKET", ""))
        self._address = b"\0" + name[1:] if name.startswith(b"@") else name

    def ready(self) -> None:
        """The manager knows that the daemon is up."""
        self._send("READY=1")

    def ping(self) -> None:
        """The manager knows that something was achieved; only progress may say so."""
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """The manager knows that the daemon is leaving on purpose."""
        self._send("STOPPING=1")

    def status(self, text: str) -> None:
        """The manager shows this line; a line break cannot smuggle in another word."""
        self._send("STATUS=" + " ".join(text.split()))

    def _send(self, message: str) -> None:
        if not self._address:
            return
        kind = socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)
        with (
            suppress(OSError, ValueError),
            socket.socket(socket.AF_UNIX, kind) as speaker,
        ):
            speaker.settimeout(_SEND_TIMEOUT_SECONDS)
            speaker.connect(self._address)
            speaker.sendall(message.encode("utf-8", "replace"))
