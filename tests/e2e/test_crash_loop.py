"""Three hundred kills of the real daemon: nothing lost, nothing doubled, files whole.

A writer goes on appending while the daemon is killed again and again, mostly at named
points inside commits and file writes, else at a random moment.
"""

from __future__ import annotations

import collections
import os
import random
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from leslied.sinks.leslie import parse
from leslied.store import Reader
from tests.support.claude import LATER, ClaudeHome, Talk
from tests.support.cli import Command

pytestmark = pytest.mark.e2e

KILLS = int(os.environ.get("LESLIED_KILLS", "300"))
POINTS = (
    "commit.half",
    "commit.before",
    "commit.after",
    "write.half",
    "write.before",
    "write.after",
)
LOGS = 6


class Writer(threading.Thread):
    """Appends turns to several logs, in pieces that end anywhere."""

    def __init__(self, claude: ClaudeHome, project: Path) -> None:
        super().__init__(daemon=True)
        self.rng = random.Random(7)
        self.talks = [
            Talk(f"{n:08x}-0000-4000-8000-000000000000", str(project), LATER)
            for n in range(LOGS)
        ]
        self.logs = [claude.log(f"-app/{talk.session_id}.jsonl") for talk in self.talks]
        self.written: list[list[str]] = [[] for _ in range(LOGS)]
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.02):
            self.turn(self.rng.randrange(LOGS))

    def turn(self, number: int) -> None:
        from tests.support.claude import dump  # noqa: PLC0415

        talk = self.talks[number]
        call = f"toolu_{number}_{len(self.written[number])}"
        lines = [
            talk.prompt(f"do {call}"),
            talk.call("Bash", {"command": "x" * 300}, call),
            talk.result(call, "y" * 9000),
            talk.answer("z" * self.rng.randrange(1, 9000)),
        ]
        data = dump(*lines)
        cut = self.rng.randrange(len(data))
        with self.logs[number].open("ab", buffering=0) as log:
            log.write(data[:cut])
            log.write(data[cut:])
        self.written[number] += [line["uuid"] for line in lines]


def run_daemon(home: Path, point: str, rng: random.Random) -> str:
    """One life of the daemon; says where it died."""
    process = Command(home).start(
        "run",
        environ={"LESLIED_CRASH_AT": f"{point}:{rng.randrange(1, 4)}"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, err = process.communicate(timeout=rng.uniform(0.5, 1.2))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        _, err = process.communicate()
    assert process.returncode == -signal.SIGKILL, err
    return point if f"crash at {point}" in err else "elsewhere"


@pytest.mark.timeout(900)
def test_kills_lose_nothing_double_nothing_and_tear_nothing(
    claude: ClaudeHome, home: Path
):
    """E1, FAULTS figure 1."""
    project = home / "app"
    (project / ".git").mkdir(parents=True)
    rng = random.Random(11)
    writer = Writer(claude, project)
    for number in range(LOGS):
        writer.turn(number)
    writer.start()
    histogram: collections.Counter[str] = collections.Counter()
    for kill in range(KILLS):
        histogram[run_daemon(home, POINTS[kill % len(POINTS)], rng)] += 1
    writer.done.set()
    writer.join()

    last = Command(home)("sync", "--stop-all")

    print(dict(histogram))
    assert last.code == 0, last.err
    assert sum(histogram[p] for p in POINTS if p.startswith("commit")) >= KILLS // 10
    assert sum(histogram[p] for p in POINTS if p.startswith("write")) >= KILLS // 10
    check_store(home, writer)
    check_files(project, writer)


def check_store(home: Path, writer: Writer) -> None:
    with Reader(home / ".local/share/leslied/store.db") as reader:
        found = {s.key.session_id: s for s in reader.sessions()}
        for talk, uuids in zip(writer.talks, writer.written, strict=True):
            records = reader.records(found[talk.session_id].row)
            spoken = [p.record for p in records if p.record.type != "system_event"]
            assert [record.native_id for record in spoken] == uuids
        assert reader.counts()["rejected"] == 0


def check_files(project: Path, writer: Writer) -> None:
    """Every transcript is whole, and none stands for the same unit as another."""
    texts = [path.read_text() for path in project.rglob("*.txt")]
    chats = [parse(text).chat_id for text in texts]
    units = [min(len(uuids) // 4, 50) for uuids in writer.written]

    assert len(chats) == len(set(chats)) == sum(units)
    assert not [p for p in project.rglob(".leslied-new") if p.stat().st_size > 20_480]
