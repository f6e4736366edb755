"""Ids and names that begin like tokens of services are not redacted."""

from __future__ import annotations

import pytest

from leslied.redact.rules.tokens_services import RULES
from tests.support.secret_samples import find_kinds


@pytest.mark.threat("S5")
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("close", "api_client.configuration"),
        ("crypto-exchange", "account-settings-of-the-user"),
        ("crypto-exchange", "master-3f786850e387550fdab8"),
        ("key-token", "key-3f786850e387550fdab836ed7e6dc8"),
        ("mercadopago-test", "TEST-1234-report"),
        ("ticket-tailor", "sk_12_items"),
        ("tiktok", "act.reduce(lambda total, item: total + item)"),
        ("woocommerce", "cs_test_a1b2c3"),
    ],
)
def test_a_text_that_begins_like_a_token_is_not_redacted(kind: str, text: str):
    assert kind in {rule.kind for rule in RULES}
    assert find_kinds(kind, text) == []
