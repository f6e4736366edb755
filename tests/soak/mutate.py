"""Change entries of agents' logs in ways that a decoder may not expect."""

from __future__ import annotations

import json
from random import Random
from typing import Any

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63) - 1, 1.5, -0.0),
    *(1e308, "", " ", "\x00", "\n", "\ud800", "\u202e", "x" * 5000, "../../etc"),
    *("2026-02-30T99:99:99Z", "9999-12-31T23:59:59.999999+14:00", "0001-01-01"),
    *("null", "user", "assistant", "tool_use", "tool_result", "text", "thinking"),
    *([], {}, [[]], [None], [{}], {"": None}, {"type": None}, {"type": "text"}),
    *([{"type": "text", "text": None}], [{"type": "tool_use", "input": 1}]),
)
"""Values of every type, at the limits of what programs expect."""
TOKENS = (
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\\u", b"\\ud800", b"\n"),
    *(b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"null", b"true", b"1e999", b"-"),
    *(b"NaN", b"Infinity", b"[" * 2000, b'{"a":' * 1000, b"9" * 5000),
)
MAX_CHANGES = 4
STRUCTURAL_SHARE = 0.75


def mutate(rng: Random, data: bytes, other: bytes) -> bytes:
    """Return `data` with a few changes; some take a part of `other`."""
    if rng.random() < STRUCTURAL_SHARE:
        try:
            return _mutate_json(rng, json.loads(data), json.loads(other))
        except (ValueError, RecursionError):
            pass
    for _ in range(rng.randrange(1, MAX_CHANGES + 1)):
        data = _mutate_bytes(rng, data, other)
    return data


def _mutate_json(rng: Random, value: Any, other: Any) -> bytes:
    for _ in range(rng.randrange(1, MAX_CHANGES + 1)):
        value = _change_value(rng, value, other)
    return json.dumps(value).encode()


def _change_value(rng: Random, value: Any, other: Any) -> Any:
    """Return the value with one change at a random place in it."""
    parent, key = _pick_place(rng, value)
    if parent is None:
        return _make_value(rng, other)
    match rng.randrange(5):
        case 0 if isinstance(parent, dict):
            del parent[key]
        case 1 if isinstance(parent, list):
            parent.insert(key, parent[key])
        case 2 if isinstance(parent, dict):
            new_key = rng.choice([*parent, "type", "id", "", "x"])
            parent[new_key] = parent.pop(key)
        case _:
            parent[key] = _make_value(rng, other)
    return value


def _pick_place(rng: Random, value: Any) -> tuple[Any, Any]:
    """Return a container inside the value and one of its keys; Nones if it has none."""
    parent, key = None, None
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        parent, key = value, rng.choice(keys)
        value = parent[key]
        if rng.random() < 0.3:
            break
    return parent, key


def _make_value(rng: Random, other: Any) -> Any:
    """Return a new value, or a part of another entry."""
    if rng.random() < 0.7:
        # A copy, because the value may be changed later.
        return json.loads(json.dumps(rng.choice(VALUES)))
    parent, key = _pick_place(rng, other)
    return None if parent is None else json.loads(json.dumps(parent[key]))


def _mutate_bytes(rng: Random, data: bytes, other: bytes) -> bytes:
    start = rng.randrange(len(data) + 1)
    end = min(start + rng.choice((1, 1, 4, 64, len(data))), len(data))
    match rng.randrange(5):
        case 0:
            return data[:start]
        case 1:
            return data[:start] + data[end:]
        case 2:
            return data[:start] + rng.choice(TOKENS) + data[start:]
        case 3:
            return data[:start] + rng.randbytes(rng.randrange(1, 5)) + data[end:]
        case _:
            return data[:start] + other[rng.randrange(len(other) + 1) :]
