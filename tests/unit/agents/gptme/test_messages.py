"""Messages of gptme with unusual fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents.gptme.messages import decode_line, decode_settings
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

ROOT = Path("/home/dev/.local/share/gptme/logs")


def make_entry(
    data: bytes, *, root: Path = ROOT, is_fragment: bool = False
) -> RawEntry:
    source = SourceRef(
        agent="gptme",
        path=root / "chat" / "conversation.jsonl",
        root=root,
        shape=Shape.APPEND_LOG,
        stamp=FileStamp(0, 0, 0, 0, 0),
    )
    return RawEntry(source, 0, data, is_fragment=is_fragment)


def decode(value: dict[str, Any], **state: Any) -> DecodeResult:
    message = {"timestamp": "2026-11-17T10:00:00.000001", **value}
    return decode_line(make_entry(json.dumps(message).encode()), {"last": "x", **state})


def test_content_that_is_not_text_is_kept_as_json():
    (record,) = decode({"role": "user", "content": [1]}).records

    assert (record.type, record.content) == ("unknown", "[1]")


def test_a_message_without_a_time_gets_an_id_of_its_content():
    first, second = (
        decode({"role": "user", "content": text, "timestamp": "\0"}).records[0]
        for text in ("a", "b")
    )

    assert len({first.native_id, second.native_id}) == 2


def test_a_fragment_must_be_a_message():
    with pytest.raises(DecodeError):
        decode_line(make_entry(b'{"role": "user"}', is_fragment=True), {})


def test_the_side_file_names_the_folder():
    beside = '[chat]\nworkspace = "/home/dev/\\u00e4"\nname = "cut o'

    decoded = decode({"role": "user", "content": "Go."}, beside=beside)
    assert (decoded.cwd, decoded.state["cwd"]) == ("/home/dev/ä", "/home/dev/ä")


def test_a_damaged_side_file_names_no_folder():
    beside = '[chat]\nworkspace = "/a\\q"\n'

    assert decode({"role": "user", "content": "Go."}, beside=beside).cwd == ""


def test_settings_without_a_title_are_noise():
    decoded = decode_settings(make_entry(b'[chat]\nname = "chat"\n'))

    assert (decoded.records, decoded.noise) == ((), "settings")


@pytest.mark.parametrize(
    ("root", "cwd"),
    [
        (ROOT, "/home/dev/app"),
        (Path("/Users/dev/Library/Application Support/gptme/logs"), "/Users/dev/app"),
        (Path("/logs"), ""),
    ],
)
def test_a_tilde_is_the_home_above_a_default_root(root: Path, cwd: str):
    settings = make_entry(b'[chat]\nworkspace = "~/app"\n', root=root)

    assert decode_settings(settings).cwd == cwd
