"""Names decide what is secret, but only if the value can be."""

from __future__ import annotations

import pytest

from leslied.redact import RULES, Redactor
from tests.support.secret_samples import CONTEXTUAL

redact = Redactor(b"key").redact


@pytest.mark.parametrize("kind", sorted(CONTEXTUAL))
def test_contextual_rules_are_marked_as_such(kind: str):
    assert {rule.tier for rule in RULES if rule.kind == kind} == {"contextual"}


@pytest.mark.threat("S5")
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
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_code_about_secrets_is_not_redacted(line: str):
    assert redact(line) == line


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("password = 'hunter2' # set", ("password = '", "' # set")),
        ("export DB_PASSWORD=hunter2; run", ("export DB_PASSWORD=", "; run")),
        ("curl -u me:s3cret https://a.example", ("curl -u me:", " https://a.example")),
        ('{"password": "hunter2", "a": 1}', ('{"password": "', '", "a": 1}')),
    ],
)
def test_only_the_value_is_replaced(text: str, kept: tuple[str, str]):
    redacted = redact(text)

    assert [redacted.startswith(kept[0]), redacted.endswith(kept[1])] == [True, True]
    assert redacted != text
