"""Logs of invented sessions: Claude Code with subagents, and Codex."""

from __future__ import annotations

import itertools
import json
import uuid
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.claude import ClaudeLogBuilder

Line = dict[str, Any]
OPUS, SONNET, HAIKU, GPT = (
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "gpt-5.5",
)


def make_id(name: str) -> str:
    """Return the id of a session, the same in every run."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"leslied-showcase/{name}"))


class ClaudeSession:
    """A session of Claude Code: its log grows with every call."""

    def __init__(
        self,
        home: Path,
        name: str,
        project: str,
        started_at: datetime,
        model: str = SONNET,
    ) -> None:
        self.cwd = home / "code" / project
        self.cwd.mkdir(parents=True, exist_ok=True)
        self._model = model
        self._builder = ClaudeLogBuilder(make_id(name), str(self.cwd), started_at)
        folder = home / ".claude/projects" / str(self.cwd).replace("/", "-")
        self._log = folder / f"{self._builder.session_id}.jsonl"
        self._extra: Line = {}
        self._calls = (f"toolu_{name}_{n}" for n in itertools.count(1))
        self._context = 42_000

    @property
    def session_id(self) -> str:
        return self._builder.session_id

    def fork(self, home: Path, name: str, seconds: float) -> ClaudeSession:
        """Return a new session that starts with a copy of this one, and goes on."""
        at = self._builder.started_at + timedelta(seconds=seconds)
        copy = ClaudeSession(home, name, self.cwd.name, at, self._model)
        text = self._log.read_text().replace(self.session_id, copy.session_id)
        copy._log.write_text(text)
        copy._builder._last_uuid = self._builder._last_uuid
        return copy

    def title(self, text: str) -> None:
        """Name the session, as the agent does after the first answers."""
        line = {"type": "ai-title", "aiTitle": text, "sessionId": self.session_id}
        _append(self._log, line)

    def prompt(self, text: str) -> None:
        self._pass(30)
        self._write(self._builder.prompt(text))

    def think(self, text: str) -> None:
        self._write(self._builder.think(text, **self._use(90)))

    def say(self, text: str) -> None:
        """Answer in the middle of the work."""
        self._write(self._builder.answer(text, stop_reason="tool_use", **self._use(60)))

    def answer(self, text: str) -> None:
        """Answer and end the turn."""
        self._pass(6)
        self._write(self._builder.answer(text, **self._use(len(text) // 3)))

    def call(
        self, tool: str, input_: Line, result: str | None = "", **options: Any
    ) -> None:
        """Call a tool, for some `seconds`; it `fails`; no result if that is None."""
        call_id = self._start(tool, input_)
        if result is not None:
            self._pass(options.get("seconds", 1))
            self._finish(call_id, result, fails=options.get("fails", False))

    def calls(self, *calls: tuple[str, Line, str]) -> None:
        """Call several tools at the same time."""
        ids = [self._start(tool, input_) for tool, input_, _ in calls]
        for call_id, (_, _, result) in zip(ids, calls, strict=True):
            self._pass(1)
            self._finish(call_id, result)

    def bash(
        self, command: str, output: str, seconds: float = 2, *, fails: bool = False
    ) -> None:
        self.call("Bash", {"command": command}, output, seconds=seconds, fails=fails)

    def edit(self, path: str, old: str, new: str) -> None:
        file = str(self.cwd / path)
        fields = {"file_path": file, "old_string": old, "new_string": new}
        self.call("Edit", fields, f"The file {file} has been updated.")

    def write(self, path: str, content: str) -> None:
        """Write a file, also on the disk."""
        file = self.cwd / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        fields = {"file_path": str(file), "content": content}
        self.call("Write", fields, f"File created at: {file}")

    def delegate(self, *tasks: tuple[str, str, list[tuple[str, Line, str]], str]):
        """Run subagents at the same time: each has a type, task, calls and report."""
        ids = []
        for kind, task, _, _ in tasks:
            fields = {"subagent_type": kind, "description": task, "prompt": f"{task}."}
            ids.append(self._start("Task", fields))
        for call_id, (kind, task, calls, report) in zip(ids, tasks, strict=True):
            agent_id = make_id(call_id)[:7]
            self._write_subagent(agent_id, kind, task, calls, report)
            self._finish(call_id, report, toolUseResult={"agentId": agent_id})

    def _write_subagent(
        self,
        agent_id: str,
        kind: str,
        task: str,
        calls: list[tuple[str, Line, str]],
        report: str,
    ) -> None:
        main_log, extra, context = self._log, self._extra, self._context
        folder = main_log.with_suffix("") / "subagents"
        self._log = folder / f"agent-{agent_id}.jsonl"
        self._extra = {"isSidechain": True, "agentId": agent_id}
        self._context = 21_000
        self.prompt(f"{task}.")
        for tool, fields, result in calls:
            self.call(tool, fields, result, seconds=3)
        self.answer(report)
        meta = {"agentType": kind, "description": task}
        (folder / f"agent-{agent_id}.meta.json").write_text(json.dumps(meta))
        self._log, self._extra, self._context = main_log, extra, context

    def _start(self, tool: str, input_: Line) -> str:
        call_id = next(self._calls)
        self._write(self._builder.call(tool, input_, call_id, **self._use(120)))
        return call_id

    def _finish(
        self, call_id: str, text: str, *, fails: bool = False, **fields: Any
    ) -> None:
        line = self._builder.result(call_id, text, **fields)
        line["message"]["content"][0]["is_error"] = fails
        self._context += len(text) // 3
        self._write(line)

    def _use(self, output_tokens: int) -> Line:
        """Return the model and usage of a message; the context grows."""
        new = 4_200 + output_tokens
        usage = {
            "input_tokens": 8,
            "cache_read_input_tokens": self._context,
            "cache_creation_input_tokens": new,
            "output_tokens": output_tokens,
        }
        self._context += new
        return {"usage": usage, "model": self._model}

    def _pass(self, seconds: float) -> None:
        self._builder.started_at += timedelta(seconds=seconds)

    def _write(self, line: Line) -> None:
        _append(self._log, line | self._extra)


class CodexSession:
    """A session of Codex."""

    def __init__(
        self, home: Path, name: str, project: str, started_at: datetime
    ) -> None:
        self.cwd = home / "code" / project
        self.cwd.mkdir(parents=True, exist_ok=True)
        self._now = started_at
        self._calls = (f"call_{name}_{n}" for n in itertools.count(1))
        session_id = make_id(name)
        stamp = started_at.strftime("%Y-%m-%dT%H-%M-%S")
        folder = home / ".codex/sessions" / started_at.strftime("%Y/%m/%d")
        self._log = folder / f"rollout-{stamp}-{session_id}.jsonl"
        meta = {"id": session_id, "cwd": str(self.cwd), "cli_version": "0.166.0"}
        self._write("session_meta", {**meta, "source": "cli", "timestamp": self._time})
        self._write("turn_context", {"cwd": str(self.cwd), "model": GPT})

    def prompt(self, text: str) -> None:
        self._write_message("user", "input_text", text)

    def bash(
        self, command: str, output: str, seconds: float = 2, *, fails: bool = False
    ) -> None:
        call_id = next(self._calls)
        arguments = json.dumps({"cmd": command, "workdir": str(self.cwd)})
        self._write_item(
            "function_call", name="exec_command", arguments=arguments, call_id=call_id
        )
        self._now += timedelta(seconds=seconds)
        text = f"Process exited with code {int(fails)}\nOutput:\n{output}"
        self._write_item("function_call_output", call_id=call_id, output=text)

    def patch(self, path: str, old: str, new: str) -> None:
        call_id = next(self._calls)
        removed, added = (
            "".join(f"{sign}{line}\n" for line in text.splitlines())
            for sign, text in (("-", old), ("+", new))
        )
        patch = f"*** Update File: {path}\n@@\n{removed}{added}"
        text = f"*** Begin Patch\n{patch}*** End Patch\n"
        self._write_item(
            "custom_tool_call", name="apply_patch", input=text, call_id=call_id
        )
        output = (
            f"Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM {path}\n"
        )
        self._write_item("custom_tool_call_output", call_id=call_id, output=output)

    def answer(self, text: str) -> None:
        """Answer and end the turn."""
        self._write_message("assistant", "output_text", text)
        usage = {"input_tokens": 81_400, "cached_input_tokens": 66_000}
        usage |= {"output_tokens": len(text), "reasoning_output_tokens": 300}
        response_id = next(self._calls)
        self._write("token_usage_record", {"response_id": response_id, "usage": usage})
        self._write("event_msg", {"type": "task_complete", "turn_id": response_id})

    def _write_message(self, role: str, kind: str, text: str) -> None:
        content = [{"type": kind, "text": text}]
        self._write_item("message", role=role, content=content)

    def _write_item(self, kind: str, **fields: Any) -> None:
        self._write("response_item", {"type": kind, **fields})

    @property
    def _time(self) -> str:
        return self._now.isoformat(timespec="seconds") + ".000Z"

    def _write(self, kind: str, payload: Line) -> None:
        self._now += timedelta(seconds=2)
        _append(self._log, {"timestamp": self._time, "type": kind, "payload": payload})


def _append(path: Path, line: Line) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
