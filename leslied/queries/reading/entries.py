"""One entry with its whole text, its line in the log, and its images."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.errors import UserError
from leslied.model.field_tables import record_to_dict
from leslied.queries.reading.raw_lines import load_raw_line
from leslied.queries.reading.session import open_session
from leslied.rendering.messages import get_report_or_text
from leslied.rendering.text import replace_controls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import PlacedRecord
    from leslied.queries.context import QueryContext

MAX_IMAGE_BYTES = 20 * 1024 * 1024
_MAX_SHOWN_CHARACTERS = 2_000_000
_MAX_REDACTED_CHARACTERS = 20_000
"""Longer texts in a line, such as images, are cut before they are redacted."""
_MAX_LINE_TEXT_CHARACTERS = 16_000
"""Less is shown, so that a secret across the cut is not."""
_MAX_DEPTH = 50
_SIGNATURES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""Media types that are sent to the page, and how their files begin."""


@dataclass(frozen=True, slots=True)
class LoadedEntry:
    """An entry and its line in the log, redacted."""

    placed: PlacedRecord
    line: Any
    """Parsed line; None if the log and its archive are gone."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        text = replace_controls(get_report_or_text(self.placed.record)).strip("\n")
        return {
            "entry": record_to_dict(self.placed),
            "text": text[:_MAX_SHOWN_CHARACTERS],
            "is_cut": len(text) > _MAX_SHOWN_CHARACTERS,
            "line": self.line,
        }


class Image(NamedTuple):
    """An image in a log."""

    media_type: str
    data: bytes


def load_entry(context: QueryContext, session_id: str, entry_id: str) -> LoadedEntry:
    """Return an entry of a session; raise UserError if it does not exist."""
    placed = _get_entry(context, session_id, entry_id)
    line = context.redact_value(_cut_texts(load_raw_line(context, placed)))
    return LoadedEntry(context.redact_entry(placed), _shorten_texts(line))


def load_image(
    context: QueryContext, session_id: str, entry_id: str, number: int
) -> Image:
    """Return an image of an entry, from 0; raise UserError if it does not exist."""
    placed = _get_entry(context, session_id, entry_id)
    line = load_raw_line(context, placed)
    images = list(iter_images(line, placed.record.tool_call_id))
    if number >= len(images):
        raise UserError(
            "The image is not in the log any more.", "Only its size is known."
        )
    return images[number]


def _get_entry(context: QueryContext, session_id: str, entry_id: str) -> PlacedRecord:
    session = open_session(context, session_id)
    streams = [session.summary.stream, *(child.key for child in session.subagents)]
    placed = context.reader.reading.find_entry(streams, entry_id)
    if placed is None:
        raise UserError(f"The session has no entry {entry_id!r}.", "Reload the page.")
    return placed


def iter_images(value: Any, call_id: str, depth: int = 0) -> Iterator[Image]:
    """Yield the images in a line; of a tool result, those of this call."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        if call_id and value.get("tool_use_id", call_id) != call_id:
            return
        if image := _decode_image(
            value.get("media_type") or value.get("mimeType"), value.get("data")
        ):
            yield image
            return
        for item in value.values():
            yield from iter_images(item, call_id, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from iter_images(item, call_id, depth + 1)
    elif isinstance(value, str) and value.startswith("data:image/"):
        head, _, data = value.partition(",")
        media_type = head.removeprefix("data:").partition(";")[0]
        if image := _decode_image(media_type, data):
            yield image


def _decode_image(media_type: Any, data: Any) -> Image | None:
    """Return the image if it is small enough and what its media type says."""
    signature = _SIGNATURES.get(media_type) if isinstance(media_type, str) else None
    if not signature or not isinstance(data, str) or len(data) > MAX_IMAGE_BYTES * 2:
        return None
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    is_valid = decoded.startswith(signature) and len(decoded) <= MAX_IMAGE_BYTES
    return Image(media_type, decoded) if is_valid else None


def _cut_texts(value: Any) -> Any:
    """Return a JSON value with texts that are not too long to redact."""
    return _map_texts(value, lambda text: text[:_MAX_REDACTED_CHARACTERS])


def _shorten_texts(value: Any) -> Any:
    return _map_texts(
        value,
        lambda text: (
            text
            if len(text) <= _MAX_LINE_TEXT_CHARACTERS
            else f"{text[:200]}… (long text, not shown here)"
        ),
    )


def _map_texts(value: Any, change: Any) -> Any:
    """Return a copy of a JSON value with changed texts."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_texts(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_map_texts(item, change) for item in value]
    return value
