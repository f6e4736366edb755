"""Every rule redacts secrets of its kind, and not what only resembles them."""

from __future__ import annotations

from random import Random

import pytest

from leslied.redact import RULES, Redactor
from leslied.redact.find import SecretFinder
from tests.support.secret_samples import CONTEXTUAL, NAMED, SAMPLES, TOKENS, fill

KINDS = sorted({rule.kind for rule in RULES})


def find_kinds(kind: str, text: str) -> list[str]:
    """Return the kinds of the secrets in a text, by the rules of one kind."""
    finder = SecretFinder([rule for rule in RULES if rule.kind == kind])
    return [secret.kind for secret in finder.find(text)]


def test_every_kind_has_samples():
    assert sorted(SAMPLES) == KINDS


def test_there_are_rules_for_many_vendors():
    assert len({rule.kind for rule in RULES if rule.tier == "definite"}) >= 150


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_of_every_kind_is_redacted(kind: str):
    random = Random(kind)
    for template in [SAMPLES[kind]] * 5:
        text = fill(template, random)

        assert find_kinds(kind, f"use {text} now") == [kind], text
        assert text not in Redactor(b"key").redact(f"use {text} now")


@pytest.mark.parametrize("kind", sorted({**TOKENS, **NAMED}))
def test_a_token_that_is_too_short_is_not_redacted(kind: str):
    text = fill(SAMPLES[kind], Random(kind))
    prefix = SAMPLES[kind].partition("{")[0]

    assert find_kinds(kind, f"use {text[: len(prefix) + 6]} now") == []


@pytest.mark.parametrize("kind", sorted(TOKENS))
def test_a_prefix_inside_a_word_does_not_start_a_token(kind: str):
    assert find_kinds(kind, f"x{fill(TOKENS[kind], Random(kind))}") == []


@pytest.mark.parametrize("kind", sorted(NAMED))
def test_a_value_without_the_name_of_its_vendor_is_not_redacted(kind: str):
    value = fill(NAMED[kind], Random(kind)).partition("=")[2]

    assert find_kinds(kind, f"id={value}") == []


@pytest.mark.parametrize(
    "value",
    ["${VALUE}", "$VALUE", "<value>", "changeme", "your-value-here", "********", "xxx"],
)
@pytest.mark.parametrize("name", ["password", "API_TOKEN", "client_secret"])
def test_a_placeholder_is_not_redacted(name: str, value: str):
    text = f'{name} = "{value}"\n{name}={value}\n{name}: {value}\n'

    assert Redactor(b"key").redact(text) == text


@pytest.mark.parametrize(
    "line",
    [
        "token = get_token()",
        "def login(password: str, token: Token) -> None:",
        "max_tokens: 1024",
        "secret_name: database-password",
        'token_type = "bearer1234"',
        "password = os.environ['PASSWORD']",
        "the per-token rate2 of this model",
        "const password = req.body.password;",
        "Authorization: Bearer $TOKEN",
        '<input type="password" name="password">',
        "git@github.com:org/repo.git",
        "https://example.com:8080/a@b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n",
    ],
)
def test_code_about_secrets_is_not_redacted(line: str):
    assert Redactor(b"key").redact(line) == line


@pytest.mark.parametrize("kind", sorted(CONTEXTUAL))
def test_contextual_rules_are_marked_as_such(kind: str):
    assert {rule.tier for rule in RULES if rule.kind == kind} == {"contextual"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_anchors_are_in_lower_case(rule):
    assert all(anchor == anchor.lower() for anchor in rule.anchors)
