"""Test what `leslied run` reports while it starts."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from leslied.cli.commands import run
from leslied.daemon import Notifier
from leslied.log import make_logger


def test_a_rebuild_is_logged_and_does_not_delay_readiness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(5)
        receiver.bind("notify")
        log = make_logger(str, as_json=True)
        warn = run._make_warn(Notifier({"NOTIFY_SOCKET": "notify"}), log)

        warn("the store was emptied")

        assert receiver.recv(100) == b"READY=1"
    event = json.loads(capsys.readouterr().err)
    assert (event["event"], event["reason"]) == (
        "store.rebuild",
        "the store was emptied",
    )
