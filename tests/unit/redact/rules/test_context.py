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
        'nextPageToken = "q7wm2ztr9xkc4lpv8bns3jdf"',
        "continuation_token=q7wm2ztr9xkc4lpv8bns3jdf",
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


@pytest.mark.parametrize(
    "text",
    [
        "received <DB_PASSWORD={}> on channel 4",
        "1;SMTP_PASSWORD;{};active",
        '<property name="DB_PASSWORD">{}</property>',
        '1,"{{""password"":""{}""}}"',
        "net use Z: \\\\host\\share {} /user:ACME\\svc",
        "snmpwalk -v3 -u admin -A {} 10.0.0.1",
        "export SSHPASS={}",
        "jwt.sign({{ id: user.id }}, '{}', {{ expiresIn: '1h' }})",
        "smbclient //nas/share -U 'svc%{}' -c ls",
        "az login --service-principal -u app -p '{}' --tenant t",
        "xfreerdp /v:10.0.0.9 /u:Administrator /p:'{}'",
        "enable secret 0 {}",
        'JWTSecret: []byte("{}"),',
        'password: String::from("{}"),',
        "SECRET_KEY = env('SECRET_KEY', default='{}')",
        'new PasswordAuthentication("mailer", "{}".toCharArray())',
    ],
)
def test_a_password_is_found_in_every_notation(text: str):
    assert "gDWAU4lOMLN1sbme" not in redact(text.format("W.gDWAU4lOMLN1sbme"))


@pytest.mark.parametrize(
    "text",
    [
        "PWD=/home/alice/project",
        "OLDPWD=/root",
        "password=settings.oauth2Password",
        "password=s3Config.secretKey",
        "password=%(db_password2)s",
        "password=%PASSWORD%",
        "password=%s:%s",
        'token: String::from("")',
    ],
)
def test_a_path_or_a_reference_is_not_a_password(text: str):
    assert redact(text) == text
