"""The planted bugs: small edits of leslied, each a mistake that is easy to make.

They are listed in the TOML files beside this module, one file for each package.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent


class MutantError(Exception):
    """A mutant does not apply to the code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One planted bug and the tests that must catch it."""

    name: str
    file: str
    """The edited file, relative to the repository."""
    what: str
    """What the bug does wrong, as a sentence."""
    find: str
    """The edited text, which occurs once in the file."""
    replace: str
    tests: tuple[str, ...]
    """Test files or ids, as few as possible, so that a run is fast."""
    may_hang: bool = False
    """Whether a test that does not end in time has caught the bug."""

    def apply(self, root: Path = ROOT) -> str:
        """Return the text of the file with the bug; raise MutantError if that fails."""
        text = (root / self.file).read_text("utf-8")
        count = text.count(self.find)
        if count != 1:
            raise MutantError(f"{self.name}: `find` occurs {count} times, not once")
        edited = text.replace(self.find, self.replace)
        try:
            compile(edited, self.file, "exec")
        except SyntaxError as error:
            raise MutantError(f"{self.name}: {error}") from error
        return edited


def load_mutants(folder: Path = FOLDER) -> list[Mutant]:
    """Load all mutants, in the order of the files and of the entries in each."""
    return [
        _parse_mutant(entry)
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text("utf-8"))["mutants"]
    ]


def _parse_mutant(entry: dict[str, Any]) -> Mutant:
    return Mutant(**entry | {"tests": tuple(entry["tests"])})


def iter_tests(mutants: list[Mutant]) -> Iterator[str]:
    """Yield the tests of all mutants, each once; an id inside a named file is not."""
    tests = dict.fromkeys(test for mutant in mutants for test in mutant.tests)
    for test in tests:
        file, _, name = test.partition("::")
        if not name or file not in tests:
            yield test
