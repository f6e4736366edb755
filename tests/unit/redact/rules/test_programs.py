"""Passwords are found in the configuration of programs."""

from __future__ import annotations

import pytest

from leslied.redact import Redactor

redact = Redactor(b"key").redact


@pytest.mark.threat("S4")
@pytest.mark.parametrize(
    "line",
    [
        "requirepass {}",
        "rootpw --plaintext {}",
        "ldap_default_authtok = {}",
        '"smtp_pass": "{}"',
        "[smtp.example.com]:587 me@example.com:{}",
        'me * "{}" *',
        "user default on >{} ~* +@all",
        "user ci-bot on >{} ~* +@all",
        'user "me" with pass "{}"',
        "root:{{PLAIN}}{}:0:0",
        "<Password><Value>{}</Value></Password>",
        '"Jwt": {{ "Issuer": "acme", "Key": "{}" }}',
        "config.pepper = '{}'",
        "WLAN-Schlüssel: {}",
    ],
)
def test_the_password_of_a_program_is_redacted(line: str):
    assert "Gr4niteMeadow89" not in redact(line.format("Gr4niteMeadow89"))


@pytest.mark.threat("S5")
@pytest.mark.parametrize(
    "line",
    [
        "requirepass $PASSWORD",
        "first_pass = True",
        "two_pass: enabled",
        "listen host:587 backlog",
        "user me on >/dev/null of host2",
        " * of the list * and more",
        '"Jwt": { "Issuer": "acme", "Audience": "web" }',
        "pepper: two spoons of it",
        "recovery code: see-below",
        "smtp_password: string",
        "mail_pass = getpass",
    ],
)
def test_other_settings_are_kept(line: str):
    assert redact(line) == line
