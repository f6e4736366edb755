"""Extract subagents' reports and states from the client's JSON around them."""

from __future__ import annotations

import re

from leslied.agents.codex.schema import object_field, parse_json_or_empty, text_field

_NOTIFICATION = re.compile(
    r"\s*<subagent_notification>\s*(\{.*\})\s*</subagent_notification>\s*", re.DOTALL
)


def find_reports(text: str) -> str:
    """Return the answers in the result of a call that waits for subagents, or ""."""
    if not text.startswith('{"status":{'):
        return ""
    states = object_field(parse_json_or_empty(text), "status").values()
    reports = [
        text_field(state, "completed") if isinstance(state, dict) else ""
        for state in states
    ]
    return "\n\n".join(reports) if all(reports) else ""


def find_notification(text: str) -> str:
    """Return the name and state of a subagent that the client reports, on one line.

    Return "" for text that is not such a notification.
    """
    match = _NOTIFICATION.fullmatch(text)
    if not match:
        return ""
    facts = parse_json_or_empty(match[1])
    # The status is a word, or an object with the word as its only key.
    status = facts.get("status")
    word = next(iter(status), "") if isinstance(status, dict) else status
    agent = text_field(facts, "agent_path") or text_field(facts, "agent_id")
    return " ".join(f"subagent {agent} {word or ''}".split())
