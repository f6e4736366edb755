"""Try to imitate the structure of what leslied writes for people and agents.

    python tests/bench/round_trips.py [NUMBER]

Renders sessions, indexes and contexts whose every text, name and id consists of
structural markers, and parses the results: the number, order, roles and texts of the
blocks must be those of the entries. Prints how many were tried and how many differed.
Exits with 1 if any did.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.hostile_pages import find_context_spoof, find_index_spoof
from tests.support.hostile_units import find_spoof

DEFAULT_NUMBER = 100_000
PAGES_PER_TRANSCRIPT = 0.05
"""An index is a large page, and takes longer to parse than a transcript."""


def main() -> int:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_NUMBER
    pages = max(int(number * PAGES_PER_TRANSCRIPT), 1)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        kinds = (
            ("transcripts", number, find_spoof),
            ("INDEX.md", pages, find_index_spoof),
            ("<thread_context>", pages, lambda rng: find_context_spoof(rng, base)),
        )
        spoofs = 0
        for name, count, find in kinds:
            rng, start = Random(name), time.monotonic()
            differences = [text for _ in range(count) if (text := find(rng))]
            seconds = time.monotonic() - start
            print(
                f"{name:17} {count:7,} round trips, {len(differences)} spoofs, "
                f"{seconds:.0f} s"
            )
            for text in differences[:3]:
                print(f"  {text[:2000]!r}")
            spoofs += len(differences)
    return 1 if spoofs else 0


if __name__ == "__main__":
    sys.exit(main())
