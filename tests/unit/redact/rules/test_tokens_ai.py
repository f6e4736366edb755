"""Names that begin like keys of models are not redacted."""

from __future__ import annotations

import pytest

from leslied.redact.rules.tokens_ai import RULES
from tests.support.secret_samples import find_kinds


@pytest.mark.threat("S5")
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("arcade", "arc_to_the_left_and_to_the_right_of_the_last_point"),
        ("factory", "fk-orders-customers-and-their-addresses-in-town"),
        ("mem0", "m0-" + "-".join(["segment"] * 8)),
        ("nomic", "nk-" + "a" * 43),
        ("openai-session", "sess-" + "-".join(["ion"] * 20)),
        ("openai", "sk-project-settings-and-more-of-them"),
    ],
)
def test_a_name_that_begins_like_a_key_is_not_redacted(kind: str, text: str):
    assert kind in {rule.kind for rule in RULES}
    assert find_kinds(kind, text) == []
