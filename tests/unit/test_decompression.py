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


@pytest.mark.parametrize(("decompress", "compress"), CASES)
def test_data_that_was_cut_off_is_not_returned(decompress, compress):
    data = compress(bytes(range(256)) * 4)

    for length in (len(data) // 2, len(data) - 1):
        assert decompress(data[:length], MAX_BYTES) is None


def test_frames_of_unknown_size_are_decompressed_only_whole():
    frame = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    data = frame.compress(bytes(range(256))) + frame.flush()

    assert decompress_zstd(data, 1024 * MAX_BYTES) == bytes(range(256))
    assert decompress_zstd(data[:-3], 1024 * MAX_BYTES) is None


def test_all_members_of_a_gzip_file_are_decompressed():
    data = gzip.compress(b"one\n") + gzip.compress(b"two\n") + bytes(512)

    assert decompress_gzip(data, MAX_BYTES) == b"one\ntwo\n"


@pytest.mark.threat("S6")
def test_a_file_of_very_many_members_is_not_decompressed():
    members = gzip.compress(b"") * 100

    assert decompress_gzip(members, MAX_BYTES) == b""
    assert decompress_gzip(members + gzip.compress(b"x"), MAX_BYTES) is None


def test_the_limit_is_that_of_all_members():
    half = gzip.compress(b" " * (MAX_BYTES // 2))

    assert decompress_gzip(half * 2, MAX_BYTES) == b" " * MAX_BYTES
    assert decompress_gzip(half * 3, MAX_BYTES) is None
