"""Kill the real daemon again and again while logs grow, and count what went wrong.

A writer keeps appending while the daemon is killed repeatedly. Three of four runs end
at a failpoint inside a commit or a file write, however long the daemon takes to get
there. The fourth ends at a random moment, relative to the duration of the others. So
kills land in the same places on a busy machine as on an idle one.
"""

from __future__ import annotations

import collections
import random
import signal
import statistics
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from leslied.pipeline.stages.transcripts import MAX_TRANSCRIPTS
from leslied.sinks.leslie import TranscriptLimits, parse_document
from leslied.store import StoreReader
from tests.support.claude import (
    AFTER_STORE_CREATION,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.cli import LesliedRunner
from tests.support.daemon import get_store_path

KILLS_PER_CHECK = 20
"""Number of kills after which the store must have grown."""
COMMIT_FAILPOINTS = ("commit.half", "commit.before", "commit.after")
WRITE_FAILPOINTS = ("write.half", "write.before", "write.after")
FAILPOINTS = (*COMMIT_FAILPOINTS, *WRITE_FAILPOINTS)
ANYWHERE = "anywhere"
"""The location of kills at a random moment."""
MAX_RUN_SECONDS = 60
"""Time limit for the daemon to reach its failpoint; usually it takes 1 or 2 seconds."""
VISIT_NUMBERS = (1, 1, 2, 3)
"""At which visit of a failpoint the daemon is killed; later ones take much longer."""
LOG_COUNT = 6
FAST_TURNS_PER_RUN = 40
LINES_PER_TURN = 4


class LogWriter(threading.Thread):
    """Append turns to several logs, split at random offsets.

    The first turns of each run are written fast, the others slowly: the logs grow with
    the number of runs, not with the time a busy machine takes for them.
    """

    def __init__(self, home: Path, project: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self._rng = random.Random(seed)
        self.builders = [
            ClaudeLogBuilder(
                f"{n:08x}-0000-4000-8000-000000000000",
                str(project),
                AFTER_STORE_CREATION,
            )
            for n in range(LOG_COUNT)
        ]
        folder = home / ".claude" / "projects" / "-app"
        folder.mkdir(parents=True)
        self._logs = [folder / f"{b.session_id}.jsonl" for b in self.builders]
        self.uuids_by_log: list[list[str]] = [[] for _ in range(LOG_COUNT)]
        self.fast_turns = 0
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.02 if self.fast_turns > 0 else 0.25):
            self.fast_turns -= 1
            self.write_turn(self._rng.randrange(LOG_COUNT))

    def end(self) -> None:
        """Finish the turn that is being written."""
        self._done.set()
        self.join()

    def write_turn(self, number: int) -> None:
        """Append one turn to the log with this number."""
        builder = self.builders[number]
        call = f"toolu_{number}_{len(self.uuids_by_log[number])}"
        lines = [
            builder.prompt(f"do {call}"),
            builder.call("Bash", {"command": "x" * 300}, call),
            builder.result(call, "y" * 9000),
            builder.answer("z" * self._rng.randrange(1, 9000)),
        ]
        data = encode_json_lines(*lines)
        cut = self._rng.randrange(len(data))
        with self._logs[number].open("ab", buffering=0) as log:
            log.write(data[:cut])
            log.write(data[cut:])
        self.uuids_by_log[number] += [line["uuid"] for line in lines]


class Killer:
    """Start and kill the daemon; count kills by failpoint or as "anywhere"."""

    def __init__(self, home: Path, seed: int) -> None:
        self._leslied = LesliedRunner(home)
        self._rng = random.Random(seed)
        self.kills_by_location: collections.Counter[str] = collections.Counter()
        self._recent_seconds: collections.deque[float] = collections.deque(maxlen=12)

    def kill(self, number: int) -> None:
        """Kill the daemon once; the number decides where."""
        if number % 4 == 3:
            self._kill_anywhere()
        else:
            failpoint_kills = number - number // 4
            self._kill_at(FAILPOINTS[failpoint_kills % len(FAILPOINTS)])

    def _kill_at(self, failpoint: str) -> None:
        """Run the daemon until it is killed at a failpoint."""
        start = time.monotonic()
        err = self._run(
            MAX_RUN_SECONDS, f"{failpoint}:{self._rng.choice(VISIT_NUMBERS)}"
        )
        self._recent_seconds.append(time.monotonic() - start)
        is_reached = f"crash at {failpoint}" in err
        self.kills_by_location[
            failpoint if is_reached else f"{failpoint} not reached"
        ] += 1

    def _kill_anywhere(self) -> None:
        """Kill the daemon at a random moment."""
        median_seconds = statistics.median(self._recent_seconds)
        self._run(median_seconds * self._rng.uniform(0.5, 2.0))
        self.kills_by_location[ANYWHERE] += 1

    def _run(self, seconds: float, crash_at: str = "") -> str:
        """Run the daemon until it is killed, at most `seconds`; return its stderr."""
        process = self._leslied.start(
            "run",
            environ={"LESLIED_CRASH_AT": crash_at},
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            _, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
        assert process.returncode == -signal.SIGKILL, err
        return err


@dataclass
class Damage:
    """What a crash loop lost, doubled, invented or tore; all zero if it went well."""

    lost: int = 0
    """Lines that are not in the store."""
    doubled: int = 0
    """Records of a line that the store has already."""
    invented: int = 0
    """Records that no line has, and rejected entries."""
    misplaced: int = 0
    """Records that are not at the place of their line."""
    torn_files: int = 0
    """Transcripts with other bytes than those of an undisturbed run."""
    missing_files: int = 0
    doubled_files: int = 0
    """Transcripts of a unit that has one already, or that should have none."""


@dataclass
class CrashLoopReport:
    """What a crash loop did, and what it damaged."""

    kills_by_location: dict[str, int] = field(default_factory=dict)
    lines: int = 0
    transcripts: int = 0
    damage: Damage = field(default_factory=Damage)


def run_crash_loop(
    home: Path,
    kills: int,
    *,
    seed: int = 7,
    fast_turns: int = FAST_TURNS_PER_RUN,
) -> CrashLoopReport:
    """Kill the daemon of an empty home so often; then check everything it wrote.

    In each run, so many turns are written fast; the rest slowly. Raise
    AssertionError if the daemon ends by itself or makes no progress.
    """
    project = home / "app"
    (project / ".git").mkdir(parents=True)
    writer = LogWriter(home, project, seed)
    for number in range(LOG_COUNT):
        writer.write_turn(number)
    writer.start()
    killer = Killer(home, seed + 4)
    record_count = 0
    try:
        for number in range(kills):
            writer.fast_turns = fast_turns
            killer.kill(number)
            if number % KILLS_PER_CHECK == KILLS_PER_CHECK - 1:
                record_count = _check_progress(home, record_count)
    finally:
        writer.end()
    _sync(home)
    report = CrashLoopReport(kills_by_location=dict(killer.kills_by_location))
    report.lines = sum(map(len, writer.uuids_by_log))
    _check_store(home, writer, report.damage)
    _check_files(home, writer, report)
    return report


def _check_progress(home: Path, previous_count: int) -> int:
    """Return the number of records, which must have grown."""
    with StoreReader(get_store_path(home)) as reader:
        record_count = reader.count_rows()["records"]
    assert record_count > previous_count, (
        f"no progress in the last {KILLS_PER_CHECK} runs"
    )
    return record_count


def _sync(home: Path, **environ: str) -> None:
    result = LesliedRunner(home)("sync", "--stop-all", **environ)
    assert result.code == 0, result.err


def _check_store(home: Path, writer: LogWriter, damage: Damage) -> None:
    """Compare the records of each session with the lines of its log."""
    with StoreReader(get_store_path(home)) as reader:
        sessions = {s.key.session_id: s for s in reader.list_sessions()}
        for builder, uuids in zip(writer.builders, writer.uuids_by_log, strict=True):
            session = sessions.get(builder.session_id)
            records = reader.list_records(session.key) if session else ()
            messages = [p.record for p in records if p.record.type != "system_event"]
            compare_ids(uuids, [str(r.native_id) for r in messages], damage)
        damage.invented += reader.count_rows()["rejected"]


def compare_ids(expected: list[str], actual: list[str], damage: Damage) -> None:
    """Add the differences between the lines of a log and its records to `damage`."""
    counts = collections.Counter(actual)
    expected_ids = set(expected)
    damage.lost += len(expected_ids - counts.keys())
    damage.invented += len(counts.keys() - expected_ids)
    damage.doubled += len(actual) - len(counts)
    if len(actual) == len(expected):
        damage.misplaced += sum(map(str.__ne__, expected, actual))


def _check_files(home: Path, writer: LogWriter, report: CrashLoopReport) -> None:
    """Compare the transcripts with those of an undisturbed run on the same logs."""
    project = home / "app"
    transcripts = read_transcripts(project)
    report.transcripts = len(transcripts)
    # A kill may leave a temporary file, but none that exceeds the transcript limit.
    sizes = [path.stat().st_size for path in project.rglob(".leslied-new*")]
    report.damage.torn_files += sum(s > TranscriptLimits().file for s in sizes)
    (project / ".leslie").rename(home / "disturbed")
    _sync(home, LESLIED_DATA_DIR=str(home / "undisturbed"))
    expected = read_transcripts(project)
    assert len(expected) == sum(
        min(len(uuids) // LINES_PER_TURN, MAX_TRANSCRIPTS)
        for uuids in writer.uuids_by_log
    )
    compare_transcripts(expected, transcripts, report.damage)


def read_transcripts(project: Path) -> list[bytes]:
    return [path.read_bytes() for path in project.rglob("*.txt")]


def compare_transcripts(
    expected: list[bytes], actual: list[bytes], damage: Damage
) -> None:
    """Add the differences between the transcripts of two runs to `damage`."""
    expected_by_id = {_find_chat_id(data): data for data in expected}
    actual_ids = [_find_chat_id(data) for data in actual]
    damage.missing_files += len(expected_by_id.keys() - set(actual_ids))
    damage.torn_files += sum(
        chat_id is None or expected_by_id.get(chat_id, data) != data
        for chat_id, data in zip(actual_ids, actual, strict=True)
    )
    chat_ids = collections.Counter(i for i in actual_ids if i is not None)
    damage.doubled_files += chat_ids.total() - len(chat_ids)
    damage.doubled_files += len(chat_ids.keys() - expected_by_id.keys())


def _find_chat_id(data: bytes) -> str | None:
    """Return the id of a transcript, or None if it is not a whole one."""
    try:
        return parse_document(data.decode()).chat_id
    except ValueError:
        return None
