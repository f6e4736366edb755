"""Keys are redacted whole, whatever stands around their lines."""

from __future__ import annotations

import json

import pytest

from leslied.redact import Redactor

redact = Redactor(b"key").redact


def test_a_private_key_is_redacted_with_its_last_line():
    lines = ["A" * 64, "b" * 20 + "=="]
    key = ["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"]

    redacted = redact("\n".join(["before", *key, "after"]))

    assert redacted.startswith("before\n[REDACTED:private-key:")
    assert redacted.endswith("]\nafter")


KEY_LINES = ["MIIEowIBAAKCAQEA" + letter * 48 for letter in "abcdef"]
TRUNCATED_KEYS = {
    "end is missing": ["-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES],
    "start is missing": [*KEY_LINES, "-----END RSA PRIVATE KEY-----"],
    "lines are numbered": [
        f"{number:6}\t{line}"
        for number, line in enumerate(["-----BEGIN PRIVATE KEY-----", *KEY_LINES], 1)
    ],
    "lines have diff marks": [
        f"+{line}" for line in ["-----BEGIN PRIVATE KEY-----", *KEY_LINES]
    ],
    "lines come from grep": [
        f"keys/id_rsa:{number}:{line}"
        for number, line in enumerate(["-----BEGIN PRIVATE KEY-----", *KEY_LINES], 1)
    ],
    "lines end with CRLF": [
        f"{line}\r" for line in ["-----BEGIN PRIVATE KEY-----", *KEY_LINES]
    ],
}


@pytest.mark.threat("S1")
@pytest.mark.parametrize("form", TRUNCATED_KEYS)
def test_every_line_of_a_private_key_is_redacted(form: str):
    for text in (
        "\n".join(TRUNCATED_KEYS[form]),
        json.dumps("\n".join(TRUNCATED_KEYS[form])),
    ):
        redacted = redact(text)

        assert not [line for line in KEY_LINES if line[16:] in redacted]


@pytest.mark.threat("S5")
def test_a_public_key_is_not_redacted():
    text = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n"

    assert redact(text) == text
