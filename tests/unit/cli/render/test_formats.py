"""Lines about unknown kinds."""

from __future__ import annotations

from leslied.cli.render.formats import format_unknown_kinds
from leslied.model.unknown_kind import UnknownKind


def make_kind(kind: str, entries: int, version: str = "1.2") -> UnknownKind:
    return UnknownKind(agent="codex", version=version, kind=kind, entries=entries)


def test_a_line_names_the_version_and_its_most_frequent_kinds():
    kinds = [make_kind("a", 1), make_kind("b", 20), make_kind("c", 3)]

    (line,) = format_unknown_kinds(kinds, 2)

    assert line == (
        "codex 1.2: 24 entries of 3 unknown kinds, kept as written: b, c and 1 more"
    )


def test_versions_have_lines_of_their_own():
    kinds = [make_kind("a", 1), make_kind("a", 1, version="")]

    assert list(format_unknown_kinds(kinds, 3)) == [
        "codex: 1 entry of 1 unknown kind, kept as written: a",
        "codex 1.2: 1 entry of 1 unknown kind, kept as written: a",
    ]
