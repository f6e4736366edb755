"""Whatever happens to logs between looks, each of their lines is kept exactly once.

A machine does to real files what agents, people and disks do to them, and looks at
them with a real store. The model knows only which bytes stood in which file at which
look. Rows A1, A3, A14, B1 to B7, B9, B10, E1 and E2 of the fault matrix.
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
from leslied.pipeline.batch import BATCH_WEIGHT
from leslied.store import Store
from leslied.tail import ReadLimits
from leslied.tail.files import make_stamp
from tests.support.claude import ADAPTER, ClaudeHome
from tests.support.clock import FakeClock

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "150"))
STEPS = 30
MACHINE = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    derandomize=True,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)

# Known limits of the reader. While one is False, a change that would hide behind it is
# turned into one that the reader promises to see; set it to True to see the machine
# find the case again.
REWRITE_UNDER_GROWTH_IS_SEEN = False
"""Bytes before the anchor changed, and the same file grew before the next look."""
REPLACED_PARTIAL_IS_SEEN = False
"""A half line, too long to be read again at every look, was cut off, and the file grew
past it without it."""
UNSTAMPED_CURSOR_IS_CHECKED = True
"""The look that set the cursor was killed before its end; then bytes were replaced."""
REUSED_INODE_IS_TOLD_APART = False
"""A file moved whose inode was a deleted source's before: it may be read again."""

SMALL_LINE = 256
"""The smallest limit for a line in any look; whether a longer one is kept is open."""
SMALLEST_ANCHOR = 8
WAL_HEADER, FRAME = 32, 24 + 8192
MOST_FILES = 4
NEVER = (b"",)
"""What was looked at of a file that was never looked at."""
VERSION = re.compile(rb"v\d")


def load_cursors(store: Store) -> dict[bytes, Cursor]:
    """How far each source was read."""
    found = {
        path: store.find_cursor(ADAPTER.name, path)
        for path in store.load_stamps(ADAPTER.name)
    }
    return {path: cursor for path, cursor in found.items() if cursor}


class ReadOptions(NamedTuple):
    """How much is read and committed at once, and whether an unended line is taken."""

    limits: ReadLimits = ReadLimits()
    weight: int = BATCH_WEIGHT
    is_final: bool = False
    has_events: bool = False
    """Whether the paths were named by events, not found by a scan."""


class LineContents(NamedTuple):
    """What a line says: contents by entry id, or a title that has no id."""

    contents: tuple[tuple[str, str], ...] = ()
    title: str = ""


class CandidateContent(NamedTuple):
    """One content of one entry as a file holds it; a damaged line is not sure."""

    entry: str
    content: str
    is_certain: bool


PICKS = st.integers(0, 40)
HALVES = st.one_of(st.integers(-3, 0), st.integers(1, 400))
CALLS = st.integers(1, 100)
EVERY = st.sampled_from([1, 10, 12])
NUDGES = st.integers(-2, 2)
TEXTS = st.sampled_from(["a", "é", "日本", "😀", "x" * 40, "y" * (SMALL_LINE + 1)])
KINDS = st.sampled_from(["prompt", "prompt", "answer", "title", "title", "again", "-"])
SPECS = st.lists(st.tuples(KINDS, TEXTS, PICKS), min_size=1, max_size=4)
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
SELDOM = st.sampled_from([False, False, False, True])
LOOKS = st.builds(ReadOptions, LIMITS, WEIGHTS, SELDOM, SELDOM)


