"""Leslie text transcripts: one plain text file per unit.

`render` turns the units of a session into files. For each it calls `shape_document`,
which makes a document; `serialize_document` and `parse_document` convert it to text and
back without loss, and `make_file_name` names the file.
"""

from __future__ import annotations

from leslied.sinks.leslie.document import (
    AssistantBlock,
    CallBlock,
    CompactedBlock,
    CutBlock,
    ErrorBlock,
    NotificationBlock,
    ResultBlock,
    SubagentBlock,
    TranscriptDocument,
    UserBlock,
)
from leslied.sinks.leslie.drafts import TranscriptLimits, TranscriptOptions
from leslied.sinks.leslie.names import make_file_name, make_slug
from leslied.sinks.leslie.shape import shape_document
from leslied.sinks.leslie.sink import SINK, render
from leslied.sinks.leslie.text import parse_document, serialize_document
from leslied.sinks.leslie.truncate import NoRedaction, TextRedactor

__all__ = [
    "SINK",
    "AssistantBlock",
    "CallBlock",
    "CompactedBlock",
    "CutBlock",
    "ErrorBlock",
    "NoRedaction",
    "NotificationBlock",
    "ResultBlock",
    "SubagentBlock",
    "TextRedactor",
    "TranscriptDocument",
    "TranscriptLimits",
    "TranscriptOptions",
    "UserBlock",
    "make_file_name",
    "make_slug",
    "parse_document",
    "render",
    "serialize_document",
    "shape_document",
]
