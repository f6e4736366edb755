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
    RANDOM,
    STRONG,
    WEAK,
    make_rule,
)
from leslied.redact.rules._rule import WORD_END, WORD_START

_HARMLESS_NAMES = (
    r"(?!s?[_.-]?(?i:count|type|limit|length|len|budget|usage|name|id|ids|url|uri|path|"
    r"file|field|form|input|label|hint|min|max|reset|policy|expir\w*|ttl|age|class|"
    r"prompt|regex|pattern|manager|mgr|store|ref|arn|version|used|size|per|rate|cost|"
    r"price|window|index|position|endpoint|placeholder|title|error|required|enabled|"
    r"changed|confirm\w*|strength|rotation\w*|scope|prefix|suffix|header|param|env|key|"
    r"var|func|fn|hash|algo\w*|iz\w+|is\w+|provider|service|selector)(?![a-z]))"
)
_NAME_END = r"[\w.-]{0,24}"
_TYPE = r"(?::\s?&?(?:'static )?[A-Za-z][\w<>|\[\]. ]{0,30}?\s{0,3}=(?=\s{0,3}[\"'`]))"
"""A declared type, as in `password: string = "..."`."""
_OPERATOR = (
    rf"(?:[\"'`\])]{{0,3}}\s{{0,24}}[\"'`\])]{{0,2}}(?:=>|:=|==?|{_TYPE}|:(?!:))|\s?[\"'`]\s?,(?=\s{{0,3}}[\"'`]))"
    r"\s{0,4}"
)
_QUOTED = (
    r"(?:b|r|u|f|@)?\s?(?P<quote>[\"'`])(?P<secret>(?:(?!(?P=quote))[^\n\\]|\\.){4,400})"
    r"(?P=quote)"
)
_BARE = r"(?P<secret>(?!\$)[^\s\"'`,;<>(){}\[\]\\]{4,400}+)(?=[\s\"'`,;<\\&)\]}]|$)"
_BLOCK = r"(?:[>|]-?\s{1,12})?"
"""The start of a block scalar in YAML."""
_SHELL_QUOTES = r"(?:'\"'\"'|'\\''|' '')?"
"""A quote inside a quoted argument of a shell command."""
_CELL = r"[\"'`*]{0,3}(?:[ ]{0,20}\||\t|,)[ ]{0,8}[\"'`]?"
"""Between the cells of a table, or the fields of CSV."""
_SPOKEN_KEYS = ("api key", "access key", "secret key")
_ASSIGNMENTS = (
    make_rule(
        "password",
        STRONG,
        rf"{ANY_STRONG}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}(?:{_QUOTED})",
    ),
    make_rule(
        "password",
        STRONG,
        rf"{ANY_STRONG}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}{_BLOCK}{_SHELL_QUOTES}{_BARE}",
    ),
    make_rule(
        "secret",
        WEAK,
        rf"{ANY_WEAK}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}"
        rf"(?=\w?\s?[\"'`][^\"'`\n]{{0,60}}\d)(?=.{{0,60}}[A-Za-z]){_QUOTED}",
    ),
    make_rule(
        "secret",
        WEAK,
        rf"{ANY_WEAK}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}"
        rf"{_BLOCK}{_SHELL_QUOTES}{RANDOM}(?=[^\s\"'`]{{8}}){_BARE}",
    ),
    make_rule(
        "xml-secret",
        (*STRONG, *WEAK),
        rf"(?:{ANY_STRONG}[\w.:-]{{0,20}}>|{ANY_WEAK}[\w.:-]{{0,20}}>(?=[^\s<]{{0,60}}\d)"
        r"(?=[^\s<]{0,60}[A-Za-z]))(?P<secret>[^<\s]{4,300}+)</",
        lead=r"<[\w.:-]{0,24}",
    ),
    make_rule(
        "table-secret",
        (*STRONG, *WEAK),
        rf"{ANY_NAME}[\w.-]{{0,24}}{_CELL}(?P<secret>{RANDOM}{ASCII_VALUE}{{8,300}})"
        r"(?=[\s\"'`,|]|$)",
    ),
    make_rule(
        "xml-secret",
        (*STRONG, *WEAK),
        rf"{ANY_NAME}\s?[\"']\s{{1,3}}value=\s?(?P<quote>[\"'])"
        r"(?P<secret>[^\"'\n]{4,300})(?P=quote)",
        lead=r"(?:key|name)=\s?[\"'][\w.:-]{0,48}",
        before=64,
    ),
    make_rule(
        "declared-secret",
        (*STRONG, *WEAK),
        rf"{ANY_NAME}[\w.-]{{0,20}}(?:[\"']?(?:<br>)?[\s>|]{{1,16}}[\"']?value[\"']?:\s{{0,3}}[\"']?"
        r"|[\"']\s?\{[^{}]{0,200}?default\s{0,8}=\s{0,3}[\"']"
        r"|</key>\s{0,12}<string>)(?P<secret>[^\s\"'<>$]{4,300})",
    ),
    make_rule(
        "declared-secret",
        (*STRONG, *WEAK),
        rf"{ANY_NAME}[\w]{{0,20}}\s{{1,3}}[\"']?(?P<secret>{ASCII_VALUE}{{6,300}})",
        lead=r"(?:ENV|ARG|set -\w{1,3}|setx|SetEnv) [A-Z0-9_]{0,30}",
    ),
    make_rule(
        "sql-password",
        ("password '", 'password "', "password('", 'password("', "identified "),
        r"(?i:password|identified (?:with \w{1,40} )?by)[\s(]{1,3}"
        r"(?:(?i:as|by)\s{1,3})?(?P<quote>[\"'])"
        r"(?P<secret>[^\"'\n]{4,200})(?P=quote)",
    ),
    make_rule(
        "said-secret",
        ("password is", "passphrase is", "token is", "secret is", *_SPOKEN_KEYS),
        rf"(?i:password|passphrase|token|secret|{'|'.join(_SPOKEN_KEYS)})(?: is:?|:)"
        rf"\s{{1,3}}[\"'`]?(?P<secret>{RANDOM}{ASCII_VALUE}{{8,300}})",
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
        r"(?P<secret>(?=[A-Za-z%._-]{0,40}\d)[\w%.+/-]{16,1000}={0,2})",
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
    *("auth=(", "getconnection(", "pdo(", "withcredentials(", "httpbasicauth("),
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
            "jwt.sign(",
            "jwt.verify(",
            "jwt.encode(",
        ),
        r"(?:[Ss]ecure[Ss]tring (?:-String )?|"
        r"jwt\.(?:sign|verify|encode)\([\w.]{1,40},\s?)"
        r"(?P<quote>[\"'])(?P<secret>[^\"'\n]{4,200})(?P=quote)",
    ),
    make_rule(
        "call-secret",
        ("mysqli(", "mysqli_connect(", "mysql_connect("),
        r"(?i:mysqli?(?:_connect)?\()(?:[^,()\n]{1,120},\s?){2}"
        r"(?P<quote>[\"'])(?P<secret>[^\"'\n]{4,200})(?P=quote)",
    ),
    make_rule(
        "default-secret",
        (*STRONG, *WEAK),
        rf"{ANY_NAME}[\w.]{{0,20}}[\"'\])]{{0,3}}\s?(?:\|\||\?\?|or)\s?"
        rf"(?P<quote>[\"'])(?P<secret>[^\"'\n]{{6,200}})(?P=quote)",
    ),
    make_rule(
        "said-secret",
        ("password", "passwort", "passphrase", "mot de passe"),
        r"(?i:\*{0,2}(?:password|passwort|passphrase|mot de passe))"
        r"(?:\*{0,2}:\*{0,2}| \|| (?:for|to|of|für) [\w @.-]{1,40}?(?: is|:| to)?| to)?"
        rf"\s{{1,3}}[\"'`]?(?P<secret>{RANDOM}(?=[^\s]{{0,40}}[!?$#%&*@^]|[^\s]{{0,40}}[a-z][^\s]{{0,20}}[A-Z])"
        r"[^\s\"'`<>|]{8,100})",
    ),
    make_rule(
        "password",
        ("requirepass ", "masterauth "),
        r"(?:requirepass|masterauth)\s{1,4}[\"']?(?P<secret>[^\s\"']{4,200})",
    ),
)

RULES = _ASSIGNMENTS + _HEADERS + _CALLS
