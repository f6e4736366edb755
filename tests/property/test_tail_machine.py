"""Every line of a log is stored exactly once, whatever happens between two reads.

A state machine changes real files as agents, people and disks do, and reads them into
a real store. The model knows only the bytes of each file at each read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import zlib
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from leslied.errors import StoreUnusable
from leslied.model.record import make_record_id
from leslied.model.source import Cursor, Environment, FileStamp
from leslied.pipeline import Ingest, IngestReport
from leslied.pipeline.ingest.batch import BATCH_WEIGHT
from leslied.store import Store
from leslied.tail import ReadLimits
from leslied.tail.files import make_stamp
from tests.support.claude import ADAPTER, ClaudeHome
from tests.support.clock import FakeClock

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "150"))
STEPS = 30
MACHINE_SETTINGS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    derandomize=True,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)

# Known limits of the reader. While one is False, the machine turns a change that the
# reader cannot detect into one that it must detect. Set it to True to make the machine
# find the case again.
REWRITE_UNDER_GROWTH_IS_DETECTED = False
"""Bytes before the anchor changed, and the same file grew before the next read."""
REPLACED_PARTIAL_LINE_IS_DETECTED = False
"""A partial line that is too long to be read again each time was truncated, and then
the file grew past the old end."""
UNSTAMPED_CURSOR_IS_CHECKED = True
"""The read that set the cursor was killed before its end; then bytes were replaced."""
REUSED_INODE_IS_DETECTED = False
"""A file moved and has the inode of a deleted source: it may be read again."""

SMALL_LINE = 256
"""Smallest line limit of any read; a longer line may or may not be stored."""
SMALLEST_ANCHOR = 8
WAL_HEADER_SIZE, FRAME_SIZE = 32, 24 + 8192
"""Bytes of the WAL's header, and of a frame: its header and a page."""
MAX_FILES = 4
UNREAD = (b"",)
"""State of a file that was never read."""
VERSION = re.compile(rb"v\d")
"""Start of the content of a prompt or answer; `change_version` changes the digit."""


def load_cursors(store: Store) -> dict[bytes, Cursor]:
    """Return the cursor of each source, by path."""
    cursors = {
        path: store.find_cursor(ADAPTER.name, path)
        for path in store.load_stamps(ADAPTER.name)
    }
    return {path: cursor for path, cursor in cursors.items() if cursor}


class ReadOptions(NamedTuple):
    """Limits of one read, and whether it takes an unterminated last line."""

    limits: ReadLimits = ReadLimits()
    weight: int = BATCH_WEIGHT
    is_final: bool = False
    has_events: bool = False
    """True if events named the paths, False if a scan finds them."""


class LineContents(NamedTuple):
    """Entry ids of a line with their contents, or the title of a line without an id."""

    contents: tuple[tuple[str, str], ...] = ()
    title: str = ""


class CandidateContent(NamedTuple):
    """Content of an entry in a file; not certain if its line is damaged."""

    entry: str
    content: str
    is_certain: bool


PICKS = st.integers(0, 40)
"""Index into a list, modulo its length."""
# See `truncate_data`.
CUTS = st.one_of(st.integers(-3, 0), st.integers(1, 400))
CALL_COUNTS = st.integers(1, 100)
OPCODE_INTERVALS = st.sampled_from([1, 10, 12])
NUDGES = st.integers(-2, 2)
"""Bytes added to the offset of a line or frame, to land next to it."""
TEXTS = st.sampled_from(["a", "é", "日本", "😀", "x" * 40, "y" * (SMALL_LINE + 1)])
KINDS = st.sampled_from(["prompt", "prompt", "answer", "title", "title", "again", "-"])
SPECS = st.lists(st.tuples(KINDS, TEXTS, PICKS), min_size=1, max_size=4)
"""Kind, text and pick of each line to write; see `TailMachine._make_line`."""
LIMITS = st.one_of(
    st.sampled_from([ReadLimits(), ReadLimits(rescan=0)]),
    st.builds(
        ReadLimits,
        chunk=st.integers(7, 64),
        anchor=st.integers(SMALLEST_ANCHOR, 16),
        line=st.sampled_from([SMALL_LINE, ReadLimits().line]),
        rescan=st.sampled_from([0, ReadLimits().rescan]),
    ),
)
WEIGHTS = st.sampled_from([1, 3, BATCH_WEIGHT])
RARELY_TRUE = st.sampled_from([False, False, False, True])
READ_OPTIONS = st.builds(ReadOptions, LIMITS, WEIGHTS, RARELY_TRUE, RARELY_TRUE)


