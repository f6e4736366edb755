"""Test that work is proportional to the change, whatever the size of the store.

Each test does the same small thing in a small and in a large home, and compares what
was counted: statements, transactions, bytes, entries, files. Nothing is timed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from leslied.app import App
from leslied.hooks.context_usage import TAIL_BYTES
from leslied.hooks.respond import respond
from leslied.paths import get_paths
from leslied.pipeline import (
    Budget,
    Flow,
    FlowReport,
    IngestReport,
    TranscriptStage,
)
from leslied.pipeline.stages.transcript_writer import MAX_TRANSCRIPTS
from tests.bench.bombs import make_unit
from tests.support.claude import (
    AFTER_STORE_CREATION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.clock import FakeClock
from tests.support.path_recorder import PathRecorder
from tests.support.work import Work, count_work

PROBE = "99999999-2222-4333-8444-555555555555"
FORK = "88888888-2222-4333-8444-555555555555"
NO_SCAN = Budget(changed_paths=())
BUSY_SESSIONS = 40


class Home:
    """A home with one session in a project, whose work is counted."""

    def __init__(self, folder: Path) -> None:
        (folder / "home").mkdir(parents=True)
        self.clock = FakeClock()
        self.claude = ClaudeHome(
            folder / "home", folder / "data" / "store.db", self.clock
        )
        self.probe = self.make_builder(PROBE, AFTER_STORE_CREATION)
        self.add_unit()
        environ = {
            "HOME": str(self.claude.home),
            "LESLIED_DATA_DIR": str(folder / "data"),
        }
        self.app = App(environ, get_paths(environ), self.clock)

    def make_builder(
        self, session_id: str, started_at: datetime, project: str = "app"
    ) -> ClaudeLogBuilder:
        folder = self.claude.home / project
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        return ClaudeLogBuilder(session_id, str(folder), started_at)

    @property
    def log(self) -> Path:
        return self.claude.log(f"-app/{PROBE}.jsonl")

    def write(self, *lines: dict[str, object]) -> None:
        self.claude.write(*lines, name=f"-app/{PROBE}.jsonl")

    def add_unit(self) -> None:
        self.write(self.probe.prompt("do it"), self.probe.answer("Done."))

    @contextmanager
    def open_flow(self) -> Iterator[Counter]:
        """Yield the daemon's flow after a sync in which all other sessions stopped."""
        with self.app.open_writer() as store, self.app.open_reader() as reader:
            flow = self.app.make_flow(store, reader, is_daemon=True)
            self._read_everything(flow)
            self.clock.advance(3600)
            for _ in range(3):
                flow.run(Budget())
            yield Counter(flow)

    def _read_everything(self, flow: Flow) -> None:
        """Run the flow until nothing of a large log is left."""
        while True:
            reports = flow.run(Budget()).reports
            if not any(r.has_more for r in reports if isinstance(r, IngestReport)):
                return


