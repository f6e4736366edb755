"""Rows about the speed of single steps, in one process and without a store."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from leslied.agents import load_adapters
from leslied.redact.find import load_finder
from tests.bench.environment import Bench
from tests.bench.rows import Program, Row, Sample, Task

MAX_LINES = 5_000
DECODE_SECONDS = 1.0


def measure_redaction(bench: Bench) -> Sample:
    """Look for secrets in the texts of a corpus."""
    find = load_finder().find
    texts = list(_iter_texts(bench.get_corpus("100mb")))
    start = time.process_time()
    for text in texts:
        find(text)
    seconds = time.process_time() - start
    return {"redaction": sum(map(len, texts)) / 1e6 / seconds}


def measure_decoding(bench: Bench) -> Sample:
    """Decode the entries of the fixtures with the adapter of each agent."""
    from tests.bench import decode  # noqa: PLC0415

    sample = {}
    for name, adapter in load_adapters().items():
        sources = decode.read_sources(adapter)
        size = sum(entry.length for _, entries in sources for entry in entries)
        decode.decode_all(adapter, sources)
        rounds, start = 0, time.process_time()
        while (seconds := time.process_time() - start) < DECODE_SECONDS:
            decode.decode_all(adapter, sources)
            rounds += 1
        sample[name] = rounds * size / seconds / 1e6
    return sample


def _iter_texts(corpus: Path) -> Iterator[str]:
    logs = sorted((corpus / "projects").rglob("*.jsonl"))
    lines = (line for log in logs for line in log.read_bytes().splitlines())
    for line in islice(lines, MAX_LINES):
        yield from _iter_strings(json.loads(line).get("message", {}).get("content"))


def _iter_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _iter_strings(item)
    elif isinstance(value, dict) and value.get("type") != "image":
        for item in value.values():
            yield from _iter_strings(item)


_REDACTION = Task("redaction", (Program("leslied", measure_redaction),), ("100mb",))
_DECODING = Task("decoding", (Program("leslied", measure_decoding, 1),))
ROWS = [
    Row("Steps", "search for secrets in texts", _REDACTION, "redaction", "MB/s"),
    *(
        Row("Steps", f"decoding of {adapter.title}", _DECODING, name, "MB/s")
        for name, adapter in load_adapters().items()
    ),
]
