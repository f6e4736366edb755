"""Secrets in files of a format of their own."""

from __future__ import annotations

import pytest

from leslied.redact import Redactor

redact = Redactor(b"key").redact


def test_the_password_of_a_netrc_line_is_redacted():
    redacted = redact("machine a.example login me password Gr4nite")

    assert redacted.startswith("machine a.example login me password [REDACTED:netrc:")


@pytest.mark.parametrize("prefix", ["", "> ", "+", "    "])
def test_a_vault_is_redacted_whatever_precedes_its_lines(prefix: str):
    line = "3331616565386434" * 5
    text = f"{prefix}$ANSIBLE_VAULT;1.1;AES256\n{prefix}{line}\n{prefix}{line}"

    assert line not in redact(text)


def test_an_account_without_password_is_not_a_database_password():
    line = "daemon:*:19110:0:99999:7:::"

    assert redact(line) == line


def test_a_database_password_before_a_suffix_is_not_a_reference():
    redacted = redact("db.example:5432:app:me:q16YwNGjPrae.meta.json")

    assert "q16Yw" not in redacted


def test_the_key_of_kaggle_json_is_redacted():
    key = "d0503a89f9274c3750280ff9b8114083"

    assert key not in redact(f'{{"username":"me","key":"{key}"}}')


def test_a_mnemonic_that_a_command_stores_is_redacted():
    words = "acquire eager jacket kind jelly garden decline occur canvas same warm arm"

    assert words not in redact(f"gh secret set MNEMONIC --body '{words}'")
