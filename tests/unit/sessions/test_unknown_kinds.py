"""Names of kinds that no decoder knows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.sessions.unknown_kinds import (
    MAX_KIND_CHARACTERS,
    UNNAMED_KIND,
    find_kind,
    find_version,
)


@pytest.mark.parametrize(
    ("head", "metadata", "kind"),
    [
        ("{}", {"line_type": "event_msg/turned"}, "event_msg/turned"),
        ('{"type":"hologram"}', {"part_type": ""}, "hologram"),
        ('{"kind":"dream","a":1}', {}, "dream"),
        ('{"$set":{"type":"x"}}', {}, "$set"),
        ('{"a":1,"b":2}', {"note": "tool_calls"}, UNNAMED_KIND),
        ('{"id": "p", "type": "te', {}, UNNAMED_KIND),
        ('{"type": "text", "text": "torn', {}, "text"),
        ("[broken", {}, UNNAMED_KIND),
        ("[" * 5000, {}, UNNAMED_KIND),
        ('{"type": 7}', {"line_type": 7}, "type"),
        ("", {}, UNNAMED_KIND),
    ],
)
def test_the_kind_is_what_the_entry_calls_itself(
    head: str, metadata: dict[str, Any], kind: str
):
    assert find_kind(head, metadata) == kind


def test_a_hostile_kind_is_shortened_and_cannot_control_a_terminal():
    kind = find_kind("{}", {"line_type": "\x1b[31m\n" + "x" * 500})

    assert len(kind) == MAX_KIND_CHARACTERS
    assert "\x1b" not in kind
    assert "\n" not in kind


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_any_text_has_a_kind_of_limited_length(head: str, metadata: dict[str, str]):
    assert 0 < len(find_kind(head, metadata)) <= MAX_KIND_CHARACTERS


@pytest.mark.parametrize(
    ("head", "version"),
    [
        ('{"type":"x","version":"2.1.9"}', "2.1.9"),
        ('{"version":"v0.3.0-beta+1"}', "v0.3.0-beta+1"),
        ('{"version":"not a version"}', ""),
        ('{"version":3}', ""),
        ("", ""),
    ],
)
def test_the_version_is_what_the_entry_states(head: str, version: str):
    assert find_version(head) == version
