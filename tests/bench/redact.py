"""Measure how many secrets are redacted, what else is, and how fast.

    python tests/bench/redact.py [FOLDER]

There are three labelled sets: `tests/support/labelled_secrets.py`,
`tests/support/held_out_secrets.py`, which was written without sight of the rules, and
`tests/support/unseen_secrets.py`, to which the rules were not adapted later either. As
text without secrets serve their negatives, this repository's source code and lock
files, the code of the installed packages, and the files in a folder of your choice.
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
from tests.support import held_out_secrets
from tests.support.labelled_secrets import (
    CONTEXTUAL,
    DEFINITE,
    NEGATIVES,
    POSITIONS,
    survives,
)
from tests.support.unseen_secrets import load_unseen_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
_SEEDS = range(3)
_MAX_POSITIONS = 8


Row = tuple[str, str, str, bool]
"""Tier, kind and position of a sample, and whether its secrets are gone."""


def check_labelled(redact: Callable[[str], str]) -> Iterator[Row]:
    """Yield a row for every kind, seed and position of the labelled set."""
    for tier, samples in (("definite", DEFINITE), ("contextual", CONTEXTUAL)):
        for kind, make in samples.items():
            for seed in _SEEDS:
                sample = make(Random(f"{kind} {seed}"))
                for position, embed in POSITIONS.items():
                    output = redact(embed(sample.text))
                    is_gone = not any(survives(s, output) for s in sample.secrets)
                    yield tier, kind, position, is_gone


def check_held_out(redact: Callable[[str], str]) -> Iterator[Row]:
    """Yield a row for every sample of the held-out set."""
    for tier, kind, position, text, secret in held_out_secrets.generate():
        yield tier, kind, position, secret not in redact(text)


def check_unseen(redact: Callable[[str], str]) -> Iterator[Row]:
    """Yield a row for every secret of the unseen set."""
    for row in load_unseen_texts():
        if row.secret:
            is_gone = row.secret not in redact(row.text)
            yield row.tier, row.kind, row.position, is_gone


def print_recall(name: str, rows: Iterable[Row], negatives: Sequence[str]) -> None:
    """Print recall and precision by tier, the worst positions, and false redactions."""
    rows = list(rows)
    wrong = {text: found for text in negatives if (found := load_finder().find(text))}
    for tier in ("definite", "contextual"):
        ours = [row for row in rows if row[0] == tier]
        gone = sum(row[3] for row in ours)
        false = sum(
            secret.is_definite == (tier == "definite")
            for found in wrong.values()
            for secret in found
        )
        print(
            f"{name}, {tier}: recall {gone / len(ours):.2%} of {len(ours)} "
            f"({len({row[1] for row in ours})} kinds), "
            f"precision {gone / (gone + false):.2%} ({false} false redactions)"
        )
        total = Counter(row[2] for row in ours)
        found = Counter(row[2] for row in ours if row[3])
        worst = sorted(total, key=lambda position: found[position] / total[position])
        for position in worst[:_MAX_POSITIONS]:
            print(f"  {found[position] / total[position]:7.2%}  {position}")
    print(f"{name}, negatives: {len(wrong)} of {len(negatives)} redacted")
    for text in wrong:
        print(f"  {text!r}")


def measure_false_redactions(name: str, texts: Iterable[str]) -> None:
    """Print how many secrets are found in texts without any, and the speed.

    The first time, patterns are compiled.
    """
    find = load_finder().find
    texts = list(texts)
    megabytes = sum(map(len, texts)) / 1e6
    kinds: Counter[str] = Counter()
    speeds = []
    for _ in range(2):
        start = time.process_time()
        kinds = Counter(secret.kind for text in texts for secret in find(text))
        speeds.append(megabytes / (time.process_time() - start))
    found = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    print(
        f"{name}: {kinds.total()} in {megabytes:.1f} MB "
        f"({kinds.total() / megabytes:.2f}/MB), {speeds[1]:.0f} MB/s "
        f"({speeds[0]:.0f} the first time)  {found}"
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
    print_recall("labelled", check_labelled(redact), NEGATIVES)
    negatives = [text for _, text in held_out_secrets.generate_negatives()]
    print_recall("held out", check_held_out(redact), negatives)
    negatives = [row.text for row in load_unseen_texts() if not row.secret]
    print_recall("unseen", check_unseen(redact), negatives)
    measure_false_redactions("this code", read_files(ROOT / "leslied", "*.py"))
    measure_false_redactions("lock files", read_files(ROOT, "*.lock"))
    packages = Path(sys.prefix) / "lib"
    measure_false_redactions("packages", read_files(packages, "*.py"))
    for folder in sys.argv[1:]:
        measure_false_redactions(folder, read_files(Path(folder), "*"))


if __name__ == "__main__":
    main()
