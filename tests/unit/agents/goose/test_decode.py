"""Messages and sessions of Goose, decoded one at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents.goose.decode import decode_entry
from leslied.errors import DecodeError
from leslied.model.record import Record
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

SOURCE = SourceRef(
    agent="goose",
    path=Path("/g/sessions.db"),
    root=Path("/g"),
    shape=Shape.SQLITE,
    stamp=FileStamp(0, 0, 0, 0, 0),
)


def decode(value: dict[str, Any]) -> tuple[Record, ...]:
    return decode_entry(RawEntry(SOURCE, 0, json.dumps(value).encode()), {}).records


def decode_message(role: str, *content: Any, **fields: Any) -> list[Record]:
    """Return the records of a message without those of its session."""
    value = {
        "kind": "message",
        "id": "m1",
        "role": role,
        "content": content,
        "session": {"id": "20261117_1"},
        **fields,
    }
    return [record for record in decode(value) if record.native_id != "session"]


def make_call(call_id: str) -> dict[str, Any]:
    value = {"name": "shell", "arguments": {"command": "ls"}}
    call = {"status": "success", "value": value}
    return {"type": "toolRequest", "id": call_id, "toolCall": call}


def test_a_text_ends_the_turn_unless_a_call_is_beside_it():
    text = {"type": "text", "text": "I look."}

    alone, with_call = (
        decode_message("assistant", text),
        decode_message("assistant", text, make_call("c1")),
    )

    assert alone[0].metadata == {"stop_reason": "end_turn"}
    assert with_call[0].metadata == {}


def test_messages_with_the_same_id_differ_by_their_number():
    text = {"type": "text", "text": "Half"}

    ids = {decode_message("assistant", text, number=n)[0].native_id for n in (0, 1)}

    assert ids == {"m1", "m1 1"}


def test_a_message_without_an_id_is_named_by_its_row():
    text = {"type": "text", "text": "Hi"}

    (record,) = decode_message("user", text, id=None, row=7)

    assert record.native_id == "row 7"


@pytest.mark.parametrize(
    ("is_shown", "is_for_agent", "kind"),
    [
        (True, True, "prompt"),
        (True, False, "prompt"),
        (False, True, "context"),
        (False, False, None),
    ],
)
def test_text_that_is_hidden_from_the_user_is_not_a_prompt(
    is_shown: bool,  # noqa: FBT001 - a parameter of the test
    is_for_agent: bool,  # noqa: FBT001
    kind: str | None,
):
    metadata = {"userVisible": is_shown, "agentVisible": is_for_agent}

    records = decode_message("user", {"type": "text", "text": "x"}, metadata=metadata)

    kinds = [r.metadata.get("origin") or r.metadata.get("kind") for r in records]
    assert kinds == ([kind] if kind else [])


def test_a_command_for_goose_itself_is_not_a_prompt():
    metadata = {"userVisible": True, "agentVisible": False}

    (record,) = decode_message(
        "user", {"type": "text", "text": "/compact"}, metadata=metadata
    )

    assert record.metadata == {"origin": "command"}


def test_a_failed_command_begins_with_its_exit_code():
    value = {
        "content": [{"type": "text", "text": "err\n\nCommand exited with code 2"}],
        "structuredContent": {"exit_code": 2},
        "isError": True,
    }
    result = {"status": "success", "value": value}

    (record,) = decode_message(
        "user", {"type": "toolResponse", "id": "c1", "toolResult": result}
    )

    assert record.content == "Exit code 2\nerr"
    assert record.metadata == {"exit_code": 2, "is_error": True}


def test_a_result_without_text_is_stored_as_json():
    result = {"status": "error", "error": {"code": -1}}

    (record,) = decode_message(
        "user", {"type": "toolResponse", "id": "c1", "toolResult": result}
    )

    assert json.loads(record.content) == result


def test_a_default_name_is_not_a_title():
    names = ["CLI Session", "New Chat", "Mill"]

    titles = [
        record.content
        for name in names
        for record in decode({"kind": "session", "session": {"id": "s", "name": name}})
    ]

    assert titles == ["Mill"]


def test_an_entry_without_a_session_is_rejected():
    with pytest.raises(DecodeError, match="without a session"):
        decode({"kind": "message", "session": {}})


def test_an_entry_of_an_unknown_kind_is_stored_unchanged():
    (record,) = decode({"kind": "hologram"})

    assert (record.type, record.content) == ("unknown", '{"kind": "hologram"}')
