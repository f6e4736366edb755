"""Leslie text transcripts: one plain text file per unit.

`render` turns the units of a session into files. For each it calls `shape_document`,
which makes a document; `serialize_document` and `parse_document` convert it to text and
back without loss, and `make_file_name` names the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.lazy_imports import make_getattr

if TYPE_CHECKING:
    from leslied.rendering.transcript_document import (
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
    from leslied.rendering.transcript_text import parse_document, serialize_document
    from leslied.sinks.leslie.drafts import TranscriptLimits, TranscriptOptions
    from leslied.sinks.leslie.names import make_file_name, make_slug
    from leslied.sinks.leslie.shape import shape_document
    from leslied.sinks.leslie.sink import SINK, render
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

__getattr__ = make_getattr(
    __name__,
    {
        "AssistantBlock": "leslied.rendering.transcript_document",
        "CallBlock": "leslied.rendering.transcript_document",
        "CompactedBlock": "leslied.rendering.transcript_document",
        "CutBlock": "leslied.rendering.transcript_document",
        "ErrorBlock": "leslied.rendering.transcript_document",
        "NoRedaction": "truncate",
        "NotificationBlock": "leslied.rendering.transcript_document",
        "ResultBlock": "leslied.rendering.transcript_document",
        "SINK": "sink",
        "SubagentBlock": "leslied.rendering.transcript_document",
        "TextRedactor": "truncate",
        "TranscriptDocument": "leslied.rendering.transcript_document",
        "TranscriptLimits": "drafts",
        "TranscriptOptions": "drafts",
        "UserBlock": "leslied.rendering.transcript_document",
        "make_file_name": "names",
        "make_slug": "names",
        "parse_document": "leslied.rendering.transcript_text",
        "render": "sink",
        "serialize_document": "leslied.rendering.transcript_text",
        "shape_document": "shape",
    },
)