def to_bytes(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def make_prompt(number: int, text: str) -> bytes:
    return _make_message("user", number, f"v0 {text}")


def make_answer(number: int, text: str) -> bytes:
    """Return a line that is decoded to two records."""
    blocks = [
        {"type": "text", "text": f"v0 {text}"},
        {"type": "thinking", "thinking": f"v0 {text}"},
    ]
    return _make_message("assistant", number, blocks)


def _make_message(role: str, number: int, content: Any) -> bytes:
    """Return a line that ends with its number, so that even short anchors differ."""
    message = {"role": role, "content": content, "id": f"m{number:04}"}
    return to_bytes({"type": role, "uuid": f"u{number:04}", "message": message})


def make_title(number: int) -> bytes:
    """Return a line without an id, one of three."""
    return to_bytes({"type": "custom-title", "customTitle": f"title {number % 3}"})


def list_lines(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n")[:-1] if line.strip()]


def get_partial_line(data: bytes) -> bytes:
    return data[data.rfind(b"\n") + 1 :]


def list_line_starts(data: bytes) -> list[int]:
    """Return every offset at which a line starts or could start."""
    return [0, *(at + 1 for at, byte in enumerate(data) if byte == 0x0A)]


def truncate_data(data: bytes, cut: int) -> bytes:
    """Return a prefix of the data; a cut of 0 or less counts from the end."""
    end = len(data) + cut if cut <= 0 else cut % len(data)
    return data[: max(end, 0)]


def change_version(data: bytes, at: int) -> bytes:
    """Change the content of one line, but not its id and length."""
    offsets = [match.start() + 1 for match in VERSION.finditer(data)]
    if not offsets:
        return data
    offset = offsets[at % len(offsets)]
    digit = b"%d" % ((int(data[offset : offset + 1]) + 1) % 10)
    return data[:offset] + digit + data[offset + 1 :]


def parse_known_line(text: str) -> LineContents | None:
    """Return the contents of a complete line of a known shape, or None."""
    try:
        return _parse_known_object(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _parse_known_object(value: dict[str, Any]) -> LineContents | None:
    match value:
        case {"type": "custom-title", "customTitle": str(title)} if len(value) == 2:
            return LineContents(title=title) if title else None
        case {
            "type": "user",
            "uuid": str(uuid),
            "message": {"role": _, "id": _, "content": str(text)},
        } if len(value) == 3:
            return LineContents(((_make_entry_id(uuid, 0), text),))
        case {
            "type": "assistant",
            "uuid": str(uuid),
            "message": {
                "role": _,
                "id": _,
                "content": [
                    {"type": "text", "text": str(text)},
                    {"type": "thinking", "thinking": str(thought)},
                ],
            },
        } if len(value) == 3:
            return LineContents(
                ((_make_entry_id(uuid, 0), text), (_make_entry_id(uuid, 1), thought))
            )
    return None


def _make_entry_id(uuid: str, block: int) -> str:
    return make_record_id(ADAPTER.name, uuid, block).hex()


def parse_certain_line(line: bytes) -> LineContents | None:
    """Return the contents of a line that every read must store, or None."""
    if len(line) >= SMALL_LINE:
        return None
    return parse_known_line(line.decode(errors="replace"))


def list_candidates(data: bytes, *, with_partial_line: bool) -> list[CandidateContent]:
    """Return every content that the file may give an entry, in order."""
    candidates: list[CandidateContent] = []
    for line in list_lines(data):
        contents = parse_certain_line(line)
        if contents:
            candidates += [
                CandidateContent(*item, is_certain=True) for item in contents.contents
            ]
        else:
            candidates += _list_salvageable(line)
    return candidates + (
        _list_salvageable(get_partial_line(data)) if with_partial_line else []
    )


def _list_salvageable(line: bytes) -> list[CandidateContent]:
    """Return the contents of complete objects in a damaged line, none of them certain.

    Every place that may start an object is tried.
    """
    text, candidates = line.decode(errors="replace"), []
    for start in (match.start() for match in re.finditer(r'\{\s*"', text)):
        with suppress(ValueError):
            _, end = json.JSONDecoder(strict=False).raw_decode(text, start)
            contents = parse_known_line(text[start:end]) or LineContents()
            candidates += [
                CandidateContent(*item, is_certain=False) for item in contents.contents
            ]
    return candidates


def list_unknown_entries(line: bytes) -> set[str]:
    """Return entries named in a line of unknown shape; their content is undefined."""
    text = line.decode(errors="replace")
    if parse_known_line(text):
        return set()
    uuids = re.findall(r'"uuid"\s*:\s*"([^"]*)"', text)
    return {_make_entry_id(uuid, block) for uuid in uuids for block in (0, 1)}


class StoreModel:
    """Contents that the store must have, and may have, after the reads so far."""

    def __init__(self) -> None:
        self.entries: dict[str, set[str]] = defaultdict(set)
        """By session: entries that were complete in its file at a read."""
        self.min_titles: dict[str, Counter[bytes]] = defaultdict(Counter)
        """By session: how often a line without an id must be stored."""
        self.max_titles: dict[str, Counter[bytes]] = defaultdict(Counter)
        self.current_contents: dict[str, set[str]] = defaultdict(set)
        """By entry: possible current contents."""
        self.unknown_entries: set[str] = set()
        self.line_texts: set[str] = set()
        """Every line that was in a file at a read."""

    def finish_read(
        self,
        files: dict[Path, bytes],
        read_states: dict[Path, tuple[bytes, ...]],
        *,
        is_final: bool,
    ) -> None:
        """Record a completed read of these files."""
        for path, data in files.items():
            session = path.stem
            complete_lines = [
                line for line in list_lines(data) if parse_certain_line(line)
            ]
            for line in complete_lines:
                self.entries[session] |= {
                    entry for entry, _ in parse_certain_line(line).contents
                }
            self.min_titles[session] |= Counter(
                line for line in complete_lines if parse_certain_line(line).title
            )
        self.start_read(files, is_final=is_final)
        self._update_current(files, read_states, is_final=is_final)

    def start_read(self, files: dict[Path, bytes], *, is_final: bool) -> None:
        """Record a read of these files that may have been killed."""
        for path, data in files.items():
            lines = list_lines(data) + ([get_partial_line(data)] if is_final else [])
            titles = Counter(
                line
                for line in lines
                if (parse_certain_line(line) or LineContents()).title
            )
            self.max_titles[path.stem] |= titles
            for line in lines:
                self.line_texts.add(line.decode(errors="replace"))
                self.unknown_entries |= list_unknown_entries(line)
            for candidate in list_candidates(data, with_partial_line=is_final):
                self.current_contents[candidate.entry].add(candidate.content)

    def _update_current(
        self,
        files: dict[Path, bytes],
        read_states: dict[Path, tuple[bytes, ...]],
        *,
        is_final: bool,
    ) -> None:
        """Drop older contents of entries for which a file certainly has a new one."""
        new_entries: set[str] = set()
        last_contents: dict[str, set[str]] = defaultdict(set)
        for path, data in files.items():
            before = read_states.get(path, UNREAD)
            candidates = list_candidates(data, with_partial_line=is_final)
            if before == (data,) and all(
                candidate.is_certain for candidate in candidates
            ):
                continue
            new_entries |= _find_new_entries(candidates, before)
            for entry in {candidate.entry for candidate in candidates}:
                last_contents[entry] |= _get_last_contents(entry, candidates)
        for entry in new_entries:
            self.current_contents[entry] = last_contents[entry]


def _find_new_entries(
    candidates: list[CandidateContent], before: tuple[bytes, ...]
) -> set[str]:
    """Return entries with a content that no earlier state had as often."""
    certain = Counter(candidate for candidate in candidates if candidate.is_certain)
    earlier: Counter[CandidateContent] = Counter()
    for data in before:
        earlier |= Counter(list_candidates(data, with_partial_line=False))
    return {candidate.entry for candidate in certain - earlier}


def _get_last_contents(entry: str, candidates: list[CandidateContent]) -> set[str]:
    """Return the last content of an entry, or all of them if one is uncertain."""
    entry_candidates = [c for c in candidates if c.entry == entry]
    if all(candidate.is_certain for candidate in entry_candidates):
        return {entry_candidates[-1].content}
    return {candidate.content for candidate in entry_candidates}


class CurrentRecordRow(NamedTuple):
    """Current record of the store."""

    session: str
    entry: str
    native_id: str
    content: str


def load_rows(db: sqlite3.Connection) -> dict[str, list[CurrentRecordRow]]:
    """Return the current records of every session, in order."""
    rows: dict[str, list[CurrentRecordRow]] = defaultdict(list)
    for session, entry, *columns in db.execute(
        "SELECT s.session_id, r.entry_id, r.native_id, r.content FROM placement p "
        "JOIN session s ON s.id = p.session JOIN record r ON r.entry = p.entry "
        "AND r.is_current ORDER BY p.id"
    ):
        rows[session].append(CurrentRecordRow(session, entry.hex(), *columns))
    return rows


def assert_none_missing(
    model: StoreModel, rows: dict[str, list[CurrentRecordRow]]
) -> None:
    for session, entries in model.entries.items():
        missing = entries - {row.entry for row in rows[session]}
        assert not missing, f"{session} lost entries"
    for session, min_titles in model.min_titles.items():
        titles = _count_titles(rows[session])
        assert _count_lines_by_title(min_titles) <= titles, (
            f"{session} lost lines without an id"
        )


def assert_no_duplicates(
    model: StoreModel, rows: dict[str, list[CurrentRecordRow]]
) -> None:
    for session, session_rows in rows.items():
        counts = Counter(row.entry for row in session_rows)
        duplicates = [entry for entry, count in counts.items() if count > 1]
        assert not duplicates, f"{session} has duplicate entries"
        max_titles = _count_lines_by_title(model.max_titles[session])
        assert _count_titles(session_rows) <= max_titles, (
            f"{session} has duplicate lines without an id"
        )


def assert_newest_is_current(
    model: StoreModel, rows: dict[str, list[CurrentRecordRow]]
) -> None:
    for row in (row for session_rows in rows.values() for row in session_rows):
        if row.native_id and row.entry not in model.unknown_entries:
            assert row.content in model.current_contents[row.entry], (
                f"{row} is not the newest"
            )
        was_in_a_file = any(row.content in text for text in model.line_texts)
        assert was_in_a_file, f"{row} was in no file"


def assert_one_current_row_per_entry(db: sqlite3.Connection) -> None:
    """Check that an entry has one row per content, and one current row."""
    columns = "entry_id, type, role, content, metadata"
    query = f"SELECT count(*) FROM record WHERE native_id <> '' GROUP BY {columns}"
    assert all(count == 1 for (count,) in db.execute(query))
    query = "SELECT sum(is_current), count(DISTINCT entry_id) FROM record GROUP BY "
    for column in ("entry", "entry_id"):
        assert all(counts == (1, 1) for counts in db.execute(query + column))


def _count_titles(rows: list[CurrentRecordRow]) -> Counter[str]:
    counts = Counter(row.content for row in rows if not row.native_id)
    return Counter(
        {title: count for title, count in counts.items() if title.startswith("title ")}
    )


def _count_lines_by_title(lines: Counter[bytes]) -> Counter[str]:
    """Count lines by title; damaged UTF-8 may give two lines the same title."""
    counts: Counter[str] = Counter()
    for line, count in lines.items():
        title = parse_certain_line(line).title
        counts[title] += count if title.startswith("title ") else 0
    return counts


def assert_in_file_order(data: bytes, rows: list[CurrentRecordRow]) -> None:
    """Check that rows are in the order of the lines in the file.

    Compare entry ids, and the titles of lines without an id.
    """
    expected: list[str] = []
    for contents in filter(None, map(parse_certain_line, list_lines(data))):
        names = (
            [contents.title]
            if contents.title
            else [entry for entry, _ in contents.contents]
        )
        # An entry keeps its first position; a title may occur several times.
        expected += [name for name in names if contents.title or name not in expected]
    expected_names = set(expected)
    row_names = [row.entry if row.native_id else row.content for row in rows]
    actual = [name for name in row_names if name in expected_names]
    # A final read may have added the unterminated last line after the others.
    assert actual[: len(expected)] == expected, "the order of the file is not kept"


class TailMachine(RuleBasedStateMachine):
    """Change files, read them into a store, and compare the store with the model."""

    def __init__(self) -> None:
        super().__init__()
        self.temp = tempfile.TemporaryDirectory()
        root = Path(self.temp.name)
        self.home = ClaudeHome(root / "home", root / "data-0" / "store.db", FakeClock())
        self.store = self._open()
        self.model = StoreModel()
        self.live_files: list[Path] = []
        self.deleted_files: list[Path] = []
        self.remainders: dict[Path, bytes] = {}
        """Missing rest of each partially written line."""
        self.read_states: dict[Path, tuple[bytes, ...]] = {}
        """Possible bytes of each file when its cursor was set; several after a kill."""
        self.modified_sessions: set[str] = set()
        """Sessions whose file did not only grow: their order may differ from it."""
        self.states_by_name: dict[str, list[bytes]] = defaultdict(list)
        """By file name: the bytes of each file with that name at every read."""
        self.written_lines: list[bytes] = []
        self.last_number = 0

    def teardown(self) -> None:
        try:
            # A failure of a rule must not be hidden by its consequences.
            if sys.exc_info()[0] is None:
                self._read(ReadOptions())
                self._restart()
        finally:
            self._kill()
            self.temp.cleanup()

    # Changes made by agents.

    @initialize(specs=SPECS)
    def begin(self, specs):
        self._write(self._new_path(), self._make_lines(specs))

    @precondition(lambda self: len(self.live_files) < MAX_FILES)
    @rule(specs=SPECS)
    def start_another_session(self, specs):
        self._write(self._new_path(), self._make_lines(specs))

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS, specs=SPECS)
    def append(self, pick, specs):
        path = self._pick(pick)
        self._append(path, self.remainders.pop(path, b"") + self._make_lines(specs))

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS, specs=SPECS)
    def append_after_a_partial_line(self, pick, specs):
        path = self._pick(pick)
        if self.remainders.pop(path, b"") or get_partial_line(path.read_bytes()):
            self.modified_sessions.add(path.stem)
        self._append(path, self._make_lines(specs))

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS, specs=SPECS, cut=CUTS)
    def append_a_part(self, pick, specs, cut):
        path = self._pick(pick)
        data = self.remainders.pop(path, b"") + self._make_lines(specs)
        part = truncate_data(data, cut)
        self._append(path, part)
        self.remainders[path] = data[len(part) :]

    @precondition(lambda self: self.remainders)
    @rule(pick=PICKS)
    def append_the_remainder(self, pick):
        path = sorted(self.remainders)[pick % len(self.remainders)]
        self._append(path, self.remainders.pop(path))

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS, specs=SPECS, options=READ_OPTIONS)
    def end_a_line_that_was_taken_as_final(self, pick, specs, options):
        path = self._pick(pick)
        data = self.remainders.pop(path, b"") + self._make_lines(specs)
        self._append(path, data[:-1])
        self._read(options._replace(is_final=True))
        self._append(path, data[-1:])

    @precondition(lambda self: self.live_files and len(self.live_files) < MAX_FILES)
    @rule(pick=PICKS, line=PICKS, specs=SPECS)
    def fork(self, pick, line, specs):
        """Start a session with a copy of another, up to one of its lines."""
        source, path = self._pick(pick), self._new_path()
        data = source.read_bytes()
        end = list_line_starts(data)[-1 - line % len(list_line_starts(data))]
        self._write(path, data[:end] + self._make_lines(specs))

    @precondition(lambda self: self.live_files and len(self.live_files) < MAX_FILES)
    @rule(pick=PICKS)
    def copy_into_another_folder(self, pick):
        """Copy a session into a second project."""
        source = self._pick(pick)
        path = self._new_folder() / source.name
        self._write(path, source.read_bytes())
        self.modified_sessions.add(path.stem)
        # With a reused inode, reading may continue at another file's cursor.
        self.read_states[path] = (*UNREAD, *self.states_by_name[path.name])

    # Changes made by people and disks.

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS, line=PICKS, nudge=NUDGES)
    def truncate(self, pick, line, nudge):
        self._truncate(self._pick(pick), line, nudge)

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS, line=PICKS, nudge=NUDGES, specs=SPECS)
    def truncate_and_grow(self, pick, line, nudge, specs):
        path = self._pick(pick)
        size = path.stat().st_size
        self._truncate(path, line, nudge)
        while path.stat().st_size <= size:
            self._append(path, self._make_lines(specs))

    @precondition(lambda self: self.live_files)
    @rule(
        pick=PICKS,
        is_first=st.booleans(),
        options=READ_OPTIONS,
        specs=SPECS,
        cut=CUTS,
        next_options=READ_OPTIONS,
    )
    def replace_a_partial_line(self, pick, is_first, options, specs, cut, next_options):
        """Read a partial line, then replace it by lines of another length."""
        path = self._pick(pick)
        if is_first and len(self.live_files) < MAX_FILES:
            path = self._new_path()
            self._write(path, b"")
        self._append(path, make_prompt(self._next_number(), "z" * 100)[:-1])
        self._read(options)
        self._truncate(path, 0, 0)
        self._append(path, truncate_data(self._make_lines(specs), cut))
        self._read(next_options)

    @precondition(lambda self: self.live_files)
    @rule(
        pick=PICKS, at=PICKS, keep_mtime=st.booleans(), options=st.none() | READ_OPTIONS
    )
    def change_a_line(self, pick, at, keep_mtime, options):
        """Change the content of a line, but not its id and length."""
        self._change_version(self._pick(pick), at, keep_mtime=keep_mtime)
        if options:
            self._read(options)

    def _change_version(self, path: Path, at: int, *, keep_mtime: bool) -> None:
        data = change_version(path.read_bytes(), at)
        self._overwrite(path, data, keep_mtime=keep_mtime)

    @precondition(lambda self: self.live_files)
    @rule(
        pick=PICKS,
        line=PICKS,
        nudge=st.integers(-20, 20),
        byte=st.sampled_from(b"#\n 7"),
        keep_mtime=st.booleans(),
    )
    def overwrite_a_byte(self, pick, line, nudge, byte, keep_mtime):
        path = self._pick(pick)
        data = bytearray(path.read_bytes())
        if data:
            starts = list_line_starts(data)
            data[min(max(starts[line % len(starts)] + nudge, 0), len(data) - 1)] = byte
            self._overwrite(path, bytes(data), keep_mtime=keep_mtime)

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS)
    def touch(self, pick):
        self._pick(pick).touch()

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS, specs=SPECS)
    def replace_by_the_same_and_more(self, pick, specs):
        path = self._pick(pick)
        appended = self.remainders.pop(path, b"") + self._make_lines(specs)
        self._replace(path, path.read_bytes() + appended)

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS, at=PICKS, specs=SPECS)
    def replace_by_almost_the_same_and_more(self, pick, at, specs):
        path = self._pick(pick)
        self._mark_modified(path)
        self._replace(
            path, change_version(path.read_bytes(), at) + self._make_lines(specs)
        )

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS, line=PICKS, specs=SPECS)
    def replace_by_something_else(self, pick, line, specs):
        """Replace the first lines by new ones, as an agent's compaction does."""
        path = self._pick(pick)
        data = path.read_bytes()
        start = list_line_starts(data)[line % len(list_line_starts(data))]
        self._mark_modified(path)
        self._replace(path, self._make_lines(specs) + data[start:])

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS)
    def delete(self, pick):
        path = self._pick(pick)
        self._mark_modified(path)
        path.unlink()
        self.live_files.remove(path)
        self.deleted_files.append(path)

    @precondition(lambda self: self.deleted_files and len(self.live_files) < MAX_FILES)
    @rule(pick=PICKS, keep=PICKS, specs=SPECS)
    def recreate(self, pick, keep, specs):
        path = self.deleted_files.pop(pick % len(self.deleted_files))
        before = self.read_states.get(path, UNREAD)[0]
        end = list_line_starts(before)[keep % len(list_line_starts(before))]
        self._write(path, before[:end] + self._make_lines(specs))

    @precondition(lambda self: self.live_files)
    @rule(pick=PICKS)
    def move_the_folder(self, pick):
        old = self._pick(pick).parent
        new = self._new_folder()
        old.rename(new)
        self.live_files = [self._move_path(path, old, new) for path in self.live_files]
        self.deleted_files = [
            self._move_path(path, old, new) for path in self.deleted_files
        ]
        self.read_states = {
            self._move_path(p, old, new): d for p, d in self.read_states.items()
        }
        self.remainders = {
            self._move_path(p, old, new): r for p, r in self.remainders.items()
        }

    # Reads, restarts and kills of leslied.

    @rule(options=READ_OPTIONS)
    def read(self, options):
        self._read(options)

    @rule()
    def restart(self):
        self._restart()

    @rule(
        specs=SPECS, options=READ_OPTIONS, calls=CALL_COUNTS, interval=OPCODE_INTERVALS
    )
    def interrupt_a_commit(self, specs, options, calls, interval):
        self._append_to_any_file(specs)
        with suppress(StoreUnusable, sqlite3.OperationalError):
            self._sync_interrupted(options, calls, interval, lambda: None)
        self._kill()
        self._reopen()

    @rule(
        specs=SPECS, options=READ_OPTIONS, calls=CALL_COUNTS, interval=OPCODE_INTERVALS
    )
    def kill_in_a_commit(self, specs, options, calls, interval):
        """Continue with the store's files as they are in the middle of a commit."""
        self._append_to_any_file(specs)
        copies: list[Path] = []
        with suppress(StoreUnusable, sqlite3.OperationalError):
            self._sync_interrupted(
                options, calls, interval, lambda: copies.append(self._copy_store())
            )
        self._kill()
        self.home.store_path = copies[0] if copies else self.home.store_path
        self._reopen()

    @rule(specs=SPECS, options=READ_OPTIONS, cut=st.integers(0, 1000), nudge=NUDGES)
    def kill_while_the_wal_is_written(self, specs, options, cut, nudge):
        """Keep only the first part of what the read wrote."""
        self._append_to_any_file(specs)
        self._kill_while_writing(options, cut, nudge)

    @precondition(lambda self: len(self.live_files) < MAX_FILES)
    @rule(specs=SPECS, limits=LIMITS, cut=PICKS, at=st.none() | PICKS)
    def kill_in_a_first_read(self, specs, limits, cut, at):
        """Kill the first read of a new log; then a line may change."""
        path = self._new_path()
        self._write(path, self._make_lines(specs) + self._make_lines(specs))
        self._kill_while_writing(ReadOptions(limits, 1), cut, 0)
        if at is not None:
            self._change_version(path, at, keep_mtime=False)

    # File operations.

    def _pick(self, pick: int) -> Path:
        return sorted(self.live_files)[pick % len(self.live_files)]

    def _next_number(self) -> int:
        self.last_number += 1
        return self.last_number

    def _new_path(self) -> Path:
        """Return the path of a new session, mostly in an existing folder."""
        number = self._next_number()
        folders = sorted({path.parent for path in self.live_files})
        folder = folders[0] if folders and number % 3 else self._new_folder()
        return folder / f"session-{number}.jsonl"

    def _new_folder(self) -> Path:
        return self.home.projects / f"-project-{self._next_number()}"

    def _make_lines(self, specs) -> bytes:
        lines = [self._make_line(*spec) for spec in specs]
        self.written_lines += lines
        return b"".join(lines)

    def _make_line(self, kind: str, text: str, pick: int) -> bytes:
        """Return a line of this kind; "again" repeats an earlier one, "-" is blank."""
        if kind == "again" and self.written_lines:
            return self.written_lines[pick % len(self.written_lines)]
        if kind == "prompt":
            return make_prompt(self._next_number(), text)
        if kind == "answer":
            return make_answer(self._next_number(), text)
        return b"\n" if kind == "-" else make_title(pick)

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.live_files.append(path)

    def _append_to_any_file(self, specs) -> None:
        """Append lines so that the next read has something to commit."""
        if self.live_files:
            path = self._pick(len(specs))
            self._append(path, self.remainders.pop(path, b"") + self._make_lines(specs))

    def _append(self, path: Path, data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)

    def _overwrite(self, path: Path, data: bytes, *, keep_mtime: bool) -> None:
        self._mark_modified(path)
        status = path.stat()
        with path.open("r+b") as file:
            file.write(data)
        if keep_mtime:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _replace(self, path: Path, data: bytes) -> None:
        """Replace the file by another one, with another inode."""
        temporary = Path(self.temp.name) / "new"
        temporary.write_bytes(data)
        temporary.replace(path)

    def _truncate(self, path: Path, line: int, nudge: int) -> None:
        """Truncate the file near the start of a line, counted from the last one."""
        starts = list_line_starts(path.read_bytes())
        size = starts[-1 - line % len(starts)] + nudge
        self._mark_modified(path)
        os.truncate(path, min(max(size, 0), path.stat().st_size))

    def _mark_modified(self, path: Path) -> None:
        """Record that the file did not only grow."""
        self.modified_sessions.add(path.stem)
        self.remainders.pop(path, None)

    @staticmethod
    def _move_path(path: Path, old: Path, new: Path) -> Path:
        return new / path.name if path.parent == old else path

    def _snapshot_files(self) -> dict[Path, bytes]:
        """Return the bytes of all files, and add them to `states_by_name`."""
        files = {path: path.read_bytes() for path in self.live_files}
        for path, data in files.items():
            self.states_by_name[path.name].append(data)
        return files

    # Reading and checking.

    def _read(self, options: ReadOptions) -> None:
        """Read all files and check the store; check that a second read does nothing."""
        self._replace_undetectable_changes(options)
        files = self._snapshot_files()
        max_entries = self._count_new_entries(files, options)
        self.model.finish_read(files, self.read_states, is_final=options.is_final)
        report = self._sync(options)
        assert report.entries <= max_entries, (
            "lines that were read before are decoded again"
        )
        self.read_states |= {path: (data,) for path, data in files.items()}
        self._check()
        self._check_order(files)
        second_report = self._sync(options)
        assert (
            second_report.entries,
            second_report.bytes_read,
            second_report.commits,
        ) == (0, 0, 0)

    def _sync(self, options: ReadOptions) -> IngestReport:
        env = Environment(home=self.home.home, environ={}, platform="linux")
        ingest = Ingest(
            adapter=ADAPTER,
            store=self.store,
            roots=tuple(ADAPTER.roots(env, [])),
            limits=options.limits,
            is_final=options.is_final,
            weight=options.weight,
        )
        return (
            ingest.ingest_files(self.live_files)
            if options.has_events
            else ingest.scan()
        )

    def _start_read(self, options: ReadOptions) -> None:
        """Record the start of a read that may not end."""
        self._replace_undetectable_changes(options)
        files = self._snapshot_files()
        self.model.start_read(files, is_final=options.is_final)
        for path, data in files.items():
            before = self.read_states.get(path, UNREAD)
            self.read_states[path] = before if data in before else (*before, data)

    def _count_new_entries(self, files: dict[Path, bytes], options: ReadOptions) -> int:
        """Return the largest number of entries that a read has to decode."""
        max_entries = 0
        for path, data in files.items():
            before = self.read_states.get(path, UNREAD)
            known_bytes = before[0][: before[0].rfind(b"\n") + 1]
            has_only_grown = len(before) == 1 and data.startswith(known_bytes)
            new_bytes = data[len(known_bytes) :] if has_only_grown else data
            max_entries += len(list_lines(new_bytes)) + (
                options.is_final and bool(get_partial_line(data))
            )
        return max_entries

    def _check(self) -> None:
        rows = load_rows(self.store._db)
        assert_none_missing(self.model, rows)
        assert_no_duplicates(self.model, rows)
        assert_newest_is_current(self.model, rows)
        assert_one_current_row_per_entry(self.store._db)

    def _check_order(self, files: dict[Path, bytes]) -> None:
        rows = load_rows(self.store._db)
        for path, data in files.items():
            if path.stem not in self.modified_sessions:
                assert_in_file_order(data, rows[path.stem])

    # Kills and restarts.

    def _open(self) -> Store:
        store = Store(self.home.store_path, self.home.clock)
        # A kill keeps what was written, synced or not. Waiting for the disk would test
        # nothing here and take most of the time.
        store._db.execute("PRAGMA synchronous = OFF")
        return store

    def _restart(self) -> None:
        self.store.close()
        self.store = self._open()
        self._check()

    def _kill_while_writing(self, options: ReadOptions, cut: int, nudge: int) -> None:
        """Read, then continue with a store that has only a part of the new WAL.

        `cut` selects the last complete frame, `nudge` adds bytes to its end.
        """
        before = self._read_wal()
        self._start_read(options)
        self._sync(options)
        after = self._read_wal()
        start = max(len(before), WAL_HEADER_SIZE)
        # Only if the read added to the WAL and no checkpoint emptied it.
        if len(after) > start and after.startswith(before):
            frames = (len(after) - start) // FRAME_SIZE
            end = start + cut % (frames + 1) * FRAME_SIZE + nudge
            self.home.store_path = self._copy_store(max(end, len(before)))
        self._kill()
        self._reopen()

    def _sync_interrupted(
        self, options: ReadOptions, calls: int, interval: int, interrupt
    ) -> None:
        """Read, and abort the statement that runs at the last of `calls` calls.

        SQLite calls the progress handler every `interval` opcodes. Its last call runs
        `interrupt` before the statement is aborted.
        """
        self._start_read(options)
        calls_left = [calls]

        def count_down() -> int:
            calls_left[0] -= 1
            if calls_left[0]:
                return 0
            interrupt()
            return 1

        self.store._db.set_progress_handler(count_down, interval)
        self._sync(options)

    def _copy_store(self, wal_size: int | None = None) -> Path:
        """Copy the store's files as a killed process would leave them.

        Only the first `wal_size` bytes of the WAL are copied, or all if it is None.
        """
        path = Path(self.temp.name) / f"data-{self._next_number()}" / "store.db"
        path.parent.mkdir()
        shutil.copy(self.home.store_path, path)
        path.with_name("store.db-wal").write_bytes(self._read_wal()[:wal_size])
        return path

    def _read_wal(self) -> bytes:
        path = self.home.store_path.with_name("store.db-wal")
        return path.read_bytes() if path.exists() else b""

    def _kill(self) -> None:
        """Close the store without a checkpoint and release its lock."""
        self.store._db.close()
        with suppress(OSError):
            os.close(self.store._lock)

    def _reopen(self) -> None:
        self.store = self._open()
        self._check()
        cursors = load_cursors(self.store).values()
        if not UNSTAMPED_CURSOR_IS_CHECKED and any(not c.stamp for c in cursors):
            self._read(ReadOptions())

    # Known limits.

    def _replace_undetectable_changes(self, options: ReadOptions) -> None:
        """Turn changes that the reader cannot detect into replaced files.

        These are changes behind a known limit, or within one tick of the file clock.
        """
        cursors = load_cursors(self.store)
        for path in self.live_files:
            while self._is_undetectable(path, cursors, options):
                # Keep the old file, so that its inode is not reused.
                old = path.rename(Path(self.temp.name) / f"old-{self._next_number()}")
                shutil.copyfile(old, path)
            stamp = make_stamp(path.stat())
            if path in self.read_states and not _find_cursors(path, stamp, cursors):
                # Moved and replaced between two reads: its source cannot be known.
                self.read_states[path] = UNREAD
            elif os.fsencode(path) not in cursors and _is_inode_reused(stamp, cursors):
                self.read_states[path] = (*UNREAD, *self.states_by_name[path.name])

    def _is_undetectable(
        self, path: Path, cursors: dict[bytes, Cursor], options: ReadOptions
    ) -> bool:
        stamp = make_stamp(path.stat())
        change = PendingFile(path.read_bytes(), stamp, options.limits.rescan)
        return any(
            is_undetectable(before, change, cursor)
            for before in self.states_by_name[path.name]
            for cursor in _find_cursors(path, stamp, cursors)
        )


