"""What the service manager hears."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.daemon.notify import Notifier


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.settimeout(5)
        yield ear


@pytest.fixture
def notifier(listener: socket.socket, tmp_path: Path, monkeypatch) -> Notifier:
    monkeypatch.chdir(tmp_path)
    listener.bind("notify")
    return Notifier({"NOTIFY_SOCKET": "notify"})


@pytest.mark.parametrize(
    ("verb", "word"),
    [("ready", b"READY=1"), ("ping", b"WATCHDOG=1"), ("stopping", b"STOPPING=1")],
)
def test_each_verb_says_its_word(notifier, listener, verb: str, word: bytes):
    getattr(notifier, verb)()

    assert listener.recv(100) == word


def test_a_status_is_one_line_whatever_it_holds(notifier, listener):
    notifier.status("reading 漢字\nMAINPID=1 \ud800")

    assert listener.recv(100).decode() == "STATUS=reading 漢字 MAINPID=1 ?"


@pytest.mark.skipif(not Path("/proc/net/unix").exists(), reason="only Linux has them")
def test_an_abstract_socket_is_reached(listener):
    listener.bind(f"\0leslied-test-{os.getpid()}")

    Notifier({"NOTIFY_SOCKET": f"@leslied-test-{os.getpid()}"}).ready()

    assert listener.recv(100) == b"READY=1"


@pytest.mark.parametrize(
    "name", ["", "/nowhere/at/all", "x" * 500, "with\0nul", "vsock:2:1", "\udcff", "@"]
)
def test_nobody_listening_is_no_trouble(name: str):
    notifier = Notifier({"NOTIFY_SOCKET": name})

    notifier.ready()
    notifier.ping()
    notifier.status("fine")
    notifier.stopping()


def test_without_the_variable_nothing_is_said():
    Notifier({}).ready()


def test_a_listener_that_does_not_listen_holds_nobody_up(
    notifier, listener, monkeypatch
):
    monkeypatch.setattr("leslied.daemon.notify._SEND_TIMEOUT_SECONDS", 0.001)

    for _ in range(2000):
        notifier.ping()

    assert listener.recv(100) == b"WATCHDOG=1"