def to_bytes(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def make_prompt(number: int, text: str) -> bytes:
    return _make_message("user", number, f"v0 {text}")


def make_answer(number: int, text: str) -> bytes:
    """A line that becomes two records."""
    blocks = [
        {"type": "text", "text": f"v0 {text}"},
        {"type": "thinking", "thinking": f"v0 {text}"},
    ]
    return _make_message("assistant", number, blocks)


def _make_message(role: str, number: int, content: Any) -> bytes:
    """A number at the end tells apart even the few bytes of the shortest anchor."""
    message = {"role": role, "content": content, "id": f"m{number:04}"}
    return to_bytes({"type": role, "uuid": f"u{number:04}", "message": message})


def make_title(number: int) -> bytes:
    """A line without an id, from so few that they repeat."""
    return to_bytes({"type": "custom-title", "customTitle": f"title {number % 3}"})


def lines_in(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n")[:-1] if line.strip()]


def tail_of(data: bytes) -> bytes:
    return data[data.rfind(b"\n") + 1 :]


def ends_in(data: bytes) -> list[int]:
    """Every offset at which a line starts or could start."""
    return [0, *(at + 1 for at, byte in enumerate(data) if byte == 0x0A)]


def truncated(data: bytes, cut: int) -> bytes:
    """The data up to somewhere: 0 or less counts from its end, where edges are."""
    end = len(data) + cut if cut <= 0 else cut % len(data)
    return data[: max(end, 0)]


def change_version(data: bytes, at: int) -> bytes:
    """As many bytes, of which one line with the same id says something else."""
    found = [match.start() + 1 for match in VERSION.finditer(data)]
    if not found:
        return data
    where = found[at % len(found)]
    digit = b"%d" % ((int(data[where : where + 1]) + 1) % 10)
    return data[:where] + digit + data[where + 1 :]


def parse_known_line(text: str) -> LineContents | None:
    """What a whole line of a known shape says; None for any other line."""
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
            return LineContents(((_entry(uuid, 0), text),))
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
            return LineContents(((_entry(uuid, 0), text), (_entry(uuid, 1), thought)))
    return None


def _entry(uuid: str, block: int) -> str:
    return make_record_id(ADAPTER.name, uuid, block).hex()


def parse_certain_line(line: bytes) -> LineContents | None:
    """What a line says that must be kept, whichever limits a look has."""
    if len(line) >= SMALL_LINE:
        return None
    return parse_known_line(line.decode(errors="replace"))


def list_candidates(data: bytes, *, with_tail: bool) -> list[CandidateContent]:
    """Every content the file may give an entry, in order."""
    found: list[CandidateContent] = []
    for line in lines_in(data):
        said = parse_certain_line(line)
        if said:
            found += [
                CandidateContent(*each, is_certain=True) for each in said.contents
            ]
        else:
            found += _list_salvageable(line)
    return found + (_list_salvageable(tail_of(data)) if with_tail else [])


def _list_salvageable(line: bytes) -> list[CandidateContent]:
    text, found = line.decode(errors="replace"), []
    for start in (match.start() for match in re.finditer(r'\{\s*"', text)):
        with suppress(ValueError):
            _, end = json.JSONDecoder(strict=False).raw_decode(text, start)
            said = parse_known_line(text[start:end]) or LineContents()
            found += [
                CandidateContent(*each, is_certain=False) for each in said.contents
            ]
    return found


def list_unknown_entries(line: bytes) -> set[str]:
    """Entries that a line of an unknown shape names: their content is anyone's."""
    text = line.decode(errors="replace")
    if parse_known_line(text):
        return set()
    named = re.findall(r'"uuid"\s*:\s*"([^"]*)"', text)
    return {_entry(uuid, block) for uuid in named for block in (0, 1)}


class StoreModel:
    """What must be in the store, and what may be, after the looks so far."""

    def __init__(self) -> None:
        self.entries: dict[str, set[str]] = defaultdict(set)
        """By session: entries that stood whole in its file at a look."""
        self.least: dict[str, Counter[bytes]] = defaultdict(Counter)
        """By session: how often a line without an id must be kept."""
        self.most: dict[str, Counter[bytes]] = defaultdict(Counter)
        self.current: dict[str, set[str]] = defaultdict(set)
        """By entry: the contents of which one is current."""
        self.wild: set[str] = set()
        self.texts: set[str] = set()
        """Every line that stood in a file at a look."""

    def finish_read(
        self,
        files: dict[Path, bytes],
        looked: dict[Path, tuple[bytes, ...]],
        *,
        final: bool,
    ) -> None:
        """A look ended; what its files hold beyond what they held before was read."""
        for path, data in files.items():
            session = path.stem
            whole = [line for line in lines_in(data) if parse_certain_line(line)]
            for line in whole:
                self.entries[session] |= {
                    e for e, _ in parse_certain_line(line).contents
                }
            self.least[session] |= Counter(
                x for x in whole if parse_certain_line(x).title
            )
        self.start_read(files, final=final)
        self._update_current(files, looked, final=final)

    def start_read(self, files: dict[Path, bytes], *, final: bool) -> None:
        """A look that may have been killed showed these files."""
        for path, data in files.items():
            lines = lines_in(data) + ([tail_of(data)] if final else [])
            titles = Counter(
                line
                for line in lines
                if (parse_certain_line(line) or LineContents()).title
            )
            self.most[path.stem] |= titles
            for line in lines:
                self.texts.add(line.decode(errors="replace"))
                self.wild |= list_unknown_entries(line)
            for saying in list_candidates(data, with_tail=final):
                self.current[saying.entry].add(saying.content)

    def _update_current(
        self,
        files: dict[Path, bytes],
        looked: dict[Path, tuple[bytes, ...]],
        *,
        final: bool,
    ) -> None:
        """Where a file certainly brought a new content, an older one is not current."""
        news: set[str] = set()
        given: dict[str, set[str]] = defaultdict(set)
        for path, data in files.items():
            before = looked.get(path, NEVER)
            sayings = list_candidates(data, with_tail=final)
            if before == (data,) and all(saying.is_certain for saying in sayings):
                continue
            news |= _new_entries(sayings, before)
            for entry in {saying.entry for saying in sayings}:
                given[entry] |= _last_contents(entry, sayings)
        for entry in news:
            self.current[entry] = given[entry]


def _new_entries(now: list[CandidateContent], before: tuple[bytes, ...]) -> set[str]:
    """Entries with a content that stood in none of the earlier states as often."""
    more = Counter(saying for saying in now if saying.is_certain)
    known: Counter[CandidateContent] = Counter()
    for data in before:
        known |= Counter(list_candidates(data, with_tail=False))
    return {saying.entry for saying in more - known}


def _last_contents(entry: str, sayings: list[CandidateContent]) -> set[str]:
    """A file gives an entry its last content; a damaged line gives it or does not."""
    mine = [saying for saying in sayings if saying.entry == entry]
    if all(saying.is_certain for saying in mine):
        return {mine[-1].content}
    return {saying.content for saying in mine}


class CurrentRecordRow(NamedTuple):
    session: str
    entry: str
    native_id: str
    content: str


def rows_in(db: sqlite3.Connection) -> dict[str, list[CurrentRecordRow]]:
    """The current records of every session, in order."""
    found: dict[str, list[CurrentRecordRow]] = defaultdict(list)
    for session, entry, *rest in db.execute(
        "SELECT s.session_id, r.entry_id, r.native_id, r.content FROM placement p "
        "JOIN session s ON s.id = p.session JOIN record r ON r.entry = p.entry "
        "AND r.is_current ORDER BY p.id"
    ):
        found[session].append(CurrentRecordRow(session, entry.hex(), *rest))
    return found


def assert_nothing_missing(
    model: StoreModel, rows: dict[str, list[CurrentRecordRow]]
) -> None:
    for session, wanted in model.entries.items():
        missing = wanted - {row.entry for row in rows[session]}
        assert not missing, f"{session} lost entries"
    for session, least in model.least.items():
        titles = _titles(rows[session])
        assert _by_title(least) <= titles, f"{session} lost lines without an id"


def assert_nothing_twice(
    model: StoreModel, rows: dict[str, list[CurrentRecordRow]]
) -> None:
    for session, mine in rows.items():
        twice = [e for e, times in Counter(r.entry for r in mine).items() if times > 1]
        assert not twice, f"{session} holds entries twice"
        most = _by_title(model.most[session])
        assert _titles(mine) <= most, f"{session} holds lines too often"


def assert_newest_is_current(
    model: StoreModel, rows: dict[str, list[CurrentRecordRow]]
) -> None:
    for row in (row for mine in rows.values() for row in mine):
        if row.native_id and row.entry not in model.wild:
            assert row.content in model.current[row.entry], f"{row} is not the newest"
        known = any(row.content in text for text in model.texts)
        assert known, f"{row} stood in no file"


def assert_rows_agree(db: sqlite3.Connection) -> None:
    """Each content of an entry is one row, and one row of each entry is current."""
    same = "entry_id, type, role, content, metadata"
    query = f"SELECT count(*) FROM record WHERE native_id <> '' GROUP BY {same}"
    assert all(times == 1 for (times,) in db.execute(query))
    query = "SELECT sum(is_current), count(DISTINCT entry_id) FROM record GROUP BY "
    for column in ("entry", "entry_id"):
        assert all(counts == (1, 1) for counts in db.execute(query + column))


def _titles(rows: list[CurrentRecordRow]) -> Counter[str]:
    found = Counter(row.content for row in rows if not row.native_id)
    return Counter({t: n for t, n in found.items() if t.startswith("title ")})


def _by_title(lines: Counter[bytes]) -> Counter[str]:
    """Damaged UTF-8 may make one title of two lines; they are kept apart."""
    found: Counter[str] = Counter()
    for line, times in lines.items():
        title = parse_certain_line(line).title
        found[title] += times if title.startswith("title ") else 0
    return found


def assert_in_file_order(data: bytes, rows: list[CurrentRecordRow]) -> None:
    expected: list[str] = []
    for said in filter(None, map(parse_certain_line, lines_in(data))):
        names = [said.title] if said.title else [entry for entry, _ in said.contents]
        expected += [n for n in names if said.title or n not in expected]
    known = set(expected)
    placed = [row.entry if row.native_id else row.content for row in rows]
    placed = [name for name in placed if name in known]
    # A final look may have added the unended last line: it stands behind the others.
    assert placed[: len(expected)] == expected, "the order of the file is not kept"


class TailMachine(RuleBasedStateMachine):
    """Files, a store, and the model beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.temp = tempfile.TemporaryDirectory()
        root = Path(self.temp.name)
        self.home = ClaudeHome(root / "home", root / "data-0" / "store.db", FakeClock())
        self.store = self._open()
        self.model = StoreModel()
        self.live: list[Path] = []
        self.dead: list[Path] = []
        self.rests: dict[Path, bytes] = {}
        """What half-written lines still lack."""
        self.looked: dict[Path, tuple[bytes, ...]] = {}
        """What each file was when its cursor was set: more than one state is possible
        after a kill."""
        self.messy: set[str] = set()
        """Sessions whose file did more than grow: their order is not the file's."""
        self.shown: dict[str, list[bytes]] = defaultdict(list)
        """Everything that stood in the files of a name at any look."""
        self.written: list[bytes] = []
        self.numbers = 0

    def teardown(self) -> None:
        try:
            # What a rule found must not be covered by what follows from it.
            if sys.exc_info()[0] is None:
                self._look(ReadOptions())
                self._restart()
        finally:
            self._kill()
            self.temp.cleanup()

    # What agents do.

    @initialize(specs=SPECS)
    def begin(self, specs):
        self._write(self._new_path(), self._compose(specs))

    @precondition(lambda self: len(self.live) < MOST_FILES)
    @rule(specs=SPECS)
    def start_another_session(self, specs):
        self._write(self._new_path(), self._compose(specs))

    @precondition(lambda self: self.live)
    @rule(pick=PICKS, specs=SPECS)
    def append(self, pick, specs):
        path = self._pick(pick)
        self._append(path, self.rests.pop(path, b"") + self._compose(specs))

    @precondition(lambda self: self.live)
    @rule(pick=PICKS, specs=SPECS)
    def append_over_a_half_line(self, pick, specs):
        path = self._pick(pick)
        if self.rests.pop(path, b"") or tail_of(path.read_bytes()):
            self.messy.add(path.stem)
        self._append(path, self._compose(specs))

    @precondition(lambda self: self.live)
    @rule(pick=PICKS, specs=SPECS, cut=HALVES)
    def append_a_part(self, pick, specs, cut):
        path = self._pick(pick)
        data = self.rests.pop(path, b"") + self._compose(specs)
        part = truncated(data, cut)
        self._append(path, part)
        self.rests[path] = data[len(part) :]

    @precondition(lambda self: self.rests)
    @rule(pick=PICKS)
    def append_the_rest(self, pick):
        path = sorted(self.rests)[pick % len(self.rests)]
        self._append(path, self.rests.pop(path))

    @precondition(lambda self: self.live)
    @rule(pick=PICKS, specs=SPECS, how=LOOKS)
    def end_a_line_that_was_taken_as_final(self, pick, specs, how):
        path = self._pick(pick)
        data = self.rests.pop(path, b"") + self._compose(specs)
        self._append(path, data[:-1])
        self._look(how._replace(is_final=True))
        self._append(path, data[-1:])

    @precondition(lambda self: self.live and len(self.live) < MOST_FILES)
    @rule(pick=PICKS, line=PICKS, specs=SPECS)
    def fork(self, pick, line, specs):
        """A new session begins with a copy of another, up to one of its lines."""
        source, path = self._pick(pick), self._new_path()
        data = source.read_bytes()
        end = ends_in(data)[-1 - line % len(ends_in(data))]
        self._write(path, data[:end] + self._compose(specs))

    @precondition(lambda self: self.live and len(self.live) < MOST_FILES)
    @rule(pick=PICKS)
    def copy_into_another_folder(self, pick):
        """The same session stands in two projects."""
        source = self._pick(pick)
        path = self._new_folder() / source.name
        self._write(path, source.read_bytes())
        self.messy.add(path.stem)
        # With an inode of before, reading may go on where another file's ended.
        self.looked[path] = (*NEVER, *self.shown[path.name])

    # What else happens to files.

    @precondition(lambda self: self.live)
    @rule(pick=PICKS, line=PICKS, nudge=NUDGES)
    def truncate(self, pick, line, nudge):
        self._truncate(self._pick(pick), line, nudge)

    @precondition(lambda self: self.live)
    @rule(pick=PICKS, line=PICKS, nudge=NUDGES, specs=SPECS)
    def truncate_and_grow(self, pick, line, nudge, specs):
        path = self._pick(pick)
        size = path.stat().st_size
        self._truncate(path, line, nudge)
        while path.stat().st_size <= size:
            self._append(path, self._compose(specs))

    @precondition(lambda self: self.live)
    @rule(
        pick=PICKS,
        is_first=st.booleans(),
        how=LOOKS,
        specs=SPECS,
        cut=HALVES,
        then=LOOKS,
    )
    def give_up_a_half_line(self, pick, is_first, how, specs, cut, then):
        """A half line was looked at; other lines, more or fewer bytes, replace it."""
        path = self._pick(pick)
        if is_first and len(self.live) < MOST_FILES:
            path = self._new_path()
            self._write(path, b"")
        self._append(path, make_prompt(self._number(), "z" * 100)[:-1])
        self._look(how)
        self._truncate(path, 0, 0)
        self._append(path, truncated(self._compose(specs), cut))
        self._look(then)

    @precondition(lambda self: self.live)
    @rule(pick=PICKS, at=PICKS, keep_mtime=st.booleans(), how=st.none() | LOOKS)
    def reword(self, pick, at, keep_mtime, how):
        """A line with the same id and size says something else."""
        self._reword(self._pick(pick), at, keep_mtime=keep_mtime)
        if how:
            self._look(how)

    def _reword(self, path: Path, at: int, *, keep_mtime: bool) -> None:
        data = change_version(path.read_bytes(), at)
        self._overwrite(path, data, keep_mtime=keep_mtime)

    @precondition(lambda self: self.live)
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
            ends = ends_in(data)
            data[min(max(ends[line % len(ends)] + nudge, 0), len(data) - 1)] = byte
            self._overwrite(path, bytes(data), keep_mtime=keep_mtime)

    @precondition(lambda self: self.live)
    @rule(pick=PICKS)
    def touch(self, pick):
        self._pick(pick).touch()

    @precondition(lambda self: self.live)
    @rule(pick=PICKS, specs=SPECS)
    def replace_by_the_same_and_more(self, pick, specs):
        path = self._pick(pick)
        more = self.rests.pop(path, b"") + self._compose(specs)
        self._replace(path, path.read_bytes() + more)

    @precondition(lambda self: self.live)
    @rule(pick=PICKS, at=PICKS, specs=SPECS)
    def replace_by_almost_the_same_and_more(self, pick, at, specs):
        path = self._pick(pick)
        self._spoil(path)
        self._replace(
            path, change_version(path.read_bytes(), at) + self._compose(specs)
        )

    @precondition(lambda self: self.live)
    @rule(pick=PICKS, line=PICKS, specs=SPECS)
    def replace_by_something_else(self, pick, line, specs):
        """The first lines go, new ones come: what an agent's compaction does."""
        path = self._pick(pick)
        data = path.read_bytes()
        start = ends_in(data)[line % len(ends_in(data))]
        self._spoil(path)
        self._replace(path, self._compose(specs) + data[start:])

    @precondition(lambda self: self.live)
    @rule(pick=PICKS)
    def delete(self, pick):
        path = self._pick(pick)
        self._spoil(path)
        path.unlink()
        self.live.remove(path)
        self.dead.append(path)

    @precondition(lambda self: self.dead and len(self.live) < MOST_FILES)
    @rule(pick=PICKS, keep=PICKS, specs=SPECS)
    def recreate(self, pick, keep, specs):
        path = self.dead.pop(pick % len(self.dead))
        before = self.looked.get(path, NEVER)[0]
        end = ends_in(before)[keep % len(ends_in(before))]
        self._write(path, before[:end] + self._compose(specs))

    @precondition(lambda self: self.live)
    @rule(pick=PICKS)
    def move_the_folder(self, pick):
        old = self._pick(pick).parent
        new = self._new_folder()
        old.rename(new)
        self.live = [self._moved(path, old, new) for path in self.live]
        self.dead = [self._moved(path, old, new) for path in self.dead]
        self.looked = {self._moved(p, old, new): d for p, d in self.looked.items()}
        self.rests = {self._moved(p, old, new): r for p, r in self.rests.items()}

    # What happens to leslied.

    @rule(how=LOOKS)
    def look(self, how):
        self._look(how)

    @rule()
    def restart(self):
        self._restart()

    @rule(specs=SPECS, how=LOOKS, calls=CALLS, every=EVERY)
    def be_interrupted_in_a_commit(self, specs, how, calls, every):
        self._add(specs)
        with suppress(StoreUnusable, sqlite3.OperationalError):
            self._sync_interrupted(how, calls, every, lambda: None)
        self._kill()
        self._reopen()

    @rule(specs=SPECS, how=LOOKS, calls=CALLS, every=EVERY)
    def be_killed_in_a_commit(self, specs, how, calls, every):
        """The files as they are in the middle of a commit are all that is left."""
        self._add(specs)
        copies: list[Path] = []
        with suppress(StoreUnusable, sqlite3.OperationalError):
            self._sync_interrupted(
                how, calls, every, lambda: copies.append(self._copy_store())
            )
        self._kill()
        self.home.store_path = copies[0] if copies else self.home.store_path
        self._reopen()

    @rule(specs=SPECS, how=LOOKS, cut=st.integers(0, 1000), nudge=NUDGES)
    def be_killed_while_the_log_is_written(self, specs, how, cut, nudge):
        """Of what the look wrote, the disk has only the first part."""
        self._add(specs)
        self._kill_while_writing(how, cut, nudge)

    @precondition(lambda self: len(self.live) < MOST_FILES)
    @rule(specs=SPECS, limits=LIMITS, cut=PICKS, at=st.none() | PICKS)
    def be_killed_in_a_first_reading(self, specs, limits, cut, at):
        """A new log is half read; before the next look, a line may become another."""
        path = self._new_path()
        self._write(path, self._compose(specs) + self._compose(specs))
        self._kill_while_writing(ReadOptions(limits, 1), cut, 0)
        if at is not None:
            self._reword(path, at, keep_mtime=False)

    # How it is done.

    def _pick(self, pick: int) -> Path:
        return sorted(self.live)[pick % len(self.live)]

    def _number(self) -> int:
        self.numbers += 1
        return self.numbers

    def _new_path(self) -> Path:
        """A session nobody had, mostly in a folder that is there."""
        number = self._number()
        folders = sorted({path.parent for path in self.live})
        folder = folders[0] if folders and number % 3 else self._new_folder()
        return folder / f"session-{number}.jsonl"

    def _new_folder(self) -> Path:
        return self.home.projects / f"-project-{self._number()}"

    def _compose(self, specs) -> bytes:
        lines = [self._line(*spec) for spec in specs]
        self.written += lines
        return b"".join(lines)

    def _line(self, kind: str, text: str, pick: int) -> bytes:
        if kind == "again" and self.written:
            return self.written[pick % len(self.written)]
        if kind == "prompt":
            return make_prompt(self._number(), text)
        if kind == "answer":
            return make_answer(self._number(), text)
        return b"\n" if kind == "-" else make_title(pick)

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.live.append(path)

    def _add(self, specs) -> None:
        """A look has something to commit."""
        if self.live:
            path = self._pick(len(specs))
            self._append(path, self.rests.pop(path, b"") + self._compose(specs))

    def _append(self, path: Path, data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)

    def _overwrite(self, path: Path, data: bytes, *, keep_mtime: bool) -> None:
        self._spoil(path)
        status = path.stat()
        with path.open("r+b") as file:
            file.write(data)
        if keep_mtime:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _replace(self, path: Path, data: bytes) -> None:
        fresh = Path(self.temp.name) / "fresh"
        fresh.write_bytes(data)
        fresh.replace(path)

    def _truncate(self, path: Path, line: int, nudge: int) -> None:
        ends = ends_in(path.read_bytes())
        size = ends[-1 - line % len(ends)] + nudge
        self._spoil(path)
        os.truncate(path, min(max(size, 0), path.stat().st_size))

    def _spoil(self, path: Path) -> None:
        """From now on the file did more than grow."""
        self.messy.add(path.stem)
        self.rests.pop(path, None)

    @staticmethod
    def _moved(path: Path, old: Path, new: Path) -> Path:
        return new / path.name if path.parent == old else path

    def _files(self) -> dict[Path, bytes]:
        """What a look that starts now will see."""
        files = {path: path.read_bytes() for path in self.live}
        for path, data in files.items():
            self.shown[path.name].append(data)
        return files

    # Looking.

    def _look(self, how: ReadOptions) -> None:
        self._show_what_would_hide(how)
        files = self._files()
        most = self._count_news(files, how)
        self.model.finish_read(files, self.looked, final=how.is_final)
        done = self._sync(how)
        assert done.entries <= most, "what was read before is decoded again"
        self.looked |= {path: (data,) for path, data in files.items()}
        self._check()
        self._check_order(files)
        again = self._sync(how)
        assert (again.entries, again.bytes_read, again.commits) == (0, 0, 0)

    def _sync(self, how: ReadOptions) -> IngestReport:
        env = Environment(home=self.home.home, environ={}, platform="linux")
        ingest = Ingest(
            adapter=ADAPTER,
            store=self.store,
            roots=tuple(ADAPTER.roots(env, [])),
            limits=how.limits,
            is_final=how.is_final,
            weight=how.weight,
        )
        return ingest.ingest_files(self.live) if how.has_events else ingest.scan()

    def _glimpse(self, how: ReadOptions) -> None:
        """A look begins that may not end."""
        self._show_what_would_hide(how)
        files = self._files()
        self.model.start_read(files, final=how.is_final)
        for path, data in files.items():
            before = self.looked.get(path, NEVER)
            self.looked[path] = before if data in before else (*before, data)

    def _count_news(self, files: dict[Path, bytes], how: ReadOptions) -> int:
        """The most entries a look has to decode."""
        most = 0
        for path, data in files.items():
            before = self.looked.get(path, NEVER)
            known = before[0][: before[0].rfind(b"\n") + 1]
            is_known = len(before) == 1 and data.startswith(known)
            news = data[len(known) :] if is_known else data
            most += len(lines_in(news)) + (how.is_final and bool(tail_of(data)))
        return most

    def _check(self) -> None:
        rows = rows_in(self.store._db)
        assert_nothing_missing(self.model, rows)
        assert_nothing_twice(self.model, rows)
        assert_newest_is_current(self.model, rows)
        assert_rows_agree(self.store._db)

    def _check_order(self, files: dict[Path, bytes]) -> None:
        rows = rows_in(self.store._db)
        for path, data in files.items():
            if path.stem not in self.messy:
                assert_in_file_order(data, rows[path.stem])

    # Dying.

    def _open(self) -> Store:
        store = Store(self.home.store_path, self.home.clock)
        # A kill leaves what was written, synced or not: waiting for the disk tells
        # nothing here and takes most of the time.
        store._db.execute("PRAGMA synchronous = OFF")
        return store

    def _restart(self) -> None:
        self.store.close()
        self.store = self._open()
        self._check()

    def _kill_while_writing(self, how: ReadOptions, cut: int, nudge: int) -> None:
        before = self._wal_bytes()
        self._glimpse(how)
        self._sync(how)
        after = self._wal_bytes()
        start = max(len(before), WAL_HEADER)
        # Only where the look added to the log, and no checkpoint emptied it meanwhile.
        if len(after) > start and after.startswith(before):
            frames = (len(after) - start) // FRAME
            end = start + cut % (frames + 1) * FRAME + nudge
            self.home.store_path = self._copy_store(max(end, len(before)))
        self._kill()
        self._reopen()

    def _sync_interrupted(
        self, how: ReadOptions, calls: int, every: int, at_once
    ) -> None:
        self._glimpse(how)
        left = [calls]

        def tick() -> int:
            left[0] -= 1
            if left[0]:
                return 0
            at_once()
            return 1

        self.store._db.set_progress_handler(tick, every)
        self._sync(how)

    def _copy_store(self, wal: int | None = None) -> Path:
        """The store's files elsewhere, as a killed process would leave them."""
        path = Path(self.temp.name) / f"data-{self._number()}" / "store.db"
        path.parent.mkdir()
        shutil.copy(self.home.store_path, path)
        path.with_name("store.db-wal").write_bytes(self._wal_bytes()[:wal])
        return path

    def _wal_bytes(self) -> bytes:
        path = self.home.store_path.with_name("store.db-wal")
        return path.read_bytes() if path.exists() else b""

    def _kill(self) -> None:
        """Without a word: no checkpoint of ours, the lock falls."""
        self.store._db.close()
        with suppress(OSError):
            os.close(self.store._lock)

    def _reopen(self) -> None:
        self.store = self._open()
        self._check()
        cursors = load_cursors(self.store).values()
        if not UNSTAMPED_CURSOR_IS_CHECKED and any(not c.stamp for c in cursors):
            self._look(ReadOptions())

    # Known limits.

    def _show_what_would_hide(self, how: ReadOptions) -> None:
        """A change behind a known limit, or within one tick, comes as a new file."""
        cursors = load_cursors(self.store)
        for path in self.live:
            while self._would_hide(path, cursors, how):
                # The old file stays somewhere: its inode must not come back at once.
                old = path.rename(Path(self.temp.name) / f"old-{self._number()}")
                shutil.copyfile(old, path)
            stamp = make_stamp(path.stat())
            if path in self.looked and not _cursors_for(path, stamp, cursors):
                # Moved and replaced between two looks: nothing tells what it was.
                self.looked[path] = NEVER
            elif os.fsencode(path) not in cursors and _is_reused(stamp, cursors):
                self.looked[path] = (*NEVER, *self.shown[path.name])

    def _would_hide(
        self, path: Path, cursors: dict[bytes, Cursor], how: ReadOptions
    ) -> bool:
        stamp = make_stamp(path.stat())
        change = PendingFile(path.read_bytes(), stamp, how.limits.rescan)
        return any(
            hides(before, change, cursor)
            for before in self.shown[path.name]
            for cursor in _cursors_for(path, stamp, cursors)
        )


def _cursors_for(
    path: Path, stamp: FileStamp, cursors: dict[bytes, Cursor]
) -> list[Cursor]:
    """Where reading the file may go on: at its path, else where its inode was."""
    if os.fsencode(path) in cursors:
        return [cursors[os.fsencode(path)]]
    return [
        cursor
        for name, cursor in cursors.items()
        if Path(os.fsdecode(name)).name == path.name
        and cursor.stamp
        and cursor.stamp.inode == stamp.inode
    ]


def _is_reused(stamp: FileStamp, cursors: dict[bytes, Cursor]) -> bool:
    """Whether more than one source was this very file."""
    stamps = [cursor.stamp for cursor in cursors.values() if cursor.stamp]
    same = [old for old in stamps if old.inode == stamp.inode]
    return len(same) > 1 and not REUSED_INODE_IS_TOLD_APART


class PendingFile(NamedTuple):
    """A file as the next look will find it, and how long a half line it reads again."""

    data: bytes
    stamp: FileStamp
    rescan: int


def hides(before: bytes, now: PendingFile, cursor: Cursor) -> bool:
    """Whether bytes that gave the cursor may be others now without a sign of it."""
    data, old, end = now.data, cursor.stamp, cursor.offset
    if old is None or zlib.crc32(before[:end]) != cursor.crc:
        return False
    is_anchored = before[:end][-SMALLEST_ANCHOR:] == data[:end][-SMALLEST_ANCHOR:]
    is_rewritten = is_anchored and data[:end] != before[:end]
    is_replaced = b"\n" in data[end : end + cursor.scanned]
    if old == now.stamp:
        return is_rewritten or is_replaced
    if old.inode != now.stamp.inode or now.stamp.size <= old.size:
        return False
    is_replaced = is_replaced and cursor.scanned >= now.rescan
    return (is_rewritten and not REWRITE_UNDER_GROWTH_IS_SEEN) or (
        is_replaced and not REPLACED_PARTIAL_IS_SEEN
    )


@pytest.mark.timeout(600 + EXAMPLES)
def test_every_line_is_kept_exactly_once_whatever_happens_to_its_file():
    run_state_machine_as_test(TailMachine, settings=MACHINE)
