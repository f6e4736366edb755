"""Messages arrive exactly once, whatever dies."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from leslied.hooks import inbox
from tests.support.claude import ClaudeLogBuilder
from tests.support.hooks import SECOND, THREAD, HookedSession


@pytest.fixture
def session(tmp_path: Path) -> HookedSession:
    session = HookedSession(tmp_path)
    session.call_hook("SessionStart", source="startup")
    return session


def make_hook_context_line(text: str) -> dict[str, Any]:
    """The line Claude Code writes of what a hook added."""
    kind = {"type": "hook_additional_context", "content": [text]}
    return ClaudeLogBuilder().line("attachment", attachment=kind)


def advance_past(session: HookedSession, seconds: float) -> None:
    """Messages were touched that long before the next hook, by the files' clock."""
    session.now_ns = time.time_ns() + int(seconds * SECOND)


def test_a_message_goes_with_the_next_prompt_and_no_other(session: HookedSession):
    message_id = session.queue_message("Use <b> & go.")
    said = session.prompt(prompt_id="p1")
    session.write(make_hook_context_line(said))

    assert said.split("\n") == [
        f'<leslie_message id="{message_id}">',
        "Use &lt;b&gt; &amp; go.",
        "</leslie_message>",
    ]
    assert session.prompt(prompt_id="p2") == ""
    assert session.messages() == {message_id: "delivered"}


def test_where_no_log_is_kept_the_answer_is_the_proof(session: HookedSession):
    message_id = session.queue_message("hello")
    session.prompt()

    assert session.messages() == {message_id: "claimed"}
    session.call_hook("Stop")
    assert session.messages() == {message_id: "delivered"}


def test_a_message_that_a_dead_agent_never_wrote_down_comes_again(
    session: HookedSession,
):
    message_id = session.queue_message("hello")
    session.write(ClaudeLogBuilder().prompt("before"))
    session.prompt()
    advance_past(session, 6)

    again = session.prompt()
    session.write(make_hook_context_line(again))
    session.call_hook("Stop")

    assert message_id in again
    assert session.messages() == {message_id: "delivered"}


def test_an_agent_has_time_to_write_a_message_down(session: HookedSession):
    message_id = session.queue_message("hello")
    session.write(ClaudeLogBuilder().prompt("before"))
    session.prompt()
    advance_past(session, 1)

    assert session.prompt() == ""
    assert session.messages() == {message_id: "claimed"}


def test_a_claim_of_another_session_is_judged_by_its_own_log(
    session: HookedSession, tmp_path: Path
):
    message_id = session.queue_message("hello")
    session.write(make_hook_context_line(session.prompt()))
    other = HookedSession(tmp_path, "22222222-2222-4333-8444-555555555555")
    other.write_relations(**{THREAD: {"session_id": other.session_id}})
    advance_past(other, 60)

    assert message_id not in other.prompt()
    assert session.messages() == {message_id: "delivered"}


def test_messages_that_do_not_fit_wait_for_the_next_prompt(session: HookedSession):
    ids = []
    for text in "ab":
        ids.append(session.queue_message(text * 7000))
        session.now_ns += 1

    first = session.prompt()
    session.write(make_hook_context_line(first))
    second = session.prompt()

    assert (ids[0] in first, ids[1] in first) == (True, False)
    assert (ids[0] in second, ids[1] in second) == (False, True)


def test_two_prompts_at_once_share_no_message(session: HookedSession):
    session.queue_message("hello")
    seen = inbox.list_messages(str(session.data), THREAD)
    also = inbox.list_messages(str(session.data), THREAD)

    assert len(inbox.claim(seen, 9000, "s", "p", "0")) == 1
    assert inbox.claim(also, 9000, "t", "q", "0") == []


def test_garbage_in_the_inbox_is_passed_over(session: HookedSession):
    message_id = session.queue_message("hello")
    folder = session.data / "inbox" / THREAD
    for name in ("x", ".y.new", "1_msg", "_msg-1.queued", "a.b.c.d"):
        (folder / name).write_bytes(b"\xff")

    assert message_id in session.prompt()


class CrashingAgentMachine(RuleBasedStateMachine):
    """An agent that may die between any two steps; its log is the judge."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.session = HookedSession(Path(self.folder.name))
        self.session.call_hook("SessionStart", source="startup")
        self.session.write(ClaudeLogBuilder().prompt("first"))
        self.sent: list[str] = []

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule()
    def queue(self) -> None:
        self.session.now_ns += 1
        self.sent.append(self.session.queue_message("hello"))

    @rule(is_written=st.booleans(), later=st.sampled_from([0.0, 6.0]))
    def prompt(self, *, is_written: bool, later: float) -> None:
        said = self.session.prompt()
        if is_written and said:
            self.session.write(make_hook_context_line(said))
        advance_past(self.session, later)

    @rule(name=st.sampled_from(["Stop", "SessionEnd"]))
    def end(self, name: str) -> None:
        self.session.call_hook(name)

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        log = self.session.log.read_text()
        states = self.session.messages()
        for message_id in self.sent:
            assert message_id in states
            assert log.count(message_id) <= 1
            if states[message_id] == "delivered":
                assert message_id in log


TestDying = CrashingAgentMachine.TestCase
