"""Read the tasks of Kilo Code's extension of VS Code before 2026-04.

`docs/formats/kilo-vscode.md` documents the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.agents._cline_tasks import ClineTasks

if TYPE_CHECKING:
    from leslied.agents._contract import AgentAdapter


class KiloVSCode(ClineTasks):
    """Adapter for Kilo Code in VS Code, before it was built on OpenCode."""

    name = "kilo-vscode"
    title = "Kilo (VS Code, until 2026-03)"
    extension = "kilocode.kilo-code"
    capabilities = ClineTasks.capabilities - {"model"}


ADAPTER: AgentAdapter = KiloVSCode()
