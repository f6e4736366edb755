"""Kill the real daemon 300 times: no record or file may be lost, duplicated or torn.

A writer keeps appending while the daemon is killed repeatedly. Three of four runs end
at a failpoint inside a commit or a file write, however long the daemon takes to get
there. The fourth ends at a random moment, relative to the duration of the others. So
kills land in the same places on a busy machine as on an idle one.
"""

from __future__ import annotations

import collections
import os
import random
import signal
import statistics
import subprocess
import threading
import time
from pathlib import Path

import pytest

from leslied.pipeline.stages.transcripts import MAX_TRANSCRIPTS
from leslied.sinks.leslie import TranscriptLimits, parse_document
from leslied.store import StoreReader
from tests.support.claude import (
    AFTER_STORE_CREATION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.cli import LesliedRunner

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

KILLS = int(os.environ.get("LESLIED_KILLS", "300"))
KILLS_PER_CHECK = 20
"""Number of kills after which the store must have grown."""
FAILPOINTS = (
    "commit.half",
    "commit.before",
    "commit.after",
    "write.half",
    "write.before",
    "write.after",
)
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

    def __init__(self, claude: ClaudeHome, project: Path) -> None:
        super().__init__(daemon=True)
        self.rng = random.Random(7)
        self.builders = [
            ClaudeLogBuilder(
                f"{n:08x}-0000-4000-8000-000000000000",
                str(project),
                AFTER_STORE_CREATION,
            )
            for n in range(LOG_COUNT)
        ]
        self.logs = [
            claude.log(f"-app/{builder.session_id}.jsonl") for builder in self.builders
        ]
        self.uuids_by_log: list[list[str]] = [[] for _ in range(LOG_COUNT)]
        self.fast_turns = FAST_TURNS_PER_RUN
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.02 if self.fast_turns > 0 else 0.25):
            self.fast_turns -= 1
            self.write_turn(self.rng.randrange(LOG_COUNT))

    def write_turn(self, number: int) -> None:
        """Append one turn to the log with this number."""
        builder = self.builders[number]
        call = f"toolu_{number}_{len(self.uuids_by_log[number])}"
        lines = [
            builder.prompt(f"do {call}"),
            builder.call("Bash", {"command": "x" * 300}, call),
            builder.result(call, "y" * 9000),
            builder.answer("z" * self.rng.randrange(1, 9000)),
        ]
        data = encode_json_lines(*lines)
        cut = self.rng.randrange(len(data))
        with self.logs[number].open("ab", buffering=0) as log:
            log.write(data[:cut])
            log.write(data[cut:])
        self.uuids_by_log[number] += [line["uuid"] for line in lines]


class Killer:
    """Start and kill the daemon; count kills by failpoint or as "anywhere"."""

    def __init__(self, home: Path) -> None:
        self.leslied = LesliedRunner(home)
        self.rng = random.Random(11)
        self.kills_by_location: collections.Counter[str] = collections.Counter()
        self.recent_seconds: collections.deque[float] = collections.deque(maxlen=12)

    def kill_at(self, failpoint: str) -> None:
        """Run the daemon until it is killed at a failpoint."""
        start = time.monotonic()
        err = self._run(
            MAX_RUN_SECONDS, f"{failpoint}:{self.rng.choice(VISIT_NUMBERS)}"
        )
        self.recent_seconds.append(time.monotonic() - start)
        is_reached = f"crash at {failpoint}" in err
        self.kills_by_location[
            failpoint if is_reached else f"{failpoint} not reached"
        ] += 1

    def kill_anywhere(self) -> None:
        """Kill the daemon at a random moment."""
        median_seconds = statistics.median(self.recent_seconds)
        self._run(median_seconds * self.rng.uniform(0.5, 2.0))
        self.kills_by_location["anywhere"] += 1

    def _run(self, seconds: float, crash_at: str = "") -> str:
        """Run the daemon until it is killed, at most `seconds`; return its stderr."""
        process = self.leslied.start(
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


@pytest.mark.fault("E1")
# In the worst case no failpoint is reached and each run takes its full time.
@pytest.mark.timeout(KILLS * MAX_RUN_SECONDS)
def test_no_record_or_file_is_lost_duplicated_or_torn_by_a_kill(
    claude: ClaudeHome, home: Path
):
    project = home / "app"
    (project / ".git").mkdir(parents=True)
    writer = LogWriter(claude, project)
    for number in range(LOG_COUNT):
        writer.write_turn(number)
    writer.start()
    kills_by_location = kill_repeatedly(home, writer)
    writer.done.set()
    writer.join()

    final_sync = LesliedRunner(home)("sync", "--stop-all")

    print(dict(kills_by_location))
    assert final_sync.code == 0, final_sync.err
    # One of eight runs should end at each failpoint; some may miss it.
    assert all(
        kills_by_location[failpoint] >= KILLS // 10 for failpoint in FAILPOINTS
    ), kills_by_location
    check_store(home, writer)
    check_files(project, writer)


def kill_repeatedly(home: Path, writer: LogWriter) -> collections.Counter[str]:
    """Kill the daemon KILLS times and return the kills by location."""
    killer = Killer(home)
    record_count = 0
    for kill in range(KILLS):
        writer.fast_turns = FAST_TURNS_PER_RUN
        if kill % 4 == 3:
            killer.kill_anywhere()
        else:
            failpoint_kills = kill - kill // 4
            killer.kill_at(FAILPOINTS[failpoint_kills % len(FAILPOINTS)])
        if kill % KILLS_PER_CHECK == KILLS_PER_CHECK - 1:
            previous_count, record_count = record_count, count_records(home)
            assert record_count > previous_count, (
                f"no progress in the last {KILLS_PER_CHECK} runs"
            )
    return killer.kills_by_location


def count_records(home: Path) -> int:
    with StoreReader(home / ".local/share/leslied/store.db") as reader:
        return reader.count_rows()["records"]


def check_store(home: Path, writer: LogWriter) -> None:
    """Check that the store has each written line exactly once, in order."""
    with StoreReader(home / ".local/share/leslied/store.db") as reader:
        sessions = {s.key.session_id: s for s in reader.list_sessions()}
        for builder, uuids in zip(writer.builders, writer.uuids_by_log, strict=True):
            records = reader.list_records(sessions[builder.session_id].key)
            messages = [p.record for p in records if p.record.type != "system_event"]
            assert [record.native_id for record in messages] == uuids
        assert reader.count_rows()["rejected"] == 0


def check_files(project: Path, writer: LogWriter) -> None:
    """Check that every transcript is complete and every unit has exactly one."""
    texts = [path.read_text() for path in project.rglob("*.txt")]
    chat_ids = [parse_document(text).chat_id for text in texts]
    unit_counts = [
        min(len(uuids) // LINES_PER_TURN, MAX_TRANSCRIPTS)
        for uuids in writer.uuids_by_log
    ]

    assert len(chat_ids) == len(set(chat_ids)) == sum(unit_counts)
    # A kill may leave a temporary file, but none that exceeds the transcript limit.
    temporary_files = project.rglob(".leslied-new")
    limit = TranscriptLimits().file
    assert not [path for path in temporary_files if path.stat().st_size > limit]
