"""Tables of prefixes become rules."""

from __future__ import annotations

from leslied.redact.find import SecretFinder
from leslied.redact.rules._prefix import ALNUM, END, RANDOM, make_rules


def find(text: str, *rows: tuple[str, str, str]) -> list[str]:
    return [secret.value for secret in SecretFinder(make_rules(rows)).find(text)]


def test_each_prefix_of_a_row_begins_a_token():
    row = ("acme", "ac1_ ac2_", f"{ALNUM}{{8}}{END}")

    assert find("ac1_abcd1234 ac2_abcd1235", row) == ["ac1_abcd1234", "ac2_abcd1235"]


def test_a_token_does_not_end_inside_a_word_or_base64():
    row = ("acme", "ac1_", f"{ALNUM}{{8}}{END}")

    assert find("ac1_abcd1234x ac1_abcd1234-x ac1_abcd1234+x", row) == []


def test_a_random_token_has_digits_and_both_cases():
    row = ("acme", "ac1_", f"{RANDOM}{ALNUM}{{8}}{END}")

    assert find("ac1_abcd1234 ac1_ABCD1234 ac1_abcdEFG1", row) == []
    assert find("ac1_aBcd1234", row) == ["ac1_aBcd1234"]


def test_a_long_token_is_matched_to_its_end():
    token = "ac1_" + "a1B2" * 500

    assert find(token, ("acme", "ac1_", f"{ALNUM}{{20,2000}}")) == [token]
