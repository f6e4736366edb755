"""Prefixes of prompts that Claude Code wrote itself.

The decoder and the hook program both use these prefixes. The hook program must start in
milliseconds, so this module imports nothing.
"""

from __future__ import annotations

MACHINE_PROMPT_PREFIXES = (
    "<task-notification>",
    "<teammate-message",
    "<agent-message",
    "<tick>",
    "<goal>",
    "<session-start-hook>",
    "<local-command-caveat>",
    "Stop hook feedback:",
    "Operation stopped by hook:",
)
