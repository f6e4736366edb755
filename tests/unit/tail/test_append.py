"""Test reading append-only logs: complete lines, exactly once, whatever the bytes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from leslied import tail
from leslied.errors import SourceError
from leslied.model.source import Chunk, Cursor
from leslied.queries.search_query import parse_query
from leslied.store import Store, StoreReader
from leslied.tail import ReadLimits
from leslied.tail.append import has_same_bytes
from tests.support.claude import (
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.records import (
    TailHarness,
    append,
    bump_ctime,
    bump_mtime,
    encode_lines,
    make_source,
    rewrite_in_place,
)
from tests.support.waiting import MAX_WAIT_SECONDS

MIB = 1024 * 1024


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.touch()
    return path


def list_contents(claude: ClaudeHome, *, of_type: str = "user_message") -> list[str]:
    """Return the contents of all records of one type in the store."""
    with StoreReader(claude.store_path) as reader:
        keys = [session.key for session in reader.list_sessions()]
        placed = [item for key in keys for item in reader.list_records(key)]
    return [p.record.content for p in placed if p.record.type == of_type]


def list_reasons(claude: ClaudeHome) -> list[str]:
    """Return the reasons of all rejections in the store."""
    with StoreReader(claude.store_path) as reader:
        return [item["reason"] for item in reader.list_rejected(1000)]


# The end of a file


@pytest.mark.fault("A1")
def test_a_line_without_a_line_end_is_not_read(log: Path):
    log.write_bytes(b"one\ntw")

    assert TailHarness(log).read_new() == [b"one"]


@pytest.mark.fault("A1")
def test_a_line_is_read_once_when_it_is_complete(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(b"one\ntw")
    tailer.read_new()
    append(log, b"o\n")

    assert tailer.read_new() == [b"two"]
    assert tailer.read_new() == []


@pytest.mark.fault("A1")
def test_a_line_completed_over_two_runs_is_one_record(claude: ClaudeHome):
    line = encode_json_lines(ClaudeLogBuilder().prompt("hello"))
    claude.log().write_bytes(line[:40])
    first = claude.sync()
    append(claude.log(), line[40:])

    second = claude.sync()

    assert (first.entries, second.entries) == (0, 1)
    assert list_contents(claude) == ["hello"]


@pytest.mark.fault("A2")
def test_an_incomplete_last_line_is_read_once_as_final(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(b"one\ntwo")

    assert tailer.read_new(is_final=True) == [b"one", b"two"]
    assert tailer.read_new(is_final=True) == []


@pytest.mark.fault("A2")
def test_an_incomplete_last_line_of_a_touched_file_is_not_read_again(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(b"one\ntwo")
    tailer.read_new(is_final=True)
    bump_mtime(log)

    assert tailer.read_new(is_final=True) == []


@pytest.mark.fault("A2")
def test_an_incomplete_line_is_read_as_final_after_an_ordinary_read(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(b"one\ntwo")
    tailer.read_new()

    assert tailer.read_new(is_final=True) == [b"two"]


@pytest.mark.fault("A2")
def test_a_final_line_that_continues_is_read_again_completely(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(b"two")
    tailer.read_new(is_final=True)
    append(log, b" three\n")

    assert tailer.read_new() == [b"two three"]


@pytest.mark.fault("A2")
def test_a_complete_object_read_without_its_line_end_is_stored_once(
    claude: ClaudeHome,
):
    line = encode_json_lines({"type": "custom-title", "customTitle": "A name"})
    claude.log().write_bytes(line[:-1])
    claude.sync(is_final=True)
    append(claude.log(), b"\n")

    claude.sync()

    assert list_contents(claude, of_type="system_event") == ["A name"]


@pytest.mark.fault("A2")
def test_a_rejected_last_line_is_no_longer_rejected_when_complete(
    claude: ClaudeHome,
):
    line = encode_json_lines(ClaudeLogBuilder().prompt("hello"))
    claude.log().write_bytes(line[:40])
    claude.sync(is_final=True)
    append(claude.log(), line[40:])

    claude.sync()

    assert list_contents(claude) == ["hello"]
    assert list_reasons(claude) == []


@pytest.mark.fault("A2")
def test_noise_without_a_line_end_is_counted_once(claude: ClaudeHome):
    line = encode_json_lines({"type": "last-prompt", "lastPrompt": "hello"})
    claude.log().write_bytes(line[:-1])
    claude.sync(is_final=True)
    append(claude.log(), b"\n")

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        assert reader.count_rows()["noise"] == 1


@pytest.mark.fault("A2", "A14")
def test_a_touched_log_keeps_the_rejection_of_its_last_line(claude: ClaudeHome):
    claude.log().write_bytes(encode_json_lines(ClaudeLogBuilder().prompt("hello"))[:40])
    claude.sync(is_final=True)
    bump_mtime(claude.log())
    claude.sync()

    claude.sync(is_final=True)

    assert len(list_reasons(claude)) == 1


# Bytes


@pytest.mark.fault("A3")
@pytest.mark.parametrize("chunk", range(1, 10))
def test_characters_are_never_split_between_two_reads(log: Path, chunk: int):
    texts = ["é", "日本語", "😀😀", "a" * 20, "ünï"]
    log.write_bytes(encode_lines(*texts))

    lines = TailHarness(log, chunk=chunk, anchor=8).read_new()

    assert [line.decode() for line in lines] == texts


@pytest.mark.fault("A3")
@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 8, 13, 64])
def test_offsets_are_exact_for_any_chunk_size(log: Path, chunk: int):
    data = encode_lines(*("x" * n for n in range(40)))
    log.write_bytes(data)

    lines = TailHarness(log, chunk=chunk, anchor=8).read_new_with_offsets()

    assert [data[at : at + len(line)] for at, line in lines] == [d for _, d in lines]
    assert [len(line) for _, line in lines] == list(range(1, 40))


@pytest.mark.fault("A4")
def test_invalid_utf8_is_replaced(claude: ClaudeHome):
    line = encode_json_lines(ClaudeLogBuilder().prompt("pat@ open"))
    claude.log().write_bytes(line.replace(b"@", b"\xe9"))

    claude.sync()

    assert list_contents(claude) == ["pat\ufffd open"]


@pytest.mark.fault("A4")
def test_a_line_of_invalid_bytes_is_rejected_with_its_position(
    claude: ClaudeHome,
):
    claude.log().write_bytes(b"\n\xff\xfe\xfd\n")

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        (rejection,) = reader.list_rejected(10)
    assert (rejection["offset"], rejection["length"]) == (1, 3)


@pytest.mark.fault("A5")
def test_every_lone_surrogate_is_replaced(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(*[builder.prompt(f"<{chr(0xD800 + n)}>") for n in range(2048)])

    claude.sync()

    assert list_contents(claude) == ["<\ufffd>"] * 2048
    assert list_reasons(claude) == []


@pytest.mark.fault("A5")
@pytest.mark.parametrize(
    "field",
    ["uuid", "parentUuid", "sessionId", "cwd", "version", "gitBranch", "type", "slug"],
)
def test_a_lone_surrogate_in_any_field_loses_no_line(claude: ClaudeHome, field: str):
    builder = ClaudeLogBuilder()
    claude.write({**builder.prompt("one"), field: "x\ud800"}, builder.prompt("two"))

    report = claude.sync()

    assert report.rejected == 0
    assert list_contents(claude)[-1] == "two"


@pytest.mark.fault("A5")
def test_a_lone_surrogate_in_a_call_can_be_shown_and_searched(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.call("Ba\udfffsh", {"cmd\ud800": "needle \udc00"}, "call\ud900")
    )

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        (hit,) = reader.search(parse_query("needle", {})).list_newest(5)
    assert hit.tool_name == "Ba\ufffdsh"


@pytest.mark.fault("A6")
def test_a_record_after_a_run_of_nul_bytes_is_stored(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.log().write_bytes(
        b"\0" * 4096 + encode_json_lines(builder.prompt("one"), builder.prompt("two"))
    )

    claude.sync()

    assert list_contents(claude) == ["one", "two"]


@pytest.mark.fault("A6")
def test_a_line_of_nul_bytes_is_rejected(claude: ClaudeHome):
    claude.log().write_bytes(
        b"\0" * 4096 + b"\n" + encode_json_lines(ClaudeLogBuilder().prompt("one"))
    )

    claude.sync()

    assert list_contents(claude) == ["one"]
    assert len(list_reasons(claude)) == 1


@pytest.mark.fault("A7")
@pytest.mark.parametrize(
    "gap",
    [b"", b" ", b"\0\0\0", b'{"type":"user","uuid":"torn","message":{"content":"ab'],
)
def test_both_records_of_a_spliced_line_are_stored(claude: ClaudeHome, gap: bytes):
    builder = ClaudeLogBuilder()
    first_line = encode_json_lines(builder.prompt("one"))
    second_line = encode_json_lines(builder.prompt("two"))
    claude.log().write_bytes(first_line[:-1] + gap + second_line)

    claude.sync()

    assert list_contents(claude) == ["one", "two"]


@pytest.mark.fault("A7")
def test_a_torn_piece_is_rejected_with_its_position(claude: ClaudeHome):
    torn_piece = b'{"type":"user","uuid":"x","mess'
    complete_line = encode_json_lines(ClaudeLogBuilder().prompt("two"))
    claude.log().write_bytes(torn_piece + complete_line)

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        (rejection,) = reader.list_rejected(10)
    assert (rejection["offset"], rejection["length"]) == (0, len(torn_piece))
    assert list_contents(claude) == ["two"]


@pytest.mark.fault("A7")
def test_a_truncated_line_is_rejected_and_the_next_is_stored(
    claude: ClaudeHome,
):
    builder = ClaudeLogBuilder()
    truncated_line = encode_json_lines(builder.prompt("one"))[:-20] + b"\n"
    complete_line = encode_json_lines(builder.prompt("two"))
    claude.log().write_bytes(truncated_line + complete_line)

    claude.sync()

    assert list_contents(claude) == ["two"]
    assert len(list_reasons(claude)) == 1


@pytest.mark.fault("A13")
@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x1c", "\x0b", "\r"])
def test_only_a_line_feed_ends_a_line(log: Path, separator: str):
    log.write_text(f"one{separator}two\nthree\n", newline="")

    assert TailHarness(log).read_new() == [f"one{separator}two".encode(), b"three"]


@pytest.mark.fault("A13")
@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_a_unicode_line_separator_stays_in_its_record(
    claude: ClaudeHome, separator: str
):
    line = json.dumps(
        ClaudeLogBuilder().prompt(f"one{separator}two"), ensure_ascii=False
    )
    claude.log().write_bytes(line.encode() + b"\n")

    claude.sync()

    assert list_contents(claude) == [f"one{separator}two"]


@pytest.mark.fault("A13")
@pytest.mark.parametrize("separator", ["\r", "\t", "\x1c", "\x01", "\x1b"])
def test_a_raw_control_character_in_a_string_loses_no_record(
    claude: ClaudeHome, separator: str
):
    line = json.dumps(ClaudeLogBuilder().prompt("one@two")).replace("@", separator)
    claude.log().write_bytes(line.encode() + b"\n")

    claude.sync()

    assert list_contents(claude) == [f"one{separator}two"]


@pytest.mark.fault("A12")
@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfone\ntwo\n",
        b"one\r\ntwo\r\n",
        b"\n\n \t\none\n\r\n\x0b\x0c\ntwo\n\n",
        b"  one  \n\ttwo\n",
    ],
    ids=["bom", "crlf", "blank", "spaces"],
)
def test_offsets_are_exact_with_byte_order_marks_and_blank_lines(
    log: Path, data: bytes
):
    log.write_bytes(data)

    lines = TailHarness(log).read_new_with_offsets()

    assert [line.strip(b"\xef\xbb\xbf \t\r") for _, line in lines] == [b"one", b"two"]
    assert all(data[at : at + len(line)] == line for at, line in lines)


@pytest.mark.fault("A12")
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_byte_order_marks_and_carriage_returns_lose_no_record(
    claude: ClaudeHome, bom: bytes, end: bytes
):
    builder = ClaudeLogBuilder()
    first_line = encode_json_lines(builder.prompt("one"))
    second_line = encode_json_lines(builder.prompt("two"))
    data = first_line + b"\n" + second_line
    claude.log().write_bytes(bom + data.replace(b"\n", end))

    claude.sync()

    assert list_contents(claude) == ["one", "two"]
    assert list_reasons(claude) == []


# Hostile values


@pytest.mark.fault("A9")
@pytest.mark.parametrize("depth", [10, 500, 950, 985, 990, 1000, 5000, 1_000_000])
def test_deep_nesting_is_stored_or_rejected(claude: ClaudeHome, depth: int):
    builder = ClaudeLogBuilder()
    nested_lists = b"[" * depth + b"]" * depth
    call = encode_json_lines(builder.call("Bash", "@", "c1"))
    call = call.replace(b'"@"', nested_lists)
    claude.log().write_bytes(call + encode_json_lines(builder.prompt("after")))

    report = claude.sync()

    assert list_contents(claude, of_type="tool_use") or report.rejected
    assert list_contents(claude) == ["after"]


@pytest.mark.fault("A10")
@pytest.mark.parametrize(
    "number", ["9" * 5000, "-" + "9" * 5000, str(2**63), "NaN", "-Infinity", "1e999"]
)
def test_numbers_out_of_range_lose_no_line(claude: ClaudeHome, number: str):
    builder = ClaudeLogBuilder()
    line = encode_json_lines(
        builder.call("Bash", {"n": "@"}, "c1"), builder.prompt("after")
    )
    claude.log().write_bytes(line.replace(b'"@"', number.encode()))

    claude.sync()

    assert list_contents(claude) == ["after"]
    assert len(list_contents(claude, of_type="tool_use")) == 1


@pytest.mark.fault("A10")
@pytest.mark.parametrize("tokens", [2**63 - 1, 2**63, 2**64, 10**30, -1, -(2**63) - 1])
def test_token_counts_out_of_range_lose_no_line(claude: ClaudeHome, tokens: int):
    builder = ClaudeLogBuilder()
    usage = {"input_tokens": tokens, "output_tokens": tokens}
    claude.write(builder.prompt("one"), builder.answer("two", usage=usage))

    claude.sync()

    assert list_contents(claude, of_type="assistant_message") == ["two"]


@pytest.mark.fault("A16")
@pytest.mark.parametrize(
    "value", ["[]", "1", '"text"', "null", "true", "[1, 2]", "[[]]", "1.5", "{"]
)
def test_json_that_is_not_an_object_is_rejected(claude: ClaudeHome, value: str):
    claude.log().write_bytes(
        value.encode() + b"\n" + encode_json_lines(ClaudeLogBuilder().prompt("after"))
    )

    report = claude.sync()

    assert report.rejected == 1
    assert list_contents(claude) == ["after"]


@pytest.mark.fault("A17")
def test_compressed_bytes_are_never_decompressed(claude: ClaudeHome):
    bomb = b"\x1f\x8b\x08\0" + bytes(range(256)) * 4
    claude.log().write_bytes(bomb.replace(b"\n", b"") + b"\n")

    report = claude.sync()

    assert (report.entries, report.rejected, report.added.records) == (1, 1, 0)


@pytest.mark.fault("A11")
def test_the_last_of_two_values_of_a_key_counts(claude: ClaudeHome):
    line = encode_json_lines(ClaudeLogBuilder().prompt("@"))
    line = line.replace(b'"content": "@"', b'"content": "first", "content": "second"')
    claude.log().write_bytes(line.replace(b'"type"', b'"type": "mode", "type"', 1))

    claude.sync()

    assert list_contents(claude) == ["second"]


@pytest.mark.fault("F12")
def test_a_log_without_any_valid_line_is_read_only_once(claude: ClaudeHome):
    claude.log().write_bytes(b"not JSON\n" * 1000)
    first = claude.sync()

    second = claude.sync()

    assert (first.entries, first.rejected) == (1000, 1000)
    assert (second.entries, second.bytes_read, second.commits) == (0, 0, 0)


@pytest.mark.fault("G3")
def test_records_stay_when_a_compaction_removes_their_lines(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("long ago"), builder.answer("Done."))
    claude.sync()
    boundary = builder.line("system", subtype="compact_boundary", content="Compacted")
    rewrite_in_place(claude.log(), encode_json_lines(boundary, builder.prompt("after")))

    claude.sync()

    assert list_contents(claude) == ["long ago", "after"]
    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
        kinds = [
            p.record.metadata.get("kind") for p in reader.list_records(session.key)
        ]
    assert "compacted" in kinds


# Long lines


@pytest.mark.fault("A8")
def test_a_line_longer_than_a_chunk_is_read_completely(log: Path):
    texts = ["a" * 1000, "b", "c" * 5000]
    log.write_bytes(encode_lines(*texts))

    lines = TailHarness(log, chunk=100, anchor=16).read_new()

    assert lines == [text.encode() for text in texts]


@pytest.mark.fault("A8")
@pytest.mark.parametrize(("length", "rejections"), [(998, 0), (999, 0), (1000, 1)])
def test_a_line_may_have_the_maximum_length_with_its_line_end(
    log: Path, length: int, rejections: int
):
    log.write_bytes(b"x" * length + b"\n")
    tailer = TailHarness(log, chunk=64, line=1000)

    lines = tailer.read_new()

    assert (len(lines), len(tailer.rejected)) == (1 - rejections, rejections)


@pytest.mark.fault("A8")
def test_a_line_that_is_too_long_is_rejected_and_the_next_is_read(log: Path):
    long_line = b"x" * 5000
    log.write_bytes(b"one\n" + long_line + b"\ntwo\n")
    tailer = TailHarness(log, chunk=64, line=1000, head=40)

    lines = tailer.read_new()

    (rejection,) = tailer.rejected
    assert lines == [b"one", b"two"]
    assert (rejection.offset, rejection.length) == (4, 5000)
    assert rejection.head == long_line[:40]
    assert rejection.reason.startswith("oversized")


@pytest.mark.fault("A8")
def test_the_digest_of_a_line_that_is_too_long_covers_the_whole_line(log: Path):
    long_line = b"x" * 5000
    log.write_bytes(long_line + b"\n")
    tailer = TailHarness(log, chunk=64, line=1000)

    tailer.read_new()

    (rejection,) = tailer.rejected
    assert rejection.digest == hashlib.sha256(long_line).digest()[:16]


@pytest.mark.fault("A8")
def test_reading_continues_after_a_line_that_is_too_long(log: Path):
    tailer = TailHarness(log, chunk=64, line=1000, anchor=16)
    log.write_bytes(b"x" * 5000 + b"\n")
    tailer.read_new()
    append(log, b"two\n")

    assert tailer.read_new() == [b"two"]
    assert tailer.cursor.generation == 1


def test_a_log_is_read_up_to_a_line_that_never_ends(log: Path):
    log.write_bytes(b"one\n")
    # A sparse file occupies no space.
    os.truncate(log, 100 * 1024 * MIB)
    limits = ReadLimits(chunk=1000, line=2000, skip=10_000, rescan=100)
    chunks: list[Chunk] = []
    source = make_source(log)

    with pytest.raises(SourceError, match="has a line of more than 10,000 bytes"):
        chunks.extend(tail.read(source, Cursor(), limits, is_final=True))

    assert [entry.data for chunk in chunks for entry in chunk.entries] == [b"one"]
    assert sum(chunk.bytes_read for chunk in chunks) < 13_000
    assert tail.is_unchanged(source, chunks[-1].cursor)


def test_a_log_with_a_line_that_never_ends_is_not_scanned_again(log: Path):
    log.touch()
    os.truncate(log, 1024 * MIB)
    harness = TailHarness(log, chunk=1000, line=2000, skip=10_000, rescan=100)
    with pytest.raises(SourceError):
        harness.read_new()
    append(log, b"more")

    with pytest.raises(SourceError):
        harness.read_new()

    assert harness.bytes_read == 0


def test_a_long_line_is_scanned_in_steps(log: Path):
    log.write_bytes(b"x" * 9000 + b"\n")
    limits = ReadLimits(chunk=1000, line=2000, rescan=100)

    chunks = list(tail.read(make_source(log), Cursor(), limits))

    assert len(chunks) > 3
    assert sum(len(chunk.rejected) for chunk in chunks) == 1


@pytest.mark.fault("A2", "A8")
def test_an_incomplete_line_that_is_too_long_is_rejected_when_final(log: Path):
    log.write_bytes(b"one\n" + b"x" * 5000)
    tailer = TailHarness(log, chunk=64, line=1000)

    lines = tailer.read_new(is_final=True)

    assert lines == [b"one"]
    assert [item.length for item in tailer.rejected] == [5000]


MEMORY_SCRIPT = """
import sys
from pathlib import Path
from leslied.clock import SystemClock
from tests.support.claude import ClaudeHome

