"""Kill the real daemon three hundred times: nothing is lost, doubled or torn.

A writer goes on appending while the daemon is killed again and again. Three lives of
four end at a failpoint inside a commit or a file write, however long the daemon takes
to get there. The fourth ends at a random moment, chosen relative to how long the others
took. So kills land in the same places on a busy machine as on an idle one.
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

from leslied.sinks.leslie import parse_document
from leslied.store import StoreReader
from tests.support.claude import (
    AFTER_STORE_CREATION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e

KILLS = int(os.environ.get("LESLIED_KILLS", "300"))
KILLS_PER_CHECK = 20
"""The store must have grown after so many kills."""
FAILPOINTS = (
    "commit.half",
    "commit.before",
    "commit.after",
    "write.half",
    "write.before",
    "write.after",
)
MAX_LIFE_SECONDS = 60
"""How long the daemon may take to reach its failpoint; usually it takes one or two."""
VISITS = (1, 1, 2, 3)
"""At which visit of its failpoint a daemon dies; later ones take much longer."""
LOGS = 6
TURNS_PER_LIFE = 40


class LogWriter(threading.Thread):
    """Append turns to several logs, in pieces that end anywhere.

    The first turns of each life come fast, the others slowly: the logs grow with the
    number of lives, not with the time a busy machine takes for them.
    """

    def __init__(self, claude: ClaudeHome, project: Path) -> None:
        super().__init__(daemon=True)
        self.rng = random.Random(7)
        self.talks = [
            ClaudeLogBuilder(
                f"{n:08x}-0000-4000-8000-000000000000",
                str(project),
                AFTER_STORE_CREATION,
            )
            for n in range(LOGS)
        ]
        self.logs = [claude.log(f"-app/{talk.session_id}.jsonl") for talk in self.talks]
        self.written: list[list[str]] = [[] for _ in range(LOGS)]
        self.fast_turns = TURNS_PER_LIFE
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.02 if self.fast_turns > 0 else 0.25):
            self.fast_turns -= 1
            self.turn(self.rng.randrange(LOGS))

    def turn(self, number: int) -> None:
        talk = self.talks[number]
        call = f"toolu_{number}_{len(self.written[number])}"
        lines = [
            talk.prompt(f"do {call}"),
            talk.call("Bash", {"command": "x" * 300}, call),
            talk.result(call, "y" * 9000),
            talk.answer("z" * self.rng.randrange(1, 9000)),
        ]
        data = encode_json_lines(*lines)
        cut = self.rng.randrange(len(data))
        with self.logs[number].open("ab", buffering=0) as log:
            log.write(data[:cut])
            log.write(data[cut:])
        self.written[number] += [line["uuid"] for line in lines]


class Killer:
    """Start the daemon and kill it, and count where it was killed."""

    def __init__(self, home: Path) -> None:
        self.leslied = LesliedRunner(home)
        self.rng = random.Random(11)
        self.deaths: collections.Counter[str] = collections.Counter()
        self.recent_seconds: collections.deque[float] = collections.deque(maxlen=12)

    def kill_at(self, failpoint: str) -> None:
        """Let the daemon live until it reaches a failpoint."""
        began = time.monotonic()
        err = self._run(MAX_LIFE_SECONDS, f"{failpoint}:{self.rng.choice(VISITS)}")
        self.recent_seconds.append(time.monotonic() - began)
        is_reached = f"crash at {failpoint}" in err
        self.deaths[failpoint if is_reached else f"{failpoint} not reached"] += 1

    def kill_anywhere(self) -> None:
        """Kill the daemon while it starts, reads, or waits for more."""
        usual = statistics.median(self.recent_seconds)
        self._run(usual * self.rng.uniform(0.5, 2.0))
        self.deaths["anywhere"] += 1

    def _run(self, seconds: float, crash_at: str = "") -> str:
        """Run the daemon until it dies, at the latest after so long; return stderr."""
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


# At its slowest, with every failpoint out of reach, each life takes its full time.
@pytest.mark.timeout(KILLS * MAX_LIFE_SECONDS)
def test_kills_lose_nothing_double_nothing_and_tear_nothing(
    claude: ClaudeHome, home: Path
):
    """E1, FAULTS figure 1."""
    project = home / "app"
    (project / ".git").mkdir(parents=True)
    writer = LogWriter(claude, project)
    for number in range(LOGS):
        writer.turn(number)
    writer.start()
    deaths = kill_again_and_again(home, writer)
    writer.done.set()
    writer.join()

    last = LesliedRunner(home)("sync", "--stop-all")

    print(dict(deaths))
    assert last.code == 0, last.err
    # One of eight lives should end at each failpoint; some may miss it.
    assert all(deaths[failpoint] >= KILLS // 10 for failpoint in FAILPOINTS), deaths
    check_store(home, writer)
    check_files(project, writer)


def kill_again_and_again(home: Path, writer: LogWriter) -> collections.Counter[str]:
    """Return how often the daemon was killed where."""
    killer = Killer(home)
    stored = 0
    for kill in range(KILLS):
        writer.fast_turns = TURNS_PER_LIFE
        if kill % 4 == 3:
            killer.kill_anywhere()
        else:
            named = kill - kill // 4
            killer.kill_at(FAILPOINTS[named % len(FAILPOINTS)])
        if kill % KILLS_PER_CHECK == KILLS_PER_CHECK - 1:
            before, stored = stored, count_records(home)
            assert stored > before, f"no progress in the last {KILLS_PER_CHECK} lives"
    return killer.deaths


def count_records(home: Path) -> int:
    with StoreReader(home / ".local/share/leslied/store.db") as reader:
        return reader.count_rows()["records"]


def check_store(home: Path, writer: LogWriter) -> None:
    with StoreReader(home / ".local/share/leslied/store.db") as reader:
        found = {s.key.session_id: s for s in reader.list_sessions()}
        for talk, uuids in zip(writer.talks, writer.written, strict=True):
            records = reader.list_records(found[talk.session_id].row)
            spoken = [p.record for p in records if p.record.type != "system_event"]
            assert [record.native_id for record in spoken] == uuids
        assert reader.count_rows()["rejected"] == 0


def check_files(project: Path, writer: LogWriter) -> None:
    """Every transcript is whole, and none stands for the same unit as another."""
    texts = [path.read_text() for path in project.rglob("*.txt")]
    chats = [parse_document(text).chat_id for text in texts]
    units = [min(len(uuids) // 4, 50) for uuids in writer.written]

    assert len(chats) == len(set(chats)) == sum(units)
    assert not [p for p in project.rglob(".leslied-new") if p.stat().st_size > 20_480]
