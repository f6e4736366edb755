"""No text of a session can imitate the structure of INDEX.md or a thread context."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.support.hostile_pages import find_context_spoof, find_index_spoof

pytestmark = pytest.mark.threat("R5", "R6")


def test_titles_and_tasks_add_no_structure_to_the_index():
    rng = Random(1)

    assert [page for _ in range(200) if (page := find_index_spoof(rng))] == []


def test_an_objective_adds_no_structure_to_a_context(tmp_path: Path):
    rng = Random(1)

    spoofs = [xml for _ in range(300) if (xml := find_context_spoof(rng, tmp_path))]

    assert spoofs == []
