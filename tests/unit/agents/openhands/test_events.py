"""Events of OpenHands, decoded one at a time."""

from __future__ import annotations

from typing import Any

from leslied.agents._entry import LogEntry
from leslied.agents.openhands.events import decode_event, is_noise, join_texts
from leslied.model.record import Record, SessionKey

EVENT = LogEntry(key=SessionKey("openhands", "c1"), native_id="e1")


def decode(kind: str, **body: Any) -> list[Record]:
    return list(decode_event(EVENT, kind, body))


def test_a_call_without_arguments_shows_its_action():
    action = {"kind": "TerminalAction", "command": "ls"}

    (call,) = decode("ActionEvent", tool_name="terminal", action=action)

    assert call.tool_input == '{"kind":"TerminalAction","command":"ls"}'


def test_reasoning_content_is_left_out_if_thinking_blocks_repeat_it():
    records = decode(
        "ActionEvent",
        reasoning_content="I think.",
        thinking_blocks=[{"type": "thinking", "thinking": "I think."}],
    )

    assert [r.content for r in records if r.type == "thinking"] == ["I think."]


def test_a_command_that_still_runs_has_not_failed():
    (result,) = decode("ObservationEvent", observation={"exit_code": -1})

    assert result.metadata == {}


def test_an_observation_of_a_final_message_is_noise():
    body = {"observation": {"kind": "FinishObservation"}}

    assert is_noise("ObservationEvent", body)
    assert decode("ObservationEvent", **body) == []


def test_a_hook_without_output_is_shown_by_its_command():
    (notice,) = decode("HookExecutionEvent", hook_command="./check.sh")

    assert (notice.content, notice.metadata["note"]) == ("./check.sh", "hook")


def test_a_finished_foreign_call_is_a_result():
    (result,) = decode("ACPToolCallEvent", status="completed", raw_output="done")

    assert (result.type, result.content) == ("tool_result", "done")


def test_an_image_has_a_placeholder():
    content = [{"image_urls": ["data:image/png;base64,AAAA"]}, {"text": "This"}]

    assert join_texts(content) == "[image image/png, 3 B]\n\nThis"
