"""Decode agents' logs: one module or package per agent, without I/O.

`load_adapters` finds every agent in this directory.
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
    """Return the adapters of all agents in this directory, by name."""
    candidates = pkgutil.iter_modules(__path__)
    names = [module.name for module in candidates if not module.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.ADAPTER.name: module.ADAPTER for module in modules}
