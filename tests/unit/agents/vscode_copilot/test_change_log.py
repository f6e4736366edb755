"""Chats that are restored from changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leslied.agents.vscode_copilot.change_log import restore_chat
from leslied.errors import DecodeError


def restore(*changes: Any) -> Any:
    return restore_chat(b"\n".join(json.dumps(c).encode() for c in changes))


def test_a_field_is_set_and_deleted():
    whole = {"kind": 0, "v": {"a": {"b": 1}}}

    assert restore(whole, {"kind": 1, "k": ["a", "b"], "v": 2}) == {"a": {"b": 2}}
    assert restore(whole, {"kind": 3, "k": ["a", "b"]}) == {"a": {"b": None}}


def test_items_are_added_after_an_index():
    whole = {"kind": 0, "v": {"a": [1, 2, 3]}}

    assert restore(whole, {"kind": 2, "k": ["a"], "v": [4]})["a"] == [1, 2, 3, 4]
    assert restore(whole, {"kind": 2, "k": ["a"], "v": [4], "i": 1})["a"] == [1, 4]
    assert restore(whole, {"kind": 2, "k": ["a"], "i": 0})["a"] == []
    assert restore(whole, {"kind": 2, "k": ["b"], "v": [4]})["b"] == [4]


def test_an_item_of_a_list_is_replaced_or_added():
    whole = {"kind": 0, "v": {"a": [1]}}

    assert restore(whole, {"kind": 1, "k": ["a", 0], "v": 2})["a"] == [2]
    assert restore(whole, {"kind": 1, "k": ["a", 1], "v": 2})["a"] == [1, 2]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"kind": 9, "k": ["a"]},
        {"kind": 1, "k": []},
        {"kind": 1, "k": ["x", "y", 1], "v": 1},
        {"kind": 1, "k": ["a", 5], "v": 1},
        {"kind": 1, "k": ["a", True], "v": 1},
        {"kind": 1, "k": [None], "v": 1},
        {"kind": 2, "k": ["a"], "v": 1, "i": -1},
    ],
)
def test_a_change_that_does_not_fit_is_skipped(change: dict[str, Any]):
    assert restore({"kind": 0, "v": {"a": [1]}}, change) == {"a": [1]}


def test_the_whole_chat_may_be_written_again():
    assert restore({"kind": 0, "v": {"a": 1}}, {"kind": 0, "v": {"a": 2}}) == {"a": 2}


def test_an_older_file_is_the_chat_itself():
    assert restore({"requests": []}) == {"requests": []}


def test_a_last_line_that_is_not_complete_is_skipped():
    data = b'{"kind": 0, "v": {"a": 1}}\n{"kind": 1, "k'

    assert restore_chat(data) == {"a": 1}


def test_a_damaged_first_line_is_rejected():
    with pytest.raises(DecodeError):
        restore_chat(b"{")


def test_a_large_change_is_applied():
    text = "x" * 5_000_000

    assert (
        restore({"kind": 0, "v": {}}, {"kind": 1, "k": ["a"], "v": text})["a"] == text
    )
