"""Hooks for Claude Code: context injection, the event spool and the inbox.

`settings`, `settings_file`, `jsonc` and `state` read and edit Claude Code's settings
file, and `cleanup` deletes files of hooks. `program` loads all other modules, and the
agent waits until it exits. Those modules therefore import no slow module (typing,
dataclasses, pathlib) and take plain values, and their errors never reach the agent.
Nothing here uses the store.

Hooks are per agent by nature, so this package may name its agent; other packages read
the name from here.
"""

from __future__ import annotations

AGENT_NAME = "claude-code"
"""Name of the agent that runs the hooks, the same as that of its adapter."""
AGENT_TITLE = "Claude Code"
