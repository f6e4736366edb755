"""Secrets in notes and sentences, beside a word such as password or API key.

What follows the word in prose is mostly another word: a value is secret only if it has
a letter, a digit, and one more sign that nobody would write it by chance.
"""

from __future__ import annotations

from leslied.redact.rules._names import (
    ASCII_VALUE,
    RANDOM,
    SPOKEN_END,
    SPOKEN_VALUE,
    make_rule,
    match_any,
)
from leslied.redact.rules._rule import MIXTURE, TOKEN, UUID
from leslied.redact.rules._speech import SPEECH

_PASSWORD_WORDS = (
    *("password", "passwd", "passphrase", "passcode", "passwort", "kennwort"),
    *("mot de passe", "contraseña", "contrasena", "wachtwoord", "lösenord", "passord"),
    *("adgangskode", "hasło", "salasana", "heslo", "jelszó", "şifre"),
    *("default_pass", "login pin"),
)
_SHORT_WORDS = ("senha", "clave", "parola", "pwd", "pw")
"""Words that are also part of other words, or of names in programs."""
_FOREIGN_WORDS = ("密码", "パスワード", "비밀번호", "пароль")
_ANCHORS = (
    *(*_PASSWORD_WORDS, "пароль "),
    *(word + mark for word in _SHORT_WORDS for mark in " :"),
    # In an anchor, characters that are not ASCII are all the same, except for the
    # full-width colon, which is a colon.
    *(f"{word}:" for word in _FOREIGN_WORDS),
)
_KEY_WORDS = (
    *("api key", "api-key", "access key", "secret key", "signing key", "private key"),
    *("encryption key", "master key", "license key", "app key", "account key"),
    *("auth key", "shared key", "hmac key", "jwt key", "recovery key", "admin key"),
    *("client secret", "app secret", "api secret", "shared secret", "session secret"),
    *(
        "webhook secret",
        "signing secret",
        "auth secret",
        "jwt secret",
        "secret access key",
    ),
    *("access token", "api token", "auth token", "refresh token", "bot token"),
    *("bearer token", "deploy token", "personal token", "service token", "authtoken"),
    *("secret key base", "application key", "key secret", "admin secret"),
    *("use token", "using token", "invalid token", "with token", "new token"),
    *("your token", "the token", "this token", "my token", "your key", "my key"),
    *("secret_key_base", "api_key", "access_token", "client_secret", "app_secret"),
    *("secret_key", "auth_token", "api_token", "session_secret", "jwt_secret"),
)
_NO_REFERENCE = (
    # A protocol, an address, a path, an e-mail address, a ticket, a standard, a date.
    r"(?!\w{2,8}://|[~./]|[\w.+-]{1,40}@[\w-]{1,40}\.\w|[A-Z]{2,10}-\d{1,6}(?!\w)"
    r"|(?i:sha|utf|md|aes|base|oauth|http|argon|bcrypt|tls|v|rfc|cve|python|node)-?\d"
    r"|\d{4}-\d\d-\d\d|\w{1,40}\()"
)
_SIGN = (
    r"(?=\S{0,40}[!?$#%&*@^+~=;]\S|\S{0,40}[a-z]\S{0,20}[A-Z]|\S{0,40}[A-Z]{2}\S{0,6}\d"
    r"|\S{0,40}[A-Za-z]\d{1,5}[.!?_*#-]?[A-Za-z]|(?:[A-Za-z]{2,16}[-_.]){1,6}\d{2,8}(?!\w)"
    r"|[A-Z][a-z]{3,20}\d{2,8}|\S{6,60}!)"
)
_SPOKEN = (
    rf"(?P<secret>(?=\S{{8}}){_NO_REFERENCE}{RANDOM}{_SIGN}"
    rf"{SPOKEN_VALUE}{{7,127}}{SPOKEN_END})"
)
_TOKEN = (
    rf"(?P<secret>(?=\S{{16}}){_NO_REFERENCE}(?:{UUID}|{TOKEN}|{MIXTURE}(?=\S{{16}}){ASCII_VALUE}{{16,300}}"
    rf"|{RANDOM}{_SIGN}(?=\S{{24}}){ASCII_VALUE}{{24,300}}))(?=[\s\"'`,.;|&<>)\]}}\\*_]|$)"
)
_PASSWORD_WORD = (
    rf"(?:{match_any((*_PASSWORD_WORDS, *_FOREIGN_WORDS))}"
    rf"|(?<![A-Za-z_]){match_any(_SHORT_WORDS)})"
)

RULES = (
    make_rule(
        "said-secret",
        _ANCHORS,
        rf"{_PASSWORD_WORD}(?:e[nt]|s)?(?![a-z(])[A-Z0-9_]{{0,16}}(?:{SPEECH}|[\"'`*]{{0,3}}\s{{1,3}}[\"'`]?)"
        rf"{_SPOKEN}",
        after=400,
    ),
    make_rule(
        "said-secret",
        _KEY_WORDS,
        rf"{match_any(_KEY_WORDS)}(?![a-z(])[A-Z0-9_]{{0,16}}"
        rf"(?:{SPEECH}|[\"'`*]{{0,3}}\s{{0,3}}[\s|,;][\s\"'`]{{0,4}}){_TOKEN}",
        after=500,
    ),
    make_rule(
        "said-secret",
        (
            *("creds", "credentials", "logins", "login:", "login is", "login with"),
            *("log in with", "log in as", "login as", "sign in with", "sign in as"),
        ),
        r"(?i:creds|credentials|logins?|log in|sign in)(?: [\w.-]{1,24}){0,5}?"
        r"(?: is| are| with| as|:|=)?\s{1,3}[\"'`*(]{0,3}[\w.+@\\-]{1,60}[\"'`]?\s{0,"
        r"2}(?:[/:|,]|and|with)"
        rf"\s{{0,2}}[\"'`]?{_SPOKEN}",
        after=300,
    ),
    make_rule(
        "said-secret",
        ("pass ", "pass: ", "pw ", "pwd ", "password "),
        rf"(?i:pass|pw|pwd|password):? [\"'`]?{_SPOKEN}",
        lead=r"(?i:user(?:name)?|login|account)[:= ]{1,3}[\"'`]?[\w.+@\\-]{1,60}[\"'`]?"
        r"[,;/ ]{1,3}(?:and |with )?",
        before=90,
    ),
    make_rule(
        "said-secret",
        tuple(
            f"{verb} {article}{name}"
            for verb in ("as", "is")
            for article in ("the ", "my ", "our ", "your ", "the new ", "")
            for name in ("password", "api key", "passphrase", "access token")
        ),
        r"(?:as|is) (?:the |my |our |your )?(?:new )?(?i:password|api key|passphrase"
        r"|access token)",
        lead=rf"(?:^|[\s\"'`*(]){_SPOKEN}[\"'`*)]{{0,3}},? ",
        before=150,
    ),
)
