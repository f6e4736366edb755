"""Rows of OpenClaw's database: damaged events, and sessions that alternate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents.openclaw import ADAPTER
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef


def decode_row(state: dict[str, Any] | None = None, **fields: object) -> DecodeResult:
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
    return ADAPTER.decode(RawEntry(source, 0, json.dumps(row).encode()), state or {})


def test_an_event_that_could_not_be_decompressed_is_rejected():
    with pytest.raises(DecodeError, match="damaged or too large"):
        decode_row(event=None, is_packed=1)


def test_a_row_without_a_session_is_rejected():
    with pytest.raises(DecodeError, match="without a session"):
        decode_row(session={})


def test_a_row_of_another_session_starts_with_a_new_state():
    event = {"type": "session", "id": "s", "cwd": "/home/dev/app"}
    state = decode_row(event=event).state

    own = decode_row(state, seq=2, event={"type": "label"})
    other = decode_row(state, session={"id": "t"}, event={"type": "label"})

    assert state == {"session": "s", "cwd": "/home/dev/app"}
    assert (own.state, own.cwd) == (state, "/home/dev/app")
    assert (other.state, other.cwd) == ({"session": "t"}, "")
