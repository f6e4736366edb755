"""Read the tasks of Cline's extension of VS Code, up to its version 3.

`docs/formats/cline-vscode.md` documents the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.agents._cline_tasks import ClineTasks

if TYPE_CHECKING:
    from leslied.agents._contract import AgentAdapter


class ClineVSCode(ClineTasks):
    """Adapter for Cline in VS Code."""

    name = "cline-vscode"
    title = "Cline (VS Code)"
    extension = "saoudrizwan.claude-dev"


ADAPTER: AgentAdapter = ClineVSCode()
