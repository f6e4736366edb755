"""Decode agents' logs: one module or package per agent, without I/O.

`load_adapters` finds every agent in this directory.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from leslied.agents._contract import AgentAdapter, Capability
from leslied.sessions.tools import add_tools

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AgentAdapter", "Capability", "load_adapters"]


@cache
def load_adapters() -> Mapping[str, AgentAdapter]:
    """Return the adapters of all agents, by name, and make their tools known."""
    candidates = pkgutil.iter_modules(__path__)
    names = [module.name for module in candidates if not module.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    for module in modules:
        add_tools(module.ADAPTER.tools)
    return {module.ADAPTER.name: module.ADAPTER for module in modules}
