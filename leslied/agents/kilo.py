"""Read the database of Kilo, a fork of OpenCode, in `~/.local/share/kilo`.

`docs/formats/kilo.md` documents the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.agents._opencode import OpenCodeFamily

if TYPE_CHECKING:
    from leslied.agents._contract import AgentAdapter


class Kilo(OpenCodeFamily):
    """Adapter for Kilo."""

    name = "kilo"
    title = "Kilo"
    decoder_version = 1
    verified = "7.7.9, 2026-11"


ADAPTER: AgentAdapter = Kilo()
