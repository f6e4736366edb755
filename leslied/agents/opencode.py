"""Read OpenCode's database in `~/.local/share/opencode`, and the older JSON files.

`docs/formats/opencode.md` documents the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.agents._opencode import OpenCodeFamily

if TYPE_CHECKING:
    from leslied.agents._contract import AgentAdapter


class OpenCode(OpenCodeFamily):
    """Adapter for OpenCode."""

    name = "opencode"
    title = "OpenCode"
    decoder_version = 2
    verified = "1.18.33, 2026-11"


ADAPTER: AgentAdapter = OpenCode()
