"""Answers to hook events: the rules of injection.

The thread's context is injected at the start of a session, after a compaction, with a
user's prompt if it changed since the last injection, and once more when the context
window is nearly full. Inbox messages are injected with a user's prompt.
"""

from __future__ import annotations

import os

from leslied.hooks import inbox, injection_state, scope, spool
from leslied.hooks.context_usage import is_nearly_full
from leslied.hooks.files import get_size, make_safe_name
from leslied.hooks.thread import find_project, find_thread
from leslied.mini_json import dumps, loads
from leslied.model.machine_prompts import MACHINE_PROMPT_PREFIXES
from leslied.threads.context import render_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_CHARACTERS = 9000
"""Maximum length of an answer; Claude Code moves 10,000 or more into a file."""
_HANDLED_EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", *spool.EVENTS)


def respond(data_dir: str, payload: bytes, now_ns: int) -> bytes:
    """Return the JSON answer to a hook event, empty if there is nothing to inject."""
    event = loads(payload)
    if (
        not isinstance(event, dict)
        or event.get("hook_event_name") not in _HANDLED_EVENTS
    ):
        return b""
    text = HookResponder(data_dir, event, now_ns).respond()
    if not text:
        return b""
    output = {"hookEventName": event["hook_event_name"], "additionalContext": text}
    return dumps({"hookSpecificOutput": output})


class HookResponder:
    """Handler of one hook event of one session."""

    def __init__(self, data_dir: str, event: dict[str, Any], now_ns: int) -> None:
        self.data_dir = data_dir
        self.event = event
        self.now_ns = now_ns
        self.name = self._get_text("hook_event_name")
        self.session = self._get_text("session_id")
        self.log = self._get_text("transcript_path")
        self.state = injection_state.load(data_dir, self.session)
        self.state.transcript = self.log or self.state.transcript
        self.state.model = self._get_text("model") or self.state.model
        self.state.cwd = self.state.cwd or self._get_text("cwd")
        self.project = find_project(self.state.cwd)
        self.thread = find_thread(self.project, self.session)
        self._context: str | None = None

    def respond(self) -> str:
        """Update the saved state; return the text to inject, empty if there is none."""
        if not self.session:
            return ""
        if self.name == "Notification":
            spool.write_event(self.data_dir, self.event, self.now_ns)
            return ""
        if self.name in spool.EVENTS:
            return self._record_end()
        if self.name == "PreCompact":
            self.state.context, self.state.why = "", "compaction is near"
            return self._save_and_join([])
        if self.name == "SessionStart":
            self._resolve_claims()
            return self._save_and_join(
                self._inject_context(f"start: {self._get_text('source')}")
            )
        # The event is a prompt; prompts of subagents and programs get nothing.
        prompt = self._get_text("prompt").lstrip()
        if "agent_id" in self.event or prompt.startswith(MACHINE_PROMPT_PREFIXES):
            return ""
        context = self._inject_context(self._find_injection_reason())
        max_characters = _MAX_CHARACTERS - len("".join(context))
        return self._save_and_join([*context, *self._claim_messages(max_characters)])

    def _record_end(self) -> str:
        """Resolve claimed messages, spool the event for the daemon, inject nothing."""
        self._resolve_claims(self.session if self.name == "Stop" else "")
        spool.write_event(self.data_dir, self.event, self.now_ns)
        return ""

    def _find_injection_reason(self) -> str:
        """Return why this prompt needs the context, empty if it does not.

        Record in the state whether the window is nearly full.
        """
        is_full = is_nearly_full(self.log, self.state.model)
        was_full, self.state.is_full = self.state.is_full, is_full
        if is_full and not was_full:
            return "the window is nearly full"
        return "it changed" if self._render_context() != self.state.context else ""

    def _render_context(self) -> str:
        """Return the thread's context; render it only once.

        It is empty outside of projects, in the home folder and in the root folder, and
        if leslied does not read the session's log.
        """
        if self._context is None:
            is_project = self.project not in ("", "/", os.path.expanduser("~"))  # noqa: PTH111
            self._context = ""
            if is_project and scope.is_log_included(
                self.data_dir, self.log, self.state.cwd
            ):
                self._context = render_context(self.project, self.thread)
        return self._context

    def _inject_context(self, reason: str) -> list[str]:
        """Record the injection and return the context in a list.

        Without a reason, record nothing and return an empty list.
        """
        text = self._render_context() if reason else ""
        if text:
            self.state.context, self.state.why = text, reason
        return [text] if text else []

    def _claim_messages(self, max_characters: int) -> list[str]:
        """Claim the thread's queued messages; return their texts to inject."""
        messages = self._resolve_claims()
        prompt_name = make_safe_name(self._get_text("prompt_id") or "0", 48)
        offset = str(get_size(self.log))
        return inbox.claim(
            messages, max_characters, make_safe_name(self.session), prompt_name, offset
        )

    def _resolve_claims(self, answering_session: str = "") -> list[inbox.InboxMessage]:
        """Resolve the claims on the thread's messages and return all its messages.

        `answering_session` is the id of the session if its agent has just answered.
        """
        messages = inbox.list_messages(self.data_dir, self.thread)
        answering_name = make_safe_name(answering_session) if answering_session else ""
        inbox.resolve_claims(messages, self.now_ns, self._find_log, answering_name)
        return messages

    def _find_log(self, session_name: str) -> str:
        """Return the path of a session's log, empty if it is unknown.

        `session_name` is the name that the inbox uses for the session.
        """
        if session_name == make_safe_name(self.session):
            return self.log
        return injection_state.load(self.data_dir, session_name).transcript

    def _save_and_join(self, texts: list[str]) -> str:
        """Save the state and return the joined texts, even if saving fails."""
        try:
            injection_state.save(self.data_dir, self.session, self.state)
        except OSError:
            return "\n\n".join(texts)
        return "\n\n".join(texts)

    def _get_text(self, name: str) -> str:
        value = self.event.get(name)
        return value if isinstance(value, str) else ""
