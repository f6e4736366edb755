"""Passwords in the protocols of FTP, mail servers, Redis and chats."""

from __future__ import annotations

from leslied.redact.rules._names import RANDOM, make_rule

_BASE64 = r"(?P<secret>[A-Za-z0-9+/]{4,400}={0,2})"
_END = r"[\"' ]{0,3}(?:\r?\n|\\|$)"
_NO_TEST_FILE = r"(?![\w@./-]{1,120}\.(?:[cm]?[jt]sx?|py|go|rs|php|rb|vue|svelte)\b)"
"""Not the `PASS src/a.test.js` of test runners."""

RULES = (
    make_rule(
        "protocol-password",
        ("pass ",),
        rf"PASS :?{_NO_TEST_FILE}(?P<secret>[^\s\"'<>]{{4,120}}){_END}",
        lead=r"(?:USER [^\n]{1,80}\n(?:[^\n]{0,100}\n){0,2}[^\n]{0,60}|-{2,4}> ?|=> ?"
        r"|(?:^|[\s\"'])(?:[CS>]|>>|<-|->)[:>]? )",
        before=400,
        after=140,
    ),
    make_rule(
        "protocol-password",
        # The prompts Username and Password in base64.
        ("ugfzc3dvcmq6",),
        rf"UGFzc3dvcmQ6[^\n]{{0,10}}\n[^\n]{{0,60}}?(?<![A-Za-z0-9+/]){_BASE64}{_END}",
    ),
    make_rule(
        "protocol-password",
        ("auth plain", "authenticate plain"),
        r"(?i:auth(?:enticate)? plain)[^\n]{0,10}\n[^\n]{0,60}[ +](?:334)?[^\n]{0,10}\n"
        rf"[^\n]{{0,60}}?(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]{{8}}){_BASE64}{_END}",
    ),
    make_rule(
        "protocol-password",
        ("auth plain ", "auth login ", "authenticate plain ", "auth xoauth2 "),
        r"(?i:auth(?:enticate)? (?:plain|login|xoauth2)) "
        r"(?P<secret>[A-Za-z0-9+/]{12,400}={0,2})",
    ),
    make_rule(
        "protocol-password",
        (" login ",),
        r" (?:LOGIN|login) [\"']?[\w.+@-]{1,80}[\"']? [\"']?"
        rf"(?P<secret>{RANDOM}[^\s\"'<>]{{4,120}})",
        lead=r"(?:^|[\s\"'>:])[A-Za-z]{0,4}\d{1,6}",
        before=12,
    ),
    make_rule(
        "protocol-password",
        ("auth ", 'auth" "'),
        r"(?i:auth\"?) \"?(?:[\w.-]{1,40}\"? \"?)?(?P<secret>[^\s\"'<>$]{6,200})"
        r"(?=[\"' ]{0,2}(?:\r?\n|\\|$)|\")",
        lead=r"(?i:redis[\w.:-]{0,40}(?:> ?| [^\n]{0,60})|\d(?:\[\d{1,2}\])?> ?\"?"
        r"|\d\] \")",
        before=80,
    ),
    make_rule(
        "protocol-password",
        ("identify ", "setpass "),
        r"(?i:identify|setpass) (?:[\w-]{1,30} )?(?P<secret>[^\s\"'<>$]{6,120})",
        lead=r"(?i:nickserv)[ :]{1,3}",
    ),
)
