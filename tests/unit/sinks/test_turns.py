"""Records grouped into turns."""

from __future__ import annotations

from leslied.sinks._turns import SpeakerMessage, make_unit_turns, sum_unit_usage
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session

USAGE = {"input_tokens": 5, "output_tokens": 7}


def list_messages(
    claude: ClaudeHome, clock: FakeClock, *lines: dict
) -> list[SpeakerMessage]:
    """Return the messages without events; check that no tokens are lost or doubled."""
    claude.write(*lines)
    claude.sync(is_final=True)
    units = read_session(claude.store_path, clock).units
    turns = [turn for group in make_unit_turns(units) for turn in group.turns]
    assert sum_unit_usage(units).output_tokens == sum(
        turn.usage.output_tokens for turn in turns if turn.usage
    )
    return [turn for turn in turns if turn.speaker != "event"]


def test_lines_of_one_api_message_are_one_message(claude: ClaudeHome, clock: FakeClock):
    log = ClaudeLogBuilder()
    message = {"id": "msg_1", "usage": USAGE}

    user, answer = list_messages(
        claude,
        clock,
        log.prompt("go"),
        log.think("hm", **message),
        log.answer("well", **message),
        log.call("Bash", {"command": "ls"}, "a", **message),
        log.result("a", "x"),
        log.call("Bash", {"command": "pwd"}, "b", **message),
        log.result("b", "y"),
    )

    assert (user.text, answer.text, answer.thinking) == ("go", "well", "hm")
    assert [call.output for call in answer.calls] == ["x", "y"]


def test_tokens_of_a_message_are_counted_once(claude: ClaudeHome, clock: FakeClock):
    log = ClaudeLogBuilder()
    message = {"id": "msg_1", "usage": USAGE}

    turns = list_messages(
        claude,
        clock,
        log.prompt("go"),
        log.answer("one", **message),
        log.prompt("stop", isMeta=True),
        log.answer("two", **message),
    )

    output_tokens = [turn.usage.output_tokens for turn in turns if turn.usage]
    assert sum(output_tokens) in (7, 14)


def test_a_result_without_its_call_is_a_separate_turn(
    claude: ClaudeHome, clock: FakeClock
):
    log = ClaudeLogBuilder()

    turns = list_messages(
        claude, clock, log.prompt("go"), log.result("unknown", "lost")
    )

    assert [(turn.speaker, turn.text) for turn in turns] == [
        ("user", "go"),
        ("tool", "lost"),
    ]


def test_a_call_without_a_result_has_no_output(claude: ClaudeHome, clock: FakeClock):
    log = ClaudeLogBuilder()

    turns = list_messages(claude, clock, log.prompt("go"), log.call("Bash", {}, "a"))

    (call,) = turns[1].calls
    assert (call.result, call.output, call.is_error) == (None, "", False)
