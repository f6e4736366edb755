"""Names that secrets are assigned to, and what several contextual rules share."""

from __future__ import annotations

from typing import Any

from leslied.redact.rules._rule import Rule

_STRONG_NAMES = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "pswd", "bindpw"),
    *("passwort", "kennwort", "contrasena", "contraseña", "mot_de_passe"),
    *("client_secret", "secret_key", "app_secret", "shared_secret", "api_secret"),
    *("consumer_secret", "signing_secret", "webhook_secret", "secret_key_base"),
)
"""Names whose value is a secret, however short."""
_WEAK_NAMES = (
    *("secret", "token", "api_key", "access_key", "auth_key", "private_key"),
    *("encryption_key", "signing_key", "master_key", "license_key", "account_key"),
    *("app_key", "credential", "connection_string", "session_key", "service_key"),
    *("preshared_key", "pre_shared_key", "auth_salt", "secret_string"),
    *("subscription_key", "storage_key", "jwt_key", "admin_key", "application_key"),
)
"""Names that are also common for what is not secret: the value must look random."""
RANDOM = r"(?=[^\s\"'`]{0,60}\d)(?=[^\s\"'`]{0,60}[A-Za-z])"
"""Requires a letter and a digit soon."""
ASCII_VALUE = r"[^\s\"'`,<>(){}\[\]$\\\x80-\U0010ffff]"


def _spell(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in snake case, kebab case and without a separator."""
    spellings = (name.replace("_", separator) for name in names for separator in "_- ")
    return tuple(dict.fromkeys(name.replace(" ", "") for name in spellings))


STRONG = _spell(_STRONG_NAMES)
WEAK = _spell(_WEAK_NAMES)
ANY_STRONG = f"(?i:{'|'.join(sorted(STRONG, key=len, reverse=True))})"
ANY_WEAK = f"(?i:{'|'.join(sorted(WEAK, key=len, reverse=True))})"
ANY_NAME = f"(?:{ANY_STRONG}|{ANY_WEAK})"


def make_rule(kind: str, anchors: tuple[str, ...], regex: str, **options: Any) -> Rule:
    """Return a contextual rule."""
    return Rule(kind, anchors, regex, tier="contextual", **options)
