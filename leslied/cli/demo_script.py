"""The log of the demo's session: a prompt, tool calls, a subagent and an answer."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from leslied.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSION_ID = "5e551e11-de30-4000-8000-000000000001"
_SUBAGENT_ID = "a5c0041"
_MODEL = "a-model-of-the-demo"
_Block = dict[str, Any]


def iter_log_lines(project: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the log's lines in order, each with the name of its file."""
    writer = _LogWriter(project)
    main, child = (
        f"{SESSION_ID}.jsonl",
        f"{SESSION_ID}/subagents/agent-{_SUBAGENT_ID}.jsonl",
    )
    task = "Count the words in notes.txt and say what they are about."
    spawn = {"description": "read the notes", "prompt": task}
    yield writer.user("What is in my notes, and how long are they?"), main
    yield (
        writer.assistant({"type": "text", "text": "I look, and let a helper read."}),
        main,
    )
    yield writer.tool_call("toolu_1", "Bash", {"command": "wc -w notes.txt"}), main
    yield writer.tool_result("toolu_1", "12 notes.txt"), main
    yield writer.tool_call("toolu_2", "Agent", spawn), main
    yield writer.user(task, is_child=True), child
    yield (
        writer.tool_call("toolu_3", "Read", {"file_path": "notes.txt"}, is_child=True),
        child,
    )
    yield (
        writer.tool_result("toolu_3", "The mill wheel turns left.", is_child=True),
        child,
    )
    report = {"type": "text", "text": "The notes are about the mill."}
    yield writer.assistant(report, "end_turn", is_child=True), child
    link = {"agentId": _SUBAGENT_ID, "status": "completed"}
    yield writer.tool_result("toolu_2", "The notes are about the mill.", link), main
    answer = {
        "type": "text",
        "text": "Twelve words, and they are about the mill wheel.",
    }
    yield writer.assistant(answer, "end_turn"), main


class _LogWriter:
    """Builder of log lines in Claude Code's format."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._now = SystemClock().now()
        self._number = 0

    def user(self, content: Any, *, is_child: bool = False, **more: Any) -> _Block:
        message = {"role": "user", "content": content}
        return self._line("user", message, is_child=is_child, **more)

    def tool_result(
        self,
        call: str,
        text: str,
        outcome: dict[str, Any] | None = None,
        *,
        is_child: bool = False,
    ) -> _Block:
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        return self.user([block], is_child=is_child, toolUseResult=outcome or {})

    def tool_call(
        self, call: str, name: str, arguments: dict[str, Any], *, is_child: bool = False
    ) -> _Block:
        block = {"type": "tool_use", "id": call, "name": name, "input": arguments}
        return self.assistant(block, "tool_use", is_child=is_child)

    def assistant(
        self, block: _Block, stop: str = "tool_use", *, is_child: bool = False
    ) -> _Block:
        message = {
            "id": f"msg_{self._number}",
            "role": "assistant",
            "model": _MODEL,
            "content": [block],
            "stop_reason": stop,
            "usage": {"input_tokens": 100, "output_tokens": 20},
        }
        return self._line("assistant", message, is_child=is_child)

    def _line(
        self, kind: str, message: _Block, *, is_child: bool, **more: Any
    ) -> _Block:
        self._number += 1
        at: datetime = self._now + timedelta(seconds=self._number)
        return {
            "type": kind,
            "message": message,
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"demo/{self._number}")),
            "parentUuid": None,
            "timestamp": at.astimezone(UTC).isoformat(),
            "sessionId": SESSION_ID,
            "cwd": str(self._project),
            "isSidechain": is_child,
            **more,
        }
