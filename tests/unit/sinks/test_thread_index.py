"""Test the index of threads: its JSON, and the times on its page."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.control_characters import escape_control_characters
from leslied.sinks._thread_index import IndexPageOptions, render_json, render_page

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
)


@given(st.dictionaries(st.text(), VALUES))
def test_json_is_indented_as_pythons_own_encoder_does(value: dict[str, Any]):
    text = json.dumps(value, ensure_ascii=False, indent=2)

    assert render_json(value).decode() == escape_control_characters(text) + "\n"


def test_a_lone_surrogate_is_replaced():
    assert render_json({"title": "a\ud800b"}) == b'{\n  "title": "a?b"\n}\n'


@pytest.mark.parametrize(
    ("started_at", "span"),
    [
        ("2026-11-19T10:00:05+00:00", "10:00"),
        ("2026-11-19T09:58:00+00:00", "09:58–10:00"),
        ("2026-11-18T10:00:00+00:00", "11-18 10:00–10:00"),
        ("2026-10-19T10:00:00+00:00", "10-19 10:00–10:00"),
    ],
)
def test_a_span_has_a_date_if_it_began_on_another_day(started_at: str, span: str):
    thread = {
        "id": "t",
        "title": "Task",
        "agent": "codex",
        "started_at": started_at,
        "ended_at": "2026-11-19T10:00:40+00:00",
        "status": "stopped",
        "prompts": 1,
        "tool_calls": 0,
        "assets": [],
        "progress": None,
    }
    options = IndexPageOptions(total=1, titles={}, zone=UTC)

    page = render_page([thread], options).decode()

    assert f" · {span} · stopped" in page
