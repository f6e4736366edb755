"""Measure how fast each adapter decodes the entries of its fixtures.

    python tests/bench/decode.py [SECONDS]

Entries are read once and decoded again and again, each source from its start. Homes
with damaged files are left out, since damaged entries are decoded in another way.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from leslied import tail
from leslied.agents import AgentAdapter, load_adapters
from leslied.model.source import Cursor, RawEntry, SourceRef
from leslied.pipeline.ingest.decode import Decoder
from tests.support.golden import list_cases, list_roots

DAMAGED = ("broken", "damaged", "torn", "unknown")
Source = tuple[SourceRef, list[RawEntry]]


def read_sources(adapter: AgentAdapter) -> list[Source]:
    """Return the sources of all intact fixtures with their entries."""
    sources = []
    for case in list_cases(adapter):
        if not case.name.startswith(DAMAGED):
            roots = list_roots(adapter, case / "home")
            for source in tail.discover(adapter.name, roots).sources:
                chunks = tail.read(source, Cursor(), tail.ReadLimits())
                entries = [entry for chunk in chunks for entry in chunk.entries]
                sources.append((source, entries))
    return sources


def decode_all(adapter: AgentAdapter, sources: list[Source]) -> int:
    """Decode every entry once; return the number of records."""
    records = 0
    for _, entries in sources:
        decoder = Decoder(adapter, tail.ReadLimits(), {})
        for entry in entries:
            decoder.add(entry)
        records += sum(len(entry.records) for entry in decoder.entries)
    return records


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    print(f"{'agent':12} {'entries':>7} {'KB/entry':>8} {'µs/entry':>8} {'MB/s':>6}")
    for adapter in load_adapters().values():
        sources = read_sources(adapter)
        count = sum(len(entries) for _, entries in sources)
        size = sum(entry.length for _, entries in sources for entry in entries)
        decode_all(adapter, sources)
        rounds, start = 0, time.process_time()
        while (used := time.process_time() - start) < seconds:
            decode_all(adapter, sources)
            rounds += 1
        print(
            f"{adapter.name:12} {count:7} {size / count / 1000:8.2f} "
            f"{1e6 * used / rounds / count:8.1f} {rounds * size / used / 1e6:6.1f}"
        )


if __name__ == "__main__":
    main()
