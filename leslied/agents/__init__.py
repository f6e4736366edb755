"""What a log means: one public module per agent, each pure.

The door: `load_adapters` finds every agent in this folder.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from leslied.agents._contract import AgentAdapter, Capability

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AgentAdapter", "Capability", "load_adapters"]


@cache
def load_adapters() -> Mapping[str, AgentAdapter]:
    """Every agent leslied can read, by name; a file dropped in here is found."""
    names = [m.name for m in pkgutil.iter_modules(__path__) if m.name[0] != "_"]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.ADAPTER.name: module.ADAPTER for module in modules}
