"""The list of sessions."""

from __future__ import annotations

import pytest

from leslied.cli.list_command import _find_length


@pytest.mark.parametrize(
    ("names", "length"),
    [
        (["0a1b2c3d-1", "ffffffff-2"], 8),
        (["ses_e1ccb8b21", "ses_e1ccbdff9"], 10),
        (["same", "same"], 4),
        (["ses_e1ccb8b21", "ses_e1ccb8b21-more"], 14),
    ],
)
def test_ids_are_as_long_as_it_takes_to_tell_them_apart(names: list[str], length: int):
    assert _find_length(names) == length
