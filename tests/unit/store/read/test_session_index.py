"""All sessions at once, beside the summaries that other lists show."""

from __future__ import annotations

from leslied.model.session import SessionSummary
from leslied.model.times import to_us
from leslied.queries.sessions import list_sessions
from leslied.sessions.status import compute_status, compute_stop_cutoff_us
from leslied.store import StoreReader
from leslied.store.read.session_index import SessionIndexRow
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.golden import FIXTURES, copy_home
from tests.support.pages import write_sample_session


def make_row(session: SessionSummary, claude: ClaudeHome) -> SessionIndexRow:
    """Return the row that a summary corresponds to."""
    return SessionIndexRow(
        session.key.agent,
        session.key.session_id,
        session.title,
        session.project,
        session.model,
        compute_status(session, claude.clock.now()),
        to_us(session.started_at) if session.started_at else None,
        to_us(session.ended_at) if session.ended_at else None,
        session.current_units,
        session.tool_calls,
        session.usage.total_tokens,
        session.subagents,
        session.is_hidden,
        session.waiting_for,
    )


def check_rows(claude: ClaudeHome) -> list[SessionIndexRow]:
    """Check the rows against the summaries of the same sessions; return them."""
    cutoff_us = compute_stop_cutoff_us(claude.clock.now())
    with StoreReader(claude.store_path) as reader:
        rows = reader.session_index.list_sessions(cutoff_us)
        sessions = list_sessions(reader)

    assert rows == [make_row(session, claude) for session in sessions]
    return rows


def test_a_row_has_the_values_of_the_summary(claude: ClaudeHome):
    write_sample_session(claude)
    claude.sync()

    (row,) = check_rows(claude)

    assert row.subagents == 1
    assert row.tokens


def test_hidden_sessions_and_warmups_are_marked(claude: ClaudeHome):
    for case in ("phantom", "warmup"):
        copy_home(FIXTURES / "claude_code" / case, claude.home)
    claude.sync()

    rows = check_rows(claude)

    assert {row.is_hidden for row in rows} == {True, False}


def test_the_last_active_session_is_the_first(claude: ClaudeHome):
    for number in "123":
        session_id = f"{number}1111111-2222-4333-8444-555555555555"
        builder = ClaudeLogBuilder(session_id)
        lines = [builder.prompt(f"prompt {n}") for n in range(int(number))]
        claude.write(*lines, name=f"-app/{session_id}.jsonl")
    claude.sync()

    assert [row.units for row in check_rows(claude)] == [3, 2, 1]


def test_a_session_whose_log_is_missing_has_no_calls_of_its_own(claude: ClaudeHome):
    write_sample_session(claude)
    claude.log().unlink()
    claude.sync()

    (row,) = check_rows(claude)

    assert row.tool_calls == 0
