"""Threads of Amp, message by message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents._amp_threads import decode_thread
from leslied.errors import DecodeError
from leslied.model.record import Record
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

SOURCE = SourceRef(
    agent="amp",
    path=Path("/threads/T-1.json"),
    root=Path("/threads"),
    shape=Shape.DOCUMENT,
    stamp=FileStamp(0, 0, 0, 0, 0),
)


def decode(*messages: Any, **thread: Any) -> list[Record]:
    data = json.dumps({"messages": messages, **thread}).encode()
    return list(decode_thread(RawEntry(SOURCE, 0, data), {}).records)


def test_a_thread_without_an_id_is_named_after_its_file():
    (opened,) = decode()

    assert opened.session.session_id == "T-1"


@pytest.mark.parametrize("uri", [None, 7, "ssh://host/a"])
def test_what_is_not_the_address_of_a_file_is_no_folder(uri: Any):
    (opened,) = decode(env={"initial": {"trees": [{"uri": uri}]}})

    assert opened.metadata.get("cwd", "") == ""


def test_an_invalid_escape_in_an_address_is_part_of_the_folder():
    (opened,) = decode(env={"initial": {"trees": [{"uri": "file:///%"}]}})

    assert opened.metadata["cwd"] == "/%"


def test_two_messages_of_the_same_number_are_two():
    message = {"role": "user", "messageId": 1, "content": "hi"}

    _, first, second = decode(message, message)

    assert first.native_id != second.native_id


def test_a_call_that_was_cancelled_failed():
    run = {"status": "cancelled"}
    block = {"type": "tool_result", "toolUseID": "c", "run": run}

    _, result = decode({"role": "user", "content": [block]})

    assert (result.content, result.metadata) == ("cancelled", {"is_error": True})


def test_a_document_without_messages_is_rejected():
    with pytest.raises(DecodeError):
        decode_thread(RawEntry(SOURCE, 0, b"[]"), {})
