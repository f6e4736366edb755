"""Values that are not secret although their names say so: templates, references."""

from __future__ import annotations

import re

_TEMPLATE = re.compile(
    r"^(?:\$[\w{(]|!|%[\w{(]|#[0-9A-Fa-f]{3,8}$|<.*>$|\{|\[|\*{3}|\.{3}|x{3}|X{3}|#\{|@\{|process\.|os\.|env[.:(]|"
    r"ENV\[|config[.\[(]|self\.|this\.|var\.|secrets\.|args\.|[\w.]+\(.*\)$)"
)
_PLACEHOLDERS = re.compile(
    r"(?i)^(?:changeme|change[_-]?(?:me|this|it)\w*|your[_\- ]?\w*|my[_-]?\w*|"
    r"example\w*|placeholder|redacted|none|null|nil|undefined|true|false|string|str|bool|int|"
    r"optional\w*|any|text|bytes|object|number|required|hidden|password\d{0,3}|passwd|"
    r"secret\w{0,4}|token|pass|test|dummy|fake\w*|sample\w*|foo|bar|baz|todo|tbd|empty|"
    r"default|value|unset|insert\w*|enter\w*|replace\w*|some[_-]?\w*|the[_-]\w*|"
    r"(?:api|access)[_-]?key|x+|\*+|\.+|-+|_+|0+|1234?5?6?7?8?9?0?|abc\w{0,3})$"
)
_REFERENCE = re.compile(
    r"^(?:[A-Za-z_][\w-]*(?:(?:\.|::|->)[A-Za-z_]\w*)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)$"
)
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


def is_placeholder(value: str, kind: str) -> bool:
    """Return whether a value is not a secret: a template, a reference, a type."""
    if _TEMPLATE.match(value) or _PLACEHOLDERS.match(value) or "[REDACTED:" in value:
        return True
    if _REFERENCE.match(value) or _PROSE.match(value):
        return True
    # A password may be a word; what a program calls a token or a key has digits.
    return kind not in _WORD_KINDS and bool(_WORDS.match(value))
