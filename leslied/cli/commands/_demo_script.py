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
_Json = dict[str, Any]


def iter_log_lines(project: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the log's lines in order, each with the name of its file."""
    builder = _LineBuilder(project)
    main, child = (
        f"{SESSION_ID}.jsonl",
        f"{SESSION_ID}/subagents/agent-{_SUBAGENT_ID}.jsonl",
    )
    task = "Count the words in notes.txt and say what they are about."
    task_arguments = {"description": "read the notes", "prompt": task}
    yield builder.user("What is in my notes, and how long are they?"), main
    plan = "I will count the words and let a subagent read the notes."
    yield builder.assistant({"type": "text", "text": plan}), main
    yield builder.tool_call("toolu_1", "Bash", {"command": "wc -w notes.txt"}), main
    yield builder.tool_result("toolu_1", "12 notes.txt"), main
    yield builder.tool_call("toolu_2", "Agent", task_arguments), main
    yield builder.user(task, is_child=True), child
    yield (
        builder.tool_call("toolu_3", "Read", {"file_path": "notes.txt"}, is_child=True),
        child,
    )
    yield (
        builder.tool_result("toolu_3", "The mill wheel turns left.", is_child=True),
        child,
    )
    report = {"type": "text", "text": "The notes are about the mill."}
    yield builder.assistant(report, "end_turn", is_child=True), child
    task_result = {"agentId": _SUBAGENT_ID, "status": "completed"}
    yield (
        builder.tool_result("toolu_2", "The notes are about the mill.", task_result),
        main,
    )
    answer = "Twelve words, and they are about the mill wheel."
    yield builder.assistant({"type": "text", "text": answer}, "end_turn"), main


class _LineBuilder:
    """Builder of log lines in Claude Code's format."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._now = SystemClock().now()
        self._line_number = 0

    def user(
        self, content: Any, *, is_child: bool = False, **extra_fields: Any
    ) -> _Json:
        message = {"role": "user", "content": content}
        return self._line("user", message, is_child=is_child, **extra_fields)

    def tool_result(
        self,
        call_id: str,
        text: str,
        tool_use_result: dict[str, Any] | None = None,
        *,
        is_child: bool = False,
    ) -> _Json:
        block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        return self.user(
            [block], is_child=is_child, toolUseResult=tool_use_result or {}
        )

    def tool_call(
        self, call_id: str, name: str, arguments: _Json, *, is_child: bool = False
    ) -> _Json:
        block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        return self.assistant(block, "tool_use", is_child=is_child)

    def assistant(
        self, block: _Json, stop_reason: str = "tool_use", *, is_child: bool = False
    ) -> _Json:
        message = {
            "id": f"msg_{self._line_number}",
            "role": "assistant",
            "model": _MODEL,
            "content": [block],
            "stop_reason": stop_reason,
            "usage": {"input_tokens": 100, "output_tokens": 20},
        }
        return self._line("assistant", message, is_child=is_child)

    def _line(
        self, kind: str, message: _Json, *, is_child: bool, **extra_fields: Any
    ) -> _Json:
        self._line_number += 1
        at: datetime = self._now + timedelta(seconds=self._line_number)
        return {
            "type": kind,
            "message": message,
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"demo/{self._line_number}")),
            "parentUuid": None,
            "timestamp": at.astimezone(UTC).isoformat(),
            "sessionId": SESSION_ID,
            "cwd": str(self._project),
            "isSidechain": is_child,
            **extra_fields,
        }
