"""Redaction without a key file."""

from __future__ import annotations

from leslied.queries.preview import redact_preview
from tests.support.queries import SECRET


def test_a_preview_contains_no_secret():
    assert SECRET not in redact_preview(f"+ token = {SECRET}")
