"""Answers and notices in Aider's chat history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leslied.agents.aider.decode import decode_history
from leslied.model.record import Record, Usage
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

HEADER = "# aider chat started at 2026-11-17 10:00:00\n\n"


def decode(text: str, folder: str = "/home/dev/app") -> list[Record]:
    source = SourceRef(
        agent="aider",
        path=Path(folder, ".aider.chat.history.md"),
        root=Path(folder),
        shape=Shape.DOCUMENT,
        stamp=FileStamp(0, 0, 0, 0, 0),
    )
    entry = RawEntry(source, 0, (HEADER + text).encode())
    return [r for r in decode_history(entry).records if r.type != "system_event"]


@pytest.mark.parametrize(
    ("report", "usage"),
    [
        ("Tokens: 781 sent, 62 received.", Usage(781, 62)),
        ("Tokens: 2.5k sent, 12k received. Cost: $1.", Usage(2500, 12_000)),
        ("Tokens: 3k sent, 1k cache hit, 5 received.", Usage(2000, 5, 1000)),
        ("Tokens: 1 sent, 2k cache write, 5 received.", Usage(0, 5, 0, 2000)),
        ("Tokens: many sent, 5 received.", Usage(0, 5)),
    ],
)
def test_tokens_are_parsed(report: str, usage: Usage):
    (record,) = decode(f"> {report}  \n")

    assert record.usage == usage


def test_a_report_without_tokens_is_no_usage():
    assert decode("> Tokens: 0 sent, 0 received.  \n") == []


def test_an_edit_of_another_file_is_not_part_of_a_call():
    answer = "b.py\n```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n"
    _, call, _ = decode(f"\n{answer}\n> Applied edit to a.py  \n")

    assert json.loads(call.tool_input) == {"path": "a.py"}


def test_edits_without_an_end_are_not_part_of_a_call():
    answer = "a.py\n```\n<<<<<<< SEARCH\n" * 5000

    _, call, _ = decode(f"\n{answer}\n> Applied edit to a.py  \n")
    assert json.loads(call.tool_input) == {"path": "a.py"}


def test_a_session_keeps_its_id_when_the_project_is_moved():
    first, second = (
        decode("#### Go.  \n", folder)[0].session
        for folder in ("/home/dev/app", "/srv/app")
    )

    assert first == second
