"""A key of any vendor is known by its name together with its value."""

from __future__ import annotations

import pytest

from leslied.redact import Redactor

VALUE = "q7wm2ztr9xkc4lpv8bns3jdf"
redact = Redactor(b"key").redact


@pytest.mark.threat("S4")
@pytest.mark.parametrize(
    "text",
    [
        "acme_key = '{}'",
        "acme-key: {}",
        '{{"acmeKey": "{}"}}',
        '{{"a": "{{\\"acmeKey\\": \\"{}\\"}}"}}',
        "ENV ACME_KEY {}",
        "setx ACME_KEY {}",
        '$env:ACME_KEY = "{}"',
        'acme_key      = "{}"',
        "acme.key={}",
        "run --acme-key={}",
        "run --acme-key {}",
        'curl -H "X-Acme-Key: {}" https://a.example',
        "acme_key,{},prod",
        "| Acme key | `{}` |",
        '<add key="AcmeKey" value="{}" />',
        "<acmeKey>{}</acmeKey>",
        "the Acme key is {}",
        "use the Acme token {} for now",
        "ACME_PAT={}",
        "alpaca_key={}",
    ],
)
def test_a_key_is_found_in_every_form(text: str):
    assert VALUE not in redact(text.format(VALUE))


@pytest.mark.threat("S4")
@pytest.mark.parametrize(
    "value",
    [
        "3f786850e387550fdab836ed7e6dc881",
        "3f786850-e387-550f-dab8-36ed7e6dc881",
        "aB3-dE5f_G7hI9jK1lM3nO5",
        "aB3/dE5f+G7hI9jK1lM3nO5pQ==",
    ],
)
def test_a_value_in_the_form_of_a_token_is_redacted(value: str):
    assert value not in redact(f"acmeKey: '{value}'")


@pytest.mark.threat("S5")
@pytest.mark.parametrize(
    "text",
    [
        f"cache_key = '{VALUE}'",
        f"cacheKey: '{VALUE}'",
        f"the primary key is {VALUE}",
        f"idempotency-key: {VALUE}",
        f"promptCacheKey={VALUE}",
        f"Sec-WebSocket-Key: {VALUE}",
        f"SSH_HOST_PUBLIC_KEY={VALUE}",
        f"key: {VALUE}",
        f"gpg: using RSA key {VALUE}",
        f"Cache restored from key: Linux-npm-{VALUE}",
        f"redisKey = 'session:{VALUE}'",
        f"recaptchaSiteKey: '{VALUE}'",
        "stripeKey: 'pk_test_q7wm2ztr9xkc4lpv8bns3jdf'",
        "acme_key = 'settings.of.the.customer'",
        "acmeKey = 'acme-settings-of-2024-and-2025'",
        "acme_key = internationalization2_of_all_texts",
        "acme_key = load_key_from_file('a1b2c3d4')",
    ],
)
def test_other_keys_and_values_are_not_redacted(text: str):
    assert redact(text) == text
