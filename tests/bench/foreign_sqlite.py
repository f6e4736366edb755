"""Time an agent's commits while leslied reads its database.

    python tests/bench/foreign_sqlite.py [SECONDS]

A process writes as OpenCode does (WAL, synchronous NORMAL, a row and an event in each
transaction) and times every commit: alone, then while this process reads at the
daemon's highest rate, then while it reads without pauses, then alone once more to show
the machine's noise.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from leslied import tail
from leslied.agents import load_adapters
from leslied.errors import SourceError
from leslied.model.source import Cursor, Environment
from tests.support.opencode import EVENT_SCHEMA, SCHEMA

ADAPTER = load_adapters()["opencode"]
MODES = {"alone": None, "20 a second": 0.05, "no pause": 0.0, "alone again": None}
"""Seconds between two reads, or None for no reads."""
WRITER = """
import json, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA synchronous = NORMAL")
db.executescript(sys.argv[3])
db.execute("INSERT INTO session VALUES ('s', 'p', NULL, '/a', 't', '1', 1, 1)")
durations, until, number = [], time.monotonic() + float(sys.argv[2]), time.time_ns()
while time.monotonic() < until:
    number += 1
    name, text = f"m{number}", json.dumps({"type": "text", "text": "x" * 2000})
    start = time.perf_counter()
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO message VALUES (?, 's', 1, 1, '{}')", (name,))
    db.execute("INSERT INTO part VALUES (?, ?, 's', 1, 1, ?)", (name, name, text))
    event = json.dumps({"part": {"messageID": name}})
    db.execute("INSERT INTO event VALUES (?, 's', 1, 'x', ?)", (name, event))
    db.execute("COMMIT")
    durations.append(time.perf_counter() - start)
    time.sleep(0.002)
open(sys.argv[1] + ".times", "w").write(json.dumps(durations))
"""


def time_commits(
    home: Path, seconds: float, pause: float | None
) -> tuple[list, int, int]:
    """Return the seconds of each commit, and the numbers of reads and of rows."""
    folder = home / ".local" / "share" / "opencode"
    path = folder / "opencode.db"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, path, str(seconds), SCHEMA + EVENT_SCHEMA]
    )
    env = Environment(home=home, environ={}, platform=sys.platform)
    roots = list(ADAPTER.roots(env, []))
    cursor, reads, rows = Cursor(), 0, 0
    while pause is not None and writer.poll() is None:
        time.sleep(pause)
        source = tail.find_source(ADAPTER.name, roots, path)
        if source is None:
            continue
        try:
            for chunk in tail.read(source, cursor, tail.ReadLimits()):
                cursor, rows = chunk.cursor, rows + len(chunk.entries)
        except SourceError:
            continue
        reads += 1
    writer.wait()
    return json.loads(Path(f"{path}.times").read_text()), reads, rows


def print_row(name: str, durations: list[float], reads: int, rows: int) -> None:
    ms = sorted(1000 * seconds for seconds in durations)
    p99 = ms[int(len(ms) * 0.99)]
    print(
        f"{name:12} {len(ms):6} commits   p50 {statistics.median(ms):6.3f} ms   "
        f"p99 {p99:6.3f} ms   max {ms[-1]:7.3f} ms   {reads:5} reads {rows:6} rows"
    )


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    for name, pause in MODES.items():
        with tempfile.TemporaryDirectory() as home:
            (Path(home) / ".local" / "share" / "opencode").mkdir(parents=True)
            print_row(name, *time_commits(Path(home), seconds, pause))


if __name__ == "__main__":
    main()
