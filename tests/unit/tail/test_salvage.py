"""Whole objects out of damaged lines, with bounded work."""

from __future__ import annotations

import json
import random
import time

import pytest

from leslied.tail import salvage

ONE = b'{"type":"user","uuid":"1"}'
TWO = b'{"type":"user","uuid":"2","message":{"content":"a \\" { b"}}'
TORN = b'{"type":"user","uuid":"0","message":{"content":"so far and no'
LONG = 400_000


def cut(line: bytes) -> list[bytes]:
    return [data for _, data in salvage(line).pieces]


@pytest.mark.parametrize(
    "between", [b"", b" ", b"\0" * 7, b"\r", b", ", b"\xef\xbb\xbf"]
)
def test_two_objects_on_a_line_are_two(between: bytes):
    """A7."""
    assert cut(ONE + between + TWO) == [ONE, TWO]


def test_a_whole_object_behind_a_torn_one_is_found():
    """A7."""
    found = salvage(TORN + TWO)

    assert found.pieces == [(len(TORN), TWO)]
    assert found.gaps == [(0, len(TORN))]


def test_a_whole_object_before_a_torn_one_is_found():
    """A7."""
    found = salvage(TWO + TORN)

    assert found.pieces == [(0, TWO)]
    assert found.gaps == [(len(TWO), len(TORN))]


def test_objects_behind_a_run_of_zero_bytes_are_found_where_they_stand():
    """A6, A7."""
    found = salvage(b"\0" * 5000 + ONE + b"\0\0" + TWO)

    assert found.pieces == [(5000, ONE), (5002 + len(ONE), TWO)]


def test_a_cut_line_is_one_gap():
    """A7."""
    found = salvage(TORN)

    assert found.pieces == []
    assert found.gaps == [(0, len(TORN))]


@pytest.mark.parametrize("line", [b"", b"   ", b"\0\0\0", b"\xef\xbb\xbf", b"\r"])
def test_filler_alone_is_no_gap(line: bytes):
    """A6."""
    assert salvage(line) == ([], [])


def test_damaged_text_does_not_move_positions():
    """A4, A7."""
    broken = b'{"type":"user","text":"\xff\xfe\xc3"}'

    assert salvage(b"\xe9\xe9" + broken).pieces == [(2, broken)]


def test_a_torn_record_with_a_large_picture_hides_no_whole_one():
    """A7: a picture of three megabytes, cut off, and the next record behind it."""
    torn = TORN.replace(b"so far", b"A" * 3_000_000)

    assert cut(torn + TWO) == [TWO]


def test_every_one_of_many_objects_is_found():
    """A7: line ends lost from a whole log."""
    assert len(cut(ONE * 3000)) == 3000


def test_a_torn_record_with_many_parts_hides_no_whole_one():
    """A7: the parts are whole objects themselves."""
    torn = b'{"type":"user","parts":[' + b'{"a":1},' * 2500

    assert cut(torn + TWO)[-1] == TWO


@pytest.mark.parametrize(
    "unit",
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
def test_a_hostile_line_costs_bounded_work(unit: bytes):
    """A7."""
    line = (unit * LONG)[:LONG]
    began = time.process_time()

    found = salvage(line)

    assert time.process_time() - began < 2
    assert sum(length for _, length in found.gaps) >= LONG - 10


def test_endless_digits_cost_bounded_work():
    """A7, A10."""
    began = time.process_time()

    found = salvage((b'{"a":' + b"9" * 5000) * 80 + ONE)

    assert time.process_time() - began < 2
    assert found.gaps


def test_failures_far_into_a_long_line_cost_no_more_than_near_its_start():
    """A7: where a try failed must not be looked up from the start of the line."""
    line = b"x" * 4_000_000 + b'{"x"}' * 2000
    began = time.process_time()

    salvage(line)

    assert time.process_time() - began < 2


def test_a_line_may_fail_only_so_often():
    """A7."""
    line = b'{"a"!' * 5 + ONE

    assert salvage(line, tries=5).pieces == []
    assert salvage(line, tries=6).pieces == [(25, ONE)]


def test_whole_objects_are_no_tries():
    """A7."""
    assert len(salvage(ONE * 50 + TORN + TWO, tries=2).pieces) == 50


@pytest.mark.parametrize("size", [65_530, 65_536, 65_537, 200_000])
def test_pieces_far_into_a_line_stand_where_they_stand(size: int):
    """A7."""
    line = (b"x" * size + ONE + TORN) * 3 + TWO

    found = salvage(line)

    assert [data for _, data in found.pieces] == [ONE, ONE, ONE, TWO]
    assert all(line[at:].startswith(data) for at, data in found.pieces)


def test_pieces_and_gaps_never_overlap_whatever_was_cut():
    """A7: ten thousand mutations."""
    chance = random.Random(7)
    for _ in range(10_000):
        line = bytearray(ONE + TWO + ONE)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(line))
            line[at : at + chance.randrange(8)] = chance.randbytes(chance.randrange(4))
        found = salvage(bytes(line))
        spans = [(at, at + len(data)) for at, data in found.pieces]
        spans += [(at, at + length) for at, length in found.gaps]
        ends = [0, *(edge for span in sorted(spans) for edge in span), len(line)]

        assert ends == sorted(ends)
        assert all(bytes(line[at:]).startswith(data) for at, data in found.pieces)


def test_an_object_nobody_damaged_survives_whatever_stands_beside_it():
    """A7."""
    chance = random.Random(11)
    whole = json.dumps({"type": "user", "uuid": "whole"}).encode()
    for _ in range(2000):
        noise = bytes(chance.choices(b'{}[]":,\\ab1 \0\xe9', k=chance.randrange(60)))

        assert cut(noise + b"\0" + whole)[-1:] == [whole]
