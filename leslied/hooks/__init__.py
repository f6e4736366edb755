"""Hooks for Claude Code: context injection, the event spool and the inbox.

`settings`, `settings_file` and `jsonc` edit Claude Code's settings file. All other
modules are loaded by `program`, and the agent waits until `program` exits. They import
no slow module (typing, dataclasses, pathlib) and take plain values, and their errors
never reach the agent. Nothing here uses the store.
"""

from __future__ import annotations
