"""Read the tasks of Roo Code, an extension of VS Code.

`docs/formats/roo-code.md` documents the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.agents._cline_tasks import ClineTasks

if TYPE_CHECKING:
    from leslied.agents._contract import AgentAdapter


class RooCode(ClineTasks):
    """Adapter for Roo Code."""

    name = "roo-code"
    title = "Roo Code"
    extension = "rooveterinaryinc.roo-cline"
    capabilities = ClineTasks.capabilities - {"model"}


ADAPTER: AgentAdapter = RooCode()
