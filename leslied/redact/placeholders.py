"""Values that are not secret although their names say so: templates, references."""

from __future__ import annotations

import re

_TEMPLATE = re.compile(
    r"^(?:\$[\w{(]|![A-Za-z]{2,20}(?:[\s|.:]|$)|%[{(]|%[A-Za-z_]{2,40}%?$|(?:%[a-z]\W{0,3}){1,9}$|#[0-9A-Fa-f]{3,8}$|<.*>$|\{|\[|\*{3}|\.{3}|x{3}|X{3}|#\{|@\{|@(?:keychain|env):|process\.|os\.|env[.:(]|"
    r"ENV\[|ENC[\[(]|config[.\[(]|self\.|this\.|var\.|secrets\.|args\.|\w{1,12}://[^\s:@]+$|vault:|[\w.]+\(.*\)$|/(?:[\w.@+-]+/)*[\w.@+-]*$)"
)
_PLACEHOLDERS = re.compile(
    r"(?i)^(?:changeme|change[_-]?(?:me|this|it)\w*|your[_\- ]?[a-z_-]*|"
    r"my[_-]?[a-z_-]*|"
    r"example\w*|placeholder|redacted|none|null|nil|undefined|true|false|string|str|bool|int|"
    r"optional\w*|any|text|bytes|object|number|required|hidden|_?password\d{0,3}|_?passwd|contrase[nñ]a|lösenord|-{1,2}[a-z][a-z-]*|"
    r"secret\w{0,4}|token|pass|scram-sha-\d+|md5|test|dummy|fake\w*|sample\w*|foo|bar|baz|todo|tbd|empty|"
    r"default|value|unset|insert\w*|enter\w*|replace[a-z_-]*|some[_-]?[a-z_-]*|the[_-][a-z_-]*|"
    r"(?:api|access)[_-]?key|x+|\*+|\.+|-+|_+|0+|1234?5?6?7?8?9?0?|abc\w{0,3})$"
)
_REFERENCE = re.compile(
    r"^(?:[A-Za-z_][\w-]*(?:(?:\.|::|->)[A-Za-z_]\w*)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)$"
)
_CHANGE = re.compile(
    "(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])"
)
"""A change between lower case, upper case and digits: a reference has few, a password
many."""
_MAX_LENGTH_PER_CHANGE = 3
_MIN_PASSWORD_LENGTH = 10
_DIGIT = re.compile(r"\d")
_LONG_NUMBER = re.compile(
    r"\d{4}|\d{2}$|(?<![Ss][Hh][Aa])(?<![Uu][Tt][Ff])(?<![A-Za-z]{16})(?<=[a-z]{3})\d{2,3}\."
)
"""Digits as in a password; names have few of them, except for some such as `sha256`."""
_REGEX = re.compile(
    r"\[\^?[A-Za-z0-9]-[A-Za-z0-9]|[\])]\{\d{1,4},\d{0,4}\}|\(\?[:=!iP]"
)
"""Parts of regular expressions, as in the source code of a search for secrets."""
_PROMPT = re.compile(r"^[^\d]{1,40}:$")
_RANDOM_LETTERS = re.compile(r"(?=[A-Za-z+/]{20})(?:[A-Z]{0,6}[a-z]{1,4}[A-Z]){4}")
"""Base64 without digits, which is not prose."""
_EXAMPLE = re.compile(r"(?i)(?:\.{3}|…|example(?:key)?)$")
_SEQUENCE = re.compile(r"(?i)example[^.@/]*$|abcdefghij|0123456789abcdef")
"""Parts of tokens that somebody made up; no random token has them."""
_EMULATOR_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq"
    "/K1SZFPTOtr/KBHBeksoGMGw=="
)
_COSMOS_EMULATOR_KEY = (
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b"
    "8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
)
_PUBLIC_VALUES = frozenset(
    [
        _EMULATOR_KEY,
        _COSMOS_EMULATOR_KEY,
        "6LeIxAcTAAAAAGG-vFI1TnRWxMZNFuojJ4WifJWe",
        "sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc",
        "sk_test_" + "BQokikJOvBiI2HlWgH4olfQ2",
        "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    ]
)
"""Published values: examples of RFC 7617 and Stripe, keys of emulators and for tests.
"""
_KEY_LINE = re.compile("[A-Za-z0-9+/]{16}")
"""Part of a private key between its first and last line."""
_TAIL_LENGTH = 16
_MIN_DISTINCT = 4
_MAX_TOKEN_LENGTH = 120
_PROSE = re.compile(r"^(?:[^\d]* [^\d]*|[^A-Za-z0-9]*)$")
"""Words with spaces, or no letter of the Latin alphabet."""
_WORDS = re.compile(r"^[A-Za-z]+(?:[ _-][A-Za-z]+)*[.:!?…]?$")
_WORD_KINDS = frozenset(
    [
        *("url-password", "netrc", "pgpass", "mnemonic", "kubernetes-secret"),
        *("command-password", "environment-password", "connection-string"),
        *("sql-password", "wifi-password", "app-password"),
    ]
)
"""Kinds whose secret may be a word."""
_KINDS_WITH_SPACES = frozenset(["authorization", "kubernetes-secret"])
"""Kinds whose secret may have spaces around base64."""
_LITERAL_KINDS = frozenset(["netrc", "pgpass", "kubeadm-token"])
"""Kinds whose values are never references of a program."""


def is_example(value: str) -> bool:
    """Return whether a value is an example, such as `ghp_xxx` or one of a manual."""
    if value.startswith("---") and not _KEY_LINE.search(value):
        return True
    if "\n" in value:
        return False
    has_few_characters = len(set(value[-_TAIL_LENGTH:])) < _MIN_DISTINCT
    return has_few_characters or bool(_EXAMPLE.search(value)) or value in _PUBLIC_VALUES


def is_made_up(token: str) -> bool:
    """Return whether a token of a vendor has parts that no random one has."""
    return len(token) < _MAX_TOKEN_LENGTH and bool(_SEQUENCE.search(token))


def _is_random(value: str) -> bool:
    """Return whether digits and letters of both cases are mixed as in a password."""
    if not any(map(str.isdigit, value)) or value.lower() == value:
        return False
    if _LONG_NUMBER.search(value):
        return True
    return len(_CHANGE.findall(value)) * _MAX_LENGTH_PER_CHANGE >= len(value)


def _has_random_part(reference: str) -> bool:
    """Return whether a reference, or a part of it between dots, is a password."""
    return _is_random(reference) or any(
        _is_random(part)
        for part in reference.split(".")
        if len(part) >= _MIN_PASSWORD_LENGTH and len(_DIGIT.findall(part)) > 1
    )


def is_placeholder(value: str, kind: str) -> bool:
    """Return whether a value is no secret, but for example a template or a type."""
    if _TEMPLATE.match(value) or _PLACEHOLDERS.match(value) or "[REDACTED:" in value:
        return True
    if _PROMPT.match(value) or _REGEX.search(value):
        return True
    if value in _PUBLIC_VALUES or _EXAMPLE.search(value):
        return True
    has_words = _PROSE.match(value) and kind != "app-password"
    if has_words and not (kind in _KINDS_WITH_SPACES and _RANDOM_LETTERS.search(value)):
        return True
    is_reference = _REFERENCE.match(value) and kind not in _LITERAL_KINDS
    if is_reference and not ("." in value and _has_random_part(value)):
        return True
    if len(value) > _TAIL_LENGTH and is_example(value):
        return True
    # A password may be a word; what a program calls a token or a key has digits.
    return kind not in _WORD_KINDS and bool(_WORDS.match(value))
