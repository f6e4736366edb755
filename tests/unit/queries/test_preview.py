"""Redaction without a key file."""

from __future__ import annotations

from pathlib import Path

from leslied.queries.preview import make_preview_redact
from tests.support.queries import SECRET


def test_a_preview_contains_no_secret(tmp_path: Path):
    redact = make_preview_redact(tmp_path / "config.toml")

    assert SECRET not in redact(f"+ token = {SECRET}")
