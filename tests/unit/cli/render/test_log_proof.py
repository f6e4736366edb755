"""Lines about the comparison of logs with the store."""

from __future__ import annotations

from typing import Any

import click

from leslied.cli.render.log_proof import format_proof
from leslied.model.log_proof import AgentProof, MissingEntry, ProofReport, SourceProof
from leslied.model.unknown_kind import UnknownKind


def make_source(path: str = "/home/dev/log", **fields: Any) -> SourceProof:
    defaults = {"bytes": 2000, "entries": 10, "counts": {"record": 10}, "is_same": None}
    return SourceProof(path=path, **{**defaults, **fields})


def format_lines(*sources: SourceProof, gone: int = 0, kinds: Any = ()) -> list[str]:
    agent = AgentProof(name="codex", sources=list(sources), deleted_logs=gone)
    report = ProofReport(agents=[agent], unknown_kinds=list(kinds))
    return [click.unstyle(line) for line in format_proof(report, "/home/dev")]


def test_a_complete_agent_takes_one_line():
    assert format_lines(make_source(), gone=1) == [
        "✓ codex: 1 log, 2.0 KB, 10 entries: 10 as records; 1 deleted log not compared"
    ]


def test_missing_entries_are_listed_with_reasons_and_what_to_do():
    examples = tuple(
        MissingEntry(offset=n, length=1, reason="not read yet") for n in range(20)
    )
    source = make_source(
        counts={"record": 3, "unread": 7}, is_late=True, examples=examples
    )

    lines = format_lines(source)

    assert lines[:3] == [
        "✗ codex: 1 log, 2.0 KB, 10 entries: 3 as records, 7 not read yet",
        "  ~/log: 7 of 10 entries are missing",
        "    at 0, 1 B: not read yet",
    ]
    assert lines[-2:] == ["    and 2 more", "  Read them now: leslied sync"]


def test_lost_entries_need_a_rebuild():
    source = make_source(counts={"missing": 1}, entries=1)

    assert format_lines(source)[-1] == "  Read everything again: leslied rebuild"


def test_only_some_of_many_incomplete_logs_are_named():
    source = make_source(counts={"missing": 1})

    lines = format_lines(*[source] * 12)

    assert "  2 more logs are incomplete; see --json" in lines


def test_a_problem_has_no_control_characters():
    source = make_source(counts={"missing": 1}, problem="\x1b[31mis damaged")

    lines = format_lines(source)

    assert any("is damaged" in line for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_unknown_kinds_are_named_with_a_way_to_report_them():
    kind = UnknownKind(agent="codex", version="9", kind="novelty", entries=2)

    assert format_lines(make_source(), kinds=[kind])[1:] == [
        "! codex 9: 2 entries of 1 unknown kind, kept as written: novelty",
        "  Help to support them: leslied bundle --format-sample",
    ]
