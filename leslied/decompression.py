"""Decompress data whose decompressed size is limited.

A few compressed bytes may decompress to any number of bytes.
"""

from __future__ import annotations

import zlib

GZIP_MAGIC = b"\x1f\x8b"
"""How a file that was compressed with gzip begins."""
_MAX_MEMBERS = 100
"""The rest of the data is copied for each member, so a file may not have many."""


def decompress_gzip(data: bytes, max_bytes: int) -> bytes | None:
    """Return the decompressed bytes, or None if they are damaged or too many.

    Like the program gzip, decompress all members, and ignore what follows them.
    """
    parts: list[bytes] = []
    size = 0
    while data.startswith(GZIP_MAGIC):
        if len(parts) == _MAX_MEMBERS:
            return None
        reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            # One byte more, because 0 means without a limit.
            parts.append(reader.decompress(data, max_bytes - size + 1))
        except zlib.error:
            return None
        size += len(parts[-1])
        if not reader.eof or size > max_bytes:
            return None
        data = reader.unused_data
    return b"".join(parts) if parts else None


def decompress_zstd(data: bytes, max_bytes: int) -> bytes | None:
    """Return the decompressed bytes, or None if they are damaged or too many."""
    import zstandard  # noqa: PLC0415 - slow to import, and few sources need it

    decompressor = zstandard.ZstdDecompressor(max_window_size=2 * max_bytes)
    try:
        with decompressor.stream_reader(data) as stream:
            text: bytes = stream.read(max_bytes + 1)
            if len(text) > max_bytes:
                return None
        # The stream does not tell whether the data was cut off.
        frame = decompressor.decompressobj()
        frame.decompress(data)
    except zstandard.ZstdError:
        return None
    return text if frame.eof else None
