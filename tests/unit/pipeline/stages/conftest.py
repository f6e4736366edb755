"""A fixture that the tests of several stages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.claude import ClaudeLogBuilder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def builder(project: Path) -> ClaudeLogBuilder:
    return ClaudeLogBuilder(cwd=str(project))
