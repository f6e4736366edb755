"""Hooks for Claude Code: context injection, the event spool and the inbox.

`settings`, `settings_file` and `jsonc` edit Claude Code's settings file. All other
modules are loaded by `program`, and the agent waits until it exits: they import no slow
module (typing, dataclasses, pathlib), take plain values and fail silently. Nothing here
uses the store.
"""

from __future__ import annotations
