"""Passwords that stand in the arguments of commands."""

from __future__ import annotations

import pytest

from leslied.redact import Redactor

redact = Redactor(b"key").redact


@pytest.mark.parametrize(
    "command",
    [
        "mysql -h db -u root -p{} shop",
        "net user worker {} /add",
        r"net use Z: \\nas\share /user:ACME\svc {}",
        "cmdkey /add:server /user:svc /pass:{}",
        "echo 'root:{}' | sudo chpasswd",
        "AUTH PLAIN {}",
        "bindpw {}",
        "redis-cli -a {} ping",
        "sshpass -p {} ssh me@host",
    ],
)
def test_a_password_in_an_argument_is_redacted(command: str):
    assert "Gr4niteMeadow89" not in redact(command.format("Gr4niteMeadow89"))


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p build/output",
        "net user worker /delete",
        "docker run -p 8080:80 nginx",
        "cp -a source target",
        "echo done | tee log",
    ],
)
def test_other_arguments_are_kept(command: str):
    assert redact(command) == command
