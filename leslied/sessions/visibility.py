"""Sessions that lists hide, because they have neither a prompt nor an answer."""

from __future__ import annotations

CONTENT_TOTALS = ("units", "tool_calls", "copied_calls", "model")
"""Totals of a session. It is hidden while all of them are empty: then it has neither a
prompt nor output of its agent, only titles, settings or commands of the client.
"""
WARMUP = "warmup"
"""The `agent_type` of a subagent that only fills a cache. It is hidden, and so is a
session that has nothing else.
"""
