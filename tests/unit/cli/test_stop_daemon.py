"""Commands that cannot run beside the daemon say how to stop it."""

from __future__ import annotations

import pytest

from leslied.cli.stop_daemon import advising_to_stop_the_daemon
from leslied.errors import AlreadyRunning, UserError


def test_the_advice_says_what_did_not_happen_and_how_to_stop_the_daemon():
    with (
        pytest.raises(AlreadyRunning, match="Another leslied") as caught,
        advising_to_stop_the_daemon("Nothing was deleted."),
    ):
        raise AlreadyRunning("Another leslied is writing.", "Wait.")

    assert caught.value.hint.startswith("Nothing was deleted. Stop it first: ")


def test_other_errors_are_not_changed():
    with (
        pytest.raises(UserError, match="is no such") as caught,
        advising_to_stop_the_daemon("Nothing was deleted."),
    ):
        raise UserError("There is no such session.", "List them.")

    assert caught.value.hint == "List them."
