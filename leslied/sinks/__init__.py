"""What comes out: one public module per output, each pure.

The door: `Policy` says where output may stand, `write_file` and its kin put it there.
"""

from __future__ import annotations

from leslied.sinks._policy import Place, Policy, find_project
from leslied.sinks._writer import (
    make_folder,
    merge_folder,
    read_file,
    remove_file,
    write_file,
)

__all__ = [
    "Place",
    "Policy",
    "find_project",
    "make_folder",
    "merge_folder",
    "read_file",
    "remove_file",
    "write_file",
]
