"""Hooks for Claude Code: what it is told, what leslied hears, and the inbox.

Two halves. `settings` writes our entries into Claude Code's own settings file. All
other modules are loaded by `program`, which the agent waits for: they import nothing
that takes long (no typing, dataclasses, pathlib), take plain values and give up without
a word. Nothing here knows the store.
"""

from __future__ import annotations
