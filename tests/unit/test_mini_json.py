"""The small JSON module agrees with the standard one."""

from __future__ import annotations

import json

import pytest

from leslied.mini_json import dumps, loads


@pytest.mark.fault("A11")
@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2.5, null, true, "é\\u00e9\\ud83d\\ude00"]}',
        " {} ",
        "NaN",
        '{"a": 1, "a": 2}',
    ],
)
def test_loads_agrees_with_the_json_module(text: str):
    assert repr(loads(text.encode())) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["", "{", "{} x", '{"a":}', "nope", '{"a": "\n"}'])
def test_loads_raises_value_error_for_invalid_json(text: str):
    with pytest.raises(ValueError):  # noqa: PT011 - any subclass
        loads(text.encode())


def test_the_json_module_reads_what_dumps_writes():
    value = {"a": 'x"\n\\é\0', "b": True, "c": {"d": ""}}

    assert json.loads(dumps(value)) == value


def test_a_byte_order_mark_is_ignored():
    assert loads(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
