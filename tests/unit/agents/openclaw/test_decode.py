"""Rows of OpenClaw's database: damaged events, and sessions that alternate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leslied.agents.openclaw import ADAPTER
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef


def decode_row(**fields: object) -> DecodeResult:
    """Decode one row of a session."""
    root = Path("/home/dev/.openclaw/agents")
    source = SourceRef(
        agent="openclaw",
        path=root / "main/agent/openclaw-agent.sqlite",
        root=root,
        shape=Shape.SQLITE,
        stamp=FileStamp(0, 0, 0, 0, 0),
    )
    row = {"session": {"id": "s"}, "seq": 1, **fields}
    return ADAPTER.decode(RawEntry(source, 0, json.dumps(row).encode()), {})


def test_an_event_that_could_not_be_decompressed_is_rejected():
    with pytest.raises(DecodeError, match="damaged or too large"):
        decode_row(event=None, is_packed=1)


def test_a_row_without_a_session_is_rejected():
    with pytest.raises(DecodeError, match="without a session"):
        decode_row(session={})


def test_the_state_of_one_session_is_not_that_of_another():
    event = {"type": "session", "id": "s", "cwd": "/home/dev/app"}
    state = decode_row(event=event).state

    assert state == {"session": "s", "cwd": "/home/dev/app"}
    assert decode_row(session={"id": "t"}, event={"type": "label"}).cwd == ""
