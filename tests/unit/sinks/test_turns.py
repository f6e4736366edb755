"""Records put together as a conversation."""

from __future__ import annotations

from leslied.sinks._turns import Turn, make_unit_turns, sum_unit_usage
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session

USAGE = {"input_tokens": 5, "output_tokens": 7}


def turns_of(claude: ClaudeHome, clock: FakeClock, *lines: dict) -> list[Turn]:
    claude.write(*lines)
    claude.sync(is_final=True)
    units = read_session(claude.store_path, clock).units
    turns = [turn for chapter in make_unit_turns(units) for turn in chapter.turns]
    assert sum_unit_usage(units).output_tokens == sum(
        turn.usage.output_tokens for turn in turns if turn.usage
    )
    return [turn for turn in turns if turn.speaker != "event"]


def test_lines_of_one_message_are_one_turn(claude: ClaudeHome, clock: FakeClock):
    talk = ClaudeLogBuilder()
    same = {"id": "msg_1", "usage": USAGE}

    user, answer = turns_of(
        claude,
        clock,
        talk.prompt("go"),
        talk.think("hm", **same),
        talk.answer("well", **same),
        talk.call("Bash", {"command": "ls"}, "a", **same),
        talk.result("a", "x"),
        talk.call("Bash", {"command": "pwd"}, "b", **same),
        talk.result("b", "y"),
    )

    assert (user.text, answer.text, answer.thinking) == ("go", "well", "hm")
    assert [call.output for call in answer.calls] == ["x", "y"]


def test_tokens_of_a_message_count_once(claude: ClaudeHome, clock: FakeClock):
    talk = ClaudeLogBuilder()
    same = {"id": "msg_1", "usage": USAGE}

    turns = turns_of(
        claude,
        clock,
        talk.prompt("go"),
        talk.answer("one", **same),
        talk.prompt("stop", isMeta=True),
        talk.answer("two", **same),
    )

    told = [turn.usage.output_tokens for turn in turns if turn.usage]
    assert sum(told) in (7, 14)


def test_a_result_without_its_call_is_a_turn_of_its_own(
    claude: ClaudeHome, clock: FakeClock
):
    talk = ClaudeLogBuilder()

    turns = turns_of(claude, clock, talk.prompt("go"), talk.result("nobody", "lost"))

    assert [(turn.speaker, turn.text) for turn in turns] == [
        ("user", "go"),
        ("tool", "lost"),
    ]


def test_a_call_without_a_result_says_so(claude: ClaudeHome, clock: FakeClock):
    talk = ClaudeLogBuilder()

    turns = turns_of(claude, clock, talk.prompt("go"), talk.call("Bash", {}, "a"))

    (call,) = turns[1].calls
    assert (call.result, call.output, call.is_error) == (None, "", False)
