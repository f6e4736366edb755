"""Rows about the speed of single steps, in one process and without a store."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from leslied.redact.find import load_finder
from tests.bench.environment import Bench
from tests.bench.rows import Program, Row, Sample, Task

MAX_LINES = 5_000


def measure_redaction(bench: Bench) -> Sample:
    """Look for secrets in the texts of a corpus."""
    find = load_finder().find
    texts = list(_iter_texts(bench.get_corpus("100mb")))
    start = time.process_time()
    for text in texts:
        find(text)
    seconds = time.process_time() - start
    return {"redaction": sum(map(len, texts)) / 1e6 / seconds}


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


ROWS = [
    Row(
        "Single steps",
        "search for secrets in texts",
        Task("redaction", (Program("leslied", measure_redaction),), ("100mb",)),
        "redaction",
        "MB/s",
    ),
]
