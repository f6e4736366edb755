"""Redaction finds enough, and little else, in sets that were labelled by hand."""

from __future__ import annotations

import pytest

from leslied.redact import Redactor
from tests.support.held_out_secrets import generate, generate_negatives
from tests.support.unseen_secrets import load_unseen_texts

redact = Redactor(b"key").redact


@pytest.mark.parametrize(("tier", "floor"), [("definite", 0.99), ("contextual", 0.95)])
def test_most_secrets_of_the_held_out_set_are_redacted(tier: str, floor: float):
    rows = [(text, secret) for row, *_, text, secret in generate() if row == tier]

    redacted = sum(secret not in redact(text) for text, secret in rows)

    assert redacted / len(rows) >= floor


@pytest.mark.parametrize(("tier", "floor"), [("definite", 0.99), ("contextual", 0.95)])
def test_most_secrets_of_the_unseen_set_are_redacted(tier: str, floor: float):
    rows = [row for row in load_unseen_texts() if row.tier == tier]

    redacted = sum(row.secret not in redact(row.text) for row in rows)

    assert redacted / len(rows) >= floor


def test_almost_no_harmless_text_is_redacted():
    texts = [text for _, text in generate_negatives()]
    texts += [row.text for row in load_unseen_texts() if not row.secret]

    assert sum(redact(text) != text for text in texts) <= len(texts) // 100
