"""Sizes as people type them."""

from __future__ import annotations

import pytest

from leslied.cli.prune_command import parse_size
from leslied.errors import UserError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2_000_000_000),
        ("500 mb", 500_000_000),
        ("1.5G", 1_500_000_000),
        ("10k", 10_000),
        ("7", 7),
        ("0", 0),
    ],
)
def test_a_size_is_understood(text: str, size: int):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "2 EB", "two", "1e9", "２GB"])
def test_what_is_no_size_is_told(text: str):
    with pytest.raises(UserError, match="is no size"):
        parse_size(text)
