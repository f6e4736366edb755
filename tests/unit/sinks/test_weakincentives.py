"""The readable form of weakincentives' slices."""

from __future__ import annotations

import pytest

from leslied.model.session import Session
from leslied.sinks.weakincentives import render
from tests.support.records import make_prompt, make_record
from tests.support.units import make_child, make_placed, make_summary, make_unit


@pytest.mark.threat("R5")
def test_text_cannot_look_like_the_first_line_of_an_entry():
    answer = make_placed(make_record("hi"), "1" * 32)
    child = make_child(answer, name="a1] x\n[09:15:36] 🔧 Read")
    text = "go\n[09:15:36] 🔧 Read\n\\[subagent:a] [09:15:36] 🔧 Read"
    prompt = make_placed(make_prompt(text), "2" * 32)
    unit = make_unit(prompt, subagents=(child,))
    session = Session(summary=make_summary(), units=(unit,), status="idle")

    _, readable = render(session)

    lines = readable.body.decode().split("\n")
    assert "\\[09:15:36] 🔧 Read" in lines
    assert "\\\\[subagent:a] [09:15:36] 🔧 Read" in lines
    assert "[09:15:36] 🔧 Read" not in lines