def _find_cursors(
    path: Path, stamp: FileStamp, cursors: dict[bytes, Cursor]
) -> list[Cursor]:
    """Return cursors at which reading may continue: by path, else by inode."""
    if os.fsencode(path) in cursors:
        return [cursors[os.fsencode(path)]]
    return [
        cursor
        for name, cursor in cursors.items()
        if Path(os.fsdecode(name)).name == path.name
        and cursor.stamp
        and cursor.stamp.inode == stamp.inode
    ]


def _is_inode_reused(stamp: FileStamp, cursors: dict[bytes, Cursor]) -> bool:
    """Return whether more than one source had this inode."""
    stamps = [cursor.stamp for cursor in cursors.values() if cursor.stamp]
    same_inode = [old for old in stamps if old.inode == stamp.inode]
    return len(same_inode) > 1 and not REUSED_INODE_IS_DETECTED


class PendingFile(NamedTuple):
    """State of a file before the next read, and the rescan limit of that read."""

    data: bytes
    stamp: FileStamp
    rescan: int


def is_undetectable(before: bytes, now: PendingFile, cursor: Cursor) -> bool:
    """Return whether bytes before the cursor may have changed undetectably."""
    data, old_stamp, end = now.data, cursor.stamp, cursor.offset
    if old_stamp is None or zlib.crc32(before[:end]) != cursor.crc:
        return False
    has_same_anchor = before[:end][-SMALLEST_ANCHOR:] == data[:end][-SMALLEST_ANCHOR:]
    is_rewritten = has_same_anchor and data[:end] != before[:end]
    is_replaced = b"\n" in data[end : end + cursor.scanned]
    if old_stamp == now.stamp:
        return is_rewritten or is_replaced
    if old_stamp.inode != now.stamp.inode or now.stamp.size <= old_stamp.size:
        return False
    is_replaced = is_replaced and cursor.scanned >= now.rescan
    return (is_rewritten and not REWRITE_UNDER_GROWTH_IS_DETECTED) or (
        is_replaced and not REPLACED_PARTIAL_LINE_IS_DETECTED
    )


@pytest.mark.fault(
    *("A1", "A3", "A14", "B1", "B2", "B3", "B4", "B5", "B6", "B7"),
    *("B9", "B10", "E1", "E2"),
)
@pytest.mark.timeout(600 + EXAMPLES)
def test_every_line_is_stored_exactly_once():
    run_state_machine_as_test(TailMachine, settings=MACHINE_SETTINGS)
