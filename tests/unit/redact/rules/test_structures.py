"""Addresses and other structures without a secret are not redacted."""

from __future__ import annotations

import pytest

from leslied.redact import Redactor
from leslied.redact.rules.structures import RULES
from tests.support.secret_samples import STRUCTURES

redact = Redactor(b"key").redact


def test_every_kind_of_structure_has_samples():
    assert {rule.kind for rule in RULES} <= set(STRUCTURES)


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:org/repo.git",
        "https://example.com:8080/a@b",
        "https://example.com/a?email=me@example.com",
        "postgres://app@db.example/app",
        "eyJhbGciOiJIUzI1NiJ9",
        "https://hooks.slack.com/services/",
        "12:AA",
    ],
)
def test_an_address_without_a_password_is_not_redacted(text: str):
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("postgres://app:s3/cr@et@db:5432/x", ("postgres://app:", "@db:5432/x")),
        ("redis://:p4ss@[::1]:6379", ("redis://:", "@[::1]:6379")),
        ("https://me:p4ss@host/a?b=c@d", ("https://me:", "@host/a?b=c@d")),
    ],
)
def test_only_the_password_of_an_address_is_replaced(text: str, kept: tuple[str, str]):
    redacted = redact(text)

    assert redacted.startswith(f"{kept[0]}[REDACTED:url-password:")
    assert redacted.endswith(f"]{kept[1]}")


@pytest.mark.parametrize(
    "token",
    [
        "acme_live_8f3kD02lsPq9Zx7Vb5Nm1Ty6",
        "acme_pat_8f3kd02lspq9zx7vb5nm1ty6",
        "acme-cloud-token-8f3kD02lsPq9Zx7Vb5Nm1Ty6",
    ],
)
def test_a_token_of_a_vendor_without_a_rule_of_its_own_is_redacted(token: str):
    assert redact(f"use {token} now").startswith("use [REDACTED:vendor-token:")


@pytest.mark.parametrize(
    "text",
    [
        "app-prod-3f786850e387550fdab836ed7e6dc881de23001b",
        "pip_cache_key_3f786850e387550fdab836ed7e6dc881de23001b",
        "test_api_returnsEverythingThatWasStored",
        "my_live_configuration_of_the_application",
        "acme_live_short1A2",
        "pk_live_8f3kD02lsPq9Zx7Vb5Nm1Ty6",
    ],
)
def test_a_name_with_a_hash_or_words_is_not_a_token(text: str):
    assert redact(text) == text
