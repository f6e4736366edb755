"""What comes out: one public module per output, each pure.

The door: `load_sinks` finds the outputs, `Policy` says where files may stand,
`write_file` and its kin put them there.
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
    """Every output leslied can make, by name; a file dropped in here is found."""
    names = [m.name for m in pkgutil.iter_modules(__path__) if m.name[0] != "_"]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.SINK.name: module.SINK for module in modules}
