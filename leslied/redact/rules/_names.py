"""Names that secrets are assigned to, and what several contextual rules share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.redact.rules._rule import Rule

if TYPE_CHECKING:
    from collections.abc import Collection

_STRONG_NAMES = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "pswd", "bindpw"),
    *("passwort", "kennwort", "contrasena", "contraseña", "mot_de_passe", "wachtwoord"),
    *("lösenord", "authtok", "auth_tok"),
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
    *("hmac_key", "fernet_key", "cipher_key", "derivation_key", "unseal_key"),
)
"""Names that are also common for what is not secret: the value must look random."""
RANDOM = r"(?=[^\s\"'`\d]{0,60}+\d)(?=[^\s\"'`A-Za-z]{0,60}+[A-Za-z])"
"""Requires a letter and a digit soon."""
_CONTROL = r"\x00-\x08\x0e-\x1f\x7f"
# A set with the range of all characters that are not ASCII takes 1.4 ms to compile, and
# these 0.02: they name the ASCII characters instead.
ASCII_VALUE = rf"[!#%&*+\-./0-9:;=?@A-Z^_a-z|~{_CONTROL}]"
"""No white space, quotes, brackets, comma, dollar sign or backslash."""
SPOKEN_VALUE = rf"[!#$%&*+,\-./0-9:=?@A-Z\[\\\]^_a-z~{_CONTROL}]"
"""No white space, quotes, other brackets, semicolon or bar."""
SPOKEN_END = rf"[!#$%&*+\-/0-9=?@A-Z\[\\^_a-z~{_CONTROL}]"
"""As SPOKEN_VALUE, but nothing that ends a sentence or a clause."""
NAME_CHARACTER = r"[^\x00-,/:-@\[-^`{-\x7f]"
"""A letter, a digit, `_`, `.`, `-`, or a character that is not ASCII."""
XML_NAME_CHARACTER = r"[^\x00-,/;-@\[-^`{-\x7f]"
"""As NAME_CHARACTER, or a colon."""


def _spell(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in snake case, kebab case and without a separator."""
    spellings = (name.replace("_", separator) for name in names for separator in "_- ")
    return tuple(dict.fromkeys(name.replace(" ", "") for name in spellings))


def match_any(words: Collection[str]) -> str:
    """Return a pattern of these words in any case, the longest first.

    It reads common beginnings once, and tells by the first letter which words are
    possible: with dozens of words, that is several times faster than a list of them.
    """
    tails: dict[str, list[str]] = {}
    for word in sorted(filter(None, words)):
        tails.setdefault(word[0], []).append(word[1:])
    branches = [
        (f"[{head}{head.upper()}]" if head.isalpha() else head) + match_any(rest)
        for head, rest in tails.items()
    ]
    is_optional = "" in words
    if len(branches) == 1 and not is_optional:
        return branches[0]
    return f"(?:{'|'.join(branches)}){'?' if is_optional else ''}" if branches else ""


STRONG = _spell(_STRONG_NAMES)
WEAK = _spell(_WEAK_NAMES)
ANY_STRONG = match_any(STRONG)
ANY_WEAK = match_any(WEAK)
ANY_NAME = f"(?:{ANY_STRONG}|{ANY_WEAK})"


def make_rule(kind: str, anchors: tuple[str, ...], regex: str, **options: Any) -> Rule:
    """Return a contextual rule."""
    return Rule(kind, anchors, regex, tier="contextual", **options)
