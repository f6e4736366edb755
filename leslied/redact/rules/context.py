"""Values that are secret because of the name they are assigned to.

Source code is full of names such as `token`, so that the value decides, too: it must be
a literal, and not a placeholder, a type, a call or a reference (`placeholders.py`).
"""

from __future__ import annotations

import re
from typing import Any

from leslied.redact.rules._rule import WORD_END, WORD_START, Rule

_STRONG_NAMES = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "pswd"),
    *("client_secret", "secret_key", "app_secret", "shared_secret", "api_secret"),
    *("consumer_secret", "signing_secret", "webhook_secret", "secret_key_base"),
)
"""Names whose value is a secret, however short."""
_WEAK_NAMES = (
    *("secret", "token", "api_key", "access_key", "auth_key", "private_key"),
    *("encryption_key", "signing_key", "master_key", "license_key", "account_key"),
    *("app_key", "credential", "connection_string", "session_key", "service_key"),
    *("subscription_key", "storage_key", "jwt_key", "admin_key", "application_key"),
)
"""Names that are also common for what is not secret: the value must look random."""
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
    rf"(?:[\"'`\])\s]{{0,6}}(?:=>|:=|==?|{_TYPE}|:(?!:))|\s?[\"'`]\s?,(?=\s{{0,3}}[\"'`]))"
    r"\s{0,4}"
)
_QUOTED = (
    r"(?:b|r|u|f|@)?\s?(?P<quote>[\"'`])(?P<secret>(?:(?!(?P=quote))[^\n\\]|\\.){4,400})"
    r"(?P=quote)"
)
_BARE = r"(?P<secret>(?!\$)[^\s\"'`,;<>(){}\[\]\\]{4,400}+)(?=[\s\"'`,;<\\&)\]}]|$)"
_RANDOM = r"(?=[^\s\"'`]{0,60}\d)(?=[^\s\"'`]{0,60}[A-Za-z])"
"""Requires a letter and a digit soon."""
_BLOCK = r"(?:[>|]-?\s{1,12})?"
"""The start of a block scalar in YAML."""
_SHELL_QUOTES = r"(?:'\"'\"')?"
"""A quote inside a quoted argument of a shell command."""
_ASCII_VALUE = r"[^\s\"'`,<>(){}\[\]$\\\x80-\U0010ffff]"


