"""Convert single values to JSON; `model.field_tables` converts whole objects."""

from __future__ import annotations

import json
from datetime import UTC
from typing import TYPE_CHECKING, Any

from msgspec import structs

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.model.record import Record, Usage


def metadata_to_dict(record: Record) -> dict[str, Any]:
    """Return a copy of the metadata, plus native id, UTC offset and spilled length."""
    metadata = dict(record.metadata)
    if record.native_id:
        metadata["native_id"] = record.native_id
    offset = record.created_at.utcoffset() if record.created_at else None
    if offset:
        metadata["utc_offset_minutes"] = int(offset.total_seconds() // 60)
    if record.spilled:
        metadata["spilled_characters"] = len(record.spilled)
    return metadata


def usage_to_dict(usage: Usage) -> dict[str, int]:
    """Return token counts by kind; omit the one-hour cache count when it is zero."""
    counts: dict[str, int] = structs.asdict(usage)
    if not usage.cache_write_1h_tokens:
        del counts["cache_write_1h_tokens"]
    return counts


def encode_time(time: datetime | None) -> str | None:
    """Return ISO 8601 text in UTC with milliseconds, or microseconds if needed."""
    if time is None:
        return None
    utc = time.astimezone(UTC)
    precision = "milliseconds" if utc.microsecond % 1000 == 0 else "microseconds"
    return utc.isoformat(timespec=precision).replace("+00:00", "Z")


def decode_tool_input(text: str) -> Any:
    """Parse the arguments of a call; return None for "", and other text unparsed."""
    if not text:
        return None
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
