"""Every rule has secrets that it must match, and near misses that it must not.

No text in this file is a real secret: each consists of a vendor's prefix and filler.
"""

from __future__ import annotations

import pytest

from leslied.redact import RULES, Redactor

LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
MIXED = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"
UPPER = "ABCDEFGHJKLMNPQRSTUVWXYZ234567"
HEX = "0123456789abcdef"


def fill(letters: str, length: int) -> str:
    """Repeat the letters up to a length."""
    return (letters * (length // len(letters) + 1))[:length]


SECRETS: dict[str, list[str]] = {
    "anthropic": ["sk-ant-" + "api03-" + fill(MIXED, 80)],
    "openai": ["sk-proj-" + fill(MIXED, 60), "sk-" + fill(MIXED, 48)],
    "github": [
        *("gh" + kind + "_" + fill(MIXED, 36) for kind in "pousr"),
        "github_pat_" + fill(MIXED, 82),
    ],
    "gitlab": ["gl" + kind + "-" + fill(MIXED, 20) for kind in ("pat", "dt", "rt")],
    "aws-key": ["AK" + "IA" + fill(UPPER[1:], 16), "AS" + "IA" + fill(UPPER[2:], 16)],
    "google": ["AI" + "za" + fill(MIXED, 35)],
    "google-oauth": ["GOCSPX-" + fill(MIXED, 28), "ya29." + fill(MIXED, 60)],
    "slack": ["xox" + "b-" + fill("0123456789", 24), "xapp-1-" + fill(MIXED, 40)],
    "slack-webhook": ["https://hooks.slack.com/services/" + "T0/B0/" + fill(MIXED, 30)],
    "stripe": ["sk_" + "live_" + fill(MIXED, 24), "whsec_" + fill(MIXED, 32)],
    "npm": ["npm_" + fill(MIXED, 36)],
    "pypi": ["pypi-" + "AgEIcHlwaS5vcmc" + fill(MIXED, 70)],
    "huggingface": ["hf_" + fill(MIXED, 34)],
    "sendgrid": ["SG." + fill(MIXED, 22) + "." + fill(MIXED, 43)],
    "digitalocean": ["do" + kind + "_v1_" + fill(HEX, 64) for kind in "opr"],
    "telegram": ["123456789:" + "AA" + fill(MIXED, 33)],
    "age": ["AGE-SECRET-KEY-1" + fill("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)],
    "jwt": ["eyJ" + fill(MIXED, 30) + ".eyJ" + fill(MIXED, 40) + "." + fill(MIXED, 43)],
    "private-key": [
        f"-----BEGIN {kind}PRIVATE KEY-----\n{fill(MIXED, 64)}\n"
        f"-----END {kind}PRIVATE KEY-----"
        for kind in ("", "RSA ", "EC ", "OPENSSH ")
    ],
    "url-password": ["postgres://app:s3cr3t@db.example/app"],
}
NEAR_MISSES: dict[str, list[str]] = {
    "anthropic": ["sk-ant-short", "task-ant-" + fill(MIXED, 40)],
    "openai": ["sk-" + fill(MIXED, 47), "sk-" + fill(MIXED, 49), "risk-proj-x"],
    "github": ["ghp_" + fill(MIXED, 35), "xghp_" + fill(MIXED, 36), "github_pat_x"],
    "gitlab": ["glpat-" + fill(MIXED, 19), "glxx-" + fill(MIXED, 20)],
    "aws-key": ["AK" + "IA" + fill(UPPER, 15), "AK" + "IA" + fill(UPPER, 17)],
    "google": ["AI" + "za" + fill(MIXED, 34), "AI" + "za" + fill(MIXED, 36)],
    "google-oauth": ["GOCSPX-" + fill(MIXED, 27), "ya29.short"],
    "slack": ["xoxb-short", "xoxz-" + fill("0123456789", 24)],
    "slack-webhook": ["hooks.slack.com/services/", "hooks.slack.com/docs"],
    "stripe": ["sk_live_short", "pk_live_" + fill(MIXED, 24)],
    "npm": ["npm_" + fill(MIXED, 35), "npm_config_registry"],
    "pypi": ["pypi-AgEIcHlwaS5vcmc", "pypi-" + fill(MIXED, 70)],
    "huggingface": ["hf_" + fill(MIXED, 29), "hf_hub_download"],
    "sendgrid": ["SG." + fill(MIXED, 10) + "." + fill(MIXED, 43)],
    "digitalocean": ["doo_v1_" + fill(HEX, 63), "dox_v1_" + fill(HEX, 64)],
    "telegram": ["123456789:AA" + fill(MIXED, 32), "1234:AA" + fill(MIXED, 33)],
    "age": ["AGE-SECRET-KEY-1" + fill(UPPER, 57).replace("B", "C"), "age1" + LOWER],
    "jwt": ["eyJ" + fill(MIXED, 30) + ".eyJ" + fill(MIXED, 40), "eyJhbGciOiJIUzI1NiJ9"],
    "private-key": ["-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----"],
    "url-password": ["https://example.com:8080/a@b", "git@github.com:org/repo.git"],
}
KINDS = [rule.kind for rule in RULES]


@pytest.mark.parametrize("kind", KINDS)
def test_secrets_of_every_kind_are_redacted(kind: str):
    for secret in SECRETS[kind]:
        redacted = Redactor(b"key").redact(f"use {secret} now")

        assert f"[REDACTED:{kind}:" in redacted, secret
        assert secret not in redacted


@pytest.mark.parametrize("kind", KINDS)
def test_secrets_of_every_kind_are_redacted_in_a_long_text(kind: str):
    for secret in SECRETS[kind]:
        redacted = Redactor(b"key").redact(f"{'word ' * 500}{secret}{' word' * 500}")

        assert f"[REDACTED:{kind}:" in redacted


@pytest.mark.parametrize("kind", KINDS)
def test_near_misses_are_not_redacted(kind: str):
    for text in NEAR_MISSES[kind]:
        assert f"[REDACTED:{kind}:" not in Redactor(b"key").redact(f"use {text} now")


@pytest.mark.parametrize("rule", RULES, ids=KINDS)
def test_every_rule_matches_its_own_secrets(rule):
    for secret in SECRETS[rule.kind]:
        assert rule.pattern.search(f"use {secret} now"), secret
        assert any(word in secret for word in rule.keywords)


def test_every_rule_has_secrets_and_near_misses():
    assert set(SECRETS) == set(NEAR_MISSES) == set(KINDS)
    assert len(KINDS) == len(set(KINDS))
    assert all([*SECRETS.values(), *NEAR_MISSES.values()])
