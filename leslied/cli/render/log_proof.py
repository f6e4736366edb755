"""Lines about the comparison of logs with the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied.cli.render.formats import format_unknown_kinds
from leslied.cli.render.output import sanitize
from leslied.rendering.humanize import (
    format_bytes,
    format_count,
    format_number,
    format_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.log_proof import (
        AgentProof,
        ProofReport,
        SourceProof,
        Verdict,
    )
    from leslied.queries.operations.health import Verdict as CheckVerdict

_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}
_VERDICT_LABELS: dict[Verdict, str] = {
    "record": "as records",
    "noise": "noise",
    "rejected": "rejected",
    "deleted": "pruned or forgotten",
    "empty": "without content",
    "outdated": "to be decoded again by this version",
    "unread": "not read yet",
    "missing": "missing",
}
_MAX_SOURCES = 10
"""Maximum number of incomplete logs that are named for each agent."""
_MAX_EXAMPLES = 5
"""Maximum number of missing entries that are listed for each log."""
_MAX_KINDS = 20


def format_mark(verdict: CheckVerdict) -> str:
    """Return the coloured mark of a verdict."""
    mark, color = _MARKS[verdict]
    return click.style(mark, fg=color)


def format_proof(proof: ProofReport, home: str) -> Iterator[str]:
    """Yield lines about every agent, and about kinds of entries that are unknown."""
    for agent in proof.agents:
        yield from _format_agent(agent, home)
    for line in format_unknown_kinds(proof.unknown_kinds, _MAX_KINDS):
        yield f"{format_mark('warn')} {line}"
    if proof.unknown_kinds:
        yield "  Help to support them: leslied bundle --format-sample"


def _format_agent(agent: AgentProof, home: str) -> Iterator[str]:
    counts = [
        f"{format_number(number)} {label}"
        for verdict, label in _VERDICT_LABELS.items()
        if (number := agent.count(verdict))
    ]
    logs = format_count(len(agent.sources), "log")
    entries = "1 entry" if agent.entries == 1 else f"{agent.entries:,} entries"
    deleted_logs = format_count(agent.deleted_logs, "deleted log")
    suffix = f"; {deleted_logs} not compared" if agent.deleted_logs else ""
    yield (
        f"{format_mark('fail' if agent.is_failed else 'ok')} {sanitize(agent.name)}: "
        f"{logs}, {format_bytes(agent.bytes)}, {entries}: "
        f"{', '.join(counts) or 'nothing to read'}{suffix}"
    )
    failed_sources = [source for source in agent.sources if source.is_failed]
    for source in failed_sources[:_MAX_SOURCES]:
        yield from _format_source(source, home)
    hidden_count = len(failed_sources) - _MAX_SOURCES
    if hidden_count > 0:
        yield f"  {hidden_count} more logs are incomplete; see --json"
    if any(source.counts.get("unread") for source in failed_sources):
        yield "  Read them now: leslied sync"
    if any(source.counts.get("missing") for source in failed_sources):
        yield "  Read everything again: leslied rebuild"


def _format_source(source: SourceProof, home: str) -> Iterator[str]:
    """Yield lines about an incomplete log."""
    path = format_path(source.path, home)
    if source.problem:
        yield sanitize(f"  {path}: {source.problem}")
    if source.missing:
        summary = f"{source.missing:,} of {source.entries:,} entries are missing"
        yield sanitize(f"  {path}: {summary}")
    for example in source.examples[:_MAX_EXAMPLES]:
        position = f"at {example.offset}, {format_bytes(example.length)}"
        yield sanitize(f"    {position}: {example.reason}")
    if source.missing > _MAX_EXAMPLES:
        yield f"    and {source.missing - _MAX_EXAMPLES:,} more"
