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
def test_a_structure_without_its_secret_is_not_redacted(text: str):
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
        "acme_live_8f3-kD02lsPq9_Zx7Vb5Nm1Ty6",
        "acme_secret_3f786850-e387-550f-dab8-36ed7e6dc881",
        "acme_api_3f786850e387550fdab836ed7e6dc881",
        "acme_v1_8f3kD02lsPq9Zx7Vb5Nm1Ty6",
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
        "acme-api-3f786850e387550fdab836ed7e6dc881de23001b",
        "token_of_the_user_V2_and_of_the_team_V3",
        "api-Gateway2-Service3-Deployment4-Production5",
    ],
)
def test_a_name_with_a_hash_or_words_is_not_a_token(text: str):
    assert redact(text) == text


@pytest.mark.parametrize(
    "id_of_a_log",
    [
        "toolu_01AbCdEfGhIjKlMnOpQrStUv",
        "toolu_vrtx_01AbCdEfGhIjKlMnOpQrStUv",
        "call_AbCdEf0123456789abcdefgh",
        "msg_bdrk_01AbCdEfGhIjKlMnOpQrStUv",
        "chatcmpl-AbC0123456789abcdefghijkl",
        "req_011CSHoEeqs5C35K2UUqR7Fy",
        "resp_68a0f9b2c3d4819f8a7b6c5d4e3f2a1b0c",
        "ses_5f3a2b1cAbCdEfGhIjKlMnOp",
        "agent-session-AbC0123456789abcdefghij12",
        "gen-1699999999-AbCdEfGhIjKlMnOpQrSt",
        "cus_NffrFeUfNV2Hib",
        "pi_3MtwBwLkdIwHu7ix28a3tqPa",
        "price_1MoBy5LkdIwHu7ixZhnattbh",
        "cs_test_a1YS1URlnyQCN5fUUduORoQ7Pw41PJqDWkIVQCpJ",
        "/nix/store/3n58xw4373jp0ljirf06d8077j15pc4j-openssl-3.0.2",
        "sha512-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08==",
    ],
)
def test_the_ids_of_logs_are_not_tokens(id_of_a_log: str):
    assert redact(f"{id_of_a_log} done") == f"{id_of_a_log} done"


def test_the_secret_of_a_payment_is_redacted_but_not_its_id():
    text = "pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_YrKJUKribcBjcG8HVhfZluoGH"

    assert redact(text).startswith("pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_[REDACTED:")
