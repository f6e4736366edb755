"""A session whose agent calls leslied's hooks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from leslied.hooks import inbox
from leslied.hooks.respond import respond
from leslied.hooks.settings import PROGRAM
from tests.support.claude import SESSION, encode_json_lines
from tests.support.waiting import MAX_WAIT_SECONDS

THREAD = "thread-11111111"
NS_PER_SECOND = 1_000_000_000


class HookedSession:
    """Session in a project, with its log and its hook events."""

    def __init__(self, folder: Path, session_id: str = SESSION) -> None:
        self.project = folder / "project"
        (self.project / ".git").mkdir(parents=True, exist_ok=True)
        self.data = folder / "data"
        self.log = folder / f"{session_id}.jsonl"
        self.session_id = session_id
        self.now_ns = 1_800_000_000 * NS_PER_SECOND

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """Return the event that Claude Code passes to a hook."""
        return {
            "hook_event_name": name,
            "session_id": self.session_id,
            "transcript_path": str(self.log),
            "cwd": str(self.project),
            **fields,
        }

    def call_hook(self, name: str, **fields: Any) -> str:
        """Call the hook for an event and return the injected context, or ""."""
        event = json.dumps(self.event(name, **fields)).encode()
        answer = respond(str(self.data), event, self.now_ns)
        if not answer:
            return ""
        output = json.loads(answer)["hookSpecificOutput"]
        assert output["hookEventName"] == name
        return str(output["additionalContext"])

    def prompt(self, text: str = "go on", **fields: Any) -> str:
        """Call the hook for a prompt and return the injected context, or ""."""
        return self.call_hook("UserPromptSubmit", prompt=text, **fields)

    def write(self, *lines: Any) -> None:
        with self.log.open("ab") as file:
            file.write(encode_json_lines(*lines))

    def add_asset(self, name: str) -> None:
        """Write an asset into the thread's directory, as the agent does."""
        path = self.project / ".leslie/threads" / THREAD / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# It\n")

    def write_relations(self, **threads: Any) -> None:
        """Write these threads into Leslie's relations file."""
        folder = self.project / ".leslie"
        folder.mkdir(exist_ok=True)
        text = json.dumps({"threads": threads})
        (folder / "thread_relations.json").write_text(text)

    def queue_message(self, text: str) -> str:
        """Add a message to the thread's inbox and return its id."""
        return inbox.enqueue(str(self.data), THREAD, text, self.now_ns)

    def messages(self) -> dict[str, str]:
        """Return the state of each message in the thread's inbox, by id."""
        messages = inbox.list_messages(str(self.data), THREAD)
        return {message.id: message.state for message in messages}


def run_program(
    stdin: bytes, *args: str, **options: Any
) -> subprocess.CompletedProcess:
    """Run the hook program as the agent starts it."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(PROGRAM), *args],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=MAX_WAIT_SECONDS,
        **options,
    )
