"""Every id that is printed opens what it stands for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from leslied.cli import leslied
from leslied.model.record import SessionKey, Usage
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)

SHORT = re.compile(r"01a1e1f8[0-9a-f-]*")
HIDDEN = "01a1e1f8-0900-7d00"
"""Smaller than all others: no list of the largest has it, and its folder is another."""
LOST = "01a1e1f8-05aa-7d00"
"""Of this one only a subagent's log is left."""


@pytest.fixture(autouse=True)
def store(tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve sessions whose ids begin with the same eight characters."""
    folder = tmp_path / "data"
    monkeypatch.setenv("LESLIED_DATA_DIR", str(folder))
    with StoreHarness(folder / "store.db", clock) as shelf:
        for number in range(10):
            commit_session(
                shelf, make_key(f"01a1e1f8-0{number}ff-7d00"), "shown", "word " * 99
            )
        commit_session(shelf, make_key(HIDDEN), "hidden", "")
        commit_session(shelf, make_key(LOST, "subagent:5ab"), "hidden", "")
        shelf.store.mark_all_stopped()
    return folder


def commit_session(
    shelf: StoreHarness, key: SessionKey, folder: str, text: str
) -> None:
    name = f"{key.session_id}{key.source}"
    when = {"session": key, "created_at": time_at(-86400 * 30)}
    spent = {"usage": Usage(output_tokens=9), "message_id": name}
    shelf.commit(
        make_event("context", f"e{name}", metadata={"cwd": f"/src/{folder}"}, **when),
        make_prompt("hello", f"p{name}", **when),
        make_record(f"hello {text}", f"r{name}", **spent, **when),
        log=name,
    )


def invoke(*words: str) -> str:
    return CliRunner().invoke(leslied, words, catch_exceptions=False).stdout


@pytest.mark.parametrize(
    "words",
    [
        "list --project shown",
        "search hello project:shown",
        "stats --by session --project shown",
        "prune --keep 0 --project shown",
        "follow --once --project shown",
        "disk",
    ],
)
def test_a_printed_id_opens_one_session(words: str):
    printed = set(SHORT.findall(invoke(*words.split())))
    opened = {
        json.loads(invoke("show", each, "--json"))["data"]["session"]["id"]
        for each in printed
    }

    assert len(opened) == 10
    assert not opened & {HIDDEN, LOST}
