"""The images in an entry's line in the log, and why some of them cannot be shown."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.errors import UserError
from leslied.queries.reading.encoding import count_images
from leslied.queries.reading.entries import get_entry
from leslied.queries.reading.raw_lines import load_raw_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.queries.context import QueryContext

MAX_IMAGE_BYTES = 20 * 1024 * 1024
_MAX_DEPTH = 50
_SIGNATURES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""Media types that are sent to the page, and how their files begin."""


class Image(NamedTuple):
    """An image in a log; without data if it cannot be shown."""

    media_type: str
    data: bytes
    problem: str = ""
    """Why it cannot be shown, as a sentence."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without the image itself."""
        return {
            "media_type": self.media_type or None,
            "bytes": len(self.data),
            "problem": self.problem or None,
        }


class EntryImages(NamedTuple):
    """All images of an entry, in their order."""

    images: tuple[Image, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"images": [image.to_dict() for image in self.images]}


def load_images(context: QueryContext, session_id: str, entry_id: str) -> EntryImages:
    """Return the images of an entry, also those that cannot be shown.

    Raise UserError if the entry does not exist.
    """
    placed = get_entry(context, session_id, entry_id)
    line = load_raw_line(context, placed)
    images = list(iter_images(line, placed.record.tool_call_id))
    problem = (
        "The original line is gone or cannot be shown."
        if line is None
        else "The image is not in the log."
    )
    missing_count = count_images(placed) - len(images)
    return EntryImages((*images, *[Image("", b"", problem)] * missing_count))


def load_image(
    context: QueryContext, session_id: str, entry_id: str, number: int
) -> Image:
    """Return the image with this number in an entry; the first one is 0.

    Raise UserError if it cannot be shown.
    """
    images = load_images(context, session_id, entry_id).images
    if number >= len(images):
        raise UserError("The image is not in the log.", "Reload the page.")
    image = images[number]
    if image.problem:
        raise UserError(image.problem, "Its line in the log may tell more.")
    return image


def iter_images(value: Any, call_id: str, depth: int = 0) -> Iterator[Image]:
    """Yield the images in a line, without those of tool results of other calls."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        if call_id and value.get("tool_use_id", call_id) != call_id:
            return
        media_type = value.get("media_type") or value.get("mimeType")
        data = value.get("data")
        is_typed = isinstance(media_type, str) and media_type.startswith("image/")
        if is_typed and isinstance(data, str):
            yield _decode_image(str(media_type), data)
            return
        for item in value.values():
            yield from iter_images(item, call_id, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from iter_images(item, call_id, depth + 1)
    elif isinstance(value, str) and value.startswith("data:image/"):
        head, _, data = value.partition(",")
        media_type = head.removeprefix("data:").partition(";")[0]
        yield _decode_image(media_type, data)


def _decode_image(media_type: str, data: str) -> Image:
    """Return the image; without data if it is too large or not what its type says."""
    signature = _SIGNATURES.get(media_type)
    if signature is None:
        # The type itself is text of the log, and says nothing that helps.
        return Image("", b"", "Only PNG, JPEG, GIF and WebP images are shown.")
    if len(data) * 3 // 4 > MAX_IMAGE_BYTES:
        megabytes = MAX_IMAGE_BYTES // 1024**2
        return Image(media_type, b"", f"The image is larger than {megabytes} MB.")
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if decoded.startswith(signature):
        return Image(media_type, decoded)
    return Image(media_type, b"", "The image in the log is damaged.")
