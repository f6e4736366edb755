"""The daemon's socket of the page, and the process that serves it."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leslied.clock import SystemClock
from leslied.daemon import page_starter
from leslied.daemon.page_starter import PageStarter
from leslied.errors import UserError
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until

CHILD = """\
import socket, sys
listener = socket.socket(fileno=int(sys.argv[1]))
client, _ = listener.accept()
client.sendall(b"hello")
client.close()
{end}
"""
"""A program that answers one connection, and then does something else."""
STUBBORN_CHILD = "import signal\nsignal.signal(15, signal.SIG_IGN)\n" + CHILD.format(
    end="sys.stdin.read()"
)


class RecordingLog:
    """A logger that keeps its events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def info(self, event: str, **fields: Any) -> None:
        self.events.append((event, fields))

    warning = info

    def names(self) -> list[str]:
        return [name for name, _ in self.events]


class RecordingClock(SystemClock):
    """A clock that does not wait, but keeps how long it was asked to."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.waits.append(seconds)
        return event.is_set()


@pytest.fixture
def log() -> RecordingLog:
    return RecordingLog()


@pytest.fixture
def clock() -> RecordingClock:  # type: ignore[override]
    return RecordingClock()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "child.py"
    path.write_text(CHILD.format(end=""))
    return path


def listen(_port: int) -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


@pytest.fixture
def starter(
    log: RecordingLog, clock: RecordingClock, script: Path
) -> Iterator[PageStarter]:
    starter = PageStarter(
        open_socket=listen,
        command=[sys.executable, str(script)],
        environ={},
        clock=clock,
        log=log,  # type: ignore[arg-type]
    )
    yield starter
    starter.close()


def connect(starter: PageStarter) -> bytes:
    """Connect to the page, and return what its process sends."""
    assert starter._worker
    address = starter._worker.listener.getsockname()  # type: ignore[attr-defined]
    with socket.create_connection(address) as client:
        client.settimeout(MAX_WAIT_SECONDS)
        return client.recv(100)


def test_without_a_port_nothing_listens(starter: PageStarter, log: RecordingLog):
    starter.apply(None)

    assert starter._worker is None
    assert log.events == []


def test_no_process_is_started_before_a_connection(
    starter: PageStarter, log: RecordingLog
):
    starter.apply(1)

    assert log.names() == ["web.listen"]


def test_a_connection_starts_the_process(starter: PageStarter, log: RecordingLog):
    starter.apply(1)

    assert connect(starter) == b"hello"
    assert "web.start" in log.names()


def test_the_process_is_started_again_after_it_has_ended(
    starter: PageStarter, clock: RecordingClock
):
    starter.apply(1)

    assert [connect(starter) for _ in range(3)] == [b"hello"] * 3
    assert clock.waits == []


def test_after_errors_the_pauses_grow(
    starter: PageStarter, clock: RecordingClock, script: Path
):
    script.write_text(CHILD.format(end="sys.exit(3)"))
    starter.apply(1)
    for count in range(1, 9):
        connect(starter)
        wait_until(lambda count=count: len(clock.waits) == count)

    assert clock.waits == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_program_that_cannot_be_started_is_logged(
    starter: PageStarter, log: RecordingLog
):
    starter.command = ["/nowhere/at/all"]
    starter.apply(1)
    assert starter._worker
    address = starter._worker.listener.getsockname()  # type: ignore[attr-defined]
    with socket.create_connection(address):
        wait_until(lambda: "web.exit" in log.names())

    assert ("web.start", {"reason": "No such file or directory"}) in log.events


def test_closing_ends_a_process_that_runs(starter: PageStarter, script: Path):
    script.write_text(CHILD.format(end="sys.stdin.read()"))
    starter.apply(1)
    connect(starter)
    worker = starter._worker
    assert worker
    child = worker._child
    assert child

    starter.close()

    assert child.poll() is not None
    assert not worker._thread.is_alive()


def test_a_process_that_does_not_end_is_killed(
    starter: PageStarter, script: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(page_starter, "_TERMINATE_SECONDS", 0.1)
    script.write_text(STUBBORN_CHILD)
    starter.apply(1)
    connect(starter)
    assert starter._worker
    child = starter._worker._child
    assert child

    starter.close()

    assert child.returncode == -9


def test_the_input_of_the_process_ends_with_the_daemon(
    starter: PageStarter, script: Path
):
    script.write_text(CHILD.format(end="sys.exit(len(sys.stdin.read()))"))
    starter.apply(1)
    connect(starter)
    assert starter._worker
    child = starter._worker._child
    assert child
    assert child.stdin

    child.stdin.close()

    assert child.wait(MAX_WAIT_SECONDS) == 0


def test_a_port_that_cannot_be_used_is_logged_once(
    starter: PageStarter, log: RecordingLog
):
    def refuse(_port: int) -> Any:
        raise UserError("Port 1 cannot be used.", "Choose another one.")

    starter.open_socket = refuse
    starter.apply(1)
    starter.apply(1)
    starter.open_socket = listen
    starter.apply(1)

    assert log.names() == ["web.listen", "web.listen"]
    assert log.events[0][1]["reason"] == "Port 1 cannot be used."
    assert starter._worker


def test_another_port_replaces_the_socket(starter: PageStarter):
    starter.apply(1)
    first = starter._worker
    starter.apply(2)

    assert starter._worker is not first
    starter.apply(None)
    assert starter._worker is None
