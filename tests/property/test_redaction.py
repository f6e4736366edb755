"""Redaction measured on the labelled set: what is found, and what is left alone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from statistics import fmean

import pytest

from leslied.redact import Redactor
from leslied.redact.find import load_finder
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.labelled_secrets import (
    CONTEXTUAL,
    DEFINITE,
    NEGATIVES,
    POSITIONS,
    survives,
)

ROOT = Path(__file__).resolve().parents[2]
SEEDS = range(3)
TIERS = {"definite": DEFINITE, "contextual": CONTEXTUAL}
redact = Redactor(b"key").redact


@cache
def measure_recall(tier: str, position: str) -> float:
    """Return the share of a tier's samples of which no secret survives."""
    outcomes = []
    for kind, make in TIERS[tier].items():
        for seed in SEEDS:
            sample = make(Random(f"{kind} {seed}"))
            output = redact(POSITIONS[position](sample.text))
            outcomes.append(not any(survives(s, output) for s in sample.secrets))
    return fmean(outcomes)


def count_findings(texts: Iterable[str]) -> int:
    return sum(len(list(load_finder().find(text))) for text in texts)


@pytest.mark.threat("S1")
@pytest.mark.parametrize(("tier", "floor"), [("definite", 0.99), ("contextual", 0.9)])
def test_most_secrets_are_redacted(tier: str, floor: float):
    assert fmean(measure_recall(tier, position) for position in POSITIONS) >= floor


@pytest.mark.threat("S2")
def test_no_part_of_a_secret_is_left_at_any_cut(
    claude: ClaudeHome, project: Path, home: Path
):
    """Fill texts with secrets, so that every limit cuts one, at every character."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    builder = ClaudeLogBuilder(cwd=str(project), started_at=datetime.now(UTC))
    for at in range(len(secret) + 1):
        short, long, longest = (
            "x" * at + f" {secret}" * count for count in (25, 250, 1000)
        )
        claude.write(
            builder.prompt(long),
            builder.call("Bash", {"command": short}, f"toolu_{at}"),
            builder.result(f"toolu_{at}", short),
            builder.answer(longest),
        )

    assert LesliedRunner(home)("sync", "--stop-all").code == 0

    transcripts = [path.read_text() for path in project.rglob("*.txt")]
    parts = {secret[at : at + 8] for at in range(4, len(secret) - 8)}
    assert len(transcripts) == len(secret) + 1
    assert [part for text in transcripts for part in parts if part in text] == []


@pytest.mark.threat("S4")
@pytest.mark.parametrize("position", POSITIONS)
def test_most_secrets_are_redacted_in_every_form(position: str):
    assert measure_recall("definite", position) >= 0.98
    assert measure_recall("contextual", position) >= 0.9


@pytest.mark.threat("S5")
def test_harmless_text_is_not_redacted():
    assert sum(redact(text) != text for text in NEGATIVES) <= len(NEGATIVES) / 100


@pytest.mark.threat("S5")
def test_code_has_at_most_two_false_redactions_per_megabyte():
    texts = [path.read_text("utf-8") for path in (ROOT / "leslied").rglob("*.py")]

    assert count_findings(texts) <= 2 * sum(map(len, texts)) / 1e6


@pytest.mark.threat("S5")
def test_a_lock_file_is_not_redacted():
    assert count_findings([(ROOT / "requirements.lock").read_text("utf-8")]) == 0
