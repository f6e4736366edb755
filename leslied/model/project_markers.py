"""Files and folders that mark a folder as a project.

The sinks and the hook program both use them. The hook program must start in
milliseconds, so this module imports nothing.
"""

from __future__ import annotations

PROJECT_MARKERS = (
    "AGENTS.md",
    "CLAUDE.md",
    ".claude",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
)
"""A folder without Git counts as a project if it contains one of these."""
