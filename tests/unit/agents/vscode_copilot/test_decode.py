"""Chats of VS Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents.vscode_copilot.decode import decode_chat
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

SOURCE = SourceRef(
    agent="vscode-copilot",
    path=Path("/r/w/chatSessions/c.json"),
    root=Path("/r"),
    shape=Shape.DOCUMENT,
    stamp=FileStamp(0, 0, 0, 0, 0),
)


def decode(chat: Any, **state: Any) -> DecodeResult:
    data = json.dumps(chat, indent=1).encode()
    return decode_chat(RawEntry(SOURCE, 0, data), state)


@pytest.mark.parametrize(
    ("workspace", "folder"),
    [
        ({"folder": "file:///a/b%20c"}, "/a/b c"),
        ({"folder": "file:///c%3A/b"}, "c:/b"),
        ({"workspace": "file:///a/b.code-workspace"}, "/a"),
        ({"folder": "vscode-remote://ssh/a"}, ""),
        ([], ""),
    ],
)
def test_the_workspace_names_the_folder(workspace: Any, folder: str):
    decoded = decode({"requests": []}, beside=json.dumps(workspace))

    assert (decoded.cwd, decoded.state) == (folder, {})


@pytest.mark.parametrize(
    ("request_", "ends"),
    [
        ({"modelState": {"value": 1}}, True),
        ({"modelState": {"value": 0}}, False),
        ({"modelState": {"value": 4}}, False),
        ({"result": {"timings": {}}}, True),
        ({}, False),
        ({"isCanceled": True}, True),
    ],
)
def test_a_request_ends_when_its_state_says_so(request_: Any, ends: Any):
    records = decode({"requests": [{"requestId": "r", **request_}]}).records

    kinds = [record.metadata.get("kind") for record in records]
    assert ("turn_ended" in kinds) == ends


def test_a_document_without_requests_is_rejected():
    with pytest.raises(DecodeError):
        decode({})
