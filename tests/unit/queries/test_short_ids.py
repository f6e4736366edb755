"""Tests that every printed short id is unique."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from leslied.cli import leslied
from leslied.model.record import SessionKey, Usage
from leslied.queries.short_ids import shorten_ids
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)

SHORT_ID = re.compile(r"01a1e1f8[0-9a-f-]*")
HIDDEN = "01a1e1f8-0900-7d00"
"""Session in another folder, and too small for the list of the largest sessions."""
ORPHAN = "01a1e1f8-05aa-7d00"
"""Session without a log of its own; only the log of its subagent exists."""


@pytest.fixture(autouse=True)
def store(tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create twelve sessions whose ids share the first eight characters."""
    folder = tmp_path / "data"
    monkeypatch.setenv("LESLIED_DATA_DIR", str(folder))
    with StoreHarness(folder / "store.db", clock) as harness:
        for number in range(10):
            commit_session(
                harness, make_key(f"01a1e1f8-0{number}ff-7d00"), "shown", "word " * 99
            )
        commit_session(harness, make_key(HIDDEN), "hidden", "")
        commit_session(harness, make_key(ORPHAN, "subagent:5ab"), "hidden", "")
        harness.store.mark_all_stopped()
    return folder


def commit_session(
    harness: StoreHarness, key: SessionKey, folder: str, text: str
) -> None:
    name = f"{key.session_id}{key.source}"
    common = {"session": key, "created_at": time_at(-86400 * 30)}
    usage = {"usage": Usage(output_tokens=9), "message_id": name}
    harness.commit(
        make_event("context", f"e{name}", metadata={"cwd": f"/src/{folder}"}, **common),
        make_prompt("hello", f"p{name}", **common),
        make_record(f"hello {text}", f"r{name}", **usage, **common),
        log=name,
    )


def invoke(*args: str) -> str:
    return CliRunner().invoke(leslied, args, catch_exceptions=False).stdout


@pytest.mark.parametrize(
    "command",
    [
        "list --project shown",
        "search hello project:shown",
        "stats --by session --project shown",
        "prune --keep 0 --project shown",
        "follow --once --project shown",
        "disk",
    ],
)
def test_show_accepts_every_printed_id(command: str):
    short_ids = set(SHORT_ID.findall(invoke(*command.split())))
    session_ids = {
        json.loads(invoke("show", short_id, "--json"))["data"]["session"]["id"]
        for short_id in short_ids
    }

    assert len(session_ids) == 10
    assert not session_ids & {HIDDEN, ORPHAN}


def test_an_id_is_shortened_to_a_unique_prefix():
    ids = ["01a1e1f8-e3b4-7d00", "01a1e1f8-dc68-7391", "ses_short", "b632662f-2db8"]

    assert shorten_ids(ids, []) == {
        "01a1e1f8-e3b4-7d00": "01a1e1f8-e",
        "01a1e1f8-dc68-7391": "01a1e1f8-d",
        "ses_short": "ses_shor",
        "b632662f-2db8": "b632662f",
    }


def test_an_id_that_is_a_prefix_of_another_is_not_cut():
    assert shorten_ids(["abcdefgh", "abcdefghij"], []) == {
        "abcdefgh": "abcdefgh",
        "abcdefghij": "abcdefghi",
    }


def test_a_short_id_is_also_unique_among_ids_that_are_not_shown():
    assert shorten_ids(["01a1e1f8-e3b4"], ["01a1e1f8-e111"]) == {
        "01a1e1f8-e3b4": "01a1e1f8-e3",
    }


def test_an_empty_list_of_ids_gives_no_short_ids():
    assert shorten_ids([], []) == {}
