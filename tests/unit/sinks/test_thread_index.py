"""Test the JSON of thread indexes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from leslied.control_characters import escape_control_characters
from leslied.sinks._thread_index import render_json

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
