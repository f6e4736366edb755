"""Time a first sync, a second one, and an append to a large log.

    python tests/bench/sync.py [FOLDER …]

Each folder is a Claude Code config folder (it holds `projects`). Without one, a small
tree is made up, so that the figures can be compared between two commits.
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


def run(data: Path, folder: Path) -> tuple[float, float, dict]:
    """Seconds, peak MB and what `leslied sync` said."""
    environ = {**os.environ, "LESLIED_DATA_DIR": str(data)}
    environ["CLAUDE_CONFIG_DIR"] = str(folder)
    code = (
        "import resource, sys; from leslied.cli import main\n"
        "sys.argv = ['leslied', 'sync', '--json']\n"
        "try: main()\n"
        "finally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,"
        " file=sys.stderr)"
    )
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, check=True
    )
    seconds = time.perf_counter() - began
    return seconds, int(done.stderr) / 1024, json.loads(done.stdout)["data"]


def make_tree(folder: Path) -> None:
    """About 20 MB in 40 sessions."""
    text = "the quick handler reads a line and writes another " * 100
    for number in range(40):
        talk = ClaudeLogBuilder(f"{number:08x}-0000-4000-8000-000000000000")
        lines = []
        for turn in range(25):
            call = f"toolu_{number}_{turn}"
            lines += [
                talk.prompt(f"do {turn}: {text[:200]}"),
                talk.call("Bash", {"command": text[:300]}, call),
                talk.result(call, text * 4),
                talk.answer(text[:1500]),
            ]
        log = folder / "projects" / "-app" / f"{talk.session_id}.jsonl"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(encode_json_lines(*lines))


def measure(folder: Path) -> None:
    size = sum(p.stat().st_size for p in folder.rglob("*.jsonl"))
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        first, memory, told = run(data, folder)
        second, _, again = run(data, folder)
        store = (data / "store.db").stat().st_size
    print(f"{folder}: {told['sources']} logs, {size / 1e6:.1f} MB")
    print(f"  first sync   {first:6.2f} s  {size / 1e6 / first:6.1f} MB/s", end="")
    print(f"  {memory:.0f} MB RSS  store {store / 1e6:.0f} MB")
    print(f"  second sync  {second:6.2f} s  {again['entries_decoded']} entries decoded")


def measure_append() -> None:
    """An appended line, in a log of 5 KB and in one of 500 MB."""
    with tempfile.TemporaryDirectory() as name:
        for label, lines in (("5 KB", 1), ("500 MB", 100_000)):
            folder, data = Path(name) / label, Path(name) / f"data {label}"
            talk = ClaudeLogBuilder()
            log = folder / "projects" / "-app" / f"{talk.session_id}.jsonl"
            log.parent.mkdir(parents=True)
            line = encode_json_lines(talk.prompt("x" * 4600))
            with log.open("wb") as file:
                for number in range(lines):
                    file.write(
                        line.replace(b'"uuid": "', f'"uuid": "{number}-'.encode())
                    )
            run(data, folder)
            with log.open("ab") as file:
                file.write(encode_json_lines(talk.prompt("one more")))
            seconds, _, told = run(data, folder)
            print(
                f"append to {label:>6}: {told['bytes_read']} bytes read, "
                f"{told['entries_decoded']} entry decoded, "
                f"{seconds:.2f} s with start-up"
            )


def main() -> None:
    folders = [Path(word) for word in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as name:
        if not folders:
            make_tree(Path(name))
        for folder in folders or [Path(name)]:
            measure(folder)
    measure_append()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest process: {peak:.0f} MB")


if __name__ == "__main__":
    main()
