"""Texts that resemble tokens of a vendor are not redacted."""

from __future__ import annotations

from random import Random

import pytest

from leslied.redact.rules import tokens, tokens_ai, tokens_services
from tests.support.secret_samples import TOKENS, fill, find_kinds


def test_every_kind_of_token_has_samples():
    rules = (*tokens.RULES, *tokens_ai.RULES, *tokens_services.RULES)

    assert sorted(rule.kind for rule in rules) == sorted(TOKENS)


@pytest.mark.parametrize("kind", sorted(TOKENS))
def test_a_token_that_is_too_short_is_not_redacted(kind: str):
    prefix = TOKENS[kind].partition("{")[0]
    text = fill(TOKENS[kind], Random(kind))[: len(prefix) + 6]

    assert find_kinds(kind, f"use {text} now") == []


@pytest.mark.threat("S5")
@pytest.mark.parametrize("kind", sorted(TOKENS))
def test_a_prefix_inside_a_word_does_not_start_a_token(kind: str):
    assert find_kinds(kind, f"x{fill(TOKENS[kind], Random(kind))}") == []


def test_a_token_of_equal_characters_is_an_example():
    assert find_kinds("github", "ghp_" + "x" * 36) == []
