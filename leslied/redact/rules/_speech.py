"""How people write a secret behind its name, in notes and in sentences.

A label may have a remark ("**API key** (staging): `…`"), a sentence a verb ("the key
for production is …"), and the value may stand alone on the next line.
"""

from __future__ import annotations

from leslied.redact.rules._names import match_any

_PROPERTIES = (
    "id ids hash hashes digest name names sha sha1 sha256 checksum fingerprint version "
    "commit length size count ttl type format field path file url uri user username e"
    "mail "
    "expire expires expiry policy prefix suffix column algorithm scope"
)
"""Words for properties of a secret, which are not secret."""
_NO_PROPERTY = rf"(?!{match_any(_PROPERTIES.split())}(?![A-Za-z]))"
_WORDS = rf"(?:,? {_NO_PROPERTY}[\w./@'-]{{1,20}}+){{0,6}}?"
_VERB = (
    r"(?:is|was|be|are|to|equals|becomes|reads|says|lautet|ist|war|auf|est|sera|es|era|"
    r"é|è|är|er|on|jest|je)"
)
_MARKS = r"[\"'`*_)\]]{0,4}"
_REMARK = r"(?: ?\((?!(?i:public))[^()\n]{1,48}\))?"
_PREFIX = r"(?:\s|[>+|`\"'*_→-]|\d{1,5}[\t→:|]){0,16}?"
"""What may stand before a line: quotes, marks of a diff, a line number."""

LABEL = (
    rf"{_MARKS}{_REMARK}{_MARKS}{_REMARK}\s{{0,2}}(?:=>|->|→|[:=]"
    r"|is:|\uff1a)[\"'`*_]{0,3}[ \t]{0,4}"
)
"""A colon behind a name, which may be emphasised and have a remark."""
SENTENCE = (
    rf"{_MARKS}{_REMARK}{_WORDS}(?:: {{1,2}}| {_VERB}(?: now| currently)?:?\s{{1,2}}"
    r"|(?:[.;,!]| -|\u2014)\s{1,2}(?i:the |its )?(?i:new|current|here|it)(?:'s| is)?"
    r" ?(?:(?i:value|one|password|key|token|it))?(?: is|:| now:?)? ?)"
)
"""Words and a verb; or another sentence, as in "I changed the key. New value: …"."""
NEXT_LINE = rf"{_MARKS}{_REMARK}[^\n:=\"'`<>{{}}]{{0,80}}:[ \t\r]{{0,3}}\n{_PREFIX}"
"""Words, and the value in the next line."""
EMPHASIS = r"\s{1,3}(?:\*{1,3}|_|`|\()"
SPEECH = (
    # Most texts that follow a name are code, or have no digit.
    rf"(?=[ *`_:.=(|→\uff1a-]|[\"')\]][ *_`:.(])(?=\D{{0,160}}\d)(?:{LABEL}|{SENTENCE}"
    rf"|{EMPHASIS}|{NEXT_LINE})[\"'`*_(]{{0,4}}"
)
"""Any of these, and the marks before the value."""
