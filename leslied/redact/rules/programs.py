"""Passwords in the configuration of programs whose keys have names of their own."""

from __future__ import annotations

from leslied.redact.rules._names import RANDOM, make_rule

_VALUE = r"[\"']?(?P<secret>(?![$<%{*])[^\s\"'#;,<>]{4,200})"
_RANDOM_VALUE = rf"[\"']?(?P<secret>{RANDOM}[^\s\"'#,<>]{{5,200}})"

RULES = (
    make_rule(
        "config-password",
        # A key and a value that are separated by spaces.
        (
            *("bindpw ", "rootpw ", "bind_pw ", "requirepass ", "masterauth "),
            *("rootbindpw ", "sasl_pass ", "authtok ", "ldappassword "),
            *("tls_keypass ", "ssl_keypass ", "sslkeypassword "),
            *("plain-text-password-value ", "encrypted-password "),
        ),
        r"[\w-]{4,26}\s{1,8}(?:--plaintext )?[\"']?(?P<secret>"
        r"(?![$<%{*=:-])[^\s\"'|<`]{4,200})",
    ),
    make_rule(
        "config-password",
        # A rule of an access list of Redis, and its commands.
        ("setuser ", 'requirepass" "', "user "),
        r"(?i:setuser|user(?= [\w.-]{1,40} on )|requirepass\"\s\")"
        r"(?: (?:[\w.-]{1,40}|~\*|\+@\w{1,20})){0,5}(?: >|(?<=\" \"))"
        r"(?P<secret>[^\s\"'<>]{6,200})",
    ),
    make_rule(
        "config-password",
        ("_pass", "_pwd", "_passwd", "authtok"),
        r"(?i:_pass(?:wd)?|_pwd|authtok)(?:_\w{1,10})?[\"'`*)\]]{0,4}(?:\s{0,20}(?:=>|:=|[=:,|])"
        rf"\s{{0,4}}|>|\s{{1,3}}value=|\s{{1,4}})[\"'`]{{0,2}}(?P<secret>{RANDOM}"
        r"(?=\S{0,60}[A-Z!?#$%&*@^]|\S{0,60}[a-z]-[a-z]|\S{0,60}\d[a-z])"
        r"[^\s\"'`<>,;|]{6,200})",
    ),
    make_rule(
        "config-password",
        # The map of a relay host at Postfix: a host, a user and a password.
        ("]:587", "]:465", "]:25", ":587 ", ":465 ", ":25 "),
        r"(?:\]:|:)(?:587|465|25)\s{1,8}[\w.+@-]{1,80}:(?P<secret>[^\s:]{4,120})",
        lead=r"[\w.-]{3,80}",
        before=90,
    ),
    make_rule(
        "config-password",
        # Secrets of PPP: a client, a server, a secret, addresses.
        (" pptp ", " pptpd ", " l2tpd ", ' * "'),
        r" (?:\*|pptpd?|l2tpd) {1,8}(?:\"(?P<quote>)|(?!/))"
        r"(?P<secret>[^\s\"'*/]{6,60})\"? {1,8}"
        r"(?:\*|\d{1,3}(?:\.\d{1,3}){3})",
        lead=r"(?:^|\n)\W{0,8}[\w.@\"-]{1,60}",
        before=80,
    ),
    make_rule(
        "config-password",
        # A user, a server and a secret of a network device.
        (
            *(
                "-server key ",
                "server-private ",
                "key-string ",
                "pre-shared-key ",
                "-secret ",
            ),
            *("radius-server ", "tacacs-server ", "isakmp key ", "wpa-psk ascii "),
            *("rocommunity ", "rwcommunity ", "authentication-key "),
        ),
        r"(?:-server key|key-string|pre-shared-key(?: ascii-text)?|isakmp key"
        r"|wpa-psk ascii"
        r"|(?:radius|tacacs)-server (?:host \S{1,40} )?"
        r"(?:[\w-]{1,12} \d{1,5} ){0,2}key|r[ow]community"
        rf"|authentication-key)(?: \d{{1,2}})? {_RANDOM_VALUE}",
    ),
    make_rule(
        "config-password",
        # Mail programs: fetchmail, mbsync, msmtp; FTP servers; installers.
        (
            *("with pass ", 'pass "', 'password "', "password-again password "),
            *("password password ", "sqlconnectinfo ", "auth-user-pass "),
        ),
        r"(?i:with pass|pass|password-again password|password password|sqlconnectinfo"
        r" \S{1,80} \S{1,40}|password) [\"']?(?P<secret>"
        r"(?=[^\s\"']{0,60}\d)[^\s\"'$<%{]{5,120})",
        lead=r"(?i:^|[\n;]|root-|user-)[^\n\w]{0,12}|user [^\n]{1,40} (?:with )?",
        before=64,
    ),
    make_rule(
        "config-password",
        ("{plain}", "{clear}", "{cleartext}", "{noop}"),
        r"\{(?i:plain|clear|cleartext|noop)\}(?P<secret>(?![$<{])[^\s\"':,<>}]{4,120})",
    ),
    make_rule(
        "app-password",
        # Sixteen letters, which Google makes for one program.
        ("pass", "app password"),
        r"(?i:pass(?:word|wd)?)[\"'`]?\s{0,2}[=:]\s{0,2}[\"'`]?"
        r"(?P<secret>[a-z]{16}|[a-z]{4}(?: [a-z]{4}){3})(?=[\"'`\s,;]|$)",
        lead=r"(?i:gmail|google|smtp|mail|app)[\w ]{0,12}[_. -]",
    ),
    make_rule(
        "config-password",
        ("backup code", "recovery code", "backup_code", "recovery_code"),
        r"(?i:backup|recovery)[ _]codes?[\"'`]?\s?[=: ]\s{0,3}[\"'`]?"
        r"(?P<secret>(?=\S{0,8}\d)[a-z0-9]{4,5}-[a-z0-9]{4,5})(?![\w-])",
    ),
    make_rule(
        "config-password",
        ('"jwt', "pepper =", "pepper=", "pepper:"),
        r"(?:\"Jwt\w{0,10}\"\s?:\s?\{[^{}]{0,300}?\"(?:\w{0,12}Key|Secret)\"\s?:\s?\""
        rf"|(?i:pepper)\s?[=:]\s?[\"'])(?P<secret>{RANDOM}[^\"'\n]{{7,400}})[\"']",
    ),
    make_rule(
        "wifi-password",
        ("wlan-schl", "wlan schl", "netzwerkschl", "wifi key", "wifi-key", "wi-fi key"),
        r"(?i:wlan[ -]|netzwerk|wi-?fi[ -])(?i:schl.{1,2}ssel|key): {0,3}[\"'`]?"
        r"(?P<secret>(?=\S{0,60}\d)[^\s\"'`<>]{8,63})",
    ),
    make_rule(
        "config-password",
        # The answer file of Windows, and a plist.
        ("password>",),
        r"(?i:password)>\s{0,40}<(?i:value|string)>(?P<secret>[^<>\s]{4,200})<",
    ),
)
