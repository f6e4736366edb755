"""Redaction of all fields of a session, not only of its texts."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from msgspec import structs

from leslied.model.failure import Failure
from leslied.model.record import Record, SessionKey
from leslied.model.session import SessionSummary
from leslied.redact import Redactor
from leslied.redact.session import (
    iter_entry_texts,
    iter_summary_texts,
    redact_entry,
    redact_key,
    redact_summary,
    redact_value,
)
from tests.support.records import make_call
from tests.support.units import make_placed, make_summary

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
redact = Redactor(b"key").redact


def list_text_fields(struct: type) -> list[str]:
    """List the fields that can contain any text."""
    return [name for name, type_ in struct.__annotations__.items() if type_ == "str"]


@pytest.mark.threat("S1", "S3")
@pytest.mark.parametrize("field", list_text_fields(Record))
def test_secrets_in_all_fields_of_a_record_are_redacted(field: str):
    record = structs.replace(make_call("Bash", "c1"), **{field: SECRET})

    redacted = redact_entry(make_placed(record), redact).record

    assert getattr(redacted, field).startswith("[REDACTED:github")


@pytest.mark.threat("S1", "S3")
@pytest.mark.parametrize(
    "field",
    # The id of a thread is made by leslied, or has the form of such an id.
    [name for name in list_text_fields(SessionSummary) if name != "thread_id"],
)
def test_secrets_in_all_fields_of_a_summary_are_redacted(field: str):
    redacted = redact_summary(make_summary(**{field: f"x {SECRET}"}), redact)

    assert SECRET not in getattr(redacted, field)


def test_secrets_in_the_ids_of_a_session_are_redacted():
    key = SessionKey("claude-code", f"x {SECRET}", f"subagent:{SECRET}")
    summary = make_summary(key, stand_in=key)

    redacted = redact_summary(summary, redact)

    assert SECRET not in repr(redacted)
    assert redacted.key == redacted.stand_in == redact_key(key, redact)


def test_secrets_in_any_text_of_a_value_are_redacted():
    failure = Failure("session", SECRET, SECRET, 1, datetime(2026, 11, 17, tzinfo=UTC))

    redacted = redact_value([failure, {SECRET: (SECRET, 1, None)}], redact)

    assert SECRET not in repr(redacted)
    assert isinstance(redacted[0], Failure)
    assert redacted[0].retry_at == failure.retry_at


@pytest.mark.threat("S4")
@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"a": "\n" + SECRET}),
        json.dumps({"a": SECRET}).replace("ghp_", "\\u0067hp_"),
        json.dumps({SECRET: 1}).replace("_", "\\u005f"),
        json.dumps([["x\\" + SECRET]]),
        f'a file that contains "\\n{SECRET}" in its text',
    ],
)
def test_a_secret_with_json_escapes_is_redacted(text: str):
    redacted = redact(text)

    assert "REDACTED" in redacted
    assert SECRET[4:] not in redacted


@pytest.mark.threat("S4")
@pytest.mark.parametrize("depth", [10, 490, 5000])
def test_a_secret_is_redacted_at_any_nesting_depth(depth: int):
    arguments = '{"a":' * depth + json.dumps("\n" + SECRET) + "}" * depth

    assert SECRET not in redact(arguments)


@pytest.mark.threat("S5")
def test_json_without_a_secret_is_unchanged():
    text = '{"a":  "x\\ny", "b": "\\u0041", "c": [1.50]}'

    assert redact(text) == text


def test_every_text_of_an_entry_is_listed_with_its_field():
    record = structs.replace(
        make_call("Bash", "c1"), metadata={"a": [{"key": "value"}, 1]}
    )

    texts = list(iter_entry_texts(make_placed(record)))

    assert {name for name, _ in texts} >= {"content", "tool_input", "spilled", "path"}
    assert [t for name, t in texts if name == "metadata"] == ["a", "key", "value"]


def test_every_text_of_a_summary_is_listed_with_its_field():
    texts = dict(iter_summary_texts(make_summary(title="a title")))

    assert texts["title"] == "a title"
    assert {"cwd", "project", "description"} < set(texts)
