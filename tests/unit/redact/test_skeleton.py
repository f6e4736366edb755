"""Only the structure of a value remains."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.redact.skeleton import (
    MAX_ITEMS,
    Skeleton,
    list_kinds,
    replace_damaged,
)

SECRET = "My private words"
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def replace(value: Any) -> Any:
    return Skeleton().replace(value)


@pytest.mark.parametrize(
    ("value", "replaced"),
    [
        ({"type": "user", "text": SECRET}, {"type": "user", "text": "<text of 16 …"}),
        ({"stop_reason": "end_turn"}, {"stop_reason": "end_turn"}),
        ({"version": "2.1.325"}, {"version": "2.1.325"}),
        ({"toolVersion": 3}, {"toolVersion": 1}),
        ({"a": None, "b": True, "c": ""}, {"a": None, "b": True, "c": ""}),
        ({"n": 17, "m": -4, "z": 0}, {"n": 1, "m": -1, "z": 0}),
        ({"f": 2.75, "z": 0.0}, {"f": 1.5, "z": 0.0}),
        ({"ts": 1_764_000_000}, {"ts": 946_684_800}),
        ({"ts": 1_764_000_000_123}, {"ts": 946_684_800_000}),
        (
            {"timestamp": "2026-11-16T10:00:03.123Z"},
            {"timestamp": "2000-01-01T00:00:00.000Z"},
        ),
        ({"at": "2026-11-16 10:00:03+0200"}, {"at": "2000-01-01 00:00:00+00:00"}),
        ({"cwd": "/home/jo/app"}, {"cwd": "/folder/path-1"}),
    ],
)
def test_kinds_and_types_are_kept_and_the_rest_is_replaced(
    value: dict[str, Any], replaced: dict[str, Any]
):
    result = replace(value)

    expected = {
        key: "<text of 16 characters>" if str(item).endswith("…") else item
        for key, item in replaced.items()
    }
    assert result == expected


def test_equal_ids_stay_equal():
    first, second = "toolu_01Abc", "11111111-2222-4333-8444-555555555555"
    skeleton = Skeleton()

    one = skeleton.replace({"id": first, "uuid": second, "parentUuid": None})
    two = skeleton.replace({"tool_use_id": first, "parentUuid": second})

    assert one["id"] == two["tool_use_id"] == "id-1"
    assert one["uuid"] == two["parentUuid"] == "00000000-0000-4000-8000-000000000002"


def test_json_in_a_text_is_replaced_inside():
    arguments = json.dumps({"command": SECRET, "type": "shell"})

    replaced = replace({"arguments": arguments})

    assert json.loads(replaced["arguments"]) == {
        "command": "<text of 16 characters>",
        "type": "shell",
    }


@pytest.mark.parametrize(
    "value",
    [
        {"/home/jo/secret.txt": {"size": 1}},
        {"jo@example.org": 1, "type": "x"},
        {"alice": {"age": 1}, "bob": {"age": 2}},
        {"a" * 50: 1},
        {"call_123456789": 1},
    ],
)
def test_the_keys_of_a_map_are_replaced(value: dict[str, Any]):
    assert all(key.startswith("key-") for key in replace(value))


@pytest.mark.parametrize(
    "kind",
    [SECRET, "sk-ant-1234567890", "x" * 60, "a@b.c", "\x1b[31m", "4111111111111111"],
)
def test_a_type_that_is_not_a_name_is_replaced(kind: str):
    assert kind not in str(replace({"type": kind}))


def test_a_list_keeps_the_first_item_of_each_kind():
    items = [{"type": f"t{n % 3}", "n": n} for n in range(50)] + ["a", "b"]

    replaced = replace(items)

    assert [item["type"] for item in replaced[:3]] == ["t0", "t1", "t2"]
    assert len(replaced) == 4
    assert len(replace([{"type": f"t{n}"} for n in range(50)])) == MAX_ITEMS


@given(JSON_VALUES)
def test_any_value_becomes_a_value_of_the_same_type(value: Any):
    replaced = replace(value)

    assert type(replaced) is type(value)
    json.dumps(replaced)


@given(st.text(alphabet="äöüxyz ", min_size=8), st.sampled_from(["text", "name", "q"]))
def test_no_text_survives(text: str, key: str):
    value = {key: [text, {"deep": {"x": text}}], "arguments": json.dumps({"a": text})}

    replaced = json.dumps(replace(value), ensure_ascii=False)

    assert text not in replaced


def test_a_value_nested_too_deeply_is_cut():
    value: Any = "x"
    for _ in range(500):
        value = [value]

    assert "nested more deeply" in json.dumps(replace(value))


def test_kinds_have_positions():
    value = {"type": "user", "message": {"content": [{"type": "text", "text": "hi"}]}}

    assert list_kinds(replace(value)) == {
        ".type=user",
        ".message.content[].type=text",
    }


def test_damaged_bytes_keep_only_their_punctuation():
    assert replace_damaged(b'{"Key": "Wort\xff", 42') == '{"aaa": "aaaa?", 00'
