"""Sessions in which nobody said anything are hidden, and so are warm-ups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.query import Selection
from leslied.model.record import Record, SessionKey
from leslied.sessions.visibility import WARMUP
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_call,
    make_event,
    make_key,
    make_prompt,
    make_record,
)

SUBAGENT = make_key("s", "subagent:x")
TITLE = make_event("title", "t", content="a title", metadata={"title_kind": "custom"})
COMMAND = make_prompt("/exit", "c", metadata={"origin": "command"})


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def make_subagent(agent_type: str, key: SessionKey = SUBAGENT) -> list[Record]:
    """Return an answer of a subagent, and the link with its type."""
    link = {"agent_type": agent_type}
    return [
        make_record("Understood.", f"{key.source}1", session=key, model="m"),
        make_event("subagent_linked", f"{key.source}2", session=key, metadata=link),
    ]


def is_listed(harness: StoreHarness) -> bool:
    """Return whether the session is listed, whether with or without a limit."""
    with harness.reader() as reader:
        hidden = reader.count_hidden_sessions(Selection())
        for limit in (None, 1):
            selection = Selection(limit=limit, with_hidden=False)
            assert len(reader.select_sessions(selection)) == 1 - hidden
        assert len(reader.select_sessions(Selection())) == 1
    return not hidden


@pytest.mark.parametrize("records", [[TITLE], [COMMAND], [TITLE, COMMAND]])
def test_a_session_without_prompt_and_answer_is_hidden(
    harness: StoreHarness, records: list[Record]
):
    harness.commit(*records)

    assert not is_listed(harness)


@pytest.mark.parametrize(
    "record", [make_prompt("go", "p"), make_record("hi", "r", model="m")]
)
def test_a_session_appears_with_its_first_prompt_or_answer(
    harness: StoreHarness, record: Record
):
    harness.commit(TITLE)
    harness.commit(record)

    assert is_listed(harness)


def test_a_session_with_only_a_call_is_listed(harness: StoreHarness):
    harness.commit(make_call("Bash", "1"))

    assert is_listed(harness)


def test_a_warmup_does_not_make_a_session_appear(harness: StoreHarness):
    harness.commit(COMMAND, *make_subagent(WARMUP))

    assert not is_listed(harness)
    assert harness.session("s", "subagent:x").is_hidden


def test_a_warmup_whose_session_has_no_log_is_hidden(harness: StoreHarness):
    harness.commit(*make_subagent(WARMUP))

    assert not is_listed(harness)


@pytest.mark.parametrize("records", [[], [COMMAND]])
def test_a_session_with_a_working_subagent_is_listed(
    harness: StoreHarness, records: list[Record]
):
    other = make_key("s", "subagent:y")
    harness.commit(*records, *make_subagent(WARMUP), *make_subagent("Explore", other))

    assert is_listed(harness)
