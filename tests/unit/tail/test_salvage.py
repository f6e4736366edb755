"""Test extracting complete objects from damaged lines, with bounded work."""

from __future__ import annotations

import json
import random
import time

import pytest

from leslied.tail.salvage import salvage

ONE = b'{"type":"user","uuid":"1"}'
TWO = b'{"type":"user","uuid":"2","message":{"content":"a \\" { b"}}'
TORN = b'{"type":"user","uuid":"0","message":{"content":"so far and no'
LONG_LINE_LENGTH = 400_000


def extract_objects(line: bytes) -> list[bytes]:
    """Return the complete objects in a line, without their positions."""
    return [data for _, data in salvage(line).pieces]


@pytest.mark.fault("A7")
@pytest.mark.parametrize(
    "between", [b"", b" ", b"\0" * 7, b"\r", b", ", b"\xef\xbb\xbf"]
)
def test_two_objects_on_a_line_are_both_extracted(between: bytes):
    assert extract_objects(ONE + between + TWO) == [ONE, TWO]


@pytest.mark.fault("A7")
def test_a_complete_object_after_a_torn_one_is_extracted():
    result = salvage(TORN + TWO)

    assert result.pieces == [(len(TORN), TWO)]
    assert result.gaps == [(0, len(TORN))]


@pytest.mark.fault("A7")
def test_a_complete_object_before_a_torn_one_is_extracted():
    result = salvage(TWO + TORN)

    assert result.pieces == [(0, TWO)]
    assert result.gaps == [(len(TWO), len(TORN))]


@pytest.mark.fault("A6", "A7")
def test_objects_after_nul_bytes_are_extracted_with_their_positions():
    result = salvage(b"\0" * 5000 + ONE + b"\0\0" + TWO)

    assert result.pieces == [(5000, ONE), (5002 + len(ONE), TWO)]


@pytest.mark.fault("A7")
def test_a_truncated_line_is_one_gap():
    result = salvage(TORN)

    assert result.pieces == []
    assert result.gaps == [(0, len(TORN))]


@pytest.mark.fault("A6")
@pytest.mark.parametrize("line", [b"", b"   ", b"\0\0\0", b"\xef\xbb\xbf", b"\r"])
def test_filler_alone_is_not_a_gap(line: bytes):
    assert salvage(line) == ([], [])


@pytest.mark.fault("A4", "A7")
def test_damaged_text_does_not_move_positions():
    broken = b'{"type":"user","text":"\xff\xfe\xc3"}'

    assert salvage(b"\xe9\xe9" + broken).pieces == [(2, broken)]


@pytest.mark.fault("A7")
def test_a_complete_record_after_a_torn_large_picture_is_extracted():
    """A torn picture may have some megabytes."""
    torn = TORN.replace(b"so far", b"A" * 3_000_000)

    assert extract_objects(torn + TWO) == [TWO]


@pytest.mark.fault("A7")
def test_all_of_many_objects_are_extracted():
    """A log may have lost all its line ends."""
    assert len(extract_objects(ONE * 3000)) == 3000


@pytest.mark.fault("A7")
def test_a_complete_record_after_a_torn_one_with_many_parts_is_extracted():
    """The parts are complete objects themselves."""
    torn = b'{"type":"user","parts":[' + b'{"a":1},' * 2500

    assert extract_objects(torn + TWO)[-1] == TWO


@pytest.mark.fault("A7")
@pytest.mark.parametrize(
    "fragment",
    [
        b'{"',
        b'{"a":',
        b'{"a',
        b'{"a":[',
        b'{"a":{',
        b'{"a":"',
        b'{"a":1,',
        b'{"\\',
        b'{"a":"\\ud8',
        b'{ \t"',
        b'{"a":9e',
        b'[{"a":[1,',
    ],
)
def test_a_hostile_line_costs_bounded_work(fragment: bytes):
    line = (fragment * LONG_LINE_LENGTH)[:LONG_LINE_LENGTH]
    started = time.process_time()

    result = salvage(line)

    assert time.process_time() - started < 2
    assert sum(length for _, length in result.gaps) >= LONG_LINE_LENGTH - 10


@pytest.mark.fault("A7", "A10")
def test_endless_digits_cost_bounded_work():
    started = time.process_time()

    result = salvage((b'{"a":' + b"9" * 5000) * 80 + ONE)

    assert time.process_time() - started < 2
    assert result.gaps


@pytest.mark.fault("A7")
def test_failures_far_into_a_long_line_cost_the_same_as_near_its_start():
    """The position of a failure must not be computed from the line's start."""
    line = b"x" * 4_000_000 + b'{"x"}' * 2000
    started = time.process_time()

    salvage(line)

    assert time.process_time() - started < 2


@pytest.mark.fault("A7")
def test_the_number_of_failures_in_a_line_is_limited():
    line = b'{"a"!' * 5 + ONE

    assert salvage(line, tries=5).pieces == []
    assert salvage(line, tries=6).pieces == [(25, ONE)]


@pytest.mark.fault("A7")
def test_complete_objects_do_not_count_as_failures():
    assert len(salvage(ONE * 50 + TORN + TWO, tries=2).pieces) == 50


@pytest.mark.fault("A7")
@pytest.mark.parametrize("size", [65_530, 65_536, 65_537, 200_000])
def test_positions_far_into_a_line_are_exact(size: int):
    line = (b"x" * size + ONE + TORN) * 3 + TWO

    result = salvage(line)

    assert [data for _, data in result.pieces] == [ONE, ONE, ONE, TWO]
    assert all(line[at:].startswith(data) for at, data in result.pieces)


@pytest.mark.fault("A7")
def test_pieces_and_gaps_never_overlap():
    """Check ten thousand random mutations of a line."""
    rng = random.Random(7)
    for _ in range(10_000):
        line = bytearray(ONE + TWO + ONE)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(line))
            line[at : at + rng.randrange(8)] = rng.randbytes(rng.randrange(4))
        result = salvage(bytes(line))
        spans = [(at, at + len(data)) for at, data in result.pieces]
        spans += [(at, at + length) for at, length in result.gaps]
        edges = [0, *(edge for span in sorted(spans) for edge in span), len(line)]

        assert edges == sorted(edges)
        assert all(bytes(line[at:]).startswith(data) for at, data in result.pieces)


@pytest.mark.fault("A7")
def test_an_intact_object_is_extracted_after_any_garbage():
    rng = random.Random(11)
    intact_object = json.dumps({"type": "user", "uuid": "whole"}).encode()
    for _ in range(2000):
        garbage = bytes(rng.choices(b'{}[]":,\\ab1 \0\xe9', k=rng.randrange(60)))

        objects = extract_objects(garbage + b"\0" + intact_object)

        assert objects[-1:] == [intact_object]


@pytest.mark.fault("A7")
def test_the_number_of_extracted_objects_is_limited_and_the_rest_is_a_gap():
    result = salvage(b'{"a":1}' * 6_000)

    assert len(result.pieces) == 5_000
    assert result.gaps == [(35_000, 7_000)]