class Counter:
    """Runs a flow and counts its work."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.reports: list[FlowReport] = []

    def run(self, *budgets: Budget) -> Work:
        """Run the flow once for each budget, and return the work of all runs."""
        reader = self.flow.get_stage(TranscriptStage).reader
        with count_work(self.flow.store, reader) as work:
            self.reports = [self.flow.run(budget) for budget in budgets]
        return work

    @property
    def ingested(self) -> tuple[int, int]:
        """Return the bytes read from logs and the entries decoded in these runs."""
        reports = [report.sum_up(IngestReport) for report in self.reports]
        return sum(r.bytes_read for r in reports), sum(r.entries for r in reports)


Grow = Callable[[Home, int], None]
MakeHomes = Callable[[Grow, int], list[Home]]


def add_sessions(home: Home, count: int) -> None:
    for number in range(count):
        session_id = f"{number:08x}-0000-4000-8000-000000000000"
        started_at = home.clock.now().replace(tzinfo=None)
        builder = home.make_builder(session_id, started_at)
        home.claude.write(
            builder.prompt(f"fix {number}"),
            builder.answer("Fixed."),
            name=f"-app/{session_id}.jsonl",
        )


def add_units(home: Home, count: int) -> None:
    for _ in range(count):
        home.add_unit()


def add_calls(home: Home, count: int) -> None:
    """Add a unit with calls and long results."""
    lines = [home.probe.prompt("run it")]
    for number in range(count):
        lines.append(home.probe.call("Bash", {"command": "make"}, f"toolu_{number}"))
        lines.append(home.probe.result(f"toolu_{number}", "x" * 10_000))
    home.write(*lines, home.probe.answer("Done."))


def add_asking_units(home: Home, count: int) -> None:
    """Add units of which each calls a subagent."""
    for number in range(count):
        add_subagents(home, 1, number)


def add_subagents(home: Home, count: int, first: int = 0) -> None:
    """Add subagents that one unit calls."""
    spawn = {"description": "look", "prompt": "look", "subagent_type": "Explore"}
    home.write(home.probe.prompt("ask"))
    for number in range(first, first + count):
        agent_id = f"a{number:07x}"
        home.write(
            home.probe.call("Task", spawn, f"toolu_{number}"),
            home.probe.result(
                f"toolu_{number}", "seen", toolUseResult={"agentId": agent_id}
            ),
        )
        child = ClaudeLogBuilder(f"{PROBE}/{number}", started_at=AFTER_STORE_CREATION)
        lines = [child.prompt("look"), child.answer("seen")]
        for line in lines:
            line |= {"isSidechain": True, "agentId": agent_id, "sessionId": PROBE}
        home.claude.write(*lines, name=f"-app/{PROBE}/subagents/agent-{agent_id}.jsonl")
    home.write(home.probe.answer("Done."))


SIZES = {add_sessions: 60, add_units: 40, add_calls: 300, add_subagents: 40}
GROWTHS = pytest.mark.parametrize(("grow", "size"), SIZES.items())
MAX_MORE_STEPS = {
    add_sessions: 300,  # Deeper trees to search.
    add_units: 3500,  # A lookup for each of the last 50 units.
    add_calls: 300,
    add_subagents: 2500,  # A lookup for each subagent.
}
"""How many more steps SQLite may take in a large home."""


@pytest.fixture
def homes(tmp_path: Path) -> MakeHomes:
    """Return a function that makes a small home and one of another size."""

    def make(grow: Grow, size: int) -> list[Home]:
        homes = []
        for number, count in enumerate((2, size)):
            home = Home(tmp_path / str(number))
            grow(home, count)
            homes.append(home)
        return homes

    return make


def check_same_work(small: Work, large: Work, grow: Grow) -> None:
    assert large.statements == small.statements
    assert (large.transactions, large.files) == (small.transactions, small.files)
    assert large.steps <= small.steps + MAX_MORE_STEPS[grow]


@pytest.mark.fault("F7")
def test_a_first_sync_reads_every_byte_and_decodes_every_entry_once(tmp_path: Path):
    home = Home(tmp_path / "0")
    add_sessions(home, 20)
    logs = list(home.claude.projects.rglob("*.jsonl"))
    with home.app.open_writer() as store, home.app.open_reader() as reader:
        counter = Counter(home.app.make_flow(store, reader))
        counter.run(Budget())

    size = sum(log.stat().st_size for log in logs)
    entries = sum(len(log.read_bytes().split(b"\n")) - 1 for log in logs)
    assert counter.ingested == (size, entries)


def test_a_first_sync_commits_many_small_logs_together(homes: MakeHomes):
    transactions = []
    for home in homes(add_sessions, 60):
        with home.app.open_writer() as store, home.app.open_reader() as reader:
            report = home.app.make_flow(store, reader).run(Budget())
        transactions.append(report.sum_up(IngestReport).commits)

    assert transactions == [1, 1]


@pytest.mark.fault("E5")
@GROWTHS
def test_a_scan_that_finds_nothing_reads_no_log_and_changes_nothing(
    homes: MakeHomes, grow: Grow, size: int
):
    statements = []
    for home in homes(grow, size):
        with home.open_flow() as counter:
            work = counter.run(Budget())
        assert counter.ingested == (0, 0)
        assert (work.transactions, work.files) == (0, 0)
        statements.append(work.statements)

    assert statements[1] == statements[0]


@GROWTHS
def test_an_appended_line_costs_the_same_in_a_large_home(
    homes: MakeHomes, grow: Grow, size: int
):
    works, reads = [], []
    for home in homes(grow, size):
        with home.open_flow() as counter:
            home.write(home.probe.prompt("go on"))
            works.append(counter.run(Budget(changed_paths=[home.log])))
        reads.append(counter.ingested)

    check_same_work(*works, grow)
    assert works[0].transactions == 1
    assert reads[0] == reads[1]
    _, decoded_entries = reads[0]
    assert decoded_entries == 1


@pytest.mark.parametrize("grow", [add_units, add_calls])
def test_an_answer_costs_the_same_in_a_long_session(homes: MakeHomes, grow: Grow):
    works = []
    for home in homes(grow, SIZES[grow]):
        with home.open_flow() as counter:
            home.write(home.probe.answer("More."))
            works.append(counter.run(Budget(changed_paths=[home.log])))

    check_same_work(*works, grow)


def test_subagents_of_units_without_a_transcript_do_not_slow_an_appended_line(
    homes: MakeHomes,
):
    statements = []
    for home in homes(add_asking_units, MAX_TRANSCRIPTS + 5):
        with home.open_flow() as counter:
            home.write(home.probe.prompt("go on"))
            work = counter.run(Budget(changed_paths=[home.log]))
        statements.append(work.statements)

    assert statements[1] == statements[0]


@GROWTHS
def test_a_settled_unit_costs_the_same_in_a_large_home(
    homes: MakeHomes, grow: Grow, size: int
):
    works = []
    for home in homes(grow, size):
        with home.open_flow() as counter:
            home.add_unit()
            counter.run(Budget(changed_paths=[home.log]))
            home.clock.advance(5)
            works.append(counter.run(NO_SCAN, NO_SCAN, NO_SCAN))

    small, large = works
    assert (large.transactions, large.files) == (small.transactions, small.files)
    assert large.statements <= small.statements + size
    assert small.transactions <= 2


def test_a_fork_is_read_once_and_adds_no_records(homes: MakeHomes):
    for home in homes(add_units, 40):
        with home.open_flow() as counter:
            copied = home.log.read_bytes().replace(PROBE.encode(), FORK.encode())
            fork = home.claude.log(f"-app/{FORK}.jsonl")
            fork.write_bytes(copied)
            counter.run(Budget(changed_paths=[fork]))
            report = counter.reports[0].sum_up(IngestReport)

        assert (report.bytes_read, report.added.records) == (len(copied), 0)
        assert report.commits == 1


def test_a_line_appended_to_a_fork_costs_the_same_in_a_large_home(homes: MakeHomes):
    works = []
    for home in homes(add_units, 40):
        with home.open_flow() as counter:
            copied = home.log.read_bytes().replace(PROBE.encode(), FORK.encode())
            fork = home.claude.log(f"-app/{FORK}.jsonl")
            fork.write_bytes(copied)
            for _ in range(4):
                counter.run(Budget())
                home.clock.advance(5)
            builder = home.make_builder(FORK, AFTER_STORE_CREATION)
            line = encode_json_lines(builder.prompt("go on", uuid="fork"))
            with fork.open("ab") as file:
                file.write(line)
            works.append(counter.run(Budget(changed_paths=[fork])))
            bytes_read, entries = counter.ingested
        assert entries == 1
        assert bytes_read < len(line) + 1000

    check_same_work(*works, add_units)


def test_a_hook_reads_only_the_end_of_a_large_log(
    homes: MakeHomes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    read_bytes: list[int] = []
    pread = os.pread

    def count_pread(fd: int, length: int, offset: int) -> bytes:
        data = pread(fd, length, offset)
        read_bytes.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", count_pread)
    opens = []
    for home in homes(add_calls, 200):
        event = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": PROBE,
            "transcript_path": str(home.log),
            "cwd": str(home.claude.home / "app"),
            "prompt": "go on",
        }
        with PathRecorder() as recorder:
            respond(str(tmp_path), json.dumps(event).encode(), 0)
        opens.append(recorder.opens)

    assert opens[1] == opens[0]
    assert max(read_bytes) <= TAIL_BYTES
    assert home.log.stat().st_size > 5 * TAIL_BYTES


def test_lines_of_many_busy_sessions_share_a_commit_and_most_statements(tmp_path: Path):
    home = Home(tmp_path / "busy")
    builders = [
        home.make_builder(f"{number:08x}-2222-4333-8444-555555555555", home.clock.now())
        for number in range(BUSY_SESSIONS)
    ]
    logs = [home.claude.log(f"-app/{each.session_id}.jsonl") for each in builders]

    def add_units(count: int) -> None:
        for builder, log in zip(builders, logs, strict=True):
            lines = [
                line for number in range(count) for line in make_unit(builder, number)
            ]
            with log.open("ab") as file:
                file.write(encode_json_lines(*lines))

    add_units(2)
    with home.open_flow() as counter:
        add_units(5)
        work = counter.run(Budget(changed_paths=logs, should_yield=lambda: True))

    lines = BUSY_SESSIONS * 5 * 4
    _, decoded_entries = counter.ingested
    assert decoded_entries == lines
    # One for all lines, and two for the transcript that every run writes.
    assert work.transactions == 3
    # A record, its placement, its text, and usage for every other line.
    assert work.statements <= 4.5 * lines
    assert work.opens <= 4 * BUSY_SESSIONS
