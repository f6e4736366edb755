"""Every rule redacts secrets of its kind, and has a fixed anchor."""

from __future__ import annotations

import re
from random import Random

import pytest

from leslied.redact import RULES, Redactor
from leslied.redact.rules._rule import TOKEN, Rule, _find_first_assertions
from tests.support.secret_samples import SAMPLES, VENDORS, fill, find_kinds

KINDS = sorted({rule.kind for rule in RULES})


def test_every_kind_has_samples():
    assert sorted(SAMPLES) == KINDS


def test_there_are_rules_for_many_vendors():
    assert len({rule.kind for rule in RULES if rule.tier == "definite"}) >= 1200


@pytest.mark.threat("S1")
@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(VENDORS)))
def test_a_secret_of_every_kind_is_redacted(kind: str):
    random = Random(kind)
    for template in [SAMPLES[kind]] * 5:
        text = fill(template, random)

        assert find_kinds(kind, f"use {text} now") == [kind], text
        assert text not in Redactor(b"key").redact(f"use {text} now")


def test_anchors_are_in_lower_case():
    anchors = [anchor for rule in RULES for anchor in rule.anchors]

    assert [anchor for anchor in anchors if anchor != anchor.lower()] == []


@pytest.mark.parametrize(
    ("regex", "assertions"),
    [
        ("key=", ""),
        ("(?:key)=", ""),
        ("(?=key|pat)(?:key|pat)=", "(?=key|pat)"),
        (r"(?<=[\w)])(?![]()])(?:key)=", r"(?<=[\w)])(?![]()])"),
        (r"(?=\)|[^])])\)", r"(?=\)|[^])])"),
        ("(?=(?:a(?=b))+)ab", "(?=(?:a(?=b))+)"),
        ("(?=key)key|pat", ""),
    ],
)
def test_the_first_assertions_are_required_for_every_match(regex: str, assertions: str):
    assert _find_first_assertions(regex) == assertions


def test_a_pattern_is_compiled_where_its_first_assertions_hold():
    rule = Rule("kind", ("key",), "(?=key[=:])(?:key)=(?P<secret>[a-z]+)")

    assert rule.match("no key here", 3) is None
    assert "pattern" not in vars(rule)

    match = rule.match("a key=abc", 2)

    assert match is not None
    assert match["secret"] == "abc"


@pytest.mark.parametrize(
    "value",
    [
        "q7wm2ztrxkclpvbnsjdfghyt",
        "En5vXIqLqlTfhXifTUfoVgqygjzwDLJq",
        "aBcDeFgHiJkLmNoPqRsTuVwX",
    ],
)
def test_a_token_is_long_and_random(value: str):
    assert re.fullmatch(TOKEN, value)


@pytest.mark.parametrize(
    "value",
    [
        "internationalization2",
        "InternationalizationServiceV2",
        "12345678901234567890",
        "q7wm2ztr",
    ],
)
def test_a_word_or_number_is_not_a_token(value: str):
    assert not re.fullmatch(TOKEN, value)
