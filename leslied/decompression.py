"""Decompress data whose decompressed size is limited.

A few compressed bytes may decompress to any number of bytes.
"""

from __future__ import annotations

import zlib

GZIP_MAGIC = b"\x1f\x8b"
"""How a file that was compressed with gzip begins."""


def decompress_gzip(data: bytes, max_bytes: int) -> bytes | None:
    """Return the decompressed bytes, or None if they are damaged or too many."""
    try:
        reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
        text = reader.decompress(data, max_bytes)
    except zlib.error:
        return None
    return text if reader.eof else None


def decompress_zstd(data: bytes, max_bytes: int) -> bytes | None:
    """Return the decompressed bytes, or None if they are damaged or too many."""
    import zstandard  # noqa: PLC0415 - slow to import, and few sources need it

    decompressor = zstandard.ZstdDecompressor(max_window_size=2 * max_bytes)
    try:
        with decompressor.stream_reader(data) as stream:
            text: bytes = stream.read(max_bytes + 1)
    except zstandard.ZstdError:
        return None
    return text if len(text) <= max_bytes else None