home = Path(sys.argv[1])
report = ClaudeHome(home, home / "data" / "store.db", SystemClock()).sync()
# Not ru_maxrss, which also covers the process that this one was forked from.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak = int(status["VmHWM"].split()[0])
unit = 1 if sys.platform == "linux" else 1024
print(report.rejected, report.added.records, peak // unit)
"""


@pytest.mark.fault("A8")
def test_a_line_of_a_hundred_megabytes_is_not_held_in_memory(
    claude: ClaudeHome, home: Path
):
    with claude.log().open("wb") as file:
        for _ in range(100):
            file.write(b"x" * MIB)
        file.write(b"\n" + encode_json_lines(ClaudeLogBuilder().prompt("after")))
    root = Path(__file__).resolve().parents[3]

    process = subprocess.run(
        [sys.executable, "-c", MEMORY_SCRIPT, str(home)],
        cwd=root,
        capture_output=True,
        check=True,
        text=True,
        timeout=MAX_WAIT_SECONDS,
    )

    rejected, records, peak = map(int, process.stdout.split())
    assert (rejected, records) == (1, 2)
    # In kilobytes: the whole line together with the program would need more.
    assert peak < 120 * 1024


@pytest.mark.fault("A8")
@pytest.mark.parametrize("lines", [b"one\n", b""], ids=["later line", "first line"])
def test_a_long_line_that_grows_is_scanned_once(log: Path, lines: bytes):
    log.write_bytes(lines)
    tailer = TailHarness(log)
    bytes_read = 0
    for size in range(1, 33):
        os.truncate(log, len(lines) + size * MIB)
        tailer.read_new()
        bytes_read += tailer.bytes_read

    assert bytes_read < 40 * MIB


@pytest.mark.fault("A8")
def test_a_long_line_is_read_when_it_is_complete(log: Path):
    log.write_bytes(b"one\n")
    tailer = TailHarness(log, chunk=1000)
    tailer.read_new()
    for _ in range(20):
        append(log, b"x" * 700)
        tailer.read_new()
    append(log, b"\ntwo\n")

    assert tailer.read_new() == [b"x" * 14_000, b"two"]


# Bytes that are read


@pytest.mark.fault("A14")
def test_no_byte_of_an_empty_file_is_read(log: Path):
    tailer = TailHarness(log)

    assert tailer.read_new() == []
    assert tailer.read_new() == []
    assert tailer.bytes_read == 0


@pytest.mark.fault("A14")
def test_an_unchanged_file_is_not_opened(log: Path, monkeypatch: pytest.MonkeyPatch):
    log.write_bytes(encode_lines(1, 2, 3))
    tailer = TailHarness(log)
    tailer.read_new()
    monkeypatch.setattr("leslied.tail.files.os.open", None)

    assert tailer.read_new() == []
    assert tailer.bytes_read == 0


@pytest.mark.fault("A14")
def test_no_byte_of_a_touched_empty_file_is_read(log: Path):
    tailer = TailHarness(log)
    tailer.read_new()
    bump_mtime(log)

    assert tailer.read_new() == []
    assert tailer.bytes_read == 0


@pytest.mark.fault("A14")
@pytest.mark.parametrize(
    "change", [bump_mtime, bump_ctime], ids=["mtime", "attributes"]
)
def test_a_touched_file_is_verified_once_and_has_no_new_lines(log: Path, change):
    log.write_bytes(encode_lines(*range(1000)))
    size = log.stat().st_size
    tailer = TailHarness(log)
    tailer.read_new()
    change(log)

    assert tailer.read_new() == []
    assert tailer.bytes_read <= size + 512
    assert tailer.read_new() == []
    assert tailer.bytes_read == 0


def test_an_append_costs_the_same_in_a_large_file_and_a_small_one(tmp_path: Path):
    costs = []
    for name, size in (("small", 5_000), ("large", 20 * MIB)):
        log = tmp_path / name
        log.write_bytes((b"x" * 999 + b"\n") * (size // 1000))
        tailer = TailHarness(log)
        tailer.read_new()
        append(log, b"y" * 500 + b"\n")
        costs.append((len(tailer.read_new()), tailer.bytes_read))

    assert costs[0] == costs[1]
    assert costs[0][1] < 1000


def test_many_small_appends_read_only_new_bytes(log: Path):
    tailer = TailHarness(log)
    costs = []
    for _ in range(200):
        append(log, b"x" * 999 + b"\n")
        costs.append((len(tailer.read_new()), tailer.bytes_read))

    assert {count for count, _ in costs} == {1}
    assert max(cost for _, cost in costs) < 1300


# Changed files


@pytest.mark.fault("B1")
def test_a_truncated_file_is_read_again(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(encode_lines(1, 2, 3))
    tailer.read_new()
    os.truncate(log, 4)

    assert tailer.read_new() == [b"1", b"2"]
    assert tailer.cursor.generation == 2


@pytest.mark.fault("B1")
@pytest.mark.parametrize("cut", range(-6, 0))
def test_a_truncated_file_stores_no_record_twice(claude: ClaudeHome, cut: int):
    builder = ClaudeLogBuilder()
    title = {"type": "custom-title", "customTitle": "name"}
    path = claude.write(builder.prompt("one"), title, title, builder.prompt("two"))
    claude.sync()
    data = path.read_bytes()
    os.truncate(path, len(data) + cut)
    claude.sync()
    append(path, data[cut:])

    claude.sync()

    assert list_contents(claude) == ["one", "two"]
    assert list_contents(claude, of_type="system_event") == ["", "name", "name"]


@pytest.mark.fault("B4")
def test_a_rewrite_after_a_crash_between_two_chunks_is_detected(log: Path):
    tailer = TailHarness(log, entries=100)
    log.write_bytes(encode_lines(*range(100, 400)))
    # The second chunk is not read: the program was killed before.
    chunk = next(tail.read(make_source(log), Cursor(), tailer.limits, is_final=False))
    tailer.cursor = chunk.cursor
    rewrite_in_place(log, encode_lines(999, *range(101, 400)))

    assert tailer.read_new()[0] == b"999"
    assert tailer.cursor.generation == 2


@pytest.mark.fault("B2")
def test_a_file_truncated_and_grown_past_the_cursor_is_read_again(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(encode_lines(*range(100, 200)))
    tailer.read_new()
    log.write_bytes(encode_lines(*range(200, 400)))

    assert tailer.read_new()[0] == b"200"
    assert tailer.cursor.generation == 2


@pytest.mark.fault("B1")
def test_a_file_emptied_and_filled_again_is_read_again(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(b"one\n")
    tailer.read_new()
    os.truncate(log, 0)
    tailer.read_new()
    append(log, b"one\n")

    assert tailer.read_new() == [b"one"]


@pytest.mark.fault("B3")
def test_a_rewrite_of_the_same_size_with_a_restored_mtime_is_detected(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(b"one\ntwo\n")
    tailer.read_new()
    rewrite_in_place(log, b"one\n2wo\n")

    assert tailer.read_new() == [b"one", b"2wo"]


@pytest.mark.fault("B4")
def test_a_rewrite_far_before_the_anchor_is_detected(log: Path):
    tailer = TailHarness(log, anchor=8)
    log.write_bytes(b"one\n" + b"x" * 1000 + b"\n")
    tailer.read_new()
    rewrite_in_place(log, b"1ne\n" + b"x" * 1000 + b"\n")

    assert tailer.read_new()[0] == b"1ne"


@pytest.mark.fault("B3")
def test_a_rewritten_incomplete_line_is_read_from_its_start(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(b"one\ntwo three four")
    tailer.read_new()
    rewrite_in_place(log, b"one\n2\n3\nfour five ")

    assert tailer.read_new() == [b"2", b"3"]


@pytest.mark.fault("B5")
def test_reading_continues_in_a_longer_replacement_with_the_same_start(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(encode_lines(1, 2))
    tailer.read_new()
    replacement = log.with_name("other")
    replacement.write_bytes(encode_lines(1, 2, 3))
    replacement.rename(log)

    assert tailer.read_new() == [b"3"]
    assert tailer.cursor.generation == 1


@pytest.mark.fault("B5")
def test_a_file_replaced_by_a_different_one_is_read_from_its_start(log: Path):
    tailer = TailHarness(log, anchor=8)
    log.write_bytes(encode_lines(*range(10, 30)))
    tailer.read_new()
    replacement = log.with_name("other")
    replacement.write_bytes(b"xx\n" + encode_lines(*range(11, 31)))
    replacement.rename(log)

    assert tailer.read_new()[0] == b"xx"


@pytest.mark.fault("B6")
def test_a_reused_inode_does_not_count_as_the_same_file(log: Path):
    tailer = TailHarness(log)
    log.write_bytes(encode_lines(1, 2))
    tailer.read_new()
    old_stamp = tailer.cursor.stamp
    log.unlink()
    log.write_bytes(encode_lines("a", "b", "c"))
    reused_stamp = old_stamp._replace(inode=log.stat().st_ino)
    tailer.cursor = replace(tailer.cursor, stamp=reused_stamp)

    assert tailer.read_new() == [b"a", b"b", b"c"]


@pytest.mark.fault("B7")
def test_two_logs_with_the_same_head_are_both_read(claude: ClaudeHome):
    builder = ClaudeLogBuilder("one")
    head = [builder.prompt(f"{n}" + "x" * 10_000) for n in range(100)]
    claude.write(*head, ClaudeLogBuilder("a").prompt("left"), name="p/one.jsonl")
    claude.write(*head, ClaudeLogBuilder("b").prompt("right"), name="p/two.jsonl")

    report = claude.sync()

    with StoreReader(claude.store_path) as reader:
        last_records = {
            session.key.session_id: list(reader.list_records(session.key))[-1].record
            for session in reader.list_sessions()
        }
    last_contents = {name: record.content for name, record in last_records.items()}
    assert last_contents == {"one": "left", "two": "right"}
    assert report.added.records < report.added.placements


@pytest.mark.fault("B8")
def test_a_file_deleted_while_it_is_read_is_read_to_its_end(log: Path):
    log.write_bytes(encode_lines(*range(1000)))
    chunks = tail.read(make_source(log), Cursor(), ReadLimits(chunk=100))
    entries = list(next(chunks).entries)
    log.unlink()

    entries += [entry for chunk in chunks for entry in chunk.entries]

    assert [int(entry.data) for entry in entries] == list(range(1000))


@pytest.mark.fault("B8")
def test_a_file_truncated_while_it_is_read_yields_only_remaining_lines(log: Path):
    log.write_bytes(encode_lines(*range(1000)))
    chunks = tail.read(make_source(log), Cursor(), ReadLimits(chunk=100))
    entries = list(next(chunks).entries)
    os.truncate(log, 200)

    entries += [entry for chunk in chunks for entry in chunk.entries]

    assert log.read_bytes().startswith(b"\n".join(e.data for e in entries))


@pytest.mark.fault("B8")
def test_records_of_a_deleted_log_stay_in_the_store(claude: ClaudeHome):
    path = claude.write(ClaudeLogBuilder().prompt("one"))
    claude.sync()
    path.unlink()

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        assert reader.summarize_agents()[0]["gone"] == 1
    assert list_contents(claude) == ["one"]


@pytest.mark.fault("B8", "G11")
def test_a_log_that_stays_deleted_is_recorded_once(claude: ClaudeHome):
    claude.write(ClaudeLogBuilder("other").prompt("two"), name="p/other.jsonl")
    path = claude.write(ClaudeLogBuilder().prompt("one"))
    with Store(claude.store_path, claude.clock) as store:
        claude.sync(store)
        path.unlink()
        claude.sync(store)
        before = store._db.total_changes

        claude.sync(store)

        assert store._db.total_changes == before


@pytest.mark.fault("B9")
def test_a_log_deleted_and_created_again_is_a_new_generation(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    path = claude.write(builder.prompt("one"))
    claude.sync()
    path.unlink()
    claude.sync()
    claude.write(builder.prompt("two"), builder.prompt("three"))

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
        records = list(reader.list_records(session.key))
        assert reader.summarize_agents()[0]["gone"] == 0
    assert list_contents(claude) == ["one", "two", "three"]
    assert [placed.generation for placed in records][-1] == 2


@pytest.mark.fault("B1")
def test_a_new_generation_deletes_the_rejections_of_the_old_one(claude: ClaudeHome):
    path = claude.log()
    path.write_bytes(
        b"nonsense\n" + encode_json_lines(ClaudeLogBuilder().prompt("one"))
    )
    claude.sync()
    rewrite_in_place(path, b"rubbish\n")

    claude.sync()

    assert len(list_reasons(claude)) == 1


@pytest.mark.fault("B9", "G4")
def test_the_session_id_comes_from_the_file_name_in_every_generation(
    claude: ClaudeHome,
):
    path = claude.write(ClaudeLogBuilder("another").prompt("one"))
    claude.sync()
    rewrite_in_place(path, encode_json_lines(ClaudeLogBuilder("third").prompt("two")))

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        assert [s.key.session_id for s in reader.list_sessions()] == [SESSION]


@pytest.mark.fault("A8")
def test_a_chunk_has_a_limited_number_of_lines(log: Path):
    log.write_bytes(b"x\n" * 100_000)

    chunks = list(tail.read(make_source(log), Cursor(), ReadLimits()))

    assert max(len(chunk.entries) for chunk in chunks) == ReadLimits().entries
    assert sum(len(chunk.entries) for chunk in chunks) == 100_000
    assert sum(chunk.bytes_read for chunk in chunks) == 200_000


def test_reading_continues_after_every_chunk_of_few_lines(log: Path):
    lines = [b"%d" % number for number in range(10)]
    log.write_bytes(b"\n".join(lines) + b"\n")
    limits = ReadLimits(entries=3)
    cursor, read = Cursor(), []

    while not tail.is_unchanged(source := make_source(log), cursor):
        chunk = next(tail.read(source, cursor, limits))
        cursor = chunk.cursor
        read += [entry.data for entry in chunk.entries]

    assert read == lines


# Comparison with what was read


def test_bytes_that_were_read_are_compared_as_a_whole(log: Path):
    append(log, encode_lines("one", "two"))
    *_, last = tail.read(make_source(log), Cursor(), ReadLimits())
    before = has_same_bytes(make_source(log), last.cursor, ReadLimits(chunk=3))
    append(log, encode_lines("three"))
    longer = has_same_bytes(make_source(log), last.cursor, ReadLimits())
    log.write_bytes(log.read_bytes().replace(b"one", b"0ne"))
    changed = has_same_bytes(make_source(log), last.cursor, ReadLimits())
    log.write_bytes(b"")
    shorter = has_same_bytes(make_source(log), last.cursor, ReadLimits())

    assert (before, longer, changed, shorter) == (True, True, False, False)
