"""Test that a decoder which reads old logs differently has a new version.

Only then are the sessions in existing stores decoded again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from leslied.agents import AgentAdapter, load_adapters
from tests.support import golden

PINS = golden.FIXTURES / "decoder_versions.json"


def hash_files(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in paths if path.is_file()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def pin_adapter(adapter: AgentAdapter) -> dict:
    """Return the decoder's version, and for each case a hash of logs and records."""
    cases = {
        case.name: [
            hash_files((case / "home").rglob("*")),
            hash_files([case / "records.jsonl"]),
        ]
        for case in golden.list_cases(adapter)
    }
    return {"version": adapter.decoder_version, "cases": cases}


def list_changed_cases(old: dict, new: dict) -> list[str]:
    """List the cases whose logs are the same and whose records are not."""
    return [
        name
        for name, (logs, records) in new["cases"].items()
        if name in old["cases"]
        and old["cases"][name][0] == logs
        and old["cases"][name][1] != records
    ]


@pytest.mark.parametrize("adapter", load_adapters().values(), ids=lambda a: a.name)
def test_changed_golden_records_have_a_new_decoder_version(
    adapter: AgentAdapter, pytestconfig: pytest.Config
):
    new = pin_adapter(adapter)
    pins = json.loads(PINS.read_text()) if PINS.exists() else {}
    old = pins.get(adapter.name, {"version": 0, "cases": {}})

    changed = list_changed_cases(old, new)

    if changed and new["version"] <= old["version"]:
        pytest.fail(f"raise decoder_version of {adapter.name}: {changed} changed")
    text = json.dumps({**pins, adapter.name: new}, indent=1, sort_keys=True) + "\n"
    assert golden.load_golden(PINS, text, pytestconfig) == text, "run: make golden"


def test_the_same_logs_with_other_records_count_as_changed():
    old = {"version": 1, "cases": {"a": ["x", "1"], "b": ["x", "1"], "c": ["x", "1"]}}
    new = {"version": 1, "cases": {"a": ["x", "2"], "b": ["y", "2"], "d": ["x", "2"]}}

    assert list_changed_cases(old, new) == ["a"]
