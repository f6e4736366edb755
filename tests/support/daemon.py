"""The real daemon, in a process of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from leslied.store import StoreReader
from tests.support.cli import LesliedRunner
from tests.support.waiting import PATIENCE_SECONDS


def store_of(home: Path) -> Path:
    return home / ".local/share/leslied/store.db"


def list_prompts(store: Path) -> list[str]:
    """Return every prompt in the store; none while the store is being made."""
    if not store.exists():
        return []
    try:
        with StoreReader(store) as reader:
            return [
                placed.record.content
                for session in reader.list_sessions()
                for placed in reader.list_records(session.row)
                if placed.record.type == "user_message"
            ]
    except Exception:  # noqa: BLE001 - the schema may not be there yet
        return []


class Daemon:
    """`leslied run` in one home, until `end`."""

    def __init__(self, home: Path) -> None:
        self.store = store_of(home)
        self.process = LesliedRunner(home).start(
            "run", "--log-json", stderr=subprocess.PIPE, text=True
        )

    def prompts(self) -> list[str]:
        return list_prompts(self.store)

    def end(self, number: int) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode
