"""Placeholders, references and prose are not secret."""

from __future__ import annotations

import pytest

from leslied.redact.placeholders import is_placeholder

PLACEHOLDERS = [
    *("${VALUE}", "$VALUE", "<value>", "{{ value }}", "%(value)s", "!vault"),
    *("changeme", "your-value-here", "example", "********", "xxx", "none", "string"),
    *("config.password", "settings::token", "API_KEY", "get_token()", "#a1b2c3"),
    *("Forgot your password?", "[REDACTED:github:1a2b]"),
]


@pytest.mark.parametrize("value", PLACEHOLDERS)
def test_a_placeholder_is_not_secret(value: str):
    assert is_placeholder(value, "password")


@pytest.mark.parametrize("value", ["hunter2", "H2(Cb(y0X4", "p$w0rd", "a-b_c9"])
def test_a_value_with_letters_and_digits_is_secret(value: str):
    assert not is_placeholder(value, "password")


def test_a_word_may_be_the_password_in_an_address_only():
    assert not is_placeholder("swordfish", "url-password")
    assert is_placeholder("swordfish", "password")
