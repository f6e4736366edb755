"""Values of a token's shape that are assigned to a key of any vendor.

The name decides together with the value: `mixpanel_key` is secret, `cache_key` is not,
and a value must be long and have letters and digits like no word.
"""

from __future__ import annotations

from leslied.redact.rules._names import make_rule
from leslied.redact.rules._rule import MIXTURE, TOKEN, UUID
from leslied.redact.rules._speech import SPEECH

_HARMLESS_WORDS = (
    *("public", "publishable", "pub", "cache", "primary", "sort", "partition", "hash"),
    *("idempotency", "registry", "object", "index", "group", "host", "ssh", "routing"),
    *("foreign", "unique", "range", "lookup", "dedup", "dedupe", "deduplication"),
    *("message", "event", "item", "row", "map", "dict", "query", "aggregate"),
    *("session", "state", "thread", "task", "job", "lock", "queue", "batch", "run"),
    *("file", "image", "blob", "artifact", "s3", "upload", "document", "asset"),
    *("translation", "i18n", "locale", "label", "config", "setting", "option"),
    *("issue", "ticket", "epic", "parent", "child", "node", "tree", "entity"),
    *("column", "field", "data", "metadata", "context", "prompt", "tool", "step"),
    *("request", "response", "trace", "span", "conversation", "chat", "turn"),
    *("verification", "verify", "verifying", "gpg", "pgp", "fingerprint", "peer"),
    *("composite", "natural", "surrogate", "join", "component", "react", "list"),
    *("record", "bucket", "content", "path", "commit", "build", "package", "source"),
    *("rsa", "dsa", "ecdsa", "eddsa", "ed25519", "redis", "memo", "site", "proving"),
    *("sccache", "ccache", "turbo", "nonce", "shard", "metric", "resource", "feature"),
    *("page", "pagination", "continuation", "cursor", "sync", "next", "websocket"),
)
_SENTENCE_WORDS = (
    *("from", "with", "the", "a", "an", "by", "this", "that", "of", "for", "using"),
    *("my", "your", "our", "its", "each", "same", "new", "old", "input", "restore"),
    *("set", "get", "put", "delete", "remove", "add", "use", "find", "missing", "no"),
    *("duplicate", "invalid", "unknown", "existing", "unexpected", "last"),
)
"""Words before `key` in sentences and in messages of programs."""
_NO_HARMLESS_WORD = (
    rf"(?![\w. -]{{0,60}}(?:"
    rf"(?<![A-Za-z])(?i:{'|'.join(_HARMLESS_WORDS + _SENTENCE_WORDS)})"
    rf"|(?<=[a-z0-9])(?:{'|'.join(word.capitalize() for word in _HARMLESS_WORDS)})"
    r")[_. -]{0,2}\Z)"
)
_LEAD = (
    rf"(?:^|[^A-Za-z0-9]){_NO_HARMLESS_WORD}[A-Za-z][A-Za-z0-9]{{1,24}}"
    r"(?:[_. -]{1,2}[A-Za-z0-9]{1,20}){0,3}[_. -]{0,2}"
)
"""The words before `key`, of which the last one must not be harmless."""
_WORDS = (
    "key",
    "token",
    "secret",
    "_pat",
    " pat",
    "_auth",
    "_creds",
    "_hmac",
    "_license",
)
_ENDS = ("=", ":", '"', "'", "`", "*", ",", ";", ">", "\t", "\n", " ", "]", ")", ". ")
_WORD = f"(?i:{'|'.join(_WORDS)})"
_DENSE = (
    r"(?=(?:[\w~-]{0,16}?\d){3})(?=[\w~-]{0,16}?[A-Z])(?=[\w~-]{0,16}?[a-z])"
    r"(?=(?:[\w~-]{0,20}?[A-Z]){3})"
)
"""Requires several digits and letters of both cases, which a name does not have."""
_VALUE = (
    # A publishable key says so itself.
    r"(?P<secret>(?=[\w+/.~:-]{20})(?!pk[_.]|phc_|(?:pub|sub)-c-|pubkey)"
    rf"(?:{UUID}(?::[a-f0-9]{{32}})?|(?=[a-z.]{{0,22}}\d)[a-z0-9]{{6}}\.[a-z0-9]{{16}}|{TOKEN}"
    rf"|{_DENSE}[\w~-]{{32,200}}={{0,2}}|{MIXTURE}[\w+.~:-][\w+/.~:-]{{19,200}}={{0,2}}))"
    r"(?=[\s\"'`,;|&<>)\]}\\*_]|\.(?:\s|$)|$)"
)
_OPERATOR = (
    r"(?:[\"'`*\])]{0,3}(?:\s{0,20}[\"'`\])]{0,2}"
    r"(?:=>|:=|==?|:(?!:)|[,;|>\t]|is:?\s|to\s|--body[ =]|value[=:])"
    rf"[\s\"'`*_(\[]{{0,5}}|\s{{1,3}}[\"'`]?)|{SPEECH})"
)

RULES = (
    make_rule(
        "secret",
        tuple(word + end for word in _WORDS for end in _ENDS),
        rf"{_WORD}{_OPERATOR}{_VALUE}",
        lead=_LEAD,
        before=64,
        after=260,
    ),
)
