"""Values that are known by their vendor's name need that name and their length."""

from __future__ import annotations

from random import Random

import pytest

from leslied.redact import Redactor
from leslied.redact.rules.named import RULES
from tests.support.secret_samples import NAMED, fill, find_kinds


def test_every_kind_of_named_value_has_samples():
    assert sorted(rule.kind for rule in RULES) == sorted(NAMED)


@pytest.mark.parametrize("kind", sorted(NAMED))
def test_a_value_that_is_too_short_is_not_redacted(kind: str):
    prefix = NAMED[kind].partition("{")[0]
    text = fill(NAMED[kind], Random(kind))[: len(prefix) + 6]

    assert find_kinds(kind, f"use {text} now") == []


@pytest.mark.parametrize("kind", sorted(NAMED))
def test_a_value_without_the_name_of_its_vendor_is_not_redacted(kind: str):
    value = fill(NAMED[kind], Random(kind)).partition("=")[2]

    assert find_kinds(kind, f"id={value}") == []


@pytest.mark.parametrize(
    "text",
    [
        "- name: SHODAN_KEY\n  value: {}",
        "+  - name: SHODAN_KEY\n+    value: {}",
        "   138→  - name: SHODAN_KEY\n   139→    value: {}",
        " 48 |   - name: SHODAN_KEY\r\n 49 |     value: {}",
        "│ SHODAN_KEY           │ {} │",
        "<tr><td>SHODAN_KEY</td><td>{}</td></tr>",
    ],
)
def test_a_value_beside_or_below_the_name_is_redacted(text: str):
    value = fill("{a32}", Random(text))

    assert value not in Redactor(b"key").redact(text.format(value))
