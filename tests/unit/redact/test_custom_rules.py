"""Users' own rules and exceptions are checked, and cannot be slow."""

from __future__ import annotations

import pytest

from leslied.redact import RULES, Redactor, SecretFinder
from leslied.redact.custom_rules import compile_exception, make_custom_rule

SECRET = "ACME-" + "A1b2C3d4E5f6"


def test_a_custom_rule_finds_its_kind():
    rule = make_custom_rule("acme-key", "ACME-[A-Za-z0-9]{12}", ("ACME-",))

    redacted = Redactor(b"key", SecretFinder([rule])).redact(f"use {SECRET} here")

    assert redacted.startswith("use [REDACTED:acme-key:")
    assert redacted.endswith("] here")


def test_the_group_secret_is_the_part_that_is_replaced():
    pattern = r"(?i)vault[ =:]{1,3}(?P<secret>\w{8,40})"
    rule = make_custom_rule("vault", pattern, ("vault",))

    redacted = Redactor(b"key", SecretFinder([rule])).redact("Vault: A1b2C3d4E5")

    assert redacted.startswith("Vault: [REDACTED:vault:")


def test_a_custom_rule_may_look_at_what_follows_its_longest_match():
    rule = make_custom_rule("acme-key", r"ACME-\w{12}(?= end)", ("ACME-",))

    assert SecretFinder([rule]).find(f"{SECRET} end")
    assert not SecretFinder([rule]).find(f"{SECRET} and")


@pytest.mark.parametrize(
    ("kind", "pattern", "anchors", "reason"),
    [
        ("Acme key", "ACME-[0-9]{9}", ("ACME-",), "the name must begin with a letter"),
        ("acme", "ACME-[0-9", ("ACME-",), "the pattern is invalid: unterminated"),
        ("acme", "ACME-[0-9]{9}", (), "at least one text"),
        ("acme", "ACME-[0-9]{9}", ("ACME-", " "), "none may be empty"),
        ("acme", "ACME-[0-9]+", ("ACME-",), "repeats without a bound"),
        ("acme", "ACME-(?:a(?:b|c*)d){2}", ("ACME-",), "repeats without a bound"),
        ("acme", "[0-9]{0,9}", ("ACME-",), "matches an empty text"),
        ("acme", "ACME-[0-9]{9,9000}", ("ACME-",), "more than 4,000 characters"),
        ("acme", "ACME-(?:a{1,9}){1,99}x", ("ACME-",), "may be too slow"),
        ("acme", "ACME-(?:ab|a|b){1,99}x", ("ACME-",), "may be too slow"),
        ("acme", "key=ACME-[0-9]{9}", ("ACME-",), "must begin with one of the anchors"),
    ],
)
def test_an_unusable_rule_is_refused_with_the_reason(
    kind: str, pattern: str, anchors: tuple[str, ...], reason: str
):
    with pytest.raises(ValueError, match=reason):
        make_custom_rule(kind, pattern, anchors)


def test_a_secret_that_an_exception_matches_entirely_is_left_alone():
    token = "ghp_" + "A1b2" * 9
    exceptions = [compile_exception("ghp_(A1b2)+")]
    redact = Redactor(b"key", SecretFinder(RULES, exceptions)).redact

    assert redact(f"token = {token}") == f"token = {token}"
    assert redact(f'{{"a": "{{\\"token\\": \\"{token}\\"}}"}}').count(token) == 1


def test_a_secret_that_an_exception_matches_in_part_is_redacted():
    token = "ghp_" + "A1b2" * 9
    exceptions = [compile_exception("ghp_A1b2")]

    redacted = Redactor(b"key", SecretFinder(RULES, exceptions)).redact(token)

    assert redacted.startswith("[REDACTED:github:")


@pytest.mark.parametrize(
    ("pattern", "reason"), [("(", "is invalid"), ("(a+)+b", "may be too slow")]
)
def test_an_unusable_exception_is_refused_with_the_reason(pattern: str, reason: str):
    with pytest.raises(ValueError, match=reason):
        compile_exception(pattern)
