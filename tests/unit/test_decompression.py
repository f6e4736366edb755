"""Compressed data is read up to a size."""

from __future__ import annotations

import gzip

import pytest
import zstandard

from leslied.decompression import decompress_gzip, decompress_zstd

CASES = [
    (decompress_gzip, gzip.compress),
    (decompress_zstd, zstandard.ZstdCompressor().compress),
]
MAX_BYTES = 1024


@pytest.mark.parametrize(("decompress", "compress"), CASES)
@pytest.mark.parametrize("data", [b"", b"text", b" " * MAX_BYTES])
def test_data_is_decompressed(decompress, compress, data: bytes):
    assert decompress(compress(data), MAX_BYTES) == data


@pytest.mark.parametrize(("decompress", "compress"), CASES)
def test_data_that_is_too_large_is_not_returned(decompress, compress):
    assert decompress(compress(b" " * (MAX_BYTES + 1)), MAX_BYTES) is None


@pytest.mark.parametrize(("decompress", "compress"), CASES)
def test_damaged_data_is_not_returned(decompress, compress):
    data = compress(b"text")

    assert decompress(b"no", MAX_BYTES) is None
    assert decompress(b"", MAX_BYTES) in (None, b"")
    assert decompress(b"x" + data[1:], MAX_BYTES) is None
