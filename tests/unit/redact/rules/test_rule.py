"""Every rule redacts secrets of its kind, and has a fixed anchor."""

from __future__ import annotations

from random import Random

import pytest

from leslied.redact import RULES, Redactor, Rule
from tests.support.secret_samples import SAMPLES, fill, find_kinds

KINDS = sorted({rule.kind for rule in RULES})


def test_every_kind_has_samples():
    assert sorted(SAMPLES) == KINDS


def test_there_are_rules_for_many_vendors():
    assert len({rule.kind for rule in RULES if rule.tier == "definite"}) >= 150


@pytest.mark.threat("S1")
@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_of_every_kind_is_redacted(kind: str):
    random = Random(kind)
    for template in [SAMPLES[kind]] * 5:
        text = fill(template, random)

        assert find_kinds(kind, f"use {text} now") == [kind], text
        assert text not in Redactor(b"key").redact(f"use {text} now")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_anchors_are_in_lower_case(rule: Rule):
    assert all(anchor == anchor.lower() for anchor in rule.anchors)
