"""Secrets in files of a format of their own, such as netrc and Kubernetes manifests."""

from __future__ import annotations

from leslied.redact.rules._names import make_rule

_GAP = r"(?:\s{1,8}|[ \t]{0,4}\r?\n[^\n]{0,60}?[\s+:>|-])"
"""Between words on a line, or on two lines with something before the second."""
_DATA = r"(?:\r?\n(?:\S{0,60}[+:>-]|\s{0,6}\d{1,6}[\t→:|-])?[ \t]{1,12}[\w.-]{1,80}: ?"

RULES = (
    make_rule(
        "netrc",
        ("machine ", "default login"),
        rf"(?:machine\s{{1,4}}\S{{1,120}}|default){_GAP}login\s{{1,4}}\S{{1,120}}{_GAP}"
        rf"(?:account\s{{1,4}}\S{{1,60}}{_GAP})?password\s{{1,4}}(?P<secret>\S{{1,200}})",
    ),
    make_rule(
        "pgpass",
        (":5432:", ":5433:", ":3306:", ":6432:", ":*:"),
        r":(?:5432|5433|3306|6432|\*):(?!\d{1,6}:\d)[\w.*-]{1,60}:[\w.*-]{1,60}:"
        r"(?P<secret>[^\s:@/]{3,200})",
        lead=r"[\w.*-]{1,100}",
        before=100,
    ),
    make_rule(
        "registry-auth",
        ('"auth', "_auth", "_password"),
        r"(?:\"auth ?\"\s{0,3}:\s{0,3}|_auth(?:Token)?\s?=\s?|_password\s?=\s?)\"?"
        r"(?P<secret>[\w+/.-]{8,1000}={0,2})",
        after=1100,
    ),
    make_rule(
        "kubernetes-secret",
        ("kind: secret",),
        r"(?i:kind: Secret)\b[^{}]{0,500}?\n[^\n]{0,60}?\b(?:data|stringData):"
        rf"(?P<secret>{_DATA}[^\n]{{1,2000}}){{1,40}})",
        after=8000,
    ),
    make_rule(
        "kubernetes-secret",
        ("\ndata:", "\nstringdata:"),
        rf"\n(?:data|stringData):(?P<secret>{_DATA}"
        r"[A-Za-z0-9+/=\"']{4,2000}){1,40})(?=[\s\S]{0,400}kind: Secret)",
        after=8000,
    ),
    make_rule(
        "otp-secret",
        ("otpauth://",),
        r"otpauth://[^\s\"'<>]{1,200}?[?&]secret=(?P<secret>[A-Za-z2-7]{8,128})",
    ),
    make_rule(
        "otp-secret",
        (
            *(
                "totp",
                "hotp",
                "otp_",
                "otp-",
                "otp ",
                "otp.",
                "2fa",
                "mfa",
                "authenticator",
            ),
            *("two-factor", "setup key"),
        ),
        r"(?i:[th]?otp|2fa|mfa|authenticator|two-factor"
        r"|setup key)[^\n]{0,60}?[\s\"'`=:(>*]"
        r"(?P<secret>(?=[A-Z]{0,40}[2-7])[A-Z2-7]{16,128}|"
        r"(?:[A-Za-z2-7]{4} ){3,15}[A-Za-z2-7]{4})"
        r"={0,6}(?![\w-])",
        lead=r"(?<![A-Za-z])|_",
        before=1,
    ),
    make_rule(
        "registry-auth",
        # The file `kaggle.json`.
        ('"key"',),
        r"\"key\"\s?:\s?\"(?P<secret>[a-f0-9]{32})\"",
        lead=r"\"username\"\s?:\s?\"[\w.@-]{1,60}\",\s{0,12}",
        before=100,
    ),
    make_rule(
        "registry-auth",
        ("dockerconfigjson", ".dockercfg"),
        r"(?:dockerconfigjson|\.dockercfg)[\"']?\s?[:=]\s{0,3}[\"']?(?:[|>]-?\s{1,60})?"
        r"(?P<secret>[A-Za-z0-9+/]{40,8000}={0,2})",
        after=8200,
    ),
    make_rule(
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
            "pbkdf2_sha",
            "pbkdf2:sha",
            "scram-sha-",
        ),
        r"(?:\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}|\$(?:[156]|y|apr1)\$[^\s$:\"']{1,40}\$"
        r"(?:[^\s$:\"']{1,40}\$)?[./A-Za-z0-9]{20,100}|\$argon2(?:id|i|d)\$[^\s:\"']{40,300}"
        r"|\{SHA\}[A-Za-z0-9+/]{27}=|SCRAM-SHA-(?:1|256)\$\d{4,8}:[A-Za-z0-9+/]{16,40}={0,2}\$"
        r"[A-Za-z0-9+/]{27,44}={0,2}:[A-Za-z0-9+/]{27,44}={0,2}|pbkdf2[_:]sha(?:1|256|512)[$:]\d{4,8}\$[^\s$\"']{4,64}\$"
        r"[A-Za-z0-9+/]{27,128}={0,2})",
    ),
    make_rule(
        "mnemonic",
        (
            "mnemonic",
            "seed phrase",
            "recovery phrase",
            "seed_phrase",
            "seed words",
            "wallet seed",
        ),
        r"(?i:mnemonic|(?:seed|recovery)[ _](?:phrase|words)|wallet seed)[\w ]{0,12}"
        r"[\"'`]?\s{0,2}"
        rf"(?:[:=]|--body)(?:{_GAP}|\s{{0,6}}){{1,2}}[\"'`\[]{{0,2}}"
        r"(?P<secret>(?:\d\d?[.)] ?)?[a-z]{3,8}(?:[\s,\"'\d.)]{1,8}[a-z]{3,8}){11,23})",
        after=400,
    ),
    make_rule(
        "connection-string",
        ("password", "pwd"),
        r"(?:(?i:password)|[Pp]wd)\s?=\s?(?P<secret>[^;\s\"'<>{}$()\[\]]{3,200}+)(?=;)",
    ),
    make_rule(
        "connection-string",
        ("password", "pwd"),
        r"(?:(?i:password)|[Pp]wd)\s?=\s?(?P<secret>[^;\s\"'<>{}$()\[\]]{3,200})",
        lead=r";\s?(?:[A-Za-z]{1,12} )?",
    ),
    make_rule(
        "ansible-vault",
        ("$ansible_vault;",),
        r"\$ANSIBLE_VAULT;[\d.]{3};AES256"
        r"(?P<secret>(?:(?:<br>)?[^0-9a-f]{1,16}[0-9a-f]{20,81}){1,400})",
        after=16_000,
    ),
    make_rule(
        "query-secret",
        ("token=", "key=", "secret=", "code=", "auth=", "appid=", "pwd=", "passwd="),
        r"(?i:token|key|secret|code|auth|appid|pwd|passwd)="
        r"(?P<secret>(?=[A-Za-z%._-]{0,40}\d)[\w%.~+/-]{12,1000}={0,2})",
        lead=r"[?&](?!(?i:[\w.-]{0,16}(?:page|next|continuation|cursor|sync|resume|skip|"
        r"position))[_.-]?\Z)[\w.-]{0,24}",
        after=1100,
    ),
)
