"""Descriptions of errors contain no text that their messages may quote."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

import pytest

from leslied.errors import SourceError, describe_cause, describe_error

TEXT = "canary of a session"


def read_damaged_text() -> None:
    data = TEXT.encode() + b"\xff"
    sqlite3.connect(":memory:").execute("SELECT CAST(? AS TEXT)", (data,)).fetchone()


def violate_check() -> None:
    db = sqlite3.connect(":memory:")
    db.execute(f'CREATE TABLE t (a, CONSTRAINT "{TEXT}" CHECK (a > 1))')
    db.execute("INSERT INTO t VALUES (0)")


def decode_bytes() -> None:
    (TEXT.encode() + b"\xff").decode()


def parse_json() -> None:
    json.loads(TEXT)


def convert_text() -> None:
    int(TEXT)


def look_up_text() -> None:
    dict[str, int]()[TEXT]


@pytest.mark.parametrize(
    "fail",
    [
        read_damaged_text,
        violate_check,
        decode_bytes,
        parse_json,
        convert_text,
        look_up_text,
    ],
)
def test_quoted_text_is_left_out(fail: Callable[[], None]):
    with pytest.raises(Exception) as raised:  # noqa: PT011 - all kinds
        fail()

    assert TEXT not in describe_cause(raised.value)


def test_a_message_without_quoted_text_is_kept():
    missing = FileNotFoundError(2, "No such file or directory", "name")
    with pytest.raises(sqlite3.OperationalError) as no_table:
        sqlite3.connect(":memory:").execute("SELECT a FROM t")
    with pytest.raises(sqlite3.IntegrityError) as constraint:
        violate_check()

    assert describe_cause(missing) == "No such file or directory"
    assert describe_cause(SourceError("is gone")) == "is gone"
    assert describe_cause(no_table.value) == "no such table: t"
    assert describe_cause(constraint.value) == "constraint failed"


@pytest.mark.threat("S3")
def test_a_reason_names_the_type_of_an_exception_but_not_its_message():
    with pytest.raises(UnicodeDecodeError) as caught:
        b"secret \xff".decode()

    assert describe_error(caught.value) == "unexpected UnicodeDecodeError"


def test_an_error_of_leslied_is_described_by_its_message():
    assert describe_error(SourceError("It is locked.")) == "It is locked."


def test_an_error_of_the_system_is_described_without_the_file_name():
    reason = describe_error(OSError(28, "No space left on device", "/secret/name"))

    assert reason == "unexpected OSError (No space left on device)"
