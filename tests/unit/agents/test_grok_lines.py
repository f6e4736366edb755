"""Updates and summaries of Grok."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents._grok_lines import decode_line, decode_summary
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult, Record
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

ROOT = Path("/sessions")
SPAWN = {"x.ai/tool": {"name": "spawn_subagent"}}


def make_entry(value: Any, folder: str, *, is_fragment: bool = False) -> RawEntry:
    source = SourceRef(
        agent="grok",
        path=ROOT / folder / "s" / "updates.jsonl",
        root=ROOT,
        shape=Shape.APPEND_LOG,
        stamp=FileStamp(0, 0, 0, 0, 0),
    )
    return RawEntry(source, 0, json.dumps(value).encode(), is_fragment=is_fragment)


def decode(
    kind: str, state: dict[str, Any] | None = None, **fields: Any
) -> DecodeResult:
    params = {"update": {"sessionUpdate": kind, **fields}, "_meta": {"eventId": "s-1"}}
    value = {"method": "session/update", "params": params}
    return decode_line(make_entry(value, "%2Fapp"), {"cwd": "/app", **(state or {})})


def make_result(text: str, **output: Any) -> dict[str, Any]:
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    return {"status": "completed", "content": content, "rawOutput": output}


def list_links(result: DecodeResult) -> list[Record]:
    return [r for r in result.records if r.metadata.get("kind") == "subagent_linked"]


@pytest.mark.parametrize(
    ("folder", "cwd"),
    [
        ("%2Fhome%2Fdev%2Fm%C3%BCll", "/home/dev/müll"),
        ("C%3A%5Capp", "C:\\app"),
        ("%2F" + "x" * 900, ""),
        ("long-name-0123", ""),
    ],
)
def test_the_folder_is_decoded(folder: str, cwd: str):
    assert decode_line(make_entry({}, folder), {}).cwd == cwd


def test_a_fragment_is_rejected_if_it_is_no_update():
    with pytest.raises(DecodeError):
        decode_line(make_entry({"method": "x"}, "%2Fapp", is_fragment=True), {})


@pytest.mark.parametrize(
    ("kind", "fields", "text"),
    [
        ("hook_annotation", {"message": "a"}, "a"),
        ("monitor_event", {"event_text": "b"}, "b"),
        ("auto_compact_failed", {"error": "c"}, "c"),
        ("hook_execution", {"runs": [{"name": "d"}]}, '[{"name":"d"}]'),
        ("image_dropped", {"notes": ["e"]}, '["e"]'),
    ],
)
def test_a_report_of_the_client_is_a_notice(
    kind: str, fields: dict[str, Any], text: str
):
    (record,) = decode(kind, **fields).records

    assert (record.metadata["kind"], record.content) == ("notice", text)


def test_a_command_without_output_has_no_text():
    output = {"type": "Bash", "exit_code": 1, "output_for_prompt": "exit: 1\n"}

    (record,) = decode("tool_call_update", status="completed", rawOutput=output).records

    assert record.content == "Exit code 1"


def test_a_spawned_subagent_without_an_id_is_unknown():
    (record,) = decode("subagent_spawned").records

    assert record.type == "unknown"


def test_two_calls_with_one_description_are_linked_by_their_results():
    state: dict[str, Any] = {}
    for call_id in ("c1", "c2"):
        fields = {"toolCallId": call_id, "rawInput": {"description": "d"}}
        state = decode("tool_call", state, _meta=SPAWN, **fields).state
    spawned = decode("subagent_spawned", state, child_session_id="k", description="d")
    result = make_result("Started.\nsubagent_id: k\ntype: x")

    ended = decode("tool_call_update", state, toolCallId="c2", **result)

    assert [link.tool_call_id for link in list_links(spawned)] == [""]
    (link,) = list_links(ended)
    assert (link.session.subagent_id, link.tool_call_id) == ("k", "c2")


def test_the_result_of_another_tool_is_no_link():
    result = make_result("subagent_id: k")

    assert list_links(decode("tool_call_update", toolCallId="c", **result)) == []


def test_the_state_keeps_few_spawned_calls():
    state: dict[str, Any] = {}
    for number in range(9):
        call_id = f"c{number}"
        state = decode("tool_call", state, _meta=SPAWN, toolCallId=call_id).state

    assert list(state["spawns"]) == ["c4", "c5", "c6", "c7", "c8"]


def test_the_summary_of_a_subagent_is_noise():
    value = {"generated_title": "t", "session_kind": "subagent"}

    decoded = decode_summary(make_entry(value, "%2Fapp"))

    assert (decoded.records, decoded.noise) == ((), "summary")
