"""Comparison of guide versions."""

from __future__ import annotations

import pytest

from leslied.guide.version import compare_versions


@pytest.mark.parametrize(
    ("installed", "shipped", "step"),
    [
        ("2.1.0", "2.1.0", "same"),
        ("2.1.0+build.7", "2.1.0", "same"),
        ("2.0.9", "2.1.0", "minor"),
        ("2.1.0", "2.1.1", "minor"),
        ("2.9.0", "2.10.0", "minor"),
        ("2.1.0-rc.1", "2.1.0", "minor"),
        ("2.1.0-rc.2", "2.1.0-rc.10", "minor"),
        ("2.1.0-1", "2.1.0-rc", "minor"),
        ("2.1.0-rc", "2.1.0-rc.1", "minor"),
        ("1.9.9", "2.0.0", "major"),
        ("0.0.0", "2.0.0", "major"),
        ("2.1.1", "2.1.0", "downgrade"),
        ("3.0.0-alpha", "2.1.0", "downgrade"),
        ("10.0.0", "9.0.0", "downgrade"),
        ("", "2.1.0", "unknown"),
        ("2", "2.1.0", "unknown"),
        ("2.1", "2.1.0", "unknown"),
        ("v2.1.0", "2.1.0", "unknown"),
        ("2.1.0.1", "2.1.0", "unknown"),
        ("02.1.0", "2.1.0", "unknown"),
        ("latest", "2.1.0", "unknown"),
        ("٢.١.٠", "2.1.0", "unknown"),
        ("2.1.0\n", "2.1.0", "unknown"),
        ("9" * 5000 + ".0.0", "2.1.0", "unknown"),
    ],
)
def test_the_kind_of_update_follows_from_the_versions(
    installed: str, shipped: str, step: str
):
    assert compare_versions(installed, shipped) == step
