"""Time a first sync, a second one, and an append to a large log.

    python tests/bench/sync.py [FOLDER …]

Each folder is a Claude Code config folder (it contains `projects`). Without arguments,
a small tree is generated, the same each time, to compare two versions of leslied.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.claude import ClaudeLogBuilder, encode_json_lines


def time_sync(data: Path, folder: Path) -> tuple[float, float, dict]:
    """Run `leslied sync`; return seconds, peak MB and its JSON report."""
    environ = {**os.environ, "LESLIED_DATA_DIR": str(data)}
    environ["CLAUDE_CONFIG_DIR"] = str(folder)
    code = (
        "import resource, sys; from leslied.cli import main\n"
        "sys.argv = ['leslied', 'sync', '--json']\n"
        "try: main()\n"
        "finally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,"
        " file=sys.stderr)"
    )
    start = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, check=True
    )
    seconds = time.perf_counter() - start
    return seconds, int(process.stderr) / 1024, json.loads(process.stdout)["data"]


def make_tree(folder: Path) -> None:
    """Write about 20 MB of logs in 40 sessions."""
    text = "the quick handler reads a line and writes another " * 100
    for number in range(40):
        builder = ClaudeLogBuilder(f"{number:08x}-0000-4000-8000-000000000000")
        lines = []
        for turn in range(25):
            call = f"toolu_{number}_{turn}"
            lines += [
                builder.prompt(f"do {turn}: {text[:200]}"),
                builder.call("Bash", {"command": text[:300]}, call),
                builder.result(call, text * 4),
                builder.answer(text[:1500]),
            ]
        log = folder / "projects" / "-app" / f"{builder.session_id}.jsonl"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(encode_json_lines(*lines))


def measure_syncs(folder: Path) -> None:
    """Time the first and the second sync of a folder into a new store."""
    size = sum(p.stat().st_size for p in folder.rglob("*.jsonl"))
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        first, memory, report = time_sync(data, folder)
        second, _, second_report = time_sync(data, folder)
        store_size = (data / "store.db").stat().st_size
    print(f"{folder}: {report['sources']} logs, {size / 1e6:.1f} MB")
    print(f"  first sync   {first:6.2f} s  {size / 1e6 / first:6.1f} MB/s", end="")
    print(f"  {memory:.0f} MB RSS  store {store_size / 1e6:.0f} MB")
    decoded = second_report["entries_decoded"]
    print(f"  second sync  {second:6.2f} s  {decoded} entries decoded")


def measure_append() -> None:
    """Time the sync of one appended line, in logs of 5 KB and of 500 MB."""
    with tempfile.TemporaryDirectory() as name:
        for label, line_count in (("5 KB", 1), ("500 MB", 100_000)):
            folder, data = Path(name) / label, Path(name) / f"data {label}"
            builder = ClaudeLogBuilder()
            log = folder / "projects" / "-app" / f"{builder.session_id}.jsonl"
            log.parent.mkdir(parents=True)
            line = encode_json_lines(builder.prompt("x" * 4600))
            with log.open("wb") as file:
                for number in range(line_count):
                    file.write(
                        line.replace(b'"uuid": "', f'"uuid": "{number}-'.encode())
                    )
            time_sync(data, folder)
            with log.open("ab") as file:
                file.write(encode_json_lines(builder.prompt("one more")))
            seconds, _, report = time_sync(data, folder)
            print(
                f"append to {label:>6}: {report['bytes_read']} bytes read, "
                f"{report['entries_decoded']} entry decoded, "
                f"{seconds:.2f} s with start-up"
            )


def main() -> None:
    folders = [Path(arg) for arg in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as name:
        if not folders:
            make_tree(Path(name))
        for folder in folders or [Path(name)]:
            measure_syncs(folder)
    measure_append()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest process: {peak:.0f} MB")


if __name__ == "__main__":
    main()
