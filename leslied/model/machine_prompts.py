"""How a prompt begins that Claude Code wrote and no person typed.

The decoder and the hook program ask here. The hook starts in milliseconds, so this
module imports nothing.
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
