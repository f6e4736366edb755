"""Measure how many secrets are redacted, what else is, and how fast.

    python tests/bench/redact.py [FOLDER]

The samples of `tests/support/labelled_secrets.py` are put into every position. As text
without secrets serve its negatives, the source code and lock files of this repository,
the code of the installed packages, and the files in a folder of your choice.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from leslied.redact import Redactor
from leslied.redact.find import load_finder
from tests.support.labelled_secrets import (
    CONTEXTUAL,
    DEFINITE,
    NEGATIVES,
    POSITIONS,
    survives,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tests.support.labelled_secrets import Sample

ROOT = Path(__file__).resolve().parents[2]
_SEEDS = range(3)


def measure_recall(
    tier: str,
    samples: Mapping[str, Callable[[Random], Sample]],
    redact: Callable[[str], str],
) -> None:
    """Print the share of samples whose secrets are gone, in all and by position."""
    redacted, total = Counter[str](), Counter[str]()
    for kind, make in samples.items():
        for seed in _SEEDS:
            sample = make(Random(f"{kind} {seed}"))
            for name, embed in POSITIONS.items():
                output = redact(embed(sample.text))
                is_redacted = not any(survives(s, output) for s in sample.secrets)
                redacted[name] += is_redacted
                total[name] += 1
    count = total.total()
    print(f"{tier}: {redacted.total() / count:.2%} of {count} ({len(samples)} kinds)")
    for name in sorted(total, key=lambda name: redacted[name] / total[name]):
        print(f"  {redacted[name] / total[name]:7.2%}  {name}")


def measure_false_redactions(name: str, texts: Iterable[str]) -> None:
    """Print how many secrets are found in texts without any, and the speed."""
    find = load_finder().find
    texts = list(texts)
    megabytes = sum(map(len, texts)) / 1e6
    start = time.process_time()
    kinds = Counter(secret.kind for text in texts for secret in find(text))
    seconds = time.process_time() - start
    found = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    print(
        f"{name}: {kinds.total()} in {megabytes:.1f} MB "
        f"({kinds.total() / megabytes:.2f}/MB), {megabytes / seconds:.0f} MB/s  {found}"
    )


def read_files(folder: Path, *patterns: str) -> Iterable[str]:
    """Yield the text of the files that match one of the patterns."""
    for pattern in patterns:
        for path in sorted(folder.rglob(pattern)):
            if path.is_file():
                yield path.read_text(errors="replace")


def main() -> None:
    """Measure and print everything."""
    redact = Redactor(b"key").redact
    measure_recall("definite", DEFINITE, redact)
    measure_recall("contextual", CONTEXTUAL, redact)
    wrong = [text for text in NEGATIVES if redact(text) != text]
    print(f"negatives: {len(wrong)} of {len(NEGATIVES)} redacted")
    for text in wrong:
        print(f"  {text!r}")
    measure_false_redactions("this code", read_files(ROOT / "leslied", "*.py"))
    measure_false_redactions("lock files", read_files(ROOT, "*.lock"))
    packages = Path(sys.prefix) / "lib"
    measure_false_redactions("packages", read_files(packages, "*.py"))
    for folder in sys.argv[1:]:
        measure_false_redactions(folder, read_files(Path(folder), "*"))


if __name__ == "__main__":
    main()
