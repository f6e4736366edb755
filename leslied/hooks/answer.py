"""What one hook event is answered with: the rules of injection.

The thread's context is said at the start of a session, after a compaction, with a
person's prompt when it changed since it was last said, and once more when the model's
window is nearly full. Messages of the inbox go with a person's prompt.
"""

from __future__ import annotations

import os

from leslied.hooks import given, inbox, spool
from leslied.hooks.files import find_size, safe_name
from leslied.hooks.thread import find_project, find_thread
from leslied.hooks.window import is_nearly_full
from leslied.mini_json import dumps, loads
from leslied.model.machine_prompts import MACHINE_PROMPT_PREFIXES
from leslied.threads.context import render_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ROOM = 9000
"""Characters in one answer; from 10,000 on Claude Code would put it into a file."""
_HEARD = ("SessionStart", "UserPromptSubmit", "PreCompact", *spool.EVENTS)


def answer_bytes(data_dir: str, told: bytes, now_ns: int) -> bytes:
    """The answer as the agent reads it; empty where there is nothing to say."""
    event = loads(told)
    if not isinstance(event, dict) or event.get("hook_event_name") not in _HEARD:
        return b""
    said = Hook(data_dir, event, now_ns).answer()
    if not said:
        return b""
    out = {"hookEventName": event["hook_event_name"], "additionalContext": said}
    return dumps({"hookSpecificOutput": out})


class Hook:
    """One event of one session."""

    def __init__(self, data_dir: str, event: dict[str, Any], now_ns: int) -> None:
        self.data_dir = data_dir
        self.event = event
        self.now_ns = now_ns
        self.name = self._text("hook_event_name")
        self.session = self._text("session_id")
        self.log = self._text("transcript_path")
        self.given = given.load(data_dir, self.session)
        self.given.transcript = self.log or self.given.transcript
        self.given.model = self._text("model") or self.given.model
        self.given.cwd = self.given.cwd or self._text("cwd")
        self.project = find_project(self.given.cwd)
        self.thread = find_thread(self.project, self.session)
        self._context: str | None = None

    def answer(self) -> str:
        """What the model is told now; all that can be noted is noted."""
        if not self.session:
            return ""
        if self.name in spool.EVENTS:
            return self._end_turn()
        if self.name == "PreCompact":
            self.given.context, self.given.why = "", "compaction is near"
            return self._note([])
        if self.name == "SessionStart":
            self._settle()
            return self._note(self._say_context(f"start: {self._text('source')}"))
        prompt = self._text("prompt").lstrip()
        if "agent_id" in self.event or prompt.startswith(MACHINE_PROMPT_PREFIXES):
            return ""
        said = self._say_context(self._find_reason())
        return self._note([*said, *self._say_messages(_ROOM - len("".join(said)))])

    def _end_turn(self) -> str:
        """The daemon hears of it, and claims are looked at again."""
        self._settle(self.session if self.name == "Stop" else "")
        spool.tell(self.data_dir, self.event, self.now_ns)
        return ""

    def _find_reason(self) -> str:
        """Why a prompt is to carry the context; empty where it is not."""
        is_full = is_nearly_full(self.log, self.given.model)
        was_full, self.given.is_full = self.given.is_full, is_full
        if is_full and not was_full:
            return "the window is nearly full"
        return "it changed" if self._render() != self.given.context else ""

    def _render(self) -> str:
        """Return the thread's context, read once; none at home or at the root."""
        if self._context is None:
            is_project = self.project not in ("", "/", os.path.expanduser("~"))  # noqa: PTH111
            self._context = ""
            if is_project:
                self._context = render_context(self.project, self.thread)
        return self._context

    def _say_context(self, why: str) -> list[str]:
        text = self._render() if why else ""
        if text:
            self.given.context, self.given.why = text, why
        return [text] if text else []

    def _say_messages(self, room: int) -> list[str]:
        messages = self._settle()
        prompt = safe_name(self._text("prompt_id") or "0", 48)
        offset = str(find_size(self.log))
        return inbox.claim(messages, room, safe_name(self.session), prompt, offset)

    def _settle(self, stopped: str = "") -> list[inbox.Message]:
        messages = inbox.list_messages(self.data_dir, self.thread)
        name = safe_name(stopped) if stopped else ""
        inbox.settle(messages, self.now_ns, self._find_log, name)
        return messages

    def _find_log(self, session: str) -> str:
        if session == safe_name(self.session):
            return self.log
        return given.load(self.data_dir, session).transcript

    def _note(self, said: list[str]) -> str:
        """What is said stays said, even where it cannot be noted."""
        try:
            given.save(self.data_dir, self.session, self.given)
        except OSError:
            return "\n\n".join(said)
        return "\n\n".join(said)

    def _text(self, name: str) -> str:
        value = self.event.get(name)
        return value if isinstance(value, str) else ""
