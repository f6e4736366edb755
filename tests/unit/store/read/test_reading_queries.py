"""Queries for reading one session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leslied.model.record import SessionKey
from leslied.store import StoreReader
from tests.support.claude import (
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)

KEY = SessionKey("claude-code", SESSION)


@pytest.fixture
def reader(claude: ClaudeHome) -> Iterator[StoreReader]:
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("\n\n  first " + "x" * 5000),
        builder.call("Bash", {"command": "ls"}, "c1"),
        builder.result("c1", "a long output"),
        builder.prompt("second"),
        builder.answer("done"),
    )
    claude.sync()
    with StoreReader(claude.store_path) as reader:
        yield reader


def test_light_copies_have_the_beginning_of_texts_and_no_outputs(reader: StoreReader):
    _, prompt, call, result, *_ = reader.reading.list_heads(KEY)

    assert prompt.record.content.startswith("first xxx")
    assert len(prompt.record.content) == 2000
    assert (call.record.tool_name, call.record.tool_input) == ("Bash", "")
    assert (result.record.tool_call_id, result.record.content) == ("c1", "")


def test_light_copies_can_start_and_end_at_a_unit(reader: StoreReader):
    from_second = reader.reading.list_heads(KEY, 2)
    only_first = reader.reading.list_heads(KEY, 1, 1)

    assert [p.record.content for p in from_second] == ["second", "done"]
    assert {p.unit for p in only_first} == {1}


def test_entries_are_loaded_in_full_and_in_order(reader: StoreReader):
    heads = reader.reading.list_heads(KEY)
    orders = [heads[3].read_order, heads[2].read_order]

    call, result = reader.reading.list_entries(orders)

    assert "ls" in call.record.tool_input
    assert result.record.content == "a long output"


def test_an_entry_is_found_in_one_of_the_streams(reader: StoreReader):
    head = reader.reading.list_heads(KEY)[3]
    other = SessionKey("claude-code", "other")

    found = reader.reading.find_entry([other, KEY], head.entry_id)

    assert found
    assert found.record.content == "a long output"
    assert reader.reading.find_entry([other], head.entry_id) is None


@pytest.mark.parametrize("entry_id", ["", "zz", "abc", "é" * 32, "0" * 32])
def test_an_invalid_or_unknown_id_finds_nothing(reader: StoreReader, entry_id: str):
    assert reader.reading.find_entry([KEY], entry_id) is None


def test_only_entries_of_the_newest_generation_are_in_the_log(
    reader: StoreReader, claude: ClaudeHome
):
    claude.log().write_bytes(
        encode_json_lines(ClaudeLogBuilder("x").prompt("rewritten"))
    )
    claude.sync()

    heads = reader.reading.list_heads(KEY)

    positions = [reader.reading.find_raw_position(head) for head in heads]
    assert [position.is_in_log for position in positions] == [
        head.generation == 2 for head in heads
    ]
    assert {position.is_in_log for position in positions} == {True, False}
