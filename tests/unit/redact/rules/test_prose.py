"""Secrets in sentences are found; other words next to `password` are not."""

from __future__ import annotations

import pytest

from leslied.redact import Redactor

VALUE = "Falcon435.copper"
TOKEN = "q7wm2ztr9xkc4lpv8bns3jdf"
redact = Redactor(b"key").redact


@pytest.mark.threat("S4")
@pytest.mark.parametrize(
    "text",
    [
        "- **Password** (staging): `{}`",
        "**Password:** {}",
        "the password for the test host is {}, as before",
        "I changed the password to {}",
        "Please change the password. New value: {}",
        "copy this password now:\n\n{}",
        "set `ADMIN_PASSWORD` to `{}`",
        "Das Passwort lautet {}",
        "le mot de passe est {}",
        "la contraseña es {}",
        "пароль: {}",
        "pw is {}",
        "creds: admin / {}",
        "log in as admin with {}",
        "user jane, pass {}",
        "use `{}` as the password",
    ],
)
def test_a_password_is_found_in_a_sentence(text: str):
    assert VALUE not in redact(text.format(VALUE))


@pytest.mark.threat("S4")
@pytest.mark.parametrize(
    "text",
    [
        "- **Session secret** (production): `{}`",
        "* Session secret **{}** (do not share)",
        "session secret {} was refused",
        "set `API_KEY` to `{}`",
        "The client secret ({}) expires soon",
        "Your new token:\n\n    {}",
        "API key -> {}",
        "use the token {} for this",
    ],
)
def test_a_key_is_found_in_a_sentence(text: str):
    assert TOKEN not in redact(text.format(TOKEN))


@pytest.mark.threat("S5")
@pytest.mark.parametrize(
    "text",
    [
        "The password policy is described in PROJ-1234.",
        "The password is hashed with SHA256 now.",
        "send the password to jane2@example.com",
        "the password is in https://vault.example/a1B2",
        "Mot de passe oublié ?",
        "the API key id is 3f786850e387550fdab836ed7e6dc881",
        "the password file is ~/config/a1B2.txt",
        "use the token endpoint2 of OAuth",
    ],
)
def test_other_words_beside_a_name_are_kept(text: str):
    assert redact(text) == text
