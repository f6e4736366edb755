"""Values that are not secret although their names say so: templates, references."""

from __future__ import annotations

import re

_TEMPLATE = re.compile(
    r"^(?:\$[\w{(]|!|%[\w{(]|#[0-9A-Fa-f]{3,8}$|<.*>$|\{|\[|\*{3}|\.{3}|x{3}|X{3}|#\{|@\{|process\.|os\.|env[.:(]|"
    r"ENV\[|config[.\[(]|self\.|this\.|var\.|secrets\.|args\.|\w{1,12}://[^\s:@]+$|vault:|[\w.]+\(.*\)$)"
)
_PLACEHOLDERS = re.compile(
    r"(?i)^(?:changeme|change[_-]?(?:me|this|it)\w*|your[_\- ]?[a-z_-]*|"
    r"my[_-]?[a-z_-]*|"
    r"example\w*|placeholder|redacted|none|null|nil|undefined|true|false|string|str|bool|int|"
    r"optional\w*|any|text|bytes|object|number|required|hidden|password\d{0,3}|passwd|"
    r"secret\w{0,4}|token|pass|scram-sha-\d+|md5|test|dummy|fake\w*|sample\w*|foo|bar|baz|todo|tbd|empty|"
    r"default|value|unset|insert\w*|enter\w*|replace[a-z_-]*|some[_-]?[a-z_-]*|the[_-][a-z_-]*|"
    r"(?:api|access)[_-]?key|x+|\*+|\.+|-+|_+|0+|1234?5?6?7?8?9?0?|abc\w{0,3})$"
)
_REFERENCE = re.compile(
    r"^(?:[A-Za-z_][\w-]*(?:(?:\.|::|->)[A-Za-z_]\w*)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)$"
)
_RANDOM = re.compile(r"(?=.*[a-z])(?=.*[A-Z]).*\d$")
"""A dotted value of letters of both cases that ends in a digit is not a reference."""
_EXAMPLE = re.compile(r"(?i)(?:\.{3}|…|example(?:key)?)$")
_EMULATOR_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq"
    "/K1SZFPTOtr/KBHBeksoGMGw=="
)
_PUBLIC_VALUES = frozenset(
    [
        _EMULATOR_KEY,
        "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    ]
)
"""Values that everybody knows: of RFC 7617 and of the Azure Storage emulator."""
_KEY_LINE = re.compile("[A-Za-z0-9+/]{16}")
"""What a private key has besides its first and last line."""
_TAIL_LENGTH = 16
_MIN_DISTINCT = 4
_PROSE = re.compile(r"^(?:[^\d]* [^\d]*|[^A-Za-z0-9]*)$")
"""Words with spaces, or no letter of the Latin alphabet."""
_WORDS = re.compile(r"^[A-Za-z]+(?:[ _-][A-Za-z]+)*[.:!?…]?$")
_WORD_KINDS = frozenset(
    [
        *("url-password", "netrc", "pgpass", "mnemonic", "kubernetes-secret"),
        *("command-password", "environment-password", "connection-string"),
        *("sql-password", "wifi-password"),
    ]
)
"""Kinds whose secret may be a word."""


def is_example(value: str) -> bool:
    """Return whether a value is an example: of documentation, or such as `ghp_xxx`."""
    if value.startswith("---") and not _KEY_LINE.search(value):
        return True
    if "\n" in value:
        return False
    has_few_characters = len(set(value[-_TAIL_LENGTH:])) < _MIN_DISTINCT
    return has_few_characters or bool(_EXAMPLE.search(value)) or value in _PUBLIC_VALUES


def is_placeholder(value: str, kind: str) -> bool:
    """Return whether a value is not a secret: a template, a reference, a type."""
    if _TEMPLATE.match(value) or _PLACEHOLDERS.match(value) or "[REDACTED:" in value:
        return True
    if _PROSE.match(value) or value in _PUBLIC_VALUES or _EXAMPLE.search(value):
        return True
    if _REFERENCE.match(value) and not ("." in value and _RANDOM.match(value)):
        return True
    if len(value) > _TAIL_LENGTH and is_example(value):
        return True
    # A password may be a word; what a program calls a token or a key has digits.
    return kind not in _WORD_KINDS and bool(_WORDS.match(value))
