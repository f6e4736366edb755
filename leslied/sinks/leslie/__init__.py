"""Leslie text transcripts: one plain text file per unit.

The door: `shape` makes a document of a unit, `serialize` writes it, `parse` reads it
back, `name_file` names it. `parse(serialize(document)) == document`, always.
"""

from __future__ import annotations

from leslied.sinks.leslie.document import (
    Assistant,
    Call,
    Cut,
    Document,
    Failure,
    Result,
    Subagent,
    User,
)
from leslied.sinks.leslie.names import make_slug, name_file
from leslied.sinks.leslie.shape import Limits, Setting, shape
from leslied.sinks.leslie.sink import SINK
from leslied.sinks.leslie.text import parse, serialize

__all__ = [
    "SINK",
    "Assistant",
    "Call",
    "Cut",
    "Document",
    "Failure",
    "Limits",
    "Result",
    "Setting",
    "Subagent",
    "User",
    "make_slug",
    "name_file",
    "parse",
    "serialize",
    "shape",
]
