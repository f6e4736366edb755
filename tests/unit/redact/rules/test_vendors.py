"""A value of a token's shape is secret beside the name of a vendor."""

from __future__ import annotations

from random import Random

import pytest

from leslied.redact import Redactor
from leslied.redact.rules.vendors import NAMES, RULES
from tests.support.secret_samples import VENDORS, fill, find_kinds

VALUE = "q7Wm2ZtR9xKc4LpV8bNs3JdF"
redact = Redactor(b"key").redact


def test_no_vendor_is_listed_twice():
    assert len(set(NAMES)) == len(NAMES)
    assert len({rule.kind for rule in RULES}) == len(RULES)


@pytest.mark.threat("S1")
def test_the_key_of_every_vendor_is_found():
    found = {kind: find_kinds(kind, fill(VENDORS[kind], Random(1))) for kind in VENDORS}

    assert found == {kind: [kind] for kind in VENDORS}


@pytest.mark.threat("S5")
def test_a_short_value_or_another_name_is_not_redacted():
    short = [find_kinds(kind, f"{VENDORS[kind][:-5]}v1.2.3") for kind in VENDORS]
    other = [find_kinds(kind, f"ACME_KEY={VALUE}") for kind in VENDORS]

    assert short + other == [[]] * 2 * len(VENDORS)


@pytest.mark.parametrize(
    "text",
    [
        f"mixpanel: {VALUE}",
        f'"mixpanelProject": "{VALUE}"',
        f"Mixpanel('{VALUE}')",
        f"The Mixpanel token is {VALUE}",
        f"use the Mixpanel key {VALUE} for now",
        f"| Mixpanel token | {VALUE} |",
        f'"mixpanel": {{"key": "{VALUE}"}}',
        f"mixpanel:\n  key: {VALUE}",
        "MIXPANEL=3f786850-e387-550f-dab8-36ed7e6dc881",
    ],
)
def test_a_value_is_found_however_the_name_stands_beside_it(text: str):
    assert find_kinds("mixpanel-key", text) == ["mixpanel-key"]


@pytest.mark.threat("S5")
@pytest.mark.parametrize(
    "text",
    [
        "  Mixpanel: 3f786850e387550fdab836ed7e6dc881de23001b",
        "  Mixpanel/Core: 3f786850e387550fdab836ed7e6dc881de23001b",
        "MIXPANEL_BUILD_SLUG=3f786850-e387-550f-dab8-36ed7e6dc881",
        "mixpanel_project_id: 3f786850-e387-550f-dab8-36ed7e6dc881",
        "mixpanelDistinctId = '3f786850-e387-550f-dab8-36ed7e6dc881'",
        "mixpanel-browser@2.45.0",
        "mixpanel: sha512-9f86d081884c7d659a2feaa0c55ad015",
        "from mixpanel import internationalization2",
        "MIXPANEL_VERSION=20240101a1b2c3d4e5f6a7b8",
    ],
)
def test_ids_and_checksums_beside_the_name_are_not_redacted(text: str):
    assert redact(text) == text
