"""Names are recognised in every spelling."""

from __future__ import annotations

import pytest

from leslied.redact.rules._names import STRONG, WEAK, make_rule


@pytest.mark.parametrize("name", ["client_secret", "client-secret", "clientsecret"])
def test_a_name_has_a_spelling_for_each_separator(name: str):
    assert name in STRONG


def test_no_name_is_both_strong_and_weak():
    assert not set(STRONG) & set(WEAK)


def test_a_contextual_rule_says_so():
    assert make_rule("kind", ("name",), "name=(?P<secret>.)").tier == "contextual"
