"""Run the real daemon in a subprocess."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from leslied.store import StoreReader
from tests.support.cli import LesliedRunner
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until


def get_store_path(home: Path) -> Path:
    return home / ".local/share/leslied/store.db"


def list_prompts(store: Path) -> list[str]:
    """Return every prompt in the store; an empty list until the store is ready."""
    if not store.exists():
        return []
    try:
        with StoreReader(store) as reader:
            return [
                placed.record.content
                for session in reader.list_sessions()
                for placed in reader.list_records(session.key)
                if placed.record.type == "user_message"
            ]
    except Exception:  # noqa: BLE001 - the schema may not exist yet
        return []


class Daemon:
    """Run `leslied run` for one home until `end` is called.

    `prefix` is a program that runs it, with its arguments.
    """

    def __init__(self, home: Path, prefix: Sequence[str] = ()) -> None:
        self.store = get_store_path(home)
        self._leslied = LesliedRunner(home)
        self.process = self._leslied.start(
            "run", "--log-json", prefix=prefix, stderr=subprocess.PIPE, text=True
        )

    def prompts(self) -> list[str]:
        return list_prompts(self.store)

    def wait_for_scan(self) -> None:
        """Return when the daemon's first scan has ended, and with it the first sync.

        Before that, another process may have stored entries, and `leslied status` need
        not know the daemon.
        """
        wait_until(self._has_scanned)

    def _has_scanned(self) -> bool:
        # Until the store exists, the answer has no data.
        data = self._leslied("status", "--json").json["data"]
        return data is not None and data["daemon"]["scanned_at"] is not None

    def end(self, signal_number: int) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(signal_number)
        self.process.communicate(timeout=MAX_WAIT_SECONDS)
        return self.process.returncode
