"""Placeholders, references and prose are not secret."""

from __future__ import annotations

import pytest

from leslied.redact.placeholders import is_example, is_placeholder

PLACEHOLDERS = [
    *("${VALUE}", "$VALUE", "<value>", "{{ value }}", "%(value)s", "!vault"),
    *("changeme", "your-value-here", "example", "********", "xxx", "none", "string"),
    *("config.password", "settings::token", "API_KEY", "get_token()", "#a1b2c3"),
    *("op://vault/database/password", "sk_live_...", "myDatabasePassword"),
    *("Forgot your password?", "[REDACTED:github:1a2b]"),
]


@pytest.mark.threat("S5")
@pytest.mark.parametrize("value", PLACEHOLDERS)
def test_a_placeholder_is_not_secret(value: str):
    assert is_placeholder(value, "password")


@pytest.mark.parametrize(
    "value",
    [
        *("hunter2", "H2(Cb(y0X4", "p$w0rd", "a-b_c9", "Riv3r.Pepper47"),
        "nZ3sGH1yehHF.meta.json",
    ],
)
def test_a_value_with_letters_and_digits_is_secret(value: str):
    assert not is_placeholder(value, "password")


def test_a_word_may_be_the_password_in_an_address_only():
    assert not is_placeholder("swordfish", "url-password")
    assert is_placeholder("swordfish", "password")


@pytest.mark.parametrize(
    "value",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "x" * 36,
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    ],
)
def test_an_example_of_documentation_is_not_secret(value: str):
    assert is_example(value)


def test_a_value_of_many_characters_is_not_an_example():
    assert not is_example("AKIAIOSFODNN7QWERTYU")
