"""Raise the version of an adapter's decoder, and decode a home again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from leslied.agents import AgentAdapter
from leslied.model.record import DecodeResult, Record
from leslied.model.source import RawEntry
from leslied.pipeline import Budget, Ingest, RedecodeReport, RedecodeStage
from leslied.store import Store
from tests.support.claude import ADAPTER, ClaudeHome
from tests.support.golden import list_roots

Change = Callable[[Record], Iterable[Record]]


def keep(record: Record) -> list[Record]:
    """Return the record unchanged."""
    return [record]


class UpgradedAdapter:
    """An adapter whose decoder has a higher version and changes every record."""

    def __init__(
        self, adapter: AgentAdapter, change: Change = keep, version: int | None = None
    ) -> None:
        self._adapter = adapter
        self._change = change
        self.decoder_version = version or adapter.decoder_version + 1
        self.decoded_entries = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        self.decoded_entries += 1
        result = self._adapter.decode(entry, state)
        records = tuple(new for old in result.records for new in self._change(old))
        noise = result.noise or ("dropped" if result.records and not records else "")
        return structs.replace(result, records=records, noise=noise)


def replace_text(old: str, new: str) -> Change:
    """Return a change that replaces a text in the content of records."""
    return lambda r: [structs.replace(r, content=r.content.replace(old, new))]


def drop(text: str) -> Change:
    """Return a change that turns records with this content into noise."""
    return lambda record: [] if record.content == text else [record]


def split(text: str, *parts: str) -> Change:
    """Return a change that turns a record with this content into several."""

    def change(record: Record) -> list[Record]:
        if record.content != text:
            return [record]
        return [
            structs.replace(record, content=part, block=record.block + 10 * number)
            for number, part in enumerate(parts)
        ]

    return change


def make_ingest(
    home: Path, store: Store, adapter: AgentAdapter, **options: Any
) -> Ingest:
    roots = tuple(list_roots(adapter, home))
    return Ingest(adapter=adapter, store=store, roots=roots, **options)


def make_stage(claude: ClaudeHome, store: Store, ingest: Ingest) -> RedecodeStage:
    archive_dir = claude.store_path.parent / "archive"
    return RedecodeStage(store=store, ingests=[ingest], archive_dir=archive_dir)


def redecode(
    claude: ClaudeHome,
    change: Change = keep,
    *,
    version: int | None = None,
    max_bytes: int = 10**9,
    **options: Any,
) -> RedecodeReport:
    """Decode the home's logs again with a changed decoder of Claude Code."""
    adapter = UpgradedAdapter(ADAPTER, change, version)
    with Store(claude.store_path, claude.clock) as store:
        ingest = replace(
            make_ingest(claude.home, store, adapter), limits=claude.limits, **options
        )
        return make_stage(claude, store, ingest).run(
            Budget(max_redecoded_bytes=max_bytes)
        )
