"""Parser for JSON with comments that keeps the position of every value.

With positions, a caller can edit one value and leave all other bytes unchanged.
Comments and trailing commas are accepted, because agents accept them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_MAX_DEPTH = 100


@dataclass(slots=True)
class JsoncNode:
    """One value and its position in the text.

    `text[start:end]` is the value or, for a member of an object, the key and the value.
    """

    start: int
    end: int
    value: Any = None
    """The decoded scalar; None for objects and lists."""
    kind: str = ""
    """`{` for an object, `[` for a list, empty for a scalar."""
    children: list[JsoncNode] = field(default_factory=list)
    key: str = ""
    value_start: int = 0
    """Position of the value itself, after the key if there is one."""

    def find(self, key: str) -> JsoncNode | None:
        """Return the last member with this key, or None."""
        members = [child for child in self.children if child.key == key]
        return members[-1] if members and self.kind == "{" else None


def parse_jsonc(text: str) -> JsoncNode:
    """Parse the whole text; raise a ValueError that names the line of the error."""
    root = _JsoncParser(text).read_value(skip_space(text, 0), 0)
    if skip_space(text, root.end) != len(text):
        raise ValueError(_format_line(text, root.end))
    return root


@dataclass(frozen=True, slots=True)
class _JsoncParser:
    """Recursive parser; every method reads what starts at the position `at`."""

    text: str

    def read_value(self, at: int, depth: int) -> JsoncNode:
        """Return the value at the position, inside of `depth` objects and lists."""
        first_character = self.text[at : at + 1]
        if depth > _MAX_DEPTH:
            raise ValueError(_format_line(self.text, at))
        if first_character in ("{", "["):
            return self._read_container(at, first_character, depth + 1)
        pattern = _STRING if first_character == '"' else _SCALAR
        match = pattern.match(self.text, at)
        if not match:
            raise ValueError(_format_line(self.text, at))
        return JsoncNode(at, match.end(), value=json.loads(match[0]), value_start=at)

    def _read_container(self, at: int, kind: str, depth: int) -> JsoncNode:
        """Return the object or list at the position, with its children."""
        node = JsoncNode(at, at, kind=kind, value_start=at)
        closing = "}" if kind == "{" else "]"
        at = skip_space(self.text, at + 1)
        while self.text[at : at + 1] != closing:
            read_child = self._read_member if kind == "{" else self.read_value
            child = read_child(at, depth)
            node.children.append(child)
            at = skip_space(self.text, child.end)
            if self.text[at : at + 1] == ",":
                at = skip_space(self.text, at + 1)
            elif self.text[at : at + 1] != closing:
                raise ValueError(_format_line(self.text, at))
        node.end = at + 1
        return node

    def _read_member(self, at: int, depth: int) -> JsoncNode:
        """Return the value of the member at the position, with its key."""
        key = _STRING.match(self.text, at)
        colon = skip_space(self.text, key.end()) if key else at
        if not key or self.text[colon : colon + 1] != ":":
            raise ValueError(_format_line(self.text, at))
        node = self.read_value(skip_space(self.text, colon + 1), depth)
        node.start, node.key = at, json.loads(key[0])
        return node


def skip_space(text: str, at: int) -> int:
    """Return the position of the next character outside white space and comments."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _format_line(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}"
