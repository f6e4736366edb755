"""Decode and split imported files without a home."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

from leslied.agents import load_adapters
from leslied.model.imports import ImportFile
from leslied.model.record import DecodeResult, Record
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef
from leslied.tail.discover import match_source
from tests.support.golden import make_environment

_HOME = Path("/home/dev")


def decode_file(agent: str, name: str, value: Any, **state: Any) -> DecodeResult:
    """Decode an entry of the imported file with this name."""
    adapter = load_adapters()[agent]
    root = list(adapter.roots(make_environment(_HOME), []))[-1]
    pattern = match_source(root, name)
    source = SourceRef(
        agent=agent,
        path=root.path / name,
        root=root.path,
        shape=pattern.shape if pattern else Shape.DOCUMENT,
        stamp=FileStamp(0, 0, 0, 0, 0),
    )
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return adapter.decode(RawEntry(source, 0, data), state)


def summarize(records: tuple[Record, ...]) -> list[tuple[str, str]]:
    """Return the types and texts of the records; for a call, its arguments."""
    return [(r.type, r.content or r.tool_input) for r in records]


def split_file(agent: str, path: str, value: Any) -> dict[str, bytes]:
    """Return what an adapter keeps of a file, by name."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    parts = load_adapters()[agent].split_import(ImportFile(PurePosixPath(path), data))
    return {part.name: part.data for part in parts}
