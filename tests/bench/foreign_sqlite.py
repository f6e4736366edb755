"""Whether an agent notices that its database is read: its commits, timed.

    python tests/bench/foreign_sqlite.py [SECONDS]

A process writes as OpenCode does (log of writes, synchronous NORMAL, a row and an event
in each transaction) and times every commit: alone, then while this process looks for
news as often as the daemon does at most, then again and again without a pause, then
alone once more to show the machine's noise.
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
from tests.support.opencode import EVENTS, SCHEMA

ADAPTER = load_adapters()["opencode"]
MODES = {"alone": None, "20 a second": 0.05, "no pause": 0.0, "alone again": None}
"""Seconds between two looks."""
WRITER = """
import json, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA synchronous = NORMAL")
db.executescript(sys.argv[3])
db.execute("INSERT INTO session VALUES ('s', 'p', NULL, '/a', 't', '1', 1, 1)")
taken, until, number = [], time.monotonic() + float(sys.argv[2]), time.time_ns()
while time.monotonic() < until:
    number += 1
    name, text = f"m{number}", json.dumps({"type": "text", "text": "x" * 2000})
    began = time.perf_counter()
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO message VALUES (?, 's', 1, 1, '{}')", (name,))
    db.execute("INSERT INTO part VALUES (?, ?, 's', 1, 1, ?)", (name, name, text))
    event = json.dumps({"part": {"messageID": name}})
    db.execute("INSERT INTO event VALUES (?, 's', 1, 'x', ?)", (name, event))
    db.execute("COMMIT")
    taken.append(time.perf_counter() - began)
    time.sleep(0.002)
open(sys.argv[1] + ".times", "w").write(json.dumps(taken))
"""


def time_commits(
    home: Path, seconds: float, pause: float | None
) -> tuple[list, int, int]:
    """How long each commit took; how often the database was looked at, and rows."""
    folder = home / ".local" / "share" / "opencode"
    path = folder / "opencode.db"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, path, str(seconds), SCHEMA + EVENTS]
    )
    env = Environment(home=home, environ={}, platform=sys.platform)
    roots = list(ADAPTER.roots(env, []))
    cursor, looks, rows = Cursor(), 0, 0
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
        looks += 1
    writer.wait()
    return json.loads(Path(f"{path}.times").read_text()), looks, rows


def print_row(name: str, taken: list[float], looks: int, rows: int) -> None:
    ms = sorted(1000 * each for each in taken)
    p99 = ms[int(len(ms) * 0.99)]
    print(
        f"{name:12} {len(ms):6} commits   p50 {statistics.median(ms):6.3f} ms   "
        f"p99 {p99:6.3f} ms   max {ms[-1]:7.3f} ms   {looks:5} looks {rows:6} rows"
    )


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    for name, pause in MODES.items():
        with tempfile.TemporaryDirectory() as home:
            (Path(home) / ".local" / "share" / "opencode").mkdir(parents=True)
            print_row(name, *time_commits(Path(home), seconds, pause))


if __name__ == "__main__":
    main()
