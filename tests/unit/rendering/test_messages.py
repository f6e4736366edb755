"""Records grouped into messages."""

from __future__ import annotations

from msgspec.structs import replace

from leslied.rendering.messages import (
    SpeakerMessage,
    find_export_origin,
    make_unit_messages,
    sum_unit_usage,
)
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
    messages = [
        message for group in make_unit_messages(units) for message in group.messages
    ]
    assert sum_unit_usage(units).output_tokens == sum(
        message.usage.output_tokens for message in messages if message.usage
    )
    return [message for message in messages if message.speaker != "event"]


def test_lines_of_one_api_message_are_one_message(claude: ClaudeHome, clock: FakeClock):
    builder = ClaudeLogBuilder()
    message = {"id": "msg_1", "usage": USAGE}

    user, answer = list_messages(
        claude,
        clock,
        builder.prompt("go"),
        builder.think("hm", **message),
        builder.answer("well", **message),
        builder.call("Bash", {"command": "ls"}, "a", **message),
        builder.result("a", "x"),
        builder.call("Bash", {"command": "pwd"}, "b", **message),
        builder.result("b", "y"),
    )

    assert (user.text, answer.text, answer.thinking) == ("go", "well", "hm")
    assert [call.output for call in answer.calls] == ["x", "y"]


def test_tokens_of_a_message_are_counted_once(claude: ClaudeHome, clock: FakeClock):
    builder = ClaudeLogBuilder()
    message = {"id": "msg_1", "usage": USAGE}

    messages = list_messages(
        claude,
        clock,
        builder.prompt("go"),
        builder.answer("one", **message) | {"requestId": "req_1"},
        builder.prompt("stop", isMeta=True),
        builder.answer("two", **message) | {"requestId": "req_1"},
    )

    output_tokens = [
        message.usage.output_tokens for message in messages if message.usage
    ]
    assert sum(output_tokens) == 7


def test_a_result_without_its_call_is_a_separate_message(
    claude: ClaudeHome, clock: FakeClock
):
    builder = ClaudeLogBuilder()

    messages = list_messages(
        claude, clock, builder.prompt("go"), builder.result("unknown", "lost")
    )

    assert [(message.speaker, message.text) for message in messages] == [
        ("user", "go"),
        ("tool", "lost"),
    ]


def test_a_call_without_a_result_has_no_output(claude: ClaudeHome, clock: FakeClock):
    builder = ClaudeLogBuilder()

    messages = list_messages(
        claude, clock, builder.prompt("go"), builder.call("Bash", {}, "a")
    )

    (call,) = messages[1].calls
    assert (call.result, call.output, call.is_error) == (None, "", False)


def test_only_the_first_user_message_of_a_unit_starts_it_in_an_export(
    claude: ClaudeHome, clock: FakeClock
):
    claude.write(ClaudeLogBuilder().prompt("go"))
    claude.sync(is_final=True)
    unit = read_session(claude.store_path, clock).units[-1]
    prompt = next(p for p in unit.entries if p.record.type == "user_message")
    command = replace(
        prompt, record=replace(prompt.record, metadata={"origin": "command"})
    )
    event = replace(prompt, record=replace(prompt.record, metadata={"kind": "notice"}))

    assert find_export_origin(prompt, unit) == ""
    assert find_export_origin(command, unit) == "command"
    assert find_export_origin(replace(command, entry_id="other"), unit) == "queued"
    assert find_export_origin(event, unit) == ""
