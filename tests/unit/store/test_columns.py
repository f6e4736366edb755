"""Records, times, cursors and paths survive the conversion to columns."""

from __future__ import annotations

import json
import os
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leslied.model.record import Record, Usage
from leslied.model.source import Cursor, FileStamp
from leslied.model.times import from_us, to_us
from leslied.store import columns, cursors
from leslied.store.write.record_versions import prepare_record
from leslied.store.write.sanitize import replace_surrogates
from tests.support.records import (
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)

QUICK_SETTINGS = settings(
    max_examples=200, derandomize=True, deadline=None, database=None
)


NOT_STORED = {"session", "scope", "block", "is_copy", "is_repeat"}
"""Fields that decide a record's ids and placement, which the store has instead."""
CHANGED_FIELDS = {
    "created_at": time_at(3),
    "usage": Usage(1),
    "metadata": {"a": 1},
}


def pack(record: Record, observed_us: int = 0, version: int = 1) -> tuple[Any, ...]:
    return columns.pack_record(record, prepare_record(record), observed_us, version)


def pack_by_name(record: Record) -> dict[str, Any]:
    values = pack(record)
    return dict(zip(columns.RECORD_COLUMNS, values, strict=True))


@pytest.mark.fault("F2")
def test_a_utc_offset_with_seconds_does_not_change_the_time():
    zone = timezone(timedelta(hours=1, seconds=30))
    record = make_record(created_at=time_at(0).astimezone(zone))

    values = pack_by_name(record)

    assert from_us(values["created_us"], values["utc_offset"]) == time_at(0)


def test_a_record_is_restored_unchanged():
    record = make_record(
        "text",
        "native",
        created_at=time_at(1),
        tool_name="t",
        tool_call_id="c",
        tool_input="{}",
        model="m",
        usage=Usage(1, 2, 3, 4),
        message_id="i",
        parent_id="p",
        metadata={"a": {"b": [1]}},
        spilled="s",
    )

    packed = pack(record, to_us(time_at(5)), 7)

    assert columns.unpack_record(packed, make_key()) == (record, time_at(5), 7)


def test_an_empty_record_is_restored_unchanged():
    packed = pack(make_record())

    record, _, _ = columns.unpack_record(packed, make_key())

    assert record == make_record()


@pytest.mark.parametrize("name", sorted(set(Record.__struct_fields__) - NOT_STORED))
def test_every_field_of_a_record_is_stored(name: str):
    changed = make_record(**{name: CHANGED_FIELDS.get(name, "changed")})

    assert pack_by_name(changed) != pack_by_name(make_record())


@pytest.mark.parametrize(
    "cursor",
    [
        Cursor(),
        Cursor(generation=2, offset=5, crc=7, anchor=b"\0\x05x", scanned=3, state="{}"),
        Cursor(finished_size=9, stamp=FileStamp(1, 2, 3, 4, 5)),
        Cursor(stamp=FileStamp(0, 0, 0, 0, 0)),
    ],
)
def test_a_cursor_is_restored_unchanged(cursor: Cursor):
    assert cursors.unpack_cursor(cursors.pack_cursor(cursor)) == cursor


def test_there_is_a_value_for_every_column():
    record_values = pack(make_record())
    cursor_values = cursors.pack_cursor(Cursor())

    assert len(record_values) == len(columns.RECORD_COLUMNS)
    assert len(cursor_values) == len(cursors.CURSOR_COLUMNS)


@pytest.mark.fault("B17")
@pytest.mark.parametrize("name", [b"/a/pat\xe9", b"/a\nb", "/日本".encode()])
def test_a_path_is_stored_as_its_bytes(name: bytes):
    assert columns.pack_path(Path(os.fsdecode(name))) == name


# Digests


@pytest.mark.fault("G7")
@pytest.mark.parametrize("name", ["type", "role", "tool_name", "tool_input", "content"])
def test_a_change_of_content_changes_the_digest(name: str):
    digest = columns.digest_record(make_record("a"))

    changed_record = make_record(**{"content": "a", name: "user"})
    assert columns.digest_record(changed_record) != digest


@pytest.mark.fault("G7")
@pytest.mark.parametrize(
    "fields",
    [
        {"model": "x"},
        {"usage": Usage(1)},
        {"native_id": "x"},
        {"created_at": time_at(3)},
        {"session": make_key("x")},
        {"metadata": {"request_id": "x"}},
        {"is_copy": True},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_change_outside_the_content_does_not_change_the_digest(fields):
    digest = columns.digest_record(make_record("a"))

    assert columns.digest_record(make_record("a", **fields)) == digest


def test_moving_text_between_fields_changes_the_digest():
    first = make_record("b", tool_input="a")
    second = make_record("ab", tool_input="")

    assert columns.digest_record(first) != columns.digest_record(second)


def test_the_order_of_metadata_does_not_change_the_digest():
    first = make_event("notice", metadata={"a": 1, "b": 2})
    second = make_event("notice", metadata={"b": 2, "a": 1})

    assert columns.digest_record(first) == columns.digest_record(second)


def test_a_record_has_the_same_digest_in_every_version_of_leslied():
    """Another digest would create a new version of every record in every store."""
    record = make_prompt("hello", "1", tool_name="t", tool_input="{}")

    assert columns.digest_record(record).hex() == "543049082b2333d864b0069a"


# Text


@pytest.mark.fault("A5")
@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("", ""),
        ("plain", "plain"),
        ("héllo 日本 😀", "héllo 日本 😀"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("\udc00\ud800", "\ufffd\ufffd"),
        ("pat\udce9", "pat\ufffd"),
    ],
)
def test_lone_surrogates_are_replaced(text: str, clean: str):
    assert replace_surrogates(text) == clean


@pytest.mark.fault("A5")
@QUICK_SETTINGS
@given(st.text(st.characters()))
def test_any_text_can_be_encoded_after_replacing_surrogates(text: str):
    replace_surrogates(text).encode()


@pytest.mark.fault("A10")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**63, 2**64 - 1, -1.5])
def test_metadata_is_stored_as_valid_json(value: float):
    record = make_record(metadata={"n": value})
    metadata = pack_by_name(record)["metadata"]

    def refuse_constant(name: str) -> None:
        raise AssertionError(name)

    assert "n" in json.loads(metadata, parse_constant=refuse_constant)
