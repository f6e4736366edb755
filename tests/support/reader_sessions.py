"""Sessions for tests of the reader: rich, long, hostile, live."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.html_payloads import PAYLOADS

RICH = "22222222-3333-4444-8555-666666666666"
LONG = "33333333-4444-4555-8666-777777777777"
HOSTILE = "44444444-5555-4666-8777-888888888888"
SECRET = "ghp_" + "Zx9Q" * 9
LONG_PROMPT = "\n".join(f"requirement {number}" for number in range(1, 201))


def make_png() -> bytes:
    """Return an image of one pixel."""
    parts = [b"\x89PNG\r\n\x1a\n"]
    for kind, data in (
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0\xff\0\0")),
        (b"IEND", b""),
    ):
        crc = zlib.crc32(kind + data)
        parts.append(
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)
        )
    return b"".join(parts)


def _make_image() -> dict[str, Any]:
    data = base64.b64encode(make_png()).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


def write_rich_session(claude: ClaudeHome) -> None:
    """Write what the sample session lacks: images, parallel calls, nested subagents."""
    builder = ClaudeLogBuilder(RICH)
    parallel = {"id": "msg_parallel"}
    claude.write(
        builder.prompt([{"type": "text", "text": "See this"}, _make_image()]),
        builder.call("Read", {"file_path": "/home/dev/app/a.py"}, "p1", **parallel),
        builder.call("Read", {"file_path": "/home/dev/app/b.py"}, "p2", **parallel),
        builder.result("p1", [_make_image()]),
        builder.result("p2", "line\n" * 500),
        builder.call("Task", {"description": "Outer", "prompt": "Outer work."}, "t1"),
        builder.result("t1", "Report: **all good**", toolUseResult={"agentId": "aaa1"}),
        builder.answer(f"The token is {SECRET}, keep it."),
        builder.line(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            compactMetadata={"trigger": "auto", "preTokens": 1000},
        ),
        builder.prompt(LONG_PROMPT),
        builder.answer("Understood."),
        name=f"-home-dev-app/{RICH}.jsonl",
    )
    _write_subagent(claude, "aaa1", "Outer work.", "bbb2", 1000)
    _write_subagent(claude, "bbb2", "Inner work.", "", 2000)


def _write_subagent(
    claude: ClaudeHome, agent_id: str, task: str, child: str, first: int
) -> None:
    # Line ids must differ from those of the main session, which has the same id.
    builder = ClaudeLogBuilder(RICH, first_number=first)
    lines = [builder.prompt(task)]
    if child:
        arguments = {"description": "Inner", "prompt": "Inner work."}
        lines.append(builder.call("Task", arguments, f"t-{child}"))
        link = {"agentId": child}
        lines.append(builder.result(f"t-{child}", "done", toolUseResult=link))
    lines.append(builder.answer(f"Answer of {agent_id}."))
    claude.write(
        *(line | {"isSidechain": True, "agentId": agent_id} for line in lines),
        name=f"-home-dev-app/{RICH}/subagents/agent-{agent_id}.jsonl",
    )


def write_long_session(claude: ClaudeHome, units: int, answers: int) -> None:
    """Write a session with so many units, each with so many answers."""
    builder = ClaudeLogBuilder(LONG)
    lines = []
    for unit in range(1, units + 1):
        lines.append(builder.prompt(f"Prompt number {unit}"))
        lines += [builder.answer(f"Answer {unit}.{n}") for n in range(1, answers + 1)]
    claude.write(*lines, name=f"-home-dev-app/{LONG}.jsonl")


def write_unit_with_late_result(claude: ClaudeHome, answers: int) -> None:
    """Write a session with one prompt, whose first call returns after all answers."""
    builder = ClaudeLogBuilder(LONG)
    claude.write(
        builder.prompt("Work until it is done"),
        builder.call("Bash", {"command": "make watch"}, "late"),
        *(
            builder.answer(f"Answer {n}", stop_reason="tool_use")
            for n in range(answers)
        ),
        builder.result("late", "late output"),
        builder.answer("Done."),
        name=f"-home-dev-app/{LONG}.jsonl",
    )


def write_hostile_session(claude: ClaudeHome) -> None:
    """Write texts that run a script or load something where they are not escaped."""
    builder = ClaudeLogBuilder(HOSTILE)
    lines = []
    for number, payload in enumerate(PAYLOADS):
        call_id = f"h{number}"
        edit = {"file_path": payload, "old_string": payload, "new_string": "x"}
        lines += [
            builder.prompt(payload),
            builder.think(payload),
            builder.answer(payload, stop_reason="tool_use"),
            builder.call(payload, {payload: payload, "command": payload}, call_id),
            builder.result(call_id, payload),
            builder.call("Edit", edit, f"{call_id}e"),
            builder.result(f"{call_id}e", payload),
        ]
    claude.write(*lines, name=f"-home-dev-app/{HOSTILE}.jsonl")


def append_answer(claude: ClaudeHome, text: str, number: int) -> None:
    """Append an answer to the sample session."""
    builder = ClaudeLogBuilder(first_number=500 + number)
    claude.write(builder.answer(text), name=f"-home-dev-app/{SESSION}.jsonl")
