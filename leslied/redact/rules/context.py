"""Values that are secret because of the name they are assigned to.

Source code is full of names such as `token`, so that the value decides, too: it must be
a literal, and not a placeholder, a type, a call or a reference (`placeholders.py`).
"""

from __future__ import annotations

import re

from leslied.redact.rules._names import (
    ANY_NAME,
    ANY_STRONG,
    ANY_WEAK,
    ASCII_VALUE,
    NAME_CHARACTER,
    RANDOM,
    STRONG,
    WEAK,
    XML_NAME_CHARACTER,
    make_rule,
    match_any,
)
from leslied.redact.rules._rule import WORD_END, WORD_START

_HARMLESS_WORDS = (
    "count type limit length len budget usage name id ids url uri path file field form "
    "input label hint min max reset policy ttl age class prompt regex pattern manager "
    "mgr store ref arn version used size per rate cost price window index position "
    "endpoint placeholder title error required enabled changed strength scope prefix "
    "suffix header param env key var func fn hash provider service selector re regex rx"
)
_HARMLESS_NAMES = (
    rf"(?!s?[_.-]?(?:{match_any(_HARMLESS_WORDS.split())}"
    r"|(?i:expir\w*|confirm\w*|rotation\w*|algo\w*|i[zs]\w+))(?![a-z]))"
)
_NO_PAGE_TOKEN = "".join(
    f"(?<!(?i:{word}{mark}))"
    for word in ("page", "pagination", "next", "continuation", "cursor", "sync")
    for mark in ("", "_", "-")
)
"""Not the token that asks for the next page of a list."""
_NO_ARN = r"(?<!\d{12}:)"
"""Not the name of a secret at AWS."""
_NAME_END = r"[\w.-]{0,24}+"
_NAME = rf"{NAME_CHARACTER}{{3,100}}+"
"""A whole name. What follows it is checked first, which is faster than to compare it"
"."""
_BEFORE_OPERATOR = rf"(?={_NAME}[\"'`\])]{{0,3}}\s{{0,24}}[\"'`\])]{{0,2}}[=:,])"
_TYPE = r"(?::\s?&?(?:'static )?[A-Za-z][\w<>|\[\]. ]{0,30}?\s{0,3}=(?=\s{0,3}[\"'`]))"
"""A declared type, as in `password: string = "..."`."""
_OPERATOR = (
    rf"(?:[\"'`\])]{{0,3}}\s{{0,24}}[\"'`\])]{{0,2}}(?:=>|:=|==?|{_TYPE}|:(?!:))|\s?[\"'`]\s?,(?=\s{{0,3}}[\"'`]))"
    r"\s{0,4}"
)
_QUOTED = (
    r"(?:b|r|u|f|@|N|L)?\s?(?P<quote>[\"'`])(?P<secret>(?:(?!(?P=quote))[^\n\\]|\\.){4,400})"
    r"(?P=quote)"
)
_BARE = r"(?P<secret>(?!\$)[^\s\"'`,;<>(){}\[\]\\]{4,400}+)(?=[\s\"'`,;<>\\&)\]}]|$)"
_WRAPPER = r"&?(?:\[\]byte|(?:\w{1,20}::)?(?:(?:Secret)?String|Some)(?:::\w{2,8})?)\("
"""A call that makes bytes, a string or an option of a literal, in Go or Rust."""
_BLOCK = r"(?:[>|]-?\s{1,12})?"
"""The start of a block scalar in YAML."""
_SHELL_QUOTES = r"(?:'\"'\"'|'\\''|' '')?"
"""A quote inside a quoted argument of a shell command."""
_CELL = r"[\"'`*]{0,3}(?:[ ]{0,20}\||\t|[,;])[ ]{0,8}[\"'`]?"
"""Between the cells of a table, or the fields of CSV."""
_ASSIGNMENTS = (
    make_rule(
        "password",
        STRONG,
        rf"{_BEFORE_OPERATOR}{ANY_STRONG}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}(?:{_QUOTED})",
    ),
    make_rule(
        "password",
        STRONG,
        rf"{_BEFORE_OPERATOR}{ANY_STRONG}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}{_BLOCK}{_SHELL_QUOTES}{_BARE}",
    ),
    make_rule(
        "secret",
        WEAK,
        rf"{_BEFORE_OPERATOR}{ANY_WEAK}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}"
        rf"(?=\w?\s?[\"'`][^\"'`\n]{{0,60}}\d)(?=.{{0,60}}[A-Za-z]){_QUOTED}",
        lead=_NO_PAGE_TOKEN,
    ),
    make_rule(
        "secret",
        WEAK,
        rf"{_BEFORE_OPERATOR}{ANY_WEAK}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}"
        rf"{_BLOCK}{_SHELL_QUOTES}{RANDOM}(?=[^\s\"'`]{{8}}){_BARE}",
        lead=_NO_PAGE_TOKEN + _NO_ARN,
    ),
    make_rule(
        "secret",
        (*STRONG, *WEAK),
        # A constructor of bytes, of a string or of a secret around the literal.
        rf"{_BEFORE_OPERATOR}{ANY_NAME}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}{_WRAPPER}"
        rf"(?=[\"'][^\"'\n]{{0,60}}\d){_QUOTED}",
    ),
    make_rule(
        "xml-secret",
        (*STRONG, *WEAK),
        rf"(?<=[<\w.:-])(?={XML_NAME_CHARACTER}{{3,100}}+>)(?:{ANY_STRONG}[\w.:-]{{0,20}}+>|{ANY_WEAK}[\w.:-]{{0,20}}+>(?=[^\s<]{{0,60}}\d)"
        r"(?=[^\s<]{0,60}[A-Za-z]))(?P<secret>[^<\s]{4,300}+)</",
        lead=r"<[\w.:-]{0,24}",
    ),
    make_rule(
        "table-secret",
        (*STRONG, *WEAK),
        rf"(?={_NAME}{_CELL}){ANY_NAME}{_NAME_END}{_CELL}(?P<secret>{RANDOM}{ASCII_VALUE}{{8,300}})"
        r"(?=[\s\"'`,;|]|$)",
    ),
    make_rule(
        "xml-secret",
        (*STRONG, *WEAK),
        rf"(?<=[\w.:\"'-])(?={_NAME}\s?[\"']){ANY_NAME}\s?[\"'](?:\s{{1,3}}value=\s?[\"']|>)"
        r"(?P<secret>[^\"'<>\n]{4,300})[\"'<]",
        lead=r"(?:key|name)=\s?[\"'][\w.:-]{0,48}",
        before=64,
    ),
    make_rule(
        "declared-secret",
        (*STRONG, *WEAK),
        rf"(?={_NAME}(?:[\"']?(?:<br>)?[\s>|]|[\"']\s?\{{|</)){ANY_NAME}[\w.-]{{0,20}}+"
        r"(?:[\"']?(?:<br>)?[\s>|]{1,16}[\"']?value[\"']?:\s{0,3}[\"']?"
        r"|[\"']\s?\{[^{}]{0,200}?default\s{0,8}=\s{0,3}[\"']"
        r"|</key>\s{0,12}<string>)(?P<secret>[^\s\"'<>$]{4,300})",
    ),
    make_rule(
        "declared-secret",
        (*STRONG, *WEAK),
        rf"(?<=[A-Z0-9_ ])(?={_NAME}\s){ANY_NAME}[\w]{{0,20}}+\s{{1,3}}"
        rf"[\"']?(?P<secret>{ASCII_VALUE}{{6,300}})",
        lead=r"(?:ENV|ARG|set -\w{1,3}|setx|SetEnv) [A-Z0-9_]{0,30}",
    ),
    make_rule(
        "table-secret",
        (*STRONG, *WEAK),
        # A quoted field of CSV has each quotation mark twice.
        rf"(?={_NAME}[\"\s=]){ANY_NAME}{_NAME_END}(?:\"\":|\s?=)\s?\"\"(?P<secret>[^\"\s]{{8,300}})\"\"",
    ),
    make_rule(
        "sql-password",
        ("password '", 'password "', "password('", 'password("', "identified "),
        r"(?<![a-z_])(?i:password|identified (?:with \w{1,40} )?by)[\s(]{1,3}"
        r"(?:(?i:as|by)\s{1,3})?(?P<quote>[\"'])"
        r"(?P<secret>[^\"'\n]{4,200})(?P=quote)",
    ),
)
_HEADERS = (
    make_rule(
        "authorization",
        ("authorization",),
        r"(?i:authorization)[\"'`]?\s{0,3}[:=,]\s{0,3}[\"'`f]{0,2}"
        r"(?P<secret>(?i:(?:\w{3,12})\s{1,3})?"
        rf"{ASCII_VALUE}{{8,2000}})",
        after=2100,
    ),
    make_rule(
        "authorization",
        ("response=",),
        r"response=\\?\"(?P<secret>[a-f0-9]{32,64})",
        lead=r"[\s,]",
        before=1,
    ),
    make_rule(
        "bearer",
        ("bearer ",),
        r"(?i:bearer)\s{1,3}(?P<secret>(?=[A-Za-z_.-]{0,40}\d)[\w.~+/-]{16,2000}={0,2})",
        lead=WORD_START,
        before=1,
        after=2100,
    ),
    make_rule(
        "basic",
        ("basic ",),
        rf"(?i:basic)\s{{1,3}}(?P<secret>(?=[A-Za-z+/]{{0,30}}[\d=])"
        rf"[A-Za-z0-9+/]{{8,400}}={{0,2}}){WORD_END}",
    ),
    make_rule(
        "cookie",
        ("cookie",),
        r"(?i:cookie)[\"'`]?\s{0,2}:\s{0,2}[\"'`]?"
        r"(?P<secret>[\w.-]{1,60}=[^\s;\"'`]{6,1000}"
        r"(?:; ?[\w.-]{1,60}=[^\s;\"'`]{0,1000}){0,30})",
        after=4000,
    ),
    make_rule(
        "session-cookie",
        ("session=", "sessionid=", "sessid=", "sid="),
        r"(?i:session|sessionid|sessid|sid)="
        # Not an id of Twilio.
        r"(?P<secret>(?![A-Z]{2}[a-f0-9]{32}(?!\w))(?=[A-Za-z%._-]{0,40}\d)[\w%.+/-]{16,1000}={0,2})",
        after=1100,
    ),
    make_rule(
        "api-header",
        (
            "x-api-key",
            "x-auth-token",
            "x-access-token",
            "private-token",
            "x-vault-token",
        ),
        r"(?i:x-(?:api-key|auth-token|access-token|vault-token)|private-token)[\"'`]?"
        rf"\s{{0,2}}[:=,]\s{{0,2}}[\"'`]?(?P<secret>{ASCII_VALUE}{{8,500}})",
    ),
)
_CALL_NAMES = (
    *("setpassword(", "basic_auth(", "basicauth(", "networkcredential(", "login("),
    *(
        "ftp(",
        "ftp_tls(",
        ".auth(",
        "auth=(",
        "getconnection(",
        "pdo(",
        "withcredentials(",
        "httpbasicauth(",
    ),
)
"""Calls whose last argument is a password."""
_CALLS = (
    make_rule(
        "call-secret",
        _CALL_NAMES,
        rf"(?i:{'|'.join(map(re.escape, _CALL_NAMES))})"
        r"(?:[^()\n\"']{0,80}[\"'][^\"'\n]{0,120}[\"'],\s?|[\w.]{1,40},\s?){0,3}(?:Some\()?"
        r"(?P<quote>[\"'])(?P<secret>[^\"'\n]{4,200})(?P=quote)\)",
        after=500,
    ),
    make_rule(
        "call-secret",
        (
            "securestring ",
            "securestring -string ",
            "securestring('",
            "jwt.sign(",
            "jwt.verify(",
            "jwt.encode(",
        ),
        r"(?:(?i:securestring(?: -string)?(?: -asplaintext)?(?: -force)?)[ (]|"
        r"jwt\.(?:sign|verify|encode)\((?:[\w.]{1,40}|\{[^{}\n]{0,80}\}),\s?)"
        r"(?P<quote>[\"'])(?P<secret>[^\"'\n]{4,200})(?P=quote)",
    ),
    make_rule(
        "call-secret",
        ("mysqli(", "mysqli_connect(", "mysql_connect("),
        r"(?i:mysqli?(?:_connect)?\()(?:[^,()\n]{1,120},\s?){2}"
        r"(?P<quote>[\"'])(?P<secret>[^\"'\n]{4,200})(?P=quote)",
    ),
    make_rule(
        "call-secret",
        ("passwordauthentication(",),
        r"(?i:passwordauthentication)\(\s?(?:\"[^\"\n]{0,80}\"|[\w.]{1,40}),\s?"
        r"\"(?P<secret>[^\"\n]{4,200})\"",
    ),
    make_rule(
        "call-secret",
        *(
            ("wallet('", 'wallet("', "fernet('", 'fernet("', "fernet(b'", 'fernet(b"'),
            r"(?i:wallet|fernet)\(b?[\"'](?P<secret>(?:0x)?[a-f0-9]{64}|[\w-]{43}=)[\"']",
        ),
    ),
    make_rule(
        "default-secret",
        (*STRONG, *WEAK),
        rf"(?={_NAME}[\"']\s?,\s?default\s?=){ANY_NAME}[\w.]{{0,20}}[\"']\s?,\s?default"
        rf"\s?=\s?(?P<quote>[\"'])(?P<secret>[^\"'\n]{{6,200}})(?P=quote)",
    ),
    make_rule(
        "default-secret",
        (*STRONG, *WEAK),
        rf"(?={_NAME}[\"'\])]{{0,3}}\s?(?:\|\||\?\?|or)){ANY_NAME}[\w.]{{0,20}}[\"'\])]{{0,3}}\s?"
        r"(?:\|\||\?\?|or)\s?"
        rf"(?P<quote>[\"'])(?P<secret>[^\"'\n]{{6,200}})(?P=quote)",
    ),
)

RULES = _ASSIGNMENTS + _HEADERS + _CALLS
