"""Decode agents' logs: one module or package per agent, without I/O.

`load_adapters` finds every agent in this directory.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from leslied.agents._contract import AgentAdapter, Capability
from leslied.sessions.tools import add_tools_on_first_use

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.sessions.tools import ToolKind

__all__ = ["AgentAdapter", "Capability", "load_adapters"]


class _Adapters(Mapping[str, AgentAdapter]):
    """The adapters by agent name; listing the names imports no adapter.

    An adapter's module is imported when the adapter is first used. The agent's name is
    that of the module, with `-` instead of `_`.
    """

    def __init__(self) -> None:
        """List the modules of this directory without importing them."""
        names = [module.name for module in pkgutil.iter_modules(__path__)]
        self._modules = {
            name.replace("_", "-"): name for name in names if not name.startswith("_")
        }

    def __getitem__(self, name: str) -> AgentAdapter:
        """Return the adapter of an agent; raise KeyError if there is none."""
        module = importlib.import_module(f"{__name__}.{self._modules[name]}")
        adapter: AgentAdapter = module.ADAPTER
        return adapter

    def __contains__(self, name: object) -> bool:
        """Return whether there is an adapter, without importing it."""
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        """Iterate over the agents' names, without importing any adapter."""
        return iter(self._modules)

    def __len__(self) -> int:
        """Return the number of agents."""
        return len(self._modules)


@cache
def load_adapters() -> Mapping[str, AgentAdapter]:
    """Return the adapters of all agents, by name, and register their tools.

    No adapter is imported yet. Each is imported on its first use, and all of them when
    the kind of any tool is first asked for.
    """
    add_tools_on_first_use(_list_tools)
    return _Adapters()


def _list_tools() -> Iterable[Mapping[str, ToolKind]]:
    """Return the kinds of every agent's own tools, by tool name."""
    return [adapter.tools for adapter in load_adapters().values()]
