"""The start of a text can be redacted alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.redact import RULES, Redactor, SecretFinder
from tests.support.held_out_secrets import generate, generate_negatives

REDACTOR = Redactor(b"key")
SECRETS = [row[3] for row in generate()][::7]
OTHERS = [text for _, text in generate_negatives()]
PARTS = st.lists(st.sampled_from(SECRETS) | st.sampled_from(OTHERS), max_size=40)


@given(PARTS, st.sampled_from(["\n", " ", '","', "\n\n"]), st.integers(1, 2_000))
def test_a_redacted_prefix_is_the_start_of_the_redacted_text(
    parts: list[str], separator: str, length: int
):
    text = separator.join(parts)

    assert REDACTOR.redact_prefix(text, length) == REDACTOR.redact(text)[:length]


def test_the_work_for_a_prefix_does_not_grow_with_the_text(
    monkeypatch: pytest.MonkeyPatch,
):
    redactor = Redactor(b"key", SecretFinder(RULES))
    searched: list[int] = []
    search = redactor._finder._search
    monkeypatch.setattr(
        redactor._finder,
        "_search",
        lambda text, **options: searched.append(len(text)) or search(text, **options),
    )

    for lines in (1_000, 100_000):
        searched.append(0)
        redactor.redact_prefix("no secret here\n" * lines, 200)

    middle = searched.index(0, 1)
    assert searched[:middle] == searched[middle:]
