"""Sinks: one public module for each export format, with a pure render function.

`load_sinks` returns the sinks, and `OutputPolicy` decides where files may be written.
`write_file` and similar functions write and remove files.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from leslied.folders import MAX_READ_BYTES, open_base_folder
from leslied.sinks._contract import Sink
from leslied.sinks._policy import (
    OutputPolicy,
    OutputRoot,
    find_agent_folder,
    find_project,
)
from leslied.sinks._writer import (
    exclude_from_git,
    has_entry,
    list_files,
    make_folder,
    merge_folder,
    read_file,
    remove_central_thread,
    remove_file,
    remove_thread,
    write_artifact,
    write_file,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MAX_READ_BYTES",
    "OutputPolicy",
    "OutputRoot",
    "Sink",
    "exclude_from_git",
    "find_agent_folder",
    "find_project",
    "has_entry",
    "list_files",
    "load_sinks",
    "make_folder",
    "merge_folder",
    "open_base_folder",
    "read_file",
    "remove_central_thread",
    "remove_file",
    "remove_thread",
    "write_artifact",
    "write_file",
]


@cache
def load_sinks() -> Mapping[str, Sink]:
    """Import all public modules of this package and return their sinks by name."""
    names = [m.name for m in pkgutil.iter_modules(__path__) if m.name[0] != "_"]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.SINK.name: module.SINK for module in modules}
