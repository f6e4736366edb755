"""Passwords are found in the dialogues of protocols."""

from __future__ import annotations

import pytest

from leslied.redact import Redactor

redact = Redactor(b"key").redact


@pytest.mark.threat("S4")
@pytest.mark.parametrize(
    "text",
    [
        "---> USER jane\n<--- 331 Password required\n---> PASS {}\n<--- 230 ok",
        "C: PASS {}\n",
        "a1 LOGIN jane {}\n",
        ">> AUTH LOGIN\n<< 334 VXNlcm5hbWU6\n>> amFuZQ==\n<< 334 UGFzc3dvcmQ6\n>> {}\n",
        "127.0.0.1:6379> AUTH {}\nOK",
        "redis> AUTH default {}",
        "/msg NickServ IDENTIFY {}",
    ],
)
def test_a_password_in_a_dialogue_is_redacted(text: str):
    assert "R3Jhbml0ZTg5" not in redact(text.format("R3Jhbml0ZTg5"))


@pytest.mark.threat("S5")
@pytest.mark.parametrize(
    "text",
    [
        "> PASS src/a2.test.ts\n",
        "PASS 12 of 12 tests",
        "the auth module2 is new",
        "< 334 VXNlcm5hbWU6\n> amFuZQ==\n",
    ],
)
def test_other_lines_are_kept(text: str):
    assert redact(text) == text