def _spell(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in snake case, kebab case and without a separator."""
    spellings = (name.replace("_", separator) for name in names for separator in "_- ")
    return tuple(dict.fromkeys(name.replace(" ", "") for name in spellings))


_SPOKEN_KEYS = ("api key", "access key", "secret key")
_STRONG = _spell(_STRONG_NAMES)
_WEAK = _spell(_WEAK_NAMES)
_ANY_STRONG = f"(?i:{'|'.join(sorted(_STRONG, key=len, reverse=True))})"
_ANY_WEAK = f"(?i:{'|'.join(sorted(_WEAK, key=len, reverse=True))})"
_ANY_NAME = f"(?:{_ANY_STRONG}|{_ANY_WEAK})"


def _make_rule(kind: str, anchors: tuple[str, ...], regex: str, **options: Any) -> Rule:
    return Rule(kind, anchors, regex, tier="contextual", **options)


_ASSIGNMENTS = (
    _make_rule(
        "password",
        _STRONG,
        rf"{_ANY_STRONG}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}(?:{_QUOTED})",
    ),
    _make_rule(
        "password",
        _STRONG,
        rf"{_ANY_STRONG}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}{_BLOCK}{_SHELL_QUOTES}{_BARE}",
    ),
    _make_rule(
        "secret",
        _WEAK,
        rf"{_ANY_WEAK}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}"
        rf"(?=.{{0,60}}\d)(?=.{{0,60}}[A-Za-z]){_QUOTED}",
    ),
    _make_rule(
        "secret",
        _WEAK,
        rf"{_ANY_WEAK}{_HARMLESS_NAMES}{_NAME_END}{_OPERATOR}"
        rf"{_BLOCK}{_SHELL_QUOTES}{_RANDOM}(?=[^\s\"'`]{{8}}){_BARE}",
    ),
    _make_rule(
        "xml-secret",
        (*_STRONG, *_WEAK),
        rf"(?:{_ANY_STRONG}[\w.:-]{{0,20}}>|{_ANY_WEAK}[\w.:-]{{0,20}}>(?=[^\s<]{{0,60}}\d)"
        r"(?=[^\s<]{0,60}[A-Za-z]))(?P<secret>[^<\s]{4,300}+)</",
        lead=r"<[\w.:-]{0,24}",
    ),
    _make_rule(
        "xml-secret",
        (*_STRONG, *_WEAK),
        rf"{_ANY_NAME}\s?[\"']\s{{1,3}}value=\s?(?P<quote>[\"'])"
        r"(?P<secret>[^\"'\n]{4,300})(?P=quote)",
        lead=r"(?:key|name)=\s?[\"'][\w.:-]{0,24}",
    ),
    _make_rule(
        "declared-secret",
        (*_STRONG, *_WEAK),
        rf"{_ANY_NAME}[\w.-]{{0,20}}(?:[\"']?\s{{1,12}}[\"']?value[\"']?:\s{{0,3}}[\"']?"
        r"|[\"']\s?\{[^{}]{0,200}?default\s{0,8}=\s{0,3}[\"']"
        r"|</key>\s{0,12}<string>)(?P<secret>[^\s\"'<>$]{4,300})",
    ),
    _make_rule(
        "declared-secret",
        (*_STRONG, *_WEAK),
        rf"{_ANY_NAME}[\w]{{0,20}}\s{{1,3}}[\"']?(?P<secret>{_ASCII_VALUE}{{6,300}})",
        lead=r"(?:ENV|ARG|set -\w{1,3}|setx|SetEnv) [A-Z0-9_]{0,30}",
    ),
    _make_rule(
        "sql-password",
        ("password '", 'password "', "password('", "identified by"),
        r"(?i:password|identified by)[\s(]{1,3}(?:(?i:as|by)\s{1,3})?(?P<quote>[\"'])"
        r"(?P<secret>[^\"'\n]{4,200})(?P=quote)",
    ),
    _make_rule(
        "said-secret",
        ("password is", "passphrase is", "token is", "secret is", *_SPOKEN_KEYS),
        rf"(?i:password|passphrase|token|secret|{'|'.join(_SPOKEN_KEYS)})(?: is|:)"
        rf"\s{{1,3}}[\"'`]?(?P<secret>{_RANDOM}{_ASCII_VALUE}{{8,300}})",
    ),
)
_HEADERS = (
    _make_rule(
        "authorization",
        ("authorization",),
        r"(?i:authorization)[\"'`]?\s{0,3}[:=,]\s{0,3}[\"'`f]{0,2}"
        r"(?P<secret>(?i:(?:\w{3,12})\s{1,3})?"
        rf"{_ASCII_VALUE}{{8,2000}})",
        after=2100,
    ),
    _make_rule(
        "bearer",
        ("bearer ",),
        r"(?i:bearer)\s{1,3}(?P<secret>(?=[A-Za-z_.-]{0,40}\d)[\w.~+/-]{16,2000}={0,2})",
        lead=WORD_START,
        before=1,
        after=2100,
    ),
    _make_rule(
        "basic",
        ("basic ",),
        rf"(?i:basic)\s{{1,3}}(?P<secret>(?=[A-Za-z+/]{{0,30}}[\d=])"
        rf"[A-Za-z0-9+/]{{8,400}}={{0,2}}){WORD_END}",
    ),
    _make_rule(
        "cookie",
        ("cookie",),
        r"(?i:cookie)[\"'`]?\s{0,2}:\s{0,2}[\"'`]?"
        r"(?P<secret>[\w.-]{1,60}=[^\s;\"'`]{6,1000}"
        r"(?:; ?[\w.-]{1,60}=[^\s;\"'`]{0,1000}){0,30})",
        after=4000,
    ),
    _make_rule(
        "session-cookie",
        ("session=", "sessionid=", "sessid=", "sid="),
        r"(?i:session|sessionid|sessid|sid)="
        r"(?P<secret>(?=[A-Za-z%._-]{0,40}\d)[\w%.+/-]{16,1000}={0,2})",
        after=1100,
    ),
    _make_rule(
        "api-header",
        (
            "x-api-key",
            "x-auth-token",
            "x-access-token",
            "private-token",
            "x-vault-token",
        ),
        r"(?i:x-(?:api-key|auth-token|access-token|vault-token)|private-token)[\"'`]?"
        rf"\s{{0,2}}[:=,]\s{{0,2}}[\"'`]?(?P<secret>{_ASCII_VALUE}{{8,500}})",
    ),
)
_CALL_NAMES = (
    *("setpassword(", "basic_auth(", "basicauth(", "networkcredential(", "login("),
    *("auth=(", "getconnection(", "pdo(", "withcredentials(", "httpbasicauth("),
)
"""Calls whose last argument is a password."""
_CALLS = (
    _make_rule(
        "call-secret",
        _CALL_NAMES,
        rf"(?i:{'|'.join(map(re.escape, _CALL_NAMES))})"
        r"(?:[^()\n\"']{0,80}[\"'][^\"'\n]{0,120}[\"'],\s?|[\w.]{1,40},\s?){0,3}(?:Some\()?"
        r"(?P<quote>[\"'])(?P<secret>[^\"'\n]{4,200})(?P=quote)\)",
        after=500,
    ),
    _make_rule(
        "call-secret",
        ("securestring ", "jwt.sign(", "jwt.verify(", "jwt.encode("),
        r"(?:[Ss]ecure[Ss]tring |jwt\.(?:sign|verify|encode)\([\w.]{1,40},\s?)"
        r"(?P<quote>[\"'])(?P<secret>[^\"'\n]{4,200})(?P=quote)",
    ),
    _make_rule(
        "default-secret",
        (*_STRONG, *_WEAK),
        rf"{_ANY_NAME}[\w.]{{0,20}}[\"'\])]{{0,3}}\s?(?:\|\||\?\?|or)\s?"
        rf"(?P<quote>[\"'])(?P<secret>[^\"'\n]{{6,200}})(?P=quote)",
    ),
    _make_rule(
        "said-secret",
        ("password", "passwort", "passphrase", "mot de passe"),
        r"(?i:\*{0,2}(?:password|passwort|passphrase|mot de passe))"
        r"(?:\*{0,2}:\*{0,2}| \|| (?:for|to|of|für) [\w @.-]{1,40}?(?: is|:| to)?| to)?"
        rf"\s{{1,3}}[\"'`]?(?P<secret>{_RANDOM}(?=[^\s]{{0,40}}[!?$#%&*@^]|[^\s]{{0,40}}[a-z][^\s]{{0,20}}[A-Z])"
        r"[^\s\"'`<>|]{8,100})",
    ),
    _make_rule(
        "password",
        ("requirepass ", "masterauth "),
        r"(?:requirepass|masterauth)\s{1,4}[\"']?(?P<secret>[^\s\"']{4,200})",
    ),
)
_COMMANDS = (
    _make_rule(
        "command-password",
        (" -u", "--user", "--proxy-user", " -a", "--auth"),
        r"(?: -[ua]|--user|--proxy-user|--auth)[ =]?[\"']?[^\s:\"'=/]{1,80}:"
        r"(?P<secret>[^\s\"'@/\\]{3,200})",
    ),
    _make_rule(
        "command-password",
        (" -p",),
        r" -p[\"']?(?P<secret>[^\s\"'=-][^\s\"']{2,100})",
        lead=r"(?:mysql\w{0,6}|mariadb\w{0,8}|mycli|sshpass|7za?)(?: [^\n|;&]{0,80})?",
        before=100,
    ),
    _make_rule(
        "command-password",
        (" -p", " -a", " -w"),
        r" -[pPaw][ =][\"']?(?P<secret>[^\s\"'=-][^\s\"']{2,100})",
        lead=r"(?:mongo\w{0,6}|sshpass|redis-cli|docker login|podman login|unzip|unrar|"
        r"zip|sqlcmd|bcp|ldap\w{3,8})(?: [^\n|;&]{0,80})?",
        before=100,
    ),
    _make_rule(
        "command-password",
        ("-storepass", "-keypass", "pass:", " -u "),
        r"(?:-(?:storepass|keypass) |pass:| -U [\w.-]{1,60}%)[\"']?"
        r"(?P<secret>[^\s\"']{3,200})",
        lead=r"(?:keytool|openssl|smbclient|jarsigner)(?: [^\n|;&]{0,80})?",
        before=100,
    ),
    _make_rule(
        "command-password",
        ("echo ", "printf "),
        r"(?:echo|printf)(?: -n)? \s?[\"']?(?:[\w-]{1,40}:)?"
        r"(?P<secret>[^\s\"'|$]{4,200})\s?[\"']?\s{0,3}\|\s{0,3}"
        r"(?:sudo\b[^\n|]{0,30}? -S|chpasswd|docker login|passwd)",
    ),
    _make_rule(
        "flag-secret",
        (*_STRONG, *_WEAK),
        rf"{_ANY_NAME}(?:[ =]{{1,2}})"
        r"(?P<quote>[\"']?)(?P<secret>[^\s\"'`$<>(){}\[\]-][^\s\"'`$<>(){}\[\]]{3,300}+)"
        r"(?P=quote)",
        lead=r"(?<![\w-])--?(?:[\w-]{0,20}-)?",
    ),
    _make_rule(
        "command-password",
        ("htpasswd",),
        r"htpasswd -\w{0,4}b\w{0,3} \S{1,80} \S{1,60} [\"']?"
        r"(?P<secret>[^\s\"']{3,200})",
    ),
    _make_rule(
        "environment-password",
        ("pgpassword", "mysql_pwd", "_pass=", "_pass:", "_pw=", "_pass ="),
        r"(?:PGPASSWORD|MYSQL_PWD|_PASS|_PW)\s?[:=][\s\"']{0,3}"
        r"(?P<secret>[^\s\"'`;$<>(){}\[\]]{3,200})",
    ),
    _make_rule(
        "password",
        ("pass =", "pass=", "psk=", "pass:", 'pass"', "pass'", "pw:"),
        rf"(?i:pass|psk|pw)[\"']?\s?[=:]\s{{0,2}}[\"']?"
        rf"(?P<secret>{_RANDOM}[^\s\"'`,<>(){{}}\[\]\\]{{6,200}})",
        lead=r"(?:^|[\s_;&?\"'+-]|[a-z](?=\Z))",
        before=1,
    ),
    _make_rule(
        "wifi-password",
        ("wifi:", "snmp-server community"),
        r"(?:(?i:WIFI):[^\s]{0,100}?;?P:|snmp-server community )"
        r"(?P<secret>[^\s;\"']{4,100})(?:;|\s|$)",
    ),
)
_FILES = (
    _make_rule(
        "netrc",
        ("machine ", "default login"),
        r"(?:machine\s{1,4}\S{1,120}|default)\s{1,8}login\s{1,4}\S{1,120}\s{1,8}"
        r"password\s{1,4}(?P<secret>\S{1,200})",
    ),
    _make_rule(
        "pgpass",
        (":5432:", ":5433:", ":3306:", ":6432:", ":*:"),
        r":(?:5432|5433|3306|6432|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:"
        r"(?P<secret>[^\s:@/]{3,200})",
        lead=r"[\w.*-]{1,100}",
        before=100,
    ),
    _make_rule(
        "registry-auth",
        ('"auth', "_auth", "_password"),
        r"(?:\"auth ?\"\s{0,3}:\s{0,3}|_auth(?:Token)?\s?=\s?|_password\s?=\s?)\"?"
        r"(?P<secret>[\w+/.-]{8,1000}={0,2})",
        after=1100,
    ),
    _make_rule(
        "kubernetes-secret",
        ("kind: secret",),
        r"(?i:kind: Secret)\b[^{}]{0,400}?\n(?:data|stringData):"
        r"(?P<secret>(?:\r?\n[ \t]{1,8}[\w.-]{1,80}: ?[^\n]{1,2000}){1,40})",
        after=8000,
    ),
    _make_rule(
        "kubernetes-secret",
        ("\ndata:", "\nstringdata:"),
        r"\n(?:data|stringData):(?P<secret>(?:\r?\n[ \t]{1,8}[\w.-]{1,80}: ?"
        r"[A-Za-z0-9+/=\"']{4,2000}){1,40})(?=[\s\S]{0,400}kind: Secret)",
        after=8000,
    ),
    _make_rule(
        "otp-secret",
        ("otpauth://",),
        r"otpauth://[^\s\"'<>]{1,200}?[?&]secret=(?P<secret>[A-Za-z2-7]{8,128})",
    ),
    _make_rule(
        "password-hash",
        (
            "$2a$",
            "$2b$",
            "$2y$",
            "$1$",
            "$5$",
            "$6$",
            "$y$",
            "$apr1$",
            "$argon2",
            "{sha}",
        ),
        r"(?:\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}|\$(?:[156]|y|apr1)\$[^\s$:\"']{1,40}\$"
        r"(?:[^\s$:\"']{1,40}\$)?[./A-Za-z0-9]{20,100}|\$argon2(?:id|i|d)\$[^\s:\"']{40,300}"
        r"|\{SHA\}[A-Za-z0-9+/]{27}=)",
    ),
    _make_rule(
        "mnemonic",
        ("mnemonic", "seed phrase", "recovery phrase", "seed_phrase", "seed words"),
        r"(?i:mnemonic|(?:seed|recovery)[ _](?:phrase|words))[\w ]{0,12}[\"'`]?\s{0,2}"
        r"[:=]\s{0,3}[\"'`\[]?(?P<secret>[a-z]{3,8}(?:[ ,\"']{1,4}[a-z]{3,8}){11,23})",
        after=400,
    ),
    _make_rule(
        "connection-string",
        ("password", "pwd"),
        r"(?:(?i:password)|[Pp]wd)\s?=\s?(?P<secret>[^;\s\"'<>{}$()\[\]]{3,200}+)(?=;)",
    ),
    _make_rule(
        "connection-string",
        ("password", "pwd"),
        r"(?:(?i:password)|[Pp]wd)\s?=\s?(?P<secret>[^;\s\"'<>{}$()\[\]]{3,200})",
        lead=r";\s?(?:[A-Za-z]{1,12} )?",
    ),
    _make_rule(
        "ansible-vault",
        ("$ansible_vault;",),
        r"\$ANSIBLE_VAULT;[\d.]{3};AES256(?P<secret>(?:\s{1,12}[0-9a-f]{20,80}){1,400})",
        after=16_000,
    ),
    _make_rule(
        "query-secret",
        ("token=", "key=", "secret=", "code=", "auth="),
        r"(?i:token|key|secret|code|auth)="
        r"(?P<secret>(?=[A-Za-z%._-]{0,40}\d)[\w%.~+/-]{12,1000}={0,2})",
        lead=r"[?&][\w.-]{0,24}",
        after=1100,
    ),
)

RULES = _ASSIGNMENTS + _HEADERS + _CALLS + _COMMANDS + _FILES
