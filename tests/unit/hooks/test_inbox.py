"""Messages are delivered exactly once, even if agents crash."""

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
from tests.support.hooks import NS_PER_SECOND, THREAD, HookedSession


@pytest.fixture
def session(tmp_path: Path) -> HookedSession:
    session = HookedSession(tmp_path)
    session.call_hook("SessionStart", source="startup")
    return session


def make_injection_line(text: str) -> dict[str, Any]:
    """Return the line that Claude Code logs for injected text."""
    attachment = {"type": "hook_additional_context", "content": [text]}
    return ClaudeLogBuilder().line("attachment", attachment=attachment)


def set_clock_ahead(session: HookedSession, seconds: float) -> None:
    """Set the session's clock this long after the real time, which the files have."""
    session.now_ns = time.time_ns() + int(seconds * NS_PER_SECOND)


def test_a_message_is_injected_into_the_next_prompt_only(session: HookedSession):
    message_id = session.queue_message("Use <b> & go.")
    text = session.prompt(prompt_id="p1")
    session.write(make_injection_line(text))

    assert text.split("\n") == [
        f'<leslie_message id="{message_id}" from="leslied inject">',
        "> Use &lt;b&gt; &amp; go.",
        "</leslie_message>",
    ]
    assert session.prompt(prompt_id="p2") == ""
    assert session.messages() == {message_id: "delivered"}


def test_without_a_log_the_end_of_the_turn_confirms_a_delivery(session: HookedSession):
    message_id = session.queue_message("hello")
    session.prompt()

    assert session.messages() == {message_id: "claimed"}
    session.call_hook("Stop")
    assert session.messages() == {message_id: "delivered"}


def test_a_message_that_a_crashed_agent_did_not_log_is_injected_again(
    session: HookedSession,
):
    message_id = session.queue_message("hello")
    session.write(ClaudeLogBuilder().prompt("before"))
    session.prompt()
    set_clock_ahead(session, 6)

    again = session.prompt()
    session.write(make_injection_line(again))
    session.call_hook("Stop")

    assert message_id in again
    assert session.messages() == {message_id: "delivered"}


def test_a_message_stays_claimed_while_the_agent_has_time_to_log_it(
    session: HookedSession,
):
    message_id = session.queue_message("hello")
    session.write(ClaudeLogBuilder().prompt("before"))
    session.prompt()
    set_clock_ahead(session, 1)

    assert session.prompt() == ""
    assert session.messages() == {message_id: "claimed"}


def test_the_log_of_the_claiming_session_confirms_a_delivery(
    session: HookedSession, tmp_path: Path
):
    message_id = session.queue_message("hello")
    session.write(make_injection_line(session.prompt()))
    second_session = HookedSession(tmp_path, "22222222-2222-4333-8444-555555555555")
    second_session.write_relations(
        **{THREAD: {"session_id": second_session.session_id}}
    )
    set_clock_ahead(second_session, 60)

    assert message_id not in second_session.prompt()
    assert session.messages() == {message_id: "delivered"}


def test_messages_that_do_not_fit_wait_for_the_next_prompt(session: HookedSession):
    ids = []
    for letter in "ab":
        ids.append(session.queue_message(letter * 7000))
        session.now_ns += 1

    first = session.prompt()
    session.write(make_injection_line(first))
    second = session.prompt()

    assert (ids[0] in first, ids[1] in first) == (True, False)
    assert (ids[0] in second, ids[1] in second) == (False, True)


def test_two_simultaneous_prompts_do_not_claim_the_same_message(session: HookedSession):
    session.queue_message("hello")
    first = inbox.list_messages(str(session.data), THREAD)
    second = inbox.list_messages(str(session.data), THREAD)

    assert len(inbox.claim(first, 9000, "s", "p", "0")) == 1
    assert inbox.claim(second, 9000, "t", "q", "0") == []


def test_invalid_files_in_the_inbox_are_ignored(session: HookedSession):
    message_id = session.queue_message("hello")
    folder = session.data / "inbox" / THREAD
    for name in ("x", ".y.new", "1_msg", "_msg-1.queued", "a.b.c.d"):
        (folder / name).write_bytes(b"\xff")

    assert message_id in session.prompt()


class CrashingAgentMachine(RuleBasedStateMachine):
    """An agent that can crash between any two steps; its log decides on delivery."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.session = HookedSession(Path(self.folder.name))
        self.session.call_hook("SessionStart", source="startup")
        self.session.write(ClaudeLogBuilder().prompt("first"))
        self.sent_ids: list[str] = []

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule()
    def queue(self) -> None:
        self.session.now_ns += 1
        self.sent_ids.append(self.session.queue_message("hello"))

    @rule(is_logged=st.booleans(), delay_seconds=st.sampled_from([0.0, 6.0]))
    def prompt(self, *, is_logged: bool, delay_seconds: float) -> None:
        text = self.session.prompt()
        if is_logged and text:
            self.session.write(make_injection_line(text))
        set_clock_ahead(self.session, delay_seconds)

    @rule(name=st.sampled_from(["Stop", "SessionEnd"]))
    def end(self, name: str) -> None:
        self.session.call_hook(name)

    @invariant()
    def no_message_is_lost_or_duplicated(self) -> None:
        log = self.session.log.read_text()
        states = self.session.messages()
        for message_id in self.sent_ids:
            assert message_id in states
            assert log.count(message_id) <= 1
            if states[message_id] == "delivered":
                assert message_id in log


TestCrashingAgent = CrashingAgentMachine.TestCase
