"""Sinks: one public module for each export format, each a pure function.

`load_sinks` lists the sinks, `OutputPolicy` decides where files may be written, and
`write_file` and its relatives write them.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from leslied.sinks._contract import Sink
from leslied.sinks._policy import OutputPolicy, OutputRoot, find_project
from leslied.sinks._writer import (
    make_folder,
    merge_folder,
    read_file,
    remove_file,
    write_artifact,
    write_file,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "OutputPolicy",
    "OutputRoot",
    "Sink",
    "find_project",
    "load_sinks",
    "make_folder",
    "merge_folder",
    "read_file",
    "remove_file",
    "write_artifact",
    "write_file",
]


@cache
def load_sinks() -> Mapping[str, Sink]:
    """Import every public module of this package and return its sink by name."""
    names = [m.name for m in pkgutil.iter_modules(__path__) if m.name[0] != "_"]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.SINK.name: module.SINK for module in modules}
