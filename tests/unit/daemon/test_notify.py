"""Test the messages to the service manager."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.daemon.notify import Notifier


@pytest.fixture
def receiver() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(5)
        yield receiver


@pytest.fixture
def notifier(receiver: socket.socket, tmp_path: Path, monkeypatch) -> Notifier:
    monkeypatch.chdir(tmp_path)
    receiver.bind("notify")
    return Notifier({"NOTIFY_SOCKET": "notify"})


@pytest.mark.parametrize(
    ("method", "message"),
    [("ready", b"READY=1"), ("ping", b"WATCHDOG=1"), ("stopping", b"STOPPING=1")],
)
def test_each_method_sends_its_message(notifier, receiver, method: str, message: bytes):
    getattr(notifier, method)()

    assert receiver.recv(100) == message


@pytest.mark.skipif(not Path("/proc/net/unix").exists(), reason="not Linux")
def test_an_abstract_socket_receives_messages(receiver):
    receiver.bind(f"\0leslied-test-{os.getpid()}")

    Notifier({"NOTIFY_SOCKET": f"@leslied-test-{os.getpid()}"}).ready()

    assert receiver.recv(100) == b"READY=1"


@pytest.mark.parametrize(
    "name", ["", "/nowhere/at/all", "x" * 500, "with\0nul", "vsock:2:1", "\udcff", "@"]
)
def test_sending_to_an_unusable_socket_raises_nothing(name: str):
    notifier = Notifier({"NOTIFY_SOCKET": name})

    notifier.ready()
    notifier.ping()
    notifier.stopping()


def test_sending_without_the_variable_raises_nothing():
    Notifier({}).ready()


def test_a_receiver_that_does_not_read_does_not_block_the_sender(
    notifier, receiver, monkeypatch
):
    monkeypatch.setattr("leslied.daemon.notify._SEND_TIMEOUT_SECONDS", 0.001)

    for _ in range(2000):
        notifier.ping()

    assert receiver.recv(100) == b"WATCHDOG=1"
